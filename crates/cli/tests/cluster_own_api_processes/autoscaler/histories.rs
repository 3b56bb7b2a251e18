//! The replicas of many targets over time, from a watch and from a forecast.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use almanac_harness::{OwnTest, Program};
use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controller::ALMANAC;

/// The replicas of each target, one number after the other.
pub(crate) type Histories = BTreeMap<String, Vec<u32>>;

/// Changes of the replicas of a target, each with its instant.
pub(crate) type Changes = Vec<(Timestamp, u32)>;

/// Records all Deployments of a namespace when they change.
pub(crate) struct Observer {
    watching: Program,
}

impl Observer {
    pub(crate) async fn start(test: &OwnTest, namespace: &str) -> Result<Self> {
        let kubectl = test.kubectl().await?;
        let kubeconfig = test.plane.kubeconfig().display().to_string();
        let columns = "custom-columns=SEEN:.kind,NAME:.metadata.name,REPLICAS:.spec.replicas";
        let arguments = ["get", "deployments", "--watch", "--no-headers", "-o", columns];
        let place = ["--namespace", namespace, "--kubeconfig", &kubeconfig];
        let arguments = [&arguments[..], &place].concat();
        let watching = Program::start(kubectl.program(), &arguments, &[])?;
        watching.await_log("Deployment").await?;
        Ok(Self { watching })
    }

    /// The observed values, without repetitions.
    pub(crate) fn histories(&self) -> Result<Histories> {
        let mut histories = Histories::new();
        for line in self.watching.log()?.lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let ["Deployment", name, replicas] = words[..] else { continue };
            let history = histories.entry(name.to_owned()).or_default();
            let replicas = replicas.parse()?;
            if history.last() != Some(&replicas) {
                history.push(replicas);
            }
        }
        Ok(histories)
    }
}

/// The changes in the forecast of these objects in the five minutes after an instant.
pub(crate) fn forecast(
    folder: &Path,
    objects: &[Value],
    from: &str,
) -> Result<BTreeMap<String, Changes>> {
    let file = folder.join("objects.json");
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    std::fs::write(&file, list.to_string())?;
    let mut command = Command::new(ALMANAC);
    command.args(["forecast", "-o", "json", "--for", "5m", "--from", from, "-f"]).arg(&file);
    let output = command.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let mut all = BTreeMap::new();
    for series in report["series"].as_array().context("no series")? {
        if series["target"]["kind"] != "Deployment" {
            continue;
        }
        let name = series["target"]["name"].as_str().context("no name")?.to_owned();
        let segments = series["segments"].as_array().context("no segments")?;
        // The first segment is the initial state.
        let changes: Result<Changes> = segments.iter().skip(1).map(change).collect();
        all.insert(name, changes?);
    }
    Ok(all)
}

fn change(segment: &Value) -> Result<(Timestamp, u32)> {
    let at = segment["from"].as_str().context("no instant")?.parse()?;
    Ok((at, u32::try_from(segment["value"].as_u64().context("no number")?)?))
}
