//! The objects of a cluster, as kubectl prints them.

use almanac_harness::{Kubectl, Observation, PATIENCE, TestResult, await_condition};
use serde_json::Value;

/// An object, or a list of objects, as in the API server.
pub(crate) async fn get(kubectl: &Kubectl, what: &[&str]) -> anyhow::Result<Value> {
    let arguments: Vec<&str> = ["get", "-o", "json"].iter().chain(what).copied().collect();
    Ok(serde_json::from_str(&kubectl.run(&arguments).await?)?)
}

/// Waits until a field of an object has this value.
pub(crate) async fn await_value(
    kubectl: &Kubectl,
    what: &[&str],
    pointer: &str,
    expected: &Value,
) -> TestResult {
    await_condition(&format!("{what:?} to have {expected} at {pointer}"), PATIENCE, async || {
        let object = get(kubectl, what).await?;
        let actual = object.pointer(pointer);
        Ok(Observation::from_bool(actual == Some(expected), format!("{actual:?} in {object}")))
    })
    .await
}
