//! Reads the policy state of cron rules from a status. Reading never fails.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::Fingerprint;
use almanac_engine::cron_scaling::{CronScaling, Memory, RuleMemory, stored_fingerprint};
use jiff::Timestamp;
use serde_json::Value;

use super::{can_be_a_name, executions};
use crate::lenient;
use crate::objects::MAX_RULES;

/// Reads the readable part of the state of an object's rules.
///
/// `None` means that the object never had a status, and so is new. If a status exists but lacks an entry for a rule,
/// the past of the rule is lost: the rule starts at its next evaluation, and never fires for the past. A rule with a
/// mangled fingerprint or last handled time also starts again, but keeps its history. If a rule has two entries, the
/// first is used. Entries for rules that are not in the policy are dropped.
#[must_use]
pub fn read(policy: &CronScaling, status: &Value) -> Option<Memory> {
    if status.is_null() {
        return None;
    }
    let entries: BTreeMap<&str, &Value> = entries(status).rev().collect();
    let usable = policy.rules.iter().map(|rule| (Arc::clone(&rule.name), rule.fingerprint));
    let unusable = policy.unusable_rules.iter();
    let unusable = unusable.map(|rule| (Arc::from(&*rule.name), Fingerprint::empty()));
    let read_one = |(name, now): (Arc<str>, Fingerprint)| {
        entries.get(&*name).map(|entry| read_entry(name, entry, now))
    };
    Some(Memory { rules: usable.chain(unusable).filter_map(read_one).collect() })
}

/// Reads the policy state of an invalid object, so that the histories remain once the object is fixed: one entry for
/// each name, in the order of the status.
#[must_use]
pub fn read_without_policy(status: &Value) -> Option<Memory> {
    if status.is_null() {
        return None;
    }
    let mut rules: Vec<RuleMemory> = Vec::new();
    for (name, entry) in entries(status) {
        if rules.len() < MAX_RULES && !rules.iter().any(|known| *known.name == *name) {
            rules.push(read_entry(name.into(), entry, Fingerprint::empty()));
        }
    }
    Some(Memory { rules })
}

/// The entries that have a rule's name.
fn entries(status: &Value) -> impl DoubleEndedIterator<Item = (&str, &Value)> {
    let list = status["executionHistories"].as_array().map_or(&[][..], Vec::as_slice);
    list.iter()
        .filter_map(|entry| Some((entry["ruleName"].as_str()?, entry)))
        .filter(|(name, _)| can_be_a_name(name))
}

/// Reads one entry. `now` is the fingerprint of the current rule.
fn read_entry(name: Arc<str>, entry: &Value, now: Fingerprint) -> RuleMemory {
    let fingerprint = entry["fingerprint"].as_str();
    let fingerprint = fingerprint.and_then(|text| stored_fingerprint(text, now));
    let handled = lenient::instant(&entry["lastHandledTime"]);
    // The last handled time has no meaning without the version of the rule at that time, and vice versa. No rule has
    // the empty fingerprint, so this rule starts again.
    let fingerprint = fingerprint.filter(|_| handled.is_some());
    RuleMemory {
        name,
        fingerprint: fingerprint.unwrap_or_else(Fingerprint::empty),
        handled: handled.unwrap_or(Timestamp::UNIX_EPOCH),
        pending: None,
        undone: executions::read_undone(entry).map(Box::new),
        assumed: None,
        executions: Arc::default(),
    }
    .with_executions(executions::read(entry))
}
