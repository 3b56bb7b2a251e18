//! A case in the format of Kubernetes, and the results of Kubernetes. Where the same fields behave differently, an
//! [`Adjustment`] of the case makes both behave in the same way.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::case::{Amount, Case, MAX_PERIOD, MAX_WINDOW, Metric, MetricKind, Rules, Select, Step};

/// A change to a case that makes Kubernetes behave like Almanac.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Adjustment {
    /// Without policies, Almanac sets no limit, and Kubernetes uses default policies. So Kubernetes gets a policy that
    /// allows any change.
    NoPolicyNoLimit,
    /// The history of Almanac starts empty, and that of Kubernetes with the current replicas. So the first observation
    /// of Kubernetes is older than every window.
    HistoryBeginsEmpty,
    /// In Almanac, a recommendation lasts until the next recommendation. In Kubernetes, a recommendation applies only
    /// at its own instant, so it is repeated just before the next recommendation.
    RecommendationsHold,
    /// Almanac keeps a past scaling as long as any policy needs it. Kubernetes drops a past scale-up when no policy for
    /// scaling up needs it, and vice versa. So Kubernetes gets a policy that needs all past scalings and never decides.
    CountsBothDirections,
}

impl Adjustment {
    /// All adjustments that equal results require.
    pub const ALL: [Adjustment; 4] = [
        Adjustment::NoPolicyNoLimit,
        Adjustment::HistoryBeginsEmpty,
        Adjustment::RecommendationsHold,
        Adjustment::CountsBothDirections,
    ];
}

/// More than the maximum in any case, and far below the maximum of a number of 32 bits.
const ENDLESS: i32 = 1_000_000;

/// The case as one line for the program in `kubernetes/hpa`.
#[must_use]
pub fn for_kubernetes(case: &Case, adjustments: &[Adjustment]) -> Value {
    let metrics: Vec<_> = case.metrics.iter().enumerate().map(metric).collect();
    let steps: Vec<_> = case.steps.iter().map(step).collect();
    json!({
        "spec": {
            "scaleTargetRef": {},
            "minReplicas": case.minimum,
            "maxReplicas": case.maximum,
            "metrics": metrics,
            "behavior": {
                "scaleUp": rules(&case.up, case.tolerance, adjustments),
                "scaleDown": rules(&case.down, case.tolerance, adjustments),
            },
        },
        "replicas": case.replicas,
        "seenBefore": if adjustments.contains(&Adjustment::HistoryBeginsEmpty) { MAX_WINDOW + 1 } else { 0 },
        "holds": adjustments.contains(&Adjustment::RecommendationsHold),
        "behind": case.is_behind,
        "unready": case.unready,
        "steps": steps,
    })
}

fn rules(rules: &Rules, tolerance: u32, adjustments: &[Adjustment]) -> Value {
    let mut written = json!({ "tolerance": format!("{tolerance}m") });
    if let Some(window) = rules.window {
        written["stabilizationWindowSeconds"] = json!(window);
    }
    if let Some(select) = rules.select {
        written["selectPolicy"] = json!(match select {
            Select::Max => "Max",
            Select::Min => "Min",
            Select::Disabled => "Disabled",
        });
    }
    let mut policies: Vec<_> = rules
        .policies
        .iter()
        .map(|it| match it.amount {
            Amount::Count(count) => policy("Pods", count.cast_signed(), it.period),
            Amount::Percent(percent) => policy("Percent", percent.cast_signed(), it.period),
        })
        .collect();
    if policies.is_empty() {
        if adjustments.contains(&Adjustment::NoPolicyNoLimit) {
            policies.push(policy("Pods", ENDLESS, MAX_PERIOD));
        }
    } else if adjustments.contains(&Adjustment::CountsBothDirections) {
        let never_decides = if rules.select == Some(Select::Min) { ENDLESS } else { -ENDLESS };
        policies.push(policy("Pods", never_decides, MAX_PERIOD));
    }
    if !policies.is_empty() {
        written["policies"] = json!(policies);
    }
    written
}

fn policy(kind: &str, value: i32, period: u32) -> Value {
    json!({ "type": kind, "value": value, "periodSeconds": period })
}

fn metric((index, metric): (usize, &Metric)) -> Value {
    let target = format!("{}m", metric.target);
    json!({
        "type": "External",
        "external": {
            "metric": { "name": format!("metric-{index}") },
            "target": match metric.kind {
                MetricKind::Value => json!({ "type": "Value", "value": target }),
                MetricKind::AverageValue => json!({ "type": "AverageValue", "averageValue": target }),
            },
        },
    })
}

fn step(step: &Step) -> Value {
    let mut written = json!({ "second": step.second, "samples": step.samples });
    if let Some(replicas) = step.written {
        written["written"] = json!(replicas);
    }
    written
}

/// The replicas after each step of each case, as the code of Kubernetes computes them. Requires Go. The first run takes
/// a minute or two to compile the code.
pub fn run_kubernetes(cases: &[Value]) -> Result<Vec<Vec<u32>>> {
    let input: String = cases.iter().map(|case| case.to_string() + "\n").collect();
    let answers: Vec<Vec<u32>> = serde_json::Deserializer::from_slice(&run("hpa", &input)?)
        .into_iter()
        .collect::<Result<_, _>>()
        .context("failed to parse the results of tests/peers/kubernetes/hpa")?;
    ensure!(answers.len() == cases.len(), "{} cases have {} results", cases.len(), answers.len());
    Ok(answers)
}

/// The output of a program in `kubernetes` for an input. The program is compiled with the modules of the control plane.
pub(crate) fn run(program: &str, input: &str) -> Result<Vec<u8>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("kubernetes");
    let mut started = Command::new("go")
        .args(["run", "-trimpath", "-buildvcs=false"])
        .arg(format!("-modfile={}", modules().display()))
        .arg(format!("./{program}"))
        .current_dir(here)
        // The same settings as for the control plane, so that Go reuses compiled packages.
        .env("CGO_ENABLED", "0")
        .env_remove("GOOS")
        .env_remove("GOARCH")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("failed to start go")?;
    let mut to_program = started.stdin.take().context("go has no standard input")?;
    to_program
        .write_all(input.as_bytes())
        .with_context(|| format!("failed to hand the input to tests/peers/kubernetes/{program}"))?;
    drop(to_program);
    let output = started
        .wait_with_output()
        .with_context(|| format!("failed to wait for tests/peers/kubernetes/{program}"))?;
    let status = output.status;
    ensure!(status.success(), "tests/peers/kubernetes/{program} ended with {status}");
    Ok(output.stdout)
}

/// The version of Kubernetes that the programs are built from, such as `1.36.2`.
pub fn version() -> Result<String> {
    let file = modules();
    let text =
        fs::read_to_string(&file).with_context(|| format!("failed to read {}", file.display()))?;
    text.lines()
        .find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes v"))
        .map(str::to_owned)
        .with_context(|| format!("{} requires no k8s.io/kubernetes", file.display()))
}

/// The modules of Kubernetes 1.36. The CEL libraries of 1.37 are newer than those of Open Cluster Management, which
/// expressions follow, and evaluate six of the recorded expressions differently.
fn modules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/local/cluster/1.36/go.mod")
}
