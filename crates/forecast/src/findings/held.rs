//! One field while a run is watched: its writers, and the values that were lost or applied only for a short time.

use std::sync::Arc;

use almanac_engine::{PolicyName, Value};
use jiff::{SignedDuration, Timestamp};

use super::group_schedules::{Group, GroupSchedules};
use super::lost_values::{LostValue, Requests};
use crate::{Origin, Writer};

/// The maximum length of a gap between windows. A longer gap may be intended.
const SHORT: SignedDuration = SignedDuration::from_mins(5);

const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);

/// A value that is older than this is unrelated to its replacement.
pub(crate) const RECENT: SignedDuration = SignedDuration::from_hours(24 * 8);

/// A value with its write.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) at: Timestamp,
    pub(super) value: Option<Value>,
    pub(super) origin: Arc<Origin>,
    pub(super) group: Option<Group>,
}

/// A short gap between two windows.
#[derive(Debug)]
pub(super) struct ShortGap {
    pub(super) before: Write,
    pub(super) within: Write,
    pub(super) after: Write,
}

/// A number that another number replaced.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) before: Write,
    pub(super) after: Write,
    pub(super) values: (u32, u32),
}

/// The results that a lasting value makes certain.
#[derive(Default, Debug)]
pub(super) struct HeldValueFindings {
    pub(super) lost: Vec<LostValue>,
    pub(super) gap: Option<ShortGap>,
    pub(super) change: Option<Change>,
}

/// The state of one field during a run.
#[derive(Debug)]
pub(super) struct FieldHistory {
    /// The last lasting values, in order; at most two.
    lasted: Vec<Write>,
    /// The value of this instant. A later turn of the same instant may replace the value.
    pub(super) current: Write,
    is_settled: bool,
    /// The value that each group sets, if several groups set the field.
    requests: Option<Requests>,
}

impl Write {
    pub(super) fn number(&self) -> Option<u32> {
        self.value.as_ref().and_then(Value::number)
    }

    pub(super) fn writer(&self) -> Option<&Writer> {
        self.origin.writer.as_ref()
    }

    pub(super) fn policy(&self) -> Option<&PolicyName> {
        self.writer().map(|it| &it.policy)
    }
}

impl FieldHistory {
    pub(super) fn begin(initial: Write, requests: Option<Requests>) -> FieldHistory {
        FieldHistory { lasted: Vec::new(), current: initial, is_settled: false, requests }
    }

    /// Records a new value. Returns the results that are certain if the previous value has lasted.
    pub(super) fn set(
        &mut self,
        write: Write,
        schedules: &mut GroupSchedules,
    ) -> HeldValueFindings {
        let mut findings = HeldValueFindings::default();
        if write.at > self.current.at {
            findings = self.settle(schedules);
        }
        let was = self.lasted.last().and_then(Write::number);
        if let Some(requests) = &mut self.requests {
            // A value that should have returned before this instant has not, independent of which policy sets a value
            // now.
            let moment_before = write.at.saturating_sub(NANOSECOND).unwrap_or(write.at);
            findings.lost.extend(requests.decide(moment_before, was, schedules));
            findings.lost.extend(requests.set(&write, was, schedules));
        }
        self.current = write;
        self.is_settled = false;
        findings
    }

    /// Marks the end of the writes at the instant of the current value, so that the value lasts. Returns the results of
    /// that.
    pub(super) fn settle(&mut self, schedules: &mut GroupSchedules) -> HeldValueFindings {
        if std::mem::replace(&mut self.is_settled, true) {
            return HeldValueFindings::default();
        }
        self.has_lasted(schedules)
    }

    /// Ends the run: no value is set before an instant.
    pub(super) fn end(
        mut self,
        until: Timestamp,
        schedules: &mut GroupSchedules,
    ) -> HeldValueFindings {
        let mut findings = self.settle(schedules);
        if let Some(requests) = &mut self.requests {
            findings.lost.extend(requests.decide(until, self.current.number(), schedules));
        }
        findings
    }

    /// Whether only later writes can show a value that was lost since an instant.
    pub(super) fn is_open(&self, since: Timestamp) -> bool {
        self.requests.as_ref().is_some_and(|requests| requests.is_open(since))
    }

    fn has_lasted(&mut self, schedules: &mut GroupSchedules) -> HeldValueFindings {
        let write = self.current.clone();
        let before = self.lasted.last();
        let mut findings = HeldValueFindings::default();
        if let Some(requests) = &mut self.requests {
            findings.lost = requests.settle(&write, before, schedules);
        }
        findings.change = before.and_then(|before| change(before, &write));
        if let [before, within] = &self.lasted[..] {
            findings.gap = short_gap(before, within, &write);
            self.lasted.remove(0);
        }
        self.lasted.push(write);
        findings
    }
}

fn change(before: &Write, after: &Write) -> Option<Change> {
    let values = (before.number()?, after.number()?);
    (values.0 != values.1).then(|| Change { before: before.clone(), after: after.clone(), values })
}

/// A short gap between the values of two rules of one policy, in which the policy sets another value.
fn short_gap(before: &Write, within: &Write, after: &Write) -> Option<ShortGap> {
    let is_short = after.at.duration_since(within.at) <= SHORT;
    let differs = within.value != before.value && within.value != after.value;
    if !is_short || !differs {
        return None;
    }
    let (before_by, within_by, after_by) = (before.writer()?, within.writer()?, after.writer()?);
    let are_of_rules = before_by.rule.is_some() && after_by.rule.is_some();
    let is_of_one = before_by.policy == after_by.policy && within_by.policy == before_by.policy;
    let is_between = within_by.rule != before_by.rule && within_by.rule != after_by.rule;
    (are_of_rules && is_of_one && is_between).then(|| ShortGap {
        before: before.clone(),
        within: within.clone(),
        after: after.clone(),
    })
}
