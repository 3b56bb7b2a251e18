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
mod tests {
    use almanac_shell::budget::{WriteBudget, WriteLimits};
    use almanac_shell::lease::Fence;
    use almanac_shell::writer::WriteMetrics;
    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use serde_json::json;
    use tower::service_fn;

    use super::*;
    use crate::cluster::Held;

    #[tokio::test]
    async fn a_status_that_meets_one_conflict_after_the_other_is_written_ever_less_often() {
        let service = service_fn(async |_: Request<Body>| {
            let refusal = json!({ "kind": "Status", "code": 409, "message": "it has changed" });
            let body = Body::from(refusal.to_string().into_bytes());
            let response = Response::builder().status(409).body(body);
            Ok::<_, std::io::Error>(response.expect("it is a response"))
        });
        let client = Client::new(service, "default");
        let budget = WriteBudget::new(WriteLimits::default());
        let writer = Writer::new(client, Fence::open(), budget, WriteMetrics::default());
        let clock = Clock::of(|| Timestamp::UNIX_EPOCH);
        let (records, cluster) = (Records::new(writer, clock, 1), Cluster::default());
        let policy = crate::stand::policy("shop");
        let object = json!({ "metadata": { "name": "shop", "resourceVersion": "1" } });
        let object = serde_json::from_value(object).expect("it has the shape of one");
        cluster.lock().policies.insert(policy.clone(), Held::of(&object, 1));
        let mut pauses = Vec::new();
        for attempt in 0..9 {
            if attempt == 8 {
                // It is deleted while it waits, and made anew.
                cluster.lock().policies.insert(policy.clone(), Held::of(&object, 1));
            }
            let patch = RawValue::from_string("{}".to_owned()).expect("it is JSON");
            let way = Way::Replaced(patch);
            let record = Record { version: "1".into(), recorded: Recorded::of(&json!({})), way };
            let written = records.write(&cluster, &policy, record).await;
            let Written::Not { again: Some(again) } = written else { panic!("it was refused") };
            pauses.push(again.duration_since(Timestamp::UNIX_EPOCH).as_secs());
        }
        assert!(pauses[0] <= 2 && pauses[7] >= 15, "{pauses:?}");
        assert!(pauses[8] <= 2, "another object has failed once: {pauses:?}");
    }
}
