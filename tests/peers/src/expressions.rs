//! The results of Kubernetes' own libraries for CEL for a thousand expressions over two dozen clusters. The results are
//! recorded, so that a comparison does not require Go.
//!
//! Some expressions are written manually: every function and operator, and names that are neither. The others are
//! generated from a seed.

mod random;

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::kubernetes::run;
use crate::record::{Record, RecordError};

pub use random::random_expression;

/// The number of random expressions.
const RANDOM: usize = 400;
/// The seed of the random expressions.
const SEED: u64 = 20_261_122;
/// The number of clusters to evaluate the expressions over.
const CLUSTERS: usize = 24;

/// The file of the record, in the directory of this package.
pub const EXPRESSIONS_RECORD: &str = "expressions.txt";

const TITLE: &str = "# Kubernetes' answers to expressions. Written by: cargo xtask peers";

/// All expressions, in the order of the record.
#[must_use]
pub fn expressions() -> Vec<String> {
    let written = include_str!("expressions/written.txt").lines();
    let written = written.filter(|line| !line.starts_with('#')).map(str::to_owned);
    written.chain((0..RANDOM).map(|number| random_expression(SEED, number))).collect()
}

/// The clusters to evaluate every expression over.
#[must_use]
pub fn clusters() -> Vec<Value> {
    (0..CLUSTERS).map(cluster).collect()
}

/// The scores of a cluster in the object with this name.
#[must_use]
pub fn scores_of(cluster: &str, object: &str) -> Option<Vec<(&'static str, i32)>> {
    let number = cluster.strip_prefix('c')?.parse::<i32>().ok()?;
    match object {
        "default" if number % 4 != 3 => Some(vec![("cpu", number * 20 - 100), ("memory", -number)]),
        "empty" => Some(Vec::new()),
        _ => None,
    }
}

/// The cluster with this number. Each cluster lacks some fields, or has fields in another form.
fn cluster(number: usize) -> Value {
    let mut labels = json!({ "example.com/tier": "gold" });
    if !number.is_multiple_of(3) {
        labels["env"] = json!(if number % 3 == 1 { "prod" } else { "test" });
    }
    if !number.is_multiple_of(5) {
        labels["version"] = json!(["1.30.2", "1.31.0", "v1.32", "latest"][number % 4]);
    }
    let claims = match number % 6 {
        0 => json!([]),
        1 => json!([{ "name": "id", "value": "x" }, { "name": "region", "value": "eu" }]),
        2 => json!([{ "name": "region", "value": "us" }]),
        3 => json!([{ "name": "region" }, { "name": "id", "value": "eu" }]),
        4 => json!([{ "name": "region", "value": "eu" }, { "name": "region", "value": "us" }]),
        _ => Value::Null,
    };
    let mut metadata = json!({
        "name": format!("c{number}"), "labels": labels,
        "creationTimestamp": format!("202{}-0{}-01T00:00:00Z", 5 + number % 2, 1 + number % 9),
    });
    if number.is_multiple_of(2) {
        let shape =
            ["{\"gpus\": 4, \"zones\": [\"a\"]}", "{\"gpus\": \"4\"}", "{", "[]"][number / 2 % 4];
        metadata["annotations"] = json!({ "shape": shape });
    }
    let version = ["v1.31.4", "1.29.0", "v1.30", "", "none"][number % 5];
    let cpu = ["1500m", "4", "0", "many"][number % 4];
    let pattern = ["^c[0-9]$", "[", "c1", "(a|b)*"][number % 4];
    let numbers = ["[1, 2, 3]", "[3, 1]", "[]", "[1.5, 2.5]", "[\"a\"]", "[1, 2.5]"][number % 6];
    let mut status = json!({
        "version": { "kubernetes": version },
        "allocatable": { "cpu": cpu, "memory": "16Gi", "pods": "110" },
        "capacity": { "cpu": "2" }, "ratio": 0.5, "none": null,
        "pattern": pattern,
        "numbers": numbers.parse::<Value>().unwrap_or_default(),
    });
    if !number.is_multiple_of(7) {
        status["clusterClaims"] = claims;
    }
    let spec = if number % 8 == 7 {
        json!({})
    } else {
        json!({ "hubAcceptsClient": number.is_multiple_of(2), "leaseDurationSeconds": 58 + number % 4 })
    };
    json!({ "metadata": metadata, "spec": spec, "status": status })
}

/// The recorded results of Kubernetes for all expressions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExpressionsRecord {
    /// The version of Kubernetes that computed the results.
    pub kubernetes: String,
    /// A digest of all expressions and clusters.
    pub digest: String,
    /// For each expression a character for each cluster: `t`, `f`, `e` for an error, `o` for a result that is not a
    /// boolean. `!` is an expression that does not compile.
    pub answers: Vec<String>,
}

/// The input of `kubernetes/cel`: all expressions and clusters.
fn input() -> Value {
    let clusters = clusters();
    let mut scores = json!({});
    for cluster in &clusters {
        let name = cluster["metadata"]["name"].as_str().unwrap_or_default();
        for object in ["default", "empty"] {
            let Some(values) = scores_of(name, object) else { continue };
            let values = values.iter().map(|(name, value)| json!({ "name": name, "value": value }));
            scores[name][object] = values.collect();
        }
    }
    json!({ "clusters": clusters, "scores": scores, "expressions": expressions() })
}

/// A digest of all expressions and clusters.
#[must_use]
pub fn expressions_digest() -> String {
    Record::digest_of([&input()])
}

/// The results of the code of Kubernetes. Requires Go.
pub fn ask_expressions() -> Result<Vec<String>> {
    let answers = String::from_utf8(run("cel", &input().to_string())?)?;
    let answers: Vec<String> = answers.lines().map(str::to_owned).collect();
    let expected = expressions().len();
    ensure!(answers.len() == expected, "{expected} expressions have {} results", answers.len());
    Ok(answers)
}

/// One line for each expression; a result that is equal for all clusters is written once.
impl fmt::Display for ExpressionsRecord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExpressionsRecord { kubernetes, digest, answers } = self;
        writeln!(formatter, "{TITLE}\nkubernetes {kubernetes}\nasked {digest}")?;
        for answer in answers {
            let first = answer.chars().next().unwrap_or_default();
            if answer.chars().all(|letter| letter == first) {
                writeln!(formatter, "{first}")?;
            } else {
                writeln!(formatter, "{answer}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for ExpressionsRecord {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<ExpressionsRecord, RecordError> {
        let mut lines = (1..).zip(text.lines());
        let mut field = |name: &'static str| {
            let (line, text) = lines.next().unwrap_or_default();
            text.strip_prefix(name).map(str::trim).ok_or(RecordError { line, wanted: name })
        };
        field(TITLE)?;
        let kubernetes = field("kubernetes ")?.to_owned();
        let digest = field("asked ")?.to_owned();
        let whole = |answer: &str| match answer {
            "t" | "f" | "e" | "o" => answer.repeat(CLUSTERS),
            answer => answer.to_owned(),
        };
        let answers = lines.map(|(_, line)| whole(line)).filter(|line| !line.is_empty()).collect();
        Ok(ExpressionsRecord { kubernetes, digest, answers })
    }
}
