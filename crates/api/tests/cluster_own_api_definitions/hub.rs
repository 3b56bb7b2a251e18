//! A real API server accepts the CRDs of a hub, and with these CRDs alone rejects every object that a schema can
//! reject. Almanac rejects every object that the API server rejects.

mod applied;
mod bounds;
mod random;
mod versions;

use std::path::Path;

use almanac_harness::{
    ControlPlaneOptions, Kubectl, Observation, PATIENCE, TestResult, await_condition,
    on_own_control_plane,
};

/// The group of the kinds.
const API: &str = "cluster.open-cluster-management.io";

/// Runs a test on an API server with the CRDs of a hub.
fn on_a_hub(test: impl AsyncFnOnce(&Kubectl) -> TestResult) -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |own| {
        let kubectl = own.kubectl().await?;
        kubectl.run(&["apply", "--server-side", "-f", &definitions()]).await?;
        await_condition("the definitions are established", PATIENCE, async || {
            let path = "jsonpath={range .items[*]}{.status.conditions[?(@.type=='Established')].status} {end}";
            let found = kubectl.run(&["get", "crd", "-o", path]).await?;
            Ok(Observation::from_bool(found.matches("True").count() == 6, found))
        })
        .await?;
        let path =
            "jsonpath={.items[*].status.conditions[?(@.type=='NonStructuralSchema')].message}";
        assert_eq!(kubectl.run(&["get", "crd", "-o", path]).await?, "");
        test(&kubectl).await
    })
}

/// The directory of the CRDs.
fn definitions() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/hub-crds");
    folder.display().to_string()
}

/// An object of the group, with these fields in flow form.
fn object(version: &str, kind: &str, name: &str, fields: &str) -> String {
    format!("apiVersion: {API}/{version}\nkind: {kind}\nmetadata: {{name: {name}}}\n{fields}\n")
}

/// A placement with this spec, in flow form.
fn placement(spec: &str) -> String {
    object("v1beta1", "Placement", "web", &format!("spec: {spec}"))
}
