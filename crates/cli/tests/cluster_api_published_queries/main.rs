//! Queries over published numbers: Almanac and a real Prometheus that has scraped the numbers return the same results.
//! The expressions are random, from a printed seed. `language` tests which strings are queries.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod language;
mod random_text;
mod verdict;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use almanac_api::checking::{CheckContext, check_json};
use almanac_api::kinds::Kind;
use almanac_engine::metric_scaling::{
    FiniteNumber, PublishedMetric, QueryEvaluator, SampleProblem, evaluate,
};
use almanac_engine::{Slim, World};
use almanac_fixtures::{at, objects};
use almanac_harness::{PATIENCE, Prometheus, TestResult};
use anyhow::{Context as _, ensure};
use fastrand::Rng;
use serde_json::json;

use crate::verdict::{NOW, checked};

const EXPRESSIONS: usize = 500;

/// Schedules by namespace and name, with the constant number that each publishes.
const SCHEDULES: [(&str, &str, u32); 4] =
    [("default", "a", 2), ("default", "b", 5), ("dev", "a", 3), ("dev", "abc", 0)];

/// The world with these schedules.
fn world() -> World {
    let mut world = World::default();
    for (namespace, name, replicas) in SCHEDULES {
        let schedule = json!({ "defaultReplicas": replicas, "behaviors": [] });
        let mut object = objects::metrics_producer(name, &schedule);
        object["metadata"]["namespace"] = json!(namespace);
        let checked =
            check_json(Kind::MetricsProducer, object, CheckContext::new("default", at(NOW)));
        world.upsert(checked.identity.unwrap(), checked.slim.unwrap());
    }
    world
}

/// Serves the numbers until the process ends; returns the address.
fn serve() -> anyhow::Result<String> {
    let series = PublishedMetric::ALL.into_iter().flat_map(|metric| {
        let line = move |(namespace, name, value)| {
            format!("{}{{name=\"{name}\",namespace=\"{namespace}\"}} {value}\n", metric.name())
        };
        SCHEDULES.into_iter().map(line)
    });
    let body: String = series.collect();
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nConnection: close\r\n";
    let response = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let _ = connection.read(&mut request);
            let _ = connection.write_all(response.as_bytes());
        }
    });
    Ok(address)
}

fn number(random: &mut Rng) -> &'static str {
    random.choice(["0", "1", "2", "0.5", "3", "-1", "(1 + 2)"]).unwrap()
}

/// The operators of expressions, in two sets that are not mixed. A remainder exposes the last digit of its dividend,
/// which may differ: each language has its own power function, and not every version of Prometheus corrects its sums.
/// So no expression has both.
const OPERATORS: [[&str; 5]; 2] = [["+", "-", "*", "%", "%"], ["+", "-", "*", "/", "^"]];

/// Whether two results agree except for the last digits.
fn agree(own: f64, theirs: f64) -> bool {
    (own - theirs).abs() <= 1e-9 * own.abs().max(1.0)
}

fn selector(random: &mut Rng) -> String {
    let metric = random.choice(PublishedMetric::ALL).unwrap().name();
    let matchers = [
        "",
        "{name=\"a\",namespace=\"default\"}",
        "{name=\"b\"}",
        "{name=~\"a|b\"}",
        "{name=~\"a\"}",
        "{name=~\"a.*\",namespace!=\"default\"}",
        "{name!~\".b.\"}",
        "{name=\"nothing\"}",
        "{namespace=~\"d.+\",name!=\"a\"}",
    ];
    format!("{metric}{}", random.choice(matchers).unwrap())
}

/// An expression that yields series, with or without brackets at random.
fn expression(random: &mut Rng, operators: [&str; 5], depth: u32) -> String {
    let inner = |random: &mut Rng| expression(random, operators, depth - 1);
    let operator = |random: &mut Rng| random.choice(operators).unwrap();
    if depth == 0 {
        return selector(random);
    }
    let text = match random.u32(0..9) {
        0 | 1 => selector(random),
        2 | 3 => {
            let name = random.choice(["max", "min", "sum"]).unwrap();
            format!("{name}({})", inner(random))
        }
        4 => format!("{} or {}", inner(random), inner(random)),
        5 => format!("{} {} {}", inner(random), operator(random), number(random)),
        6 => format!("{} {} {}", number(random), operator(random), inner(random)),
        7 => format!("-{}", inner(random)),
        _ => format!("{} {} {}", inner(random), operator(random), inner(random)),
    };
    if random.bool() { format!("({text})") } else { text }
}

/// The result of Almanac.
fn result_of(query: &str, world: &World) -> anyhow::Result<Result<FiniteNumber, SampleProblem>> {
    let checked = checked(query);
    let Some(Slim::MetricScaling(object)) = checked.slim else { panic!("{query}") };
    let policy = object.policy.with_context(|| format!("{query}: {:?}", checked.findings))?;
    match &policy.metrics[0].query.evaluator {
        QueryEvaluator::Published(expression) => Ok(evaluate(expression, world.view(), at(NOW))),
        QueryEvaluator::External(why) => anyhow::bail!("{query}: {why}"),
    }
}

#[tokio::test]
async fn a_query_over_published_numbers_has_the_result_of_prometheus() -> TestResult {
    let prometheus = Prometheus::start_honoring_labels(&[serve()?]).await?;
    prometheus.await_sample("count(karpenter_scheduled_replicas_value) == 4", PATIENCE).await?;
    let seed = fastrand::u64(..);
    eprintln!("seed {seed}");
    let (mut random, world) = (Rng::with_seed(seed), world());
    let mut numbers = 0;
    for _ in 0..EXPRESSIONS {
        let operators = random.choice(OPERATORS).unwrap();
        let query = expression(&mut random, operators, 3);
        let own = result_of(&query, &world)?;
        let series = prometheus.count_series(&query).await?;
        match &own {
            Err(SampleProblem::NoSample) => ensure!(series == 0, "{query} yields {series} series"),
            Err(SampleProblem::SeveralSamples { count }) => {
                ensure!(usize::try_from(*count)? == series, "{query} yields {series}, not {count}");
            }
            Ok(_) | Err(_) => {
                let theirs = prometheus.query(&query).await?.context("the query yields nothing")?;
                let is_same = match &own {
                    Ok(own) => agree(own.get(), theirs),
                    Err(problem) => *problem == SampleProblem::NotFinite && !theirs.is_finite(),
                };
                ensure!(is_same, "seed {seed}: {query} is {theirs}, not {own:?}");
                numbers += usize::from(own.is_ok());
            }
        }
    }
    ensure!(numbers > EXPRESSIONS / 10, "only {numbers} yield a number");
    Ok(())
}
