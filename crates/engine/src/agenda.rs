//! The policies with a next turn, by its instant.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::PolicyName;

/// The next turn of each policy, in order of time. Policies without a next turn are absent.
///
/// The shell sleeps until [`Agenda::next`]; the forecast jumps there. Policies of the same instant have their turns in
/// the order of their names, so that a run is reproducible. `Name` is a different type for entries that are not
/// policies.
#[derive(Clone, Debug)]
pub struct Agenda<Name = PolicyName> {
    in_order: BTreeSet<(Timestamp, Name)>,
    by_policy: BTreeMap<Name, Timestamp>,
}

impl<Name> Default for Agenda<Name> {
    fn default() -> Self {
        Self { in_order: BTreeSet::new(), by_policy: BTreeMap::new() }
    }
}

impl<Name: Ord + Clone> Agenda<Name> {
    /// Sets or clears the next turn of a policy.
    pub fn set(&mut self, policy: &Name, wake_at: Option<Timestamp>) {
        let before = match (self.by_policy.get_mut(policy), wake_at) {
            (Some(known), Some(wake_at)) => Some(std::mem::replace(known, wake_at)),
            (None, Some(wake_at)) => self.by_policy.insert(policy.clone(), wake_at),
            (_, None) => self.by_policy.remove(policy),
        };
        if before == wake_at {
            return;
        }
        // Added before it is removed, so that a small set never frees its memory.
        if let Some(wake_at) = wake_at {
            self.in_order.insert((wake_at, policy.clone()));
        }
        if let Some(before) = before {
            self.in_order.remove(&(before, policy.clone()));
        }
    }

    /// Moves the next turn of a policy to an instant, unless its next turn is earlier.
    pub fn bring_forward(&mut self, policy: &Name, at: Timestamp) {
        if self.by_policy.get(policy).is_none_or(|known| *known > at) {
            self.set(policy, Some(at));
        }
    }

    /// The instant of a policy's next turn.
    #[must_use]
    pub fn turn_of(&self, policy: &Name) -> Option<Timestamp> {
        self.by_policy.get(policy).copied()
    }

    /// The instant of the next turn.
    #[must_use]
    pub fn next(&self) -> Option<Timestamp> {
        self.in_order.first().map(|(at, _)| *at)
    }

    /// The instant of the next turn, and its policy.
    #[must_use]
    pub fn first(&self) -> Option<(Timestamp, &Name)> {
        self.in_order.first().map(|(at, policy)| (*at, policy))
    }

    /// Removes and returns a policy whose turn is due at `now`. The policy that is overdue longest comes first.
    pub fn take_due(&mut self, now: Timestamp) -> Option<Name> {
        if self.next()? > now {
            return None;
        }
        let (_, policy) = self.in_order.pop_first()?;
        self.by_policy.remove(&policy);
        Some(policy)
    }

    /// The number of policies with an upcoming turn.
    #[must_use]
    pub fn len(&self) -> usize {
        self.in_order.len()
    }

    /// Whether no policy has an upcoming turn.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.in_order.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Identity};

    fn policy(name: &str) -> PolicyName {
        let object = Identity::new("autoscaling.karmada.io", "CronFederatedHPA", "default", name);
        PolicyName::new(Family::CronScaling, object)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_longest_overdue_policy_comes_first_and_none_comes_early() {
        let mut agenda = Agenda::default();
        agenda.set(&policy("b"), Some(at(20)));
        agenda.set(&policy("a"), Some(at(20)));
        agenda.set(&policy("c"), Some(at(10)));
        agenda.set(&policy("later"), Some(at(21)));
        assert_eq!(agenda.take_due(at(9)), None);
        let turns: Vec<PolicyName> = std::iter::from_fn(|| agenda.take_due(at(20))).collect();
        assert_eq!(turns, [policy("c"), policy("a"), policy("b")]);
        assert_eq!(agenda.next(), Some(at(21)));
    }

    #[test]
    fn a_policy_has_one_turn_at_most() {
        let mut agenda = Agenda::default();
        agenda.set(&policy("a"), Some(at(10)));
        agenda.set(&policy("a"), Some(at(5)));
        assert_eq!((agenda.len(), agenda.next()), (1, Some(at(5))));
        agenda.set(&policy("a"), None);
        assert!(agenda.is_empty());
    }
}
