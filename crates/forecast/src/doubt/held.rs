//! One field while a run is watched: who has set it, and what was cut short.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::{PolicyName, Value};
use jiff::civil::Date;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

use crate::{Origin, Writer};

/// Rules that belong together: those of one policy that follow one clock, by its number. What one of them raises
/// another one of them lowers.
pub(super) type Group = (PolicyName, Option<usize>);

/// A gap between windows is at most this long. A longer one may be meant.
const SHORT: SignedDuration = SignedDuration::from_mins(5);

/// What was set longer before something else has nothing to do with it any more.
pub(crate) const RECENT: SignedDuration = SignedDuration::from_hours(24 * 8);

/// A value that was set.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) at: Timestamp,
    pub(super) value: Option<Value>,
    pub(super) origin: Arc<Origin>,
    pub(super) group: Option<Group>,
    /// What the clock of the group is ahead by.
    pub(super) offset: Offset,
}

/// A value that was lowered by somebody else.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    pub(super) held: Write,
    pub(super) by: Write,
    pub(super) values: (u32, u32),
    /// When the group of what was held would have lowered it.
    pub(super) own_end: Option<Timestamp>,
}

/// A short time between two windows.
#[derive(Debug)]
pub(super) struct ShortGap {
    pub(super) before: Write,
    pub(super) within: Write,
    pub(super) after: Write,
}

/// A number that was replaced by another one.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) before: Write,
    pub(super) after: Write,
    pub(super) values: (u32, u32),
    /// What another policy has raised and nobody has lowered since.
    pub(super) in_force: Option<Write>,
}

/// What shows once a value has lasted.
#[derive(Default, Debug)]
pub(super) struct Shown {
    pub(super) cuts: Vec<Cut>,
    pub(super) gap: Option<ShortGap>,
    pub(super) change: Option<Change>,
}

/// A field.
#[derive(Debug)]
pub(super) struct Held {
    /// The last values that have lasted, the latest last; at most two.
    lasted: Vec<Write>,
    /// The value of this instant. It may be set again at once.
    pub(super) current: Write,
    /// What each group has set last.
    by_group: BTreeMap<Group, (Timestamp, u32)>,
    /// Cuts of which it is not known yet whether the group of what was held would have ended it later.
    open: Vec<Cut>,
    /// What was raised last, unless it has been lowered since.
    raised: Option<Write>,
}

impl Write {
    pub(super) fn number(&self) -> Option<u32> {
        self.value.as_ref().and_then(Value::number)
    }

    pub(super) fn writer(&self) -> Option<&Writer> {
        self.origin.writer.as_ref()
    }

    fn policy(&self) -> Option<&PolicyName> {
        self.writer().map(|it| &it.policy)
    }

    /// The day that the clock of its group shows.
    fn day(&self) -> Date {
        self.offset.to_datetime(self.at).date()
    }
}

impl Held {
    pub(super) fn begin(initial: Write) -> Held {
        let known = initial.group.clone().zip(initial.number());
        let by_group = known.map(|(group, number)| (group, (initial.at, number)));
        let by_group = by_group.into_iter().collect();
        Held { lasted: Vec::new(), current: initial, by_group, open: Vec::new(), raised: None }
    }

    /// Takes a new value. If the one before has lasted, what shows by that.
    pub(super) fn set(&mut self, write: Write) -> Shown {
        if write.at == self.current.at {
            self.current = write;
            return Shown::default();
        }
        let lasted = std::mem::replace(&mut self.current, write);
        self.has_lasted(lasted)
    }

    /// The run is over: the last value lasts.
    pub(super) fn end(mut self) -> Shown {
        let last = self.current.clone();
        self.has_lasted(last)
    }

    /// Whether it shows only later whether something was cut short since an instant.
    pub(super) fn is_open(&self, since: Timestamp) -> bool {
        self.open.iter().any(|cut| cut.by.at >= since)
    }

    fn has_lasted(&mut self, write: Write) -> Shown {
        let mut shown = Shown { cuts: self.close_cuts(&write), gap: None, change: None };
        if let Some(before) = self.lasted.last() {
            match cut(before, &write) {
                Some(cut) if self.ends_its_own(&cut) => shown.cuts.push(cut),
                Some(cut) => self.open.push(cut),
                None => {}
            }
            shown.change = self.change(before, &write);
        }
        if let Some(change) = &shown.change {
            self.raised = (change.values.1 > change.values.0).then(|| write.clone());
        }
        if let [before, within] = &self.lasted[..] {
            shown.gap = short_gap(before, within, &write);
            self.lasted.remove(0);
        }
        if let Some((group, number)) = write.group.clone().zip(write.number()) {
            self.by_group.insert(group, (write.at, number));
        }
        self.lasted.push(write);
        shown
    }

    fn change(&self, before: &Write, after: &Write) -> Option<Change> {
        let values = (before.number()?, after.number()?);
        if values.0 == values.1 {
            return None;
        }
        let of_another = |it: &&Write| it.policy() != after.policy() && is_recent(it.at, after.at);
        let in_force = self.raised.as_ref().filter(of_another).cloned();
        Some(Change { before: before.clone(), after: after.clone(), values, in_force })
    }

    /// Whether who lowers it ends what its own group had raised, before what it lowers was set.
    fn ends_its_own(&self, cut: &Cut) -> bool {
        let own = cut.by.group.as_ref().and_then(|group| self.by_group.get(group));
        let has_raised = own.is_some_and(|(at, number)| {
            *number > cut.values.1 && *at < cut.held.at && is_recent(*at, cut.by.at)
        });
        has_raised && !self.was_lowered_to(cut.values.0)
    }

    /// Whether the last value that has lasted was itself lower than the one before.
    fn was_lowered_to(&self, value: u32) -> bool {
        let [before, _] = &self.lasted[..] else { return false };
        before.number().is_some_and(|before| before > value)
    }

    /// The cuts that show by what the group of the held value does next: it would have lowered the value, or sets it
    /// again on the same day. What it raises on a later day begins that day's work, and others may have ended that of
    /// the day before.
    fn close_cuts(&mut self, write: &Write) -> Vec<Cut> {
        if self.open.is_empty() {
            return Vec::new();
        }
        let before = self.lasted.last().and_then(Write::number);
        let Some(number) = write.number() else { return Vec::new() };
        let mut closed = Vec::new();
        for cut in std::mem::take(&mut self.open) {
            let is_recent = is_recent(cut.by.at, write.at);
            if cut.held.group != write.group {
                self.open.extend(Some(cut).filter(|_| is_recent));
                continue;
            }
            if !is_recent {
                continue;
            }
            // Each instant by the offset of its own, which a clock change makes another one.
            let is_same_day = cut.held.day() == write.day();
            let raises = before.is_some_and(|before| number > before);
            if number < cut.values.0 && (is_same_day || !raises) {
                closed.push(Cut { own_end: Some(write.at), ..cut });
            } else if number >= cut.values.0 && is_same_day {
                if cut.held.writer() == write.writer() {
                    closed.push(cut);
                } else {
                    self.open.push(cut);
                }
            }
        }
        closed
    }
}

fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) <= RECENT
}

/// A lower value by another group.
fn cut(held: &Write, by: &Write) -> Option<Cut> {
    let values = (held.number()?, by.number()?);
    let is_cut = values.1 < values.0 && held.group.is_some() && by.group.is_some();
    let is_cut = is_cut && held.group != by.group;
    is_cut.then(|| Cut { held: held.clone(), by: by.clone(), values, own_end: None })
}

/// A short time between what two rules of one policy set, in which it sets something else.
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

#[cfg(test)]
mod tests;
