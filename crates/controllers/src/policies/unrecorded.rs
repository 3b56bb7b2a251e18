//! What is remembered from one term of leading to the next one of the same process.
//!
//! Mostly a status tells all. But when the API server could not be written for so long that the lease
//! was lost, what was carried out last stands in no status yet.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use almanac_engine::Identity;
use almanac_engine::cron_scaling::Memory;

use crate::cluster::{Cluster, Known};

/// What could not be recorded before the lease was lost, by the object's name and its own id. The
/// next term of the same process goes on from it.
#[derive(Clone, Default)]
pub(crate) struct Unrecorded {
    memories: Arc<Mutex<BTreeMap<Object, Memory>>>,
}

/// An object by its name and its own id.
type Object = (Identity, Box<str>);

impl Unrecorded {
    /// Keeps what a term leaves behind.
    pub(crate) fn keep(&self, cluster: &Cluster) {
        let mut known = cluster.lock();
        let Known { world, policies, .. } = &mut *known;
        let mut memories = self.memories.lock().unwrap_or_else(PoisonError::into_inner);
        memories.clear();
        for (policy, held) in policies.iter() {
            let in_use = world.cron_scalings.get_mut(policy).and_then(|it| it.memory.take());
            let memory = in_use.or_else(|| held.laid_aside.as_deref().cloned());
            if let Some(memory) = memory.filter(|_| !held.is_recorded) {
                memories.insert((policy.clone(), held.uid.clone()), memory);
            }
        }
    }

    /// What is remembered of an object's rules: of each what was handled later, whether the object's
    /// status tells it or a term before.
    pub(crate) fn join(
        &self,
        policy: &Identity,
        uid: &str,
        told: Option<Memory>,
    ) -> Option<Memory> {
        let key = (policy.clone(), Box::from(uid));
        let kept = self.memories.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let Some(kept) = kept else { return told };
        let Some(mut told) = told else { return Some(kept) };
        for rule in kept.rules {
            match told.rules.iter_mut().find(|it| it.name == rule.name) {
                Some(known) if known.handled < rule.handled => *known = rule,
                Some(_) => {}
                None => told.rules.push(rule),
            }
        }
        Some(told)
    }
}

#[cfg(test)]
mod tests {
    use almanac_engine::Fingerprint;
    use almanac_engine::cron_scaling::RuleMemory;
    use jiff::Timestamp;

    use super::*;

    fn policy() -> Identity {
        Identity::new("autoscaling.karmada.io", "CronFederatedHPA", "default", "shop")
    }

    fn rule(name: &str, handled: i64) -> RuleMemory {
        RuleMemory {
            name: name.into(),
            fingerprint: Fingerprint::of(["x"]),
            handled: Timestamp::from_second(handled).expect("it is in range"),
            pending: None,
            executions: Arc::default(),
        }
    }

    fn kept(uid: &str, rules: Vec<RuleMemory>) -> Unrecorded {
        let unrecorded = Unrecorded::default();
        let mut memories = unrecorded.memories.lock().expect("nobody fell over");
        memories.insert((policy(), uid.into()), Memory { rules });
        drop(memories);
        unrecorded
    }

    #[test]
    fn of_each_rule_what_was_handled_later_is_remembered() {
        let unrecorded = kept("1", vec![rule("a", 60), rule("b", 60), rule("gone", 60)]);
        let told = Memory { rules: vec![rule("a", 0), rule("b", 120)] };
        let joined = unrecorded.join(&policy(), "1", Some(told)).expect("something is known");
        let handled: Vec<_> =
            joined.rules.iter().map(|it| (&*it.name, it.handled.as_second())).collect();
        assert_eq!(handled, [("a", 60), ("b", 120), ("gone", 60)]);
    }

    #[test]
    fn another_object_of_the_same_name_has_nothing_to_do_with_it() {
        let unrecorded = kept("1", vec![rule("a", 60)]);
        assert_eq!(unrecorded.join(&policy(), "2", None), None);
    }

    #[test]
    fn a_term_that_ends_before_it_has_begun_loses_nothing() {
        let unrecorded = kept("1", vec![rule("a", 60)]);
        assert!(unrecorded.join(&policy(), "1", None).is_some());
        assert!(unrecorded.join(&policy(), "1", None).is_some());
    }
}
