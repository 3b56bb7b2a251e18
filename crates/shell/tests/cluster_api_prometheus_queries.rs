//! The results of queries to a real Prometheus.

use almanac_harness::{PATIENCE, Prometheus as Running, TestResult};
use almanac_shell::prometheus::{Prometheus, PrometheusOptions, QueryMetrics, QueryProblem};
use anyhow::ensure;

fn client_for(running: &Running) -> anyhow::Result<Prometheus> {
    let address = running.url().parse()?;
    let options = PrometheusOptions { address, token_file: None, ca_file: None };
    Ok(Prometheus::new(options, QueryMetrics::default())?)
}

#[tokio::test]
async fn a_real_prometheus_yields_a_number_or_a_typed_problem() -> TestResult {
    let running = Running::start(&[]).await?;
    running.await_sample("up{job=\"prometheus\"}", PATIENCE).await?;
    let prometheus = client_for(&running)?;
    let permit = prometheus.permit("shop").await;
    let padding = format!("vector(6){} + 1", " ".repeat(4000));
    let numbers = [
        ("42", 42.0),
        ("vector(-0.25)", -0.25),
        ("up{job=\"prometheus\"}", 1.0),
        ("max(up or vector(3))", 3.0),
        // Sent in the body of the request.
        (&*padding, 7.0),
    ];
    for (query, number) in numbers {
        let result = prometheus.query(&permit, query).await?;
        ensure!((result - number).abs() < f64::EPSILON, "{query} yields {result}");
    }
    let problems = [
        ("tide_level", QueryProblem::NoSample),
        ("0 / 0", QueryProblem::NotFinite { value: "NaN" }),
        ("vector(1) / 0", QueryProblem::NotFinite { value: "+Inf" }),
        ("-1 / 0", QueryProblem::NotFinite { value: "-Inf" }),
        ("up[1m]", QueryProblem::WrongType { kind: "matrix".into() }),
        ("\"seven\"", QueryProblem::WrongType { kind: "string".into() }),
    ];
    for (query, expected) in problems {
        ensure!(prometheus.query(&permit, query).await == Err(expected), "{query}");
    }
    let Err(QueryProblem::SeveralSamples(several)) =
        prometheus.query(&permit, "{job=\"prometheus\"}").await
    else {
        anyhow::bail!("the query has more than one series");
    };
    ensure!(several > 50, "{several}");
    let unreadable = prometheus.query(&permit, "max(a, b)").await;
    ensure!(matches!(&unreadable, Err(QueryProblem::QueryInvalid(_))), "{unreadable:?}");
    let many = prometheus.query(&permit, "{job=\"prometheus\"} + on() {job=\"prometheus\"}").await;
    ensure!(matches!(&many, Err(QueryProblem::Failed { .. })), "{many:?}");
    Ok(())
}
