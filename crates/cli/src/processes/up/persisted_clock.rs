//! The policy clock of a data directory. Past events are final: a moved clock continues from its last instant, and no
//! clock goes back.
//!
//! A separate thread writes the progress of the clock, since the controllers use the clock immediately after their
//! start.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use almanac_api::policy_clock::PolicyClock;
use almanac_local::write_whole;
use anyhow::{Context as _, anyhow, ensure};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::wall_clock::whole_second;

const FILE: &str = "policy-clock.json";
/// The time by which the written instant is ahead. The clock of a killed run has not passed the written instant.
const WRITTEN_AHEAD: SignedDuration = SignedDuration::from_secs(3);
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// The setting of the clock, and the thread that persists the clock until drop.
pub(super) struct PersistedClock {
    file: ClockFile,
    writer: Option<ClockWriter>,
}

/// The thread that writes the progress of the clock, until the sender is dropped.
struct ClockWriter {
    until_dropped: Sender<()>,
    thread: JoinHandle<anyhow::Result<()>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredClock {
    /// The latest instant that the clock can have reached.
    shown: Timestamp,
    /// Whether the clock differs from the wall clock.
    is_moved: bool,
}

impl PersistedClock {
    /// Sets the clock, at this instant of the wall clock.
    pub(super) fn start(
        dir: &Path,
        at: Option<Timestamp>,
        speed: u32,
        now: Timestamp,
    ) -> anyhow::Result<Self> {
        let path = dir.join(FILE);
        let stored = read(&path)?;
        if let (Some(at), Some(stored)) = (at, &stored) {
            ensure!(
                at >= stored.shown,
                "--at: the policy clock in {} has reached {}, and can't go back to {at}; give a later \
                 instant, or another --data-dir, or --ephemeral",
                dir.display(),
                whole_second(stored.shown)
            );
        }
        let stopped_at = stored.filter(|it| it.is_moved).map(|it| it.shown);
        let start = at.or(stopped_at);
        let ahead = start.map_or(SignedDuration::ZERO, |start| start.duration_since(now));
        let setting = PolicyClock::ahead_by(ahead).faster(now, speed);
        let is_moved = start.is_some() || speed > 1;
        let file = ClockFile { path, setting, is_moved };
        file.write_ahead(now)?;
        let (of_thread, (until, ended)) = (file.clone(), mpsc::channel());
        let thread = thread::Builder::new().name("policy clock".to_owned()).spawn(move || {
            while ended.recv_timeout(WRITE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                of_thread.write_ahead(Timestamp::now())?;
            }
            Ok(())
        });
        let thread = thread.context("failed to start a thread for the policy clock")?;
        Ok(Self { file, writer: Some(ClockWriter { until_dropped: until, thread }) })
    }

    /// The setting of the clock.
    pub(super) fn setting(&self) -> PolicyClock {
        self.file.setting
    }

    /// Whether the clock differs from the wall clock.
    pub(super) fn is_moved(&self) -> bool {
        self.file.is_moved
    }

    /// Fails once the progress of the clock could not be written.
    pub(super) fn check_written(&mut self) -> anyhow::Result<()> {
        match self.writer.take_if(|it| it.thread.is_finished()) {
            Some(ended) => ended.end(),
            None => Ok(()),
        }
    }

    /// Writes the last instant.
    pub(super) fn stop(mut self, now: Timestamp) -> anyhow::Result<()> {
        self.writer.take().map_or(Ok(()), ClockWriter::end)?;
        self.file.write(now)
    }
}

impl ClockWriter {
    fn end(self) -> anyhow::Result<()> {
        drop(self.until_dropped);
        self.thread
            .join()
            .map_err(|_| anyhow!("the thread that writes the policy clock has failed"))?
    }
}

/// The file of the clock, and its content.
#[derive(Clone)]
struct ClockFile {
    path: PathBuf,
    setting: PolicyClock,
    is_moved: bool,
}

impl ClockFile {
    /// Writes an instant that the clock will not pass before the next call.
    fn write_ahead(&self, now: Timestamp) -> anyhow::Result<()> {
        self.write(now.saturating_add(WRITTEN_AHEAD).unwrap_or(now))
    }

    fn write(&self, real: Timestamp) -> anyhow::Result<()> {
        let stored = StoredClock { shown: self.setting.shown_at(real), is_moved: self.is_moved };
        write_whole(&self.path, &serde_json::to_string(&stored)?)
    }
}

fn read(file: &Path) -> anyhow::Result<Option<StoredClock>> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("failed to read {}", file.display()));
        }
    };
    let stored = serde_json::from_str(&text);
    stored.map(Some).with_context(|| format!("failed to parse {}", file.display()))
}

#[cfg(test)]
mod tests {
    use almanac_local::{Observation, PATIENCE, await_condition};

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("an instant")
    }

    fn started_clock(dir: &Path, start: Option<&str>, speed: u32, now: &str) -> PersistedClock {
        PersistedClock::start(dir, start.map(at), speed, at(now)).expect("set the clock")
    }

    #[test]
    fn a_clock_that_was_not_moved_is_the_wall_clock() {
        let dir = tempfile::tempdir().expect("create a directory");
        for now in ["2026-03-02T12:00:00Z", "2026-03-02T18:00:00Z"] {
            let clock = started_clock(dir.path(), None, 1, now);
            assert_eq!(clock.setting().shown_at(at(now)), at(now));
            clock.stop(at(now)).expect("written");
        }
    }

    #[test]
    fn a_moved_clock_continues_from_its_last_instant() {
        let dir = tempfile::tempdir().expect("create a directory");
        let clock =
            started_clock(dir.path(), Some("2026-11-27T08:00:00Z"), 60, "2026-03-02T12:00:00Z");
        clock.stop(at("2026-03-02T12:01:00Z")).expect("written");
        let clock = started_clock(dir.path(), None, 1, "2026-03-05T07:00:00Z");
        let clock_time = clock.setting().shown_at(at("2026-03-05T07:00:10Z"));
        assert_eq!(clock_time, at("2026-11-27T09:00:10Z"));
    }

    #[test]
    fn a_clock_does_not_go_back_to_before_a_killed_run() {
        let dir = tempfile::tempdir().expect("create a directory");
        let clock = started_clock(dir.path(), None, 6000, "2026-03-02T12:00:00Z");
        clock.file.write_ahead(at("2026-03-02T12:01:00Z")).expect("written");
        let clock_time = clock.setting().shown_at(at("2026-03-02T12:01:01Z"));
        let again = started_clock(dir.path(), None, 1, "2026-03-02T12:01:02Z");
        assert!(again.setting().shown_at(at("2026-03-02T12:01:02Z")) > clock_time);
        let back = Some(at("2026-03-02T12:00:00Z"));
        let error = PersistedClock::start(dir.path(), back, 1, at("2026-03-02T12:02:00Z"));
        let error = error.err().expect("the start must fail").to_string();
        assert!(error.contains("and can't go back to 2026-03-02T12:00:00Z"), "{error}");
    }

    #[tokio::test]
    async fn a_clock_is_persisted_from_its_start() {
        let dir = tempfile::tempdir().expect("create a directory");
        let file = dir.path().join(FILE);
        let stored_time = || read(&file).map(|stored| stored.map(|it| it.shown));
        let clock =
            PersistedClock::start(dir.path(), None, 6000, Timestamp::now()).expect("set the clock");
        let first = stored_time().expect("a readable file");
        let progress = await_condition("the clock to be written again", PATIENCE, async || {
            Ok(Observation::from_bool(stored_time()? > first, "the clock is unchanged"))
        });
        progress.await.expect("the clock is written");
        drop(clock);
    }
}
