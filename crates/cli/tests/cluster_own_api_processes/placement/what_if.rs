//! `--what-if`: the decisions that a file would cause on the live hub.

use almanac_harness::TestResult;
use serde_json::json;

use crate::placement::stage::{
    DECISION, NAMESPACE, PLACEMENT, await_selected, json_of, on_hub, place, prepare, ratio, run,
    start,
};

/// Selects clusters by their scores, best first.
fn by_ratio(name: &str, clusters: &str) -> String {
    format!(
        "apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata:
  name: {name}
spec:
  numberOfClusters: {clusters}
  prioritizerPolicy:
    mode: Exact
    configurations:
    - {{weight: 1, scoreCoordinate: {{type: AddOn, addOn: {{resourceName: default, scoreName: cpuratio}}}}}}
"
    )
}

#[test]
fn explain_previews_the_selection_of_a_file_and_writes_nothing() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &["c1", "c2", "c3"]).await?;
        for (name, score) in [("c1", 10), ("c2", 90), ("c3", 50)] {
            ratio(cluster, name, score).await?;
        }
        place(cluster, "there", 1, &[("default/cpuratio", 1)]).await?;
        let controller = start(cluster).await?;
        await_selected(cluster, "there", &["c2"]).await?;
        let before =
            [cluster.list(PLACEMENT, NAMESPACE).await?, cluster.list(DECISION, NAMESPACE).await?];
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("placement.yaml");
        let path = file.display().to_string();
        // An existing placement, changed, and a new placement. Neither names its namespace.
        std::fs::write(&file, format!("{}---\n{}", by_ratio("there", "2"), by_ratio("new", "3")))?;
        for (name, selected) in [("there", json!(["c2", "c3"])), ("new", json!(["c1", "c2", "c3"]))]
        {
            let subject = format!("placement/{name}");
            let question = ["explain", "--what-if", &path, &subject, "-n", NAMESPACE, "-o", "json"];
            let explained = json_of(cluster, &question).await?;
            assert_eq!(explained["value"], selected, "{explained:#}");
        }
        let forecast =
            ["forecast", "--what-if", &path, "-n", NAMESPACE, "--for", "1m", "-o", "json"];
        let forecast = json_of(cluster, &forecast).await?;
        assert_eq!(forecast["series"].as_array().map(Vec::len), Some(2), "{forecast:#}");
        let after =
            [cluster.list(PLACEMENT, NAMESPACE).await?, cluster.list(DECISION, NAMESPACE).await?];
        assert_eq!(after, before, "the command wrote to the cluster");
        // A finding has its position in the file.
        std::fs::write(&file, by_ratio("new", "3").replace("Exact", "Exactly"))?;
        let (code, text) =
            run(cluster, &["explain", "--what-if", &path, "placement/new", "-n", NAMESPACE])
                .await?;
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains(&format!("{path}:8:11")), "{text}");
        // A placement in another namespace has no result here.
        std::fs::write(
            &file,
            by_ratio("new", "3").replace("name: new", "name: new\n  namespace: elsewhere"),
        )?;
        let (code, text) =
            run(cluster, &["explain", "--what-if", &path, "placement/new", "-n", NAMESPACE])
                .await?;
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains("elsewhere/new of --what-if is left out"), "{text}");
        controller.stop().await
    })
}
