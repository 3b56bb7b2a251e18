//! The duration of each test program in the last run, to start the longest first. The file is in the build directory;
//! without the file, durations are guessed.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;

use super::queue::Lane;
use super::running::Job;
use crate::workspace::Workspace;

/// The durations in seconds, by the names of the programs.
pub(super) struct Durations(BTreeMap<String, f64>);

impl Durations {
    /// The durations of the last run; empty without an earlier run.
    pub(super) fn load(workspace: &Workspace) -> Self {
        let text = fs::read(file(workspace)).unwrap_or_default();
        Self(serde_json::from_slice(&text).unwrap_or_default())
    }

    /// The expected duration of a program; guessed from the number of tests if the program has not run yet.
    pub(super) fn expected(&self, job: &Job) -> Duration {
        let seconds = match &job.program {
            // cargo compiles the documentation examples one by one.
            None => 60,
            Some(_) if job.lane == Lane::Cluster => 5 * job.tests.len(),
            Some(_) => job.tests.len(),
        };
        let guess = Duration::from_secs(seconds as u64);
        let known = self.0.get(&job.name).and_then(|it| Duration::try_from_secs_f64(*it).ok());
        known.unwrap_or(guess)
    }

    pub(super) fn note(&mut self, name: &str, took: Duration) {
        self.0.insert(name.to_owned(), took.as_secs_f64());
    }

    pub(super) fn save(&self, workspace: &Workspace) -> anyhow::Result<()> {
        let text = serde_json::to_vec_pretty(&self.0)?;
        let file = file(workspace);
        fs::write(&file, text).with_context(|| format!("failed to write {}", file.display()))
    }
}

fn file(workspace: &Workspace) -> PathBuf {
    workspace.build_folder.join("test-durations.json")
}
