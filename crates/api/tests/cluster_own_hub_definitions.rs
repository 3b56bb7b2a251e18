//! A real API server accepts the CRDs of a hub, and with them alone rejects whatever a schema can express; what it
//! rejects, we reject.

mod written;

use std::path::Path;

use almanac_harness::{
    ControlPlaneOptions, Kubectl, Observation, PATIENCE, TestResult, await_condition,
    on_own_control_plane,
};
use written::messages;

const API: &str = "cluster.open-cluster-management.io";

async fn install(kubectl: &Kubectl) -> TestResult {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/hub-crds");
    kubectl.run(&["apply", "--server-side", "-f", &folder.display().to_string()]).await?;
    await_condition("the definitions are established", PATIENCE, async || {
        let path =
            "jsonpath={range .items[*]}{.status.conditions[?(@.type=='Established')].status} {end}";
        let found = kubectl.run(&["get", "crd", "-o", path]).await?;
        Ok(Observation::of(found.matches("True").count() == 6, found))
    })
    .await?;
    let path = "jsonpath={.items[*].status.conditions[?(@.type=='NonStructuralSchema')].message}";
    assert_eq!(kubectl.run(&["get", "crd", "-o", path]).await?, "");
    Ok(())
}

fn placement(spec: &str) -> String {
    format!("apiVersion: {API}/v1beta1\nkind: Placement\nmetadata: {{name: web}}\nspec: {spec}\n")
}

#[test]
fn the_api_server_and_we_agree_on_whatever_a_schema_can_express() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let kubectl = test.kubectl().await?;
        install(&kubectl).await?;
        for (text, refused) in [
            (placement("{}"), false),
            (placement("{numberOfClusters: 0}"), false),
            (placement("{numberOfClusters: -1}"), true),
            (
                placement(
                    "{prioritizerPolicy: {configurations: [{name: Steady}, {name: Steady}]}}",
                ),
                true,
            ),
            (
                placement(
                    "{prioritizerPolicy: {configurations: [{name: Steady}, {scoreCoordinate: {buildIn: Steady}}]}}",
                ),
                true,
            ),
            (
                placement(
                    "{prioritizerPolicy: {configurations: [{name: Steady}, {scoreCoordinate: {builtIn: Balance}}]}}",
                ),
                false,
            ),
        ] {
            let created =
                kubectl.run_with_input(&["create", "--dry-run=server", "-f", "-"], &text).await;
            let ours = messages(&text);
            assert_eq!(created.is_err(), refused, "{text}{created:?}");
            assert_eq!(!ours.is_empty(), refused, "{text}{ours:?}");
        }
        Ok(())
    })
}
