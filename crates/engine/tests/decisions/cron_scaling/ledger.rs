//! The ledger of one object's life, kept apart from the engine: its firings, the writes that had an effect, and the
//! records.

use std::collections::BTreeMap;

use almanac_engine::cron_scaling::{CronScaling, FiringOutcome, Memory};
use jiff::Timestamp;

/// A firing, by the name of its rule.
type Firing = (String, Timestamp);

/// A group of consecutive firings of a rule that a turn handled, with its record.
struct Stretch {
    rule: String,
    after: Timestamp,
    until: Timestamp,
    recorded: Vec<Timestamp>,
}

/// The previous state, the writes and the records.
#[derive(Default)]
pub(super) struct Ledger {
    start: BTreeMap<String, Timestamp>,
    /// The number of writes of each field for each firing.
    effects: BTreeMap<(Firing, &'static str), u32>,
    records: BTreeMap<Firing, Vec<FiringOutcome>>,
    stretches: Vec<Stretch>,
    /// The instant of the latest turn.
    pub(super) latest: Option<Timestamp>,
}

impl Ledger {
    /// Records an applied write: all of its changes belong to one firing.
    pub(super) fn write(&mut self, decided: &Memory, changed: &[&'static str]) {
        for rule in &decided.rules {
            let Some(pending) = &rule.pending else { continue };
            let Some(applied) = pending.applying else { continue };
            let fields =
                [("replicas", applied.replicas()), ("min", applied.min()), ("max", applied.max())];
            for (field, _) in
                fields.iter().filter(|(field, value)| value.is_some() && changed.contains(field))
            {
                *self.effects.entry(((rule.name.to_string(), pending.at), field)).or_default() += 1;
            }
        }
    }

    /// Stores the policy state after a turn.
    pub(super) fn turn(&mut self, before: Option<&Memory>, after: &Memory, now: Timestamp) {
        self.latest = self.latest.max(Some(now));
        for rule in &after.rules {
            let name = rule.name.to_string();
            let old = before.and_then(|it| it.rules.iter().find(|it| it.name == rule.name));
            let Some(old) = old else {
                self.start.insert(name, rule.handled);
                continue;
            };
            let is_new =
                |it: &&almanac_engine::cron_scaling::Execution| !old.executions.contains(it);
            let mut recorded = Vec::new();
            for execution in rule.executions.iter().filter(is_new) {
                recorded.push(execution.scheduled());
                let records =
                    self.records.entry((name.clone(), execution.scheduled())).or_default();
                records.push(execution.ending.clone());
            }
            let (after, until) = (old.handled, rule.handled);
            self.stretches.push(Stretch { rule: name, after, until, recorded });
        }
    }

    /// Whether the ledger balances, once nothing is pending.
    pub(super) fn balance(&self, policy: &CronScaling) -> Result<(), String> {
        for ((firing, field), times) in &self.effects {
            if *times > 1 {
                return Err(format!("{firing:?} wrote {field} {times} times"));
            }
            if !self.records.contains_key(firing) && !self.was_beyond_the_history(firing) {
                return Err(format!("{firing:?} wrote {field} and is not recorded"));
            }
        }
        for (firing, records) in &self.records {
            if records.len() > 1 {
                return Err(format!("{firing:?} is recorded as {records:?}"));
            }
        }
        for rule in policy.rules.iter().filter(|rule| !rule.suspended) {
            let Some(start) = self.start.get(&*rule.name) else { continue };
            let Some(latest) = self.latest else { continue };
            let nanosecond = crate::support::NANOSECOND;
            for at in rule.firings.between(*start + nanosecond, latest + nanosecond) {
                let firing = (rule.name.to_string(), at);
                if !self.records.contains_key(&firing) && !self.was_beyond_the_history(&firing) {
                    return Err(format!("{firing:?} is not recorded"));
                }
            }
        }
        Ok(())
    }

    /// Whether a turn skipped more firings than its history holds, including this one.
    fn was_beyond_the_history(&self, (rule, at): &Firing) -> bool {
        self.stretches.iter().any(|it| {
            it.rule == *rule
                && it.after < *at
                && *at <= it.until
                && it.recorded.len() >= 31
                && it.recorded.iter().all(|recorded| recorded > at)
        })
    }
}
