//! Writes statuses: one write for whatever has happened to a policy since the last one.
//!
//! A failed write is retried with a growing backoff, with whatever there is to record by then, so no
//! history is lost. What a status contains is up to each kind.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use almanac_api::kinds::Kind;
use almanac_engine::PolicyName;
use almanac_shell::backoff::Backoff;
use almanac_shell::clock::Clock;
use almanac_shell::writer::{ObjectPath, WriteError, Writer};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::cluster::{Cluster, StatusSnapshot, is_older};

/// A status that is not the one the API server has.
pub(crate) struct StatusUpdate {
    /// The version of the object it was made for.
    pub(crate) version: Box<str>,
    /// What is kept of the status once the API server has it.
    pub(crate) recorded: StatusSnapshot,
    /// How it is written.
    pub(crate) method: WriteMethod,
}

/// How a status is written.
pub(crate) enum WriteMethod {
    /// Replaced, with this patch that leaves nothing else: for histories, which many rules write in
    /// the same minute. As text, for many wait to be written, and values take ten times as much memory.
    MergePatch(Box<RawValue>),
    /// Applied, so that conditions which others add to it stay.
    ServerSideApply(Value),
}

/// What became of a record.
pub(crate) enum WriteResult {
    /// The API server has it.
    Saved,
    /// It has not.
    Failed {
        /// When to try again, if that is of any use.
        again: Option<Timestamp>,
    },
}

const INITIAL_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_mins(1);

/// Writes statuses.
pub(crate) struct StatusWriter {
    writer: Writer,
    clock: Clock,
    seed: u64,
}

impl StatusWriter {
    pub(crate) fn new(writer: Writer, clock: Clock, seed: u64) -> Self {
        Self { writer, clock, seed }
    }

    /// Many who failed together do not come back together.
    fn seed_of(&self, policy: &PolicyName) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, policy).hash(&mut hasher);
        hasher.finish()
    }

    /// Writes a record.
    pub(crate) async fn write(
        &self,
        cluster: &Cluster,
        policy: &PolicyName,
        record: StatusUpdate,
    ) -> WriteResult {
        let StatusUpdate { version, recorded, method } = record;
        let kind = Kind::of_family(policy.family);
        let collection = kind.collection(policy.identity.namespace());
        let place = ObjectPath { collection: &collection, name: policy.identity.name() };
        let written = match method {
            WriteMethod::MergePatch(patch) => {
                self.writer.patch_status(place, &version, &patch).await
            }
            WriteMethod::ServerSideApply(status) => {
                let api_version = kind.api_version();
                let kind = (&*api_version, kind.name());
                self.writer.apply_status(place, kind, &version, &status).await
            }
        };
        let mut state = cluster.lock();
        let entry = state.policies.get_mut(policy);
        match written {
            Ok(written) => {
                let version = written.metadata.resource_version.unwrap_or_default();
                if let Some(entry) = entry {
                    entry.failures = None;
                    if !is_older(&version, &entry.version) {
                        entry.version = version.into();
                        entry.recorded = recorded;
                    }
                }
                WriteResult::Saved
            }
            Err(WriteError::Fenced(_)) => WriteResult::Failed { again: None },
            Err(error) => {
                // What is gone has no status any more.
                let Some(entry) = entry else { return WriteResult::Failed { again: None } };
                // Somebody changed the object: what they changed is about to be told. If it is not for
                // long, versions may have gone back, and each attempt is in vain until that is noticed.
                let is_conflict =
                    matches!(&error, WriteError::Refused(refusal) if refusal.is_conflict());
                let begin = || Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF, self.seed_of(policy));
                let failures = entry.failures.get_or_insert_with(|| Box::new(begin()));
                let pause = failures.next_pause();
                drop(state);
                if !is_conflict {
                    tracing::warn!(%error, "failed to write the status");
                }
                let pause = SignedDuration::try_from(pause).unwrap_or_default();
                WriteResult::Failed { again: self.clock.now().saturating_add(pause).ok() }
            }
        }
    }
}

#[cfg(test)]
mod tests;
