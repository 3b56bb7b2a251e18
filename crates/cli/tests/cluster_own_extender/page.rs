//! The page about units in a cluster, word for word: its commands are run, and what it says of them is so.

use almanac_harness::{ControlPlaneOptions, NodeSpec, TestResult, on_own_control_plane};

use crate::documented::run_section;
use crate::reading::get;
use crate::stage::Stage;

const PAGE: &str = "docs/units-in-a-cluster.md";

#[test]
fn the_commands_of_the_page_fill_the_best_unit_and_empty_the_worst() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::whole(), async |test| {
        let nodes = test.nodes(&[NodeSpec::named("worker").count(4)]).await?;
        let kubectl = test.kubectl().await?;
        run_section(test, &kubectl, (PAGE, "Install")).await?;
        let stage = Stage::installed(test, nodes, kubectl).await?;
        stage.begin().await?;
        let printed = run_section(test, &stage.kubectl, (PAGE, "Try it")).await?;
        let (_, table) = printed.rsplit_once("UNIT\n").expect("a table");
        let units: Vec<&str> =
            table.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
        assert_eq!(units, ["reserved"; 3], "{printed}");
        run_section(test, &stage.kubectl, (PAGE, "Uninstall")).await?;
        let left = get(&stage.kubectl, &["namespaces"]).await?;
        let names = left["items"].as_array().expect("a list").iter();
        let mut names = names.map(|it| &it["metadata"]["name"]);
        assert!(!names.any(|name| *name == "almanac-scheduler"), "{left}");
        Ok(())
    })
}
