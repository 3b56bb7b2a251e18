//! The decisions of a placement: a watch delivers their changes, one request after the other.

use std::collections::{BTreeMap, BTreeSet};

use almanac_harness::{OwnTest, Program};
use anyhow::{Result, ensure};
use serde_json::{Deserializer, Value};

use crate::placement::stage::{DECISION, GROUP, NAMESPACE, clusters_of};

/// Records all decisions of the namespace when they change.
pub(crate) struct Observer {
    watching: Program,
}

impl Observer {
    pub(crate) async fn start(test: &OwnTest) -> Result<Self> {
        let kubectl = test.kubectl().await?;
        let kubeconfig = test.plane.kubeconfig().display().to_string();
        let kind = format!("{}.{GROUP}", DECISION.plural);
        let arguments = [
            "get",
            &kind,
            "--watch",
            "--output-watch-events",
            "-o",
            "json",
            "-n",
            NAMESPACE,
            "--kubeconfig",
            &kubeconfig,
        ];
        Ok(Self { watching: Program::start(kubectl.program(), &arguments, &[])? })
    }

    /// Waits until the observer has received a decision.
    pub(crate) async fn await_first(&self, decision: &str) -> Result<()> {
        self.watching.await_log(&format!("\"name\":\"{decision}\"")).await
    }

    /// Checks that these clusters stayed selected since their first selection, including the end.
    pub(crate) fn ensure_never_missing(&self, placement: &str, clusters: &[String]) -> Result<()> {
        let log = self.watching.log()?;
        let label = format!("{GROUP}/placement");
        let mut decisions: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let (mut is_complete, mut changes) = (false, 0);
        for event in Deserializer::from_str(&log).into_iter::<Value>() {
            // The last decision may still be incomplete.
            let Ok(event) = event else { break };
            let object = &event["object"];
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let is_own = object["metadata"]["labels"][&label] == placement;
            if event["type"] == "DELETED" || !is_own {
                decisions.remove(&name);
            } else {
                decisions.insert(name, clusters_of(object));
            }
            let selected: BTreeSet<&String> = decisions.values().flatten().collect();
            let missing: Vec<_> = clusters.iter().filter(|it| !selected.contains(it)).collect();
            ensure!(!is_complete || missing.is_empty(), "{missing:?} missing from {decisions:?}");
            is_complete |= missing.is_empty();
            changes += 1;
        }
        ensure!(is_complete && changes > 1, "the clusters were never selected: {log}");
        Ok(())
    }
}
