//! One control plane for all tests of agents of single nodes. Each test has a namespace and nodes of its own there, so
//! that tests do not affect each other.

use almanac_harness::TestResult;
use tokio::runtime;

use crate::agent::test_namespace::TestNamespace;
use crate::controller::on_cluster;
use crate::stage::Stage;

static STAGE: Stage =
    Stage::new(|holder| on_cluster(async |_, cluster| holder.let_tests_in(cluster).await));

/// Runs a test in a namespace of this name, with this number of nodes.
pub(crate) fn at_place(
    name: &str,
    nodes: usize,
    test: impl AsyncFnOnce(&TestNamespace) -> TestResult,
) -> TestResult {
    let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    STAGE.run(&runtime, async |cluster| {
        let test_namespace = TestNamespace::prepare(cluster, name, nodes).await?;
        let outcome = test(&test_namespace).await;
        if outcome.is_err() {
            test_namespace.show_logs();
        }
        outcome
    })
}
