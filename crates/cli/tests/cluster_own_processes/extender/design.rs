//! The example of the published design, unchanged, with pods that match its selectors.

use almanac_fixtures::designs::UNITS;
use almanac_harness::{NodeSpec, TestResult};
use serde_json::{Value, json};

use crate::extender::scene::Scene;
use crate::extender::stage::{deployment, on_stage};

const OF: [&str; 4] = ["first", "second", "third", "outside"];

fn workload(replicas: u32) -> Value {
    let mut workload = deployment("shop", replicas);
    workload["spec"]["template"]["metadata"]["labels"]["key1"] = json!("value1");
    workload
}

#[test]
fn the_yaml_of_the_design_applies_as_written() -> TestResult {
    let of_unit = |name: &str, value: &str| NodeSpec::named(name).count(2).label("key1", value);
    let nodes = [
        of_unit("first", "value1"),
        of_unit("second", "value2"),
        of_unit("third", "value3"),
        NodeSpec::named("outside"),
    ];
    on_stage(&nodes, async |_, scene| {
        let scene = scene.in_namespace("xxx").await?;
        scene.kubectl.run_with_input(&["apply", "-f", "-"], UNITS).await?;
        scene.await_observed("xxx").await?;
        // The first two units have equal priority. The third is for the pods that do not fit there.
        scene.apply(&workload(20)).await?;
        scene.await_spread("shop", &OF, &[10, 10, 0, 0, 0]).await?;
        scene.apply(&workload(30)).await?;
        scene.await_spread("shop", &OF, &[10, 10, 10, 0, 0]).await?;
        // When all units are full, the strategy matters.
        scene.apply(&workload(45)).await?;
        scene.await_spread("shop", &OF, &[10, 10, 20, 5, 0]).await?;
        scene.check_export().await?;

        edit_strategy(&scene, "required").await?;
        scene.apply(&workload(38)).await?;
        scene.await_spread("shop", &OF, &[10, 10, 18, 0, 0]).await?;
        scene.apply(&workload(45)).await?;
        scene.await_spread("shop", &OF, &[10, 10, 20, 0, 5]).await?;
        scene.check_stays("shop", &OF, &[10, 10, 20, 0, 5]).await?;
        scene.check_export().await?;

        edit_strategy(&scene, "prefer").await?;
        scene.await_spread("shop", &OF, &[10, 10, 20, 5, 0]).await
    })
}

async fn edit_strategy(scene: &Scene, strategy: &str) -> TestResult {
    let edited = UNITS.replace("strategy: prefer", &format!("strategy: {strategy}"));
    scene.kubectl.run_with_input(&["apply", "-f", "-"], &edited).await?;
    scene.await_observed("xxx").await
}
