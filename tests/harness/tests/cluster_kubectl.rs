//! The kubectl that comes with the control plane.

use almanac_harness::{TestResult, on_shared_cluster};
use anyhow::Context as _;
use serde_json::{Value, json};

#[test]
fn kubectl_of_the_same_minor_version_works() -> TestResult {
    on_shared_cluster(async |test| {
        let kubectl = test.kubectl().await?;
        let versions: Value =
            serde_json::from_str(&kubectl.run(&["version", "-o", "json"]).await?)?;
        let minor = |side: &str| versions[side]["minor"].as_str().context("no version");
        assert_eq!(minor("clientVersion")?, minor("serverVersion")?, "{versions}");

        let manifest = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "from-kubectl"}, "data": {"answer": "42"},
        })
        .to_string();
        kubectl.run_with_input(&["apply", "--server-side", "-f", "-"], &manifest).await?;
        let path = "jsonpath={.data.answer}";
        let answer = kubectl.run(&["get", "configmap", "from-kubectl", "-o", path]).await?;
        assert_eq!(answer, "42");
        let missing = kubectl.run(&["get", "configmap", "nowhere"]).await;
        let message = missing.expect_err("there is none").to_string();
        assert!(message.contains("NotFound"), "{message}");
        Ok(())
    })
}
