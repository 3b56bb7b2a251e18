//! Rules that are new to a world with known state, and start at an instant. Until then, the other rules of their object
//! continue from its status.
//!
//! The caller supplies the previous version of the world.

use std::sync::Arc;

use jiff::Timestamp;

use super::begin::{before, keep_only_the_latest};
use super::{CronRule, CronRules, CronScaling, Memory, RuleMemory, wake_at};
use crate::seam::FamilyState;
use crate::{Family, Fingerprint, PolicyName};

/// An object with new rules that are suspended until their start.
#[derive(Clone, Debug)]
pub struct HeldBack {
    policy: PolicyName,
    /// The object with all of its rules.
    whole: Arc<CronScaling>,
}

impl HeldBack {
    /// Suspends the rules that are absent, in their current form, from both an earlier version of the world and the
    /// status of the object. `None` if the object has no such rules.
    pub fn hold(
        state: &mut FamilyState<CronRules>,
        policy: &PolicyName,
        earlier: Option<&FamilyState<CronRules>>,
    ) -> Option<HeldBack> {
        if policy.family != Family::CronScaling {
            return None;
        }
        let object = state.policies.get_mut(&policy.identity)?;
        let stored_rules = object.memory.iter().flat_map(|memory| &memory.rules);
        let mut known_rules: Vec<(Arc<str>, Fingerprint)> =
            stored_rules.map(|rule| (Arc::clone(&rule.name), rule.fingerprint)).collect();
        let earlier = earlier.and_then(|state| state.policies.get(&policy.identity));
        let earlier = earlier.and_then(|object| object.policy.as_deref());
        let rules = earlier.into_iter().flat_map(|policy| &policy.rules);
        known_rules.extend(rules.map(|rule| (Arc::clone(&rule.name), rule.fingerprint)));
        let is_new = |rule: &CronRule| {
            let is_it = |(name, fingerprint): &(Arc<str>, Fingerprint)| {
                *name == rule.name && *fingerprint == rule.fingerprint
            };
            !rule.suspended && !known_rules.iter().any(is_it)
        };
        let checked = object.policy.as_mut()?;
        if !checked.rules.iter().any(is_new) {
            return None;
        }
        let whole = Arc::clone(checked);
        for rule in &mut Arc::make_mut(checked).rules {
            if is_new(rule) {
                rule.suspended = true;
            }
        }
        Some(HeldBack { policy: policy.clone(), whole })
    }

    /// Starts the suspended rules at an instant. Returns the next turn of their object.
    pub fn begin(
        self,
        state: &mut FamilyState<CronRules>,
        at: Timestamp,
    ) -> (PolicyName, Option<Timestamp>) {
        let HeldBack { policy, mut whole } = self;
        let Some(object) = state.policies.get_mut(&policy.identity) else {
            return (policy, None);
        };
        keep_only_the_latest(Arc::make_mut(&mut whole));
        let held = object.policy.take();
        let mut known = object.memory.take().unwrap_or_default().rules;
        let mut rules = Vec::with_capacity(known.len().max(whole.rules.len()));
        for (index, rule) in whole.rules.iter().enumerate() {
            let position = known.iter().position(|it| it.name == rule.name);
            let stored = position.map(|position| known.remove(position));
            let before_it = held.as_ref().and_then(|held| held.rules.get(index));
            let is_new = before_it.is_none_or(|it| it.suspended && !rule.suspended);
            let kept_memory = stored.filter(|_| !is_new);
            rules.push(kept_memory.unwrap_or_else(|| RuleMemory::beginning(rule, before(at))));
        }
        // Unusable rules come last.
        rules.append(&mut known);
        let memory = Memory { rules };
        let next = wake_at(&whole, &memory, before(at));
        (object.policy, object.memory) = (Some(whole), Some(memory));
        (policy, next)
    }
}
