//! Reads the memory of the rules from a status. Nothing in it is ever an error.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::Fingerprint;
use almanac_engine::cron_scaling::{CronScaling, Memory, RuleMemory, stored_fingerprint};
use jiff::Timestamp;
use serde_json::Value;

use super::{can_be_a_name, executions};
use crate::lenient;
use crate::objects::MAX_RULES;

/// Reads the state of an object's rules, as much of it as can be read.
///
/// `None` means that the object never had a status, and so is new. If a status exists but lacks an
/// entry for a rule, the past of the rule is lost: it starts when it is next evaluated, and never
/// fires for the past. The same applies to a rule whose fingerprint or last handled time is mangled,
/// but that keeps its history. Of two entries for a rule the first is used; entries for rules that
/// are not in the policy are dropped.
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

/// Reads the memory of an invalid object, so that fixing it does not cost the histories: one entry
/// for each name, in the order of the status.
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
    // The last handled time has no meaning without the version of the rule at that time, and vice versa. No rule
    // has the empty fingerprint, so this one starts again.
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
