//! Writes statuses: one write for all changes of a policy since the last write.
//!
//! A failed write is retried with a growing backoff, with the current status, so no history is lost. Each kind composes
//! its own status.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use almanac_api::kinds::Kind;
use almanac_engine::PolicyName;
use almanac_shell::backoff::Backoff;
use almanac_shell::clock::Clock;
use almanac_shell::writer::{ObjectPath, WriteError, Writer};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::cluster::{Cluster, StatusSnapshot, is_older};

/// A status that differs from the one on the API server.
pub(crate) struct StatusUpdate {
    /// The version of the object that the status was composed for.
    pub(crate) version: Box<str>,
    /// The snapshot to store once the status is written.
    pub(crate) recorded: StatusSnapshot,
    /// The method of the write.
    pub(crate) method: WriteMethod,
}

/// The method of writing a status.
pub(crate) enum WriteMethod {
    /// A patch replaces the whole status: for histories, which many rules write in the same minute. The patch is a
    /// string because many patches may wait, and JSON values need ten times as much memory.
    MergePatch(Box<str>),
    /// Applied, so that conditions added by others stay.
    ServerSideApply(Value),
}

/// The result of a write.
pub(crate) enum WriteResult {
    /// The status was written.
    Saved,
    /// The status was not written.
    Failed {
        /// The instant of the next attempt, if a retry can succeed.
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

    /// The seed that spreads retries of statuses that failed together.
    fn seed_of(&self, policy: &PolicyName) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, policy).hash(&mut hasher);
        hasher.finish()
    }

    /// Writes a status.
    pub(crate) async fn write(
        &self,
        cluster: &Cluster,
        policy: &PolicyName,
        record: StatusUpdate,
    ) -> WriteResult {
        let StatusUpdate { version, recorded, method } = record;
        let kind = Kind::for_family(policy.family);
        let collection = kind.collection(policy.identity.namespace());
        let object_path = ObjectPath { collection: &collection, name: policy.identity.name() };
        let result = match method {
            WriteMethod::MergePatch(patch) => {
                self.writer.patch_status(object_path, &version, &patch).await
            }
            WriteMethod::ServerSideApply(status) => {
                let api_version = kind.api_version();
                let kind = (&*api_version, kind.name());
                self.writer.apply_status(object_path, kind, &version, &status).await
            }
        };
        let mut state = cluster.lock();
        let entry = state.policies.get_mut(policy);
        match result {
            Ok(response) => {
                let version = response.metadata.resource_version.unwrap_or_default();
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
                // A deleted object has no status.
                let Some(entry) = entry else { return WriteResult::Failed { again: None } };
                // The object was changed, and the watch will deliver the change. If the watch does not, versions may
                // have gone back, and every attempt fails until that is detected.
                let is_conflict =
                    matches!(&error, WriteError::Refused(refusal) if refusal.is_conflict());
                let new_backoff =
                    || Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF, self.seed_of(policy));
                let failures = entry.failures.get_or_insert_with(|| Box::new(new_backoff()));
                let delay = failures.next_pause();
                drop(state);
                if !is_conflict {
                    tracing::warn!(%error, "failed to write the status");
                }
                let delay = SignedDuration::try_from(delay).unwrap_or_default();
                WriteResult::Failed { again: self.clock.now().saturating_add(delay).ok() }
            }
        }
    }
}

#[cfg(test)]
mod tests;
