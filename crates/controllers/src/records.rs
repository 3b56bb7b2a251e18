//! Recording statuses: one write for whatever has happened to a policy since the last one.
//!
//! A write that fails is tried again, later each time, with whatever is to be recorded by then; so a
//! write that fails costs nothing of a history. What stands in a status is the affair of
//! each kind.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use almanac_api::kinds::Kind;
use almanac_engine::PolicyName;
use almanac_shell::backoff::Backoff;
use almanac_shell::clock::Clock;
use almanac_shell::writer::{Place, WriteError, Writer};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::cluster::{Cluster, Recorded, is_older};

/// A status that is not the one the API server has.
pub(crate) struct Record {
    /// The version of the object it was made for.
    pub(crate) version: Box<str>,
    /// What is kept of the status once the API server has it.
    pub(crate) recorded: Recorded,
    /// How it is written.
    pub(crate) way: Way,
}

/// How a status is written.
pub(crate) enum Way {
    /// Replaced, with this patch that leaves nothing else: for histories, which many rules write in
    /// the same minute. As text, for many wait to be written, and values take ten times as much memory.
    Replaced(Box<RawValue>),
    /// Applied, so that conditions which others add to it stay.
    Applied(Value),
}

/// What became of a record.
pub(crate) enum Written {
    /// The API server has it.
    AsWanted,
    /// It has not.
    Not {
        /// When to try again, if that is of any use.
        again: Option<Timestamp>,
    },
}

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Writes statuses.
pub(crate) struct Records {
    writer: Writer,
    clock: Clock,
    seed: u64,
}

impl Records {
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
        record: Record,
    ) -> Written {
        let Record { version, recorded, way } = record;
        let kind = Kind::of_family(policy.family);
        let collection = kind.collection(policy.identity.namespace());
        let place = Place { collection: &collection, name: policy.identity.name() };
        let written = match way {
            Way::Replaced(patch) => self.writer.patch_status(place, &version, &patch).await,
            Way::Applied(status) => {
                let api_version = kind.api_version();
                let kind = (&*api_version, kind.name());
                self.writer.apply_status(place, kind, &version, &status).await
            }
        };
        let mut known = cluster.lock();
        let held = known.policies.get_mut(policy);
        match written {
            Ok(written) => {
                let version = written.metadata.resource_version.unwrap_or_default();
                if let Some(held) = held {
                    held.failures = None;
                    if !is_older(&version, &held.version) {
                        held.version = version.into();
                        held.recorded = recorded;
                    }
                }
                Written::AsWanted
            }
            Err(WriteError::Fenced(_)) => Written::Not { again: None },
            Err(error) => {
                // What is gone has no status any more.
                let Some(held) = held else { return Written::Not { again: None } };
                // Somebody changed the object: what they changed is about to be told. If it is not for
                // long, versions may have gone back, and each attempt is in vain until that is noticed.
                let is_conflict =
                    matches!(&error, WriteError::Refused(refusal) if refusal.is_conflict());
                let begin = || Backoff::new(FIRST_PAUSE, LONGEST_PAUSE, self.seed_of(policy));
                let failures = held.failures.get_or_insert_with(|| Box::new(begin()));
                let pause = failures.next_pause();
                drop(known);
                if !is_conflict {
                    tracing::warn!(%error, "failed to record the status");
                }
                let pause = SignedDuration::try_from(pause).unwrap_or_default();
                Written::Not { again: self.clock.now().saturating_add(pause).ok() }
            }
        }
    }
}

#[cfg(test)]
mod tests;
