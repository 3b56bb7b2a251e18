//! The policy clock of a data directory. Past events are final: a clock that was moved continues from its last instant,
//! and none goes back.
//!
//! A thread notes its progress, independent of the rest of the process: the controllers use this clock from their start
//! on.

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
/// How far ahead the clock is written: a run that is killed had not come further.
const WRITTEN_AHEAD: SignedDuration = SignedDuration::from_secs(3);
const BETWEEN_NOTES: Duration = Duration::from_secs(1);

/// How the clock was set, and what is kept of it until this is dropped.
pub(super) struct PersistedClock {
    notes: Notes,
    writer: Option<ClockWriter>,
}

/// The thread that notes how far the clock has come. It ends when the other end is gone.
struct ClockWriter {
    until_dropped: Sender<()>,
    thread: JoinHandle<anyhow::Result<()>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    /// It has not shown more than this.
    shown: Timestamp,
    /// Whether it is another clock than the machine's.
    is_moved: bool,
}

impl PersistedClock {
    /// Sets it, at this instant of the machine's clock.
    pub(super) fn begin(
        folder: &Path,
        at: Option<Timestamp>,
        speed: u32,
        now: Timestamp,
    ) -> anyhow::Result<Self> {
        let file = folder.join(FILE);
        let kept = read(&file)?;
        if let (Some(at), Some(kept)) = (at, &kept) {
            ensure!(
                at >= kept.shown,
                "--at: the policy clock in {} has reached {}, and can't go back to {at}: give a later \
                 instant, or another --data-dir, or --ephemeral",
                folder.display(),
                whole_second(kept.shown)
            );
        }
        let stood = kept.filter(|kept| kept.is_moved).map(|kept| kept.shown);
        let shown = at.or(stood);
        let ahead = shown.map_or(SignedDuration::ZERO, |shown| shown.duration_since(now));
        let setting = PolicyClock::ahead_by(ahead).faster(now, speed);
        let is_moved = shown.is_some() || speed > 1;
        let notes = Notes { file, setting, is_moved };
        notes.keep(now)?;
        let (kept, (until, ended)) = (notes.clone(), mpsc::channel());
        let thread = thread::Builder::new().name("policy clock".to_owned()).spawn(move || {
            while ended.recv_timeout(BETWEEN_NOTES) == Err(RecvTimeoutError::Timeout) {
                kept.keep(Timestamp::now())?;
            }
            Ok(())
        });
        let thread = thread.context("failed to start a thread for the policies' clock")?;
        Ok(Self { notes, writer: Some(ClockWriter { until_dropped: until, thread }) })
    }

    /// How it was set.
    pub(super) fn setting(&self) -> PolicyClock {
        self.notes.setting
    }

    /// Whether it is another clock than the machine's.
    pub(super) fn is_moved(&self) -> bool {
        self.notes.is_moved
    }

    /// Fails once it could not be noted how far it has come.
    pub(super) fn check_kept(&mut self) -> anyhow::Result<()> {
        match self.writer.take_if(|it| it.thread.is_finished()) {
            Some(ended) => ended.end(),
            None => Ok(()),
        }
    }

    /// Notes the last instant at the end.
    pub(super) fn stop(mut self, now: Timestamp) -> anyhow::Result<()> {
        self.writer.take().map_or(Ok(()), ClockWriter::end)?;
        self.notes.keep_until(now)
    }
}

impl ClockWriter {
    fn end(self) -> anyhow::Result<()> {
        drop(self.until_dropped);
        self.thread.join().map_err(|_| anyhow!("the policies' clock is not kept any more"))?
    }
}

/// The notes of the clock, and their file.
#[derive(Clone)]
struct Notes {
    file: PathBuf,
    setting: PolicyClock,
    is_moved: bool,
}

impl Notes {
    /// Notes how far it will have come until this is called again.
    fn keep(&self, now: Timestamp) -> anyhow::Result<()> {
        self.keep_until(now.saturating_add(WRITTEN_AHEAD).unwrap_or(now))
    }

    fn keep_until(&self, real: Timestamp) -> anyhow::Result<()> {
        let kept = Kept { shown: self.setting.shown_at(real), is_moved: self.is_moved };
        write_whole(&self.file, &serde_json::to_string(&kept)?)
    }
}

fn read(file: &Path) -> anyhow::Result<Option<Kept>> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("failed to read {}", file.display()));
        }
    };
    let kept = serde_json::from_str(&text);
    kept.map(Some).with_context(|| format!("failed to understand {}", file.display()))
}

#[cfg(test)]
mod tests {
    use almanac_local::{Observation, PATIENCE, await_condition};

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("an instant")
    }

    fn begun(folder: &Path, wanted: Option<&str>, speed: u32, now: &str) -> PersistedClock {
        PersistedClock::begin(folder, wanted.map(at), speed, at(now)).expect("it can be set")
    }

    #[test]
    fn a_clock_that_was_not_moved_is_the_machines() {
        let folder = tempfile::tempdir().expect("a directory");
        for now in ["2026-03-02T12:00:00Z", "2026-03-02T18:00:00Z"] {
            let clock = begun(folder.path(), None, 1, now);
            assert_eq!(clock.setting().shown_at(at(now)), at(now));
            clock.stop(at(now)).expect("written");
        }
    }

    #[test]
    fn a_moved_clock_continues_from_its_last_instant() {
        let folder = tempfile::tempdir().expect("a directory");
        let clock = begun(folder.path(), Some("2026-11-27T08:00:00Z"), 60, "2026-03-02T12:00:00Z");
        clock.stop(at("2026-03-02T12:01:00Z")).expect("written");
        let clock = begun(folder.path(), None, 1, "2026-03-05T07:00:00Z");
        let shown = clock.setting().shown_at(at("2026-03-05T07:00:10Z"));
        assert_eq!(shown, at("2026-11-27T09:00:10Z"));
    }

    #[test]
    fn a_clock_does_not_go_back_to_before_what_was_killed_had_seen() {
        let folder = tempfile::tempdir().expect("a directory");
        let clock = begun(folder.path(), None, 6000, "2026-03-02T12:00:00Z");
        clock.notes.keep(at("2026-03-02T12:01:00Z")).expect("written");
        let seen = clock.setting().shown_at(at("2026-03-02T12:01:01Z"));
        let again = begun(folder.path(), None, 1, "2026-03-02T12:01:02Z");
        assert!(again.setting().shown_at(at("2026-03-02T12:01:02Z")) > seen);
        let back = Some(at("2026-03-02T12:00:00Z"));
        let error = PersistedClock::begin(folder.path(), back, 1, at("2026-03-02T12:02:00Z"));
        let error = error.err().expect("it is refused").to_string();
        assert!(error.contains("and can't go back to 2026-03-02T12:00:00Z"), "{error}");
    }

    #[tokio::test]
    async fn a_clock_is_persisted_from_its_start() {
        let folder = tempfile::tempdir().expect("a directory");
        let file = folder.path().join(FILE);
        let shown = || read(&file).map(|kept| kept.map(|it| it.shown));
        let clock =
            PersistedClock::begin(folder.path(), None, 6000, Timestamp::now()).expect("set");
        let first = shown().expect("it can be read");
        let noted = await_condition("it to be noted again", PATIENCE, async || {
            Ok(Observation::from_bool(shown()? > first, "it is not"))
        });
        noted.await.expect("it is noted");
        drop(clock);
    }
}
