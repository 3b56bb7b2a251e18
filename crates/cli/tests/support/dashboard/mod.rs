//! The shipped dashboard, and its Prometheus queries.

use std::fs;

use anyhow::Context as _;
use serde_json::Value;

const DASHBOARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/grafana/almanac.json");

pub(crate) fn read() -> anyhow::Result<Value> {
    Ok(serde_json::from_str(&fs::read_to_string(DASHBOARD)?)?)
}

/// Every expression, with the variables that Grafana sets for a scrape interval of a second.
pub(crate) fn expressions() -> anyhow::Result<Vec<String>> {
    let dashboard = read()?;
    let panels = dashboard["panels"].as_array().context("no panels")?;
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let expressions = targets.map(|target| target["expr"].as_str().context("no expression"));
    expressions.map(|it| Ok(it?.replace("$__rate_interval", "1m"))).collect()
}
