//! One field while a run is watched: who has set it, and what was cut short.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::{PolicyName, Value};
use jiff::{SignedDuration, Timestamp};

use crate::{Origin, Writer};

/// Rules that belong together: those of one policy that follow one zone. What one of them raises another one of them
/// lowers.
pub(super) type Group = (PolicyName, Option<&'static str>);

/// A gap between windows is at most this long. A longer one may be meant.
const SHORT: SignedDuration = SignedDuration::from_mins(5);

/// A value that was set.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) at: Timestamp,
    pub(super) value: Option<Value>,
    pub(super) origin: Arc<Origin>,
    pub(super) group: Option<Group>,
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
pub(super) struct ShortGap {
    pub(super) before: Write,
    pub(super) within: Write,
    pub(super) after: Write,
}

/// What shows once a value has lasted.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) cuts: Vec<Cut>,
    pub(super) gap: Option<ShortGap>,
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
}

impl Write {
    pub(super) fn number(&self) -> Option<u32> {
        self.value.as_ref().and_then(Value::number)
    }

    pub(super) fn writer(&self) -> Option<&Writer> {
        self.origin.writer.as_ref()
    }

    fn rule(&self) -> Option<(&PolicyName, &Arc<str>)> {
        let writer = self.writer()?;
        Some((&writer.policy, writer.rule.as_ref()?))
    }

    /// Whether a policy has set it of which no rule applied.
    fn is_of_no_rule(&self, of: &PolicyName) -> bool {
        self.writer().is_some_and(|it| it.policy == *of && it.rule.is_none())
    }
}

impl Held {
    pub(super) fn begin(initial: Write) -> Held {
        let known = initial.group.clone().zip(initial.number());
        let by_group = known.map(|(group, number)| (group, (initial.at, number)));
        let by_group = by_group.into_iter().collect();
        Held { lasted: Vec::new(), current: initial, by_group, open: Vec::new() }
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
    pub(super) fn end(self) -> Shown {
        let Held { lasted, current, by_group, open } = self;
        let mut held = Held { lasted, current: current.clone(), by_group, open };
        held.has_lasted(current)
    }

    fn has_lasted(&mut self, write: Write) -> Shown {
        let mut shown = Shown { cuts: self.close_cuts(&write), gap: None };
        if let [.., before] = &self.lasted[..] {
            match cut(before, &write) {
                Some(cut) if self.ends_its_own(&cut) => shown.cuts.push(cut),
                Some(cut) => self.open.push(cut),
                None => {}
            }
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

    /// Whether who lowers it ends what its own group had set, before what it lowers was set.
    fn ends_its_own(&self, cut: &Cut) -> bool {
        let own = cut.by.group.as_ref().and_then(|group| self.by_group.get(group));
        own.is_some_and(|(at, number)| *number > cut.values.1 && *at < cut.held.at)
    }

    /// The cuts for which this is what the group of the held value does next. It is one if that lowers it.
    fn close_cuts(&mut self, write: &Write) -> Vec<Cut> {
        if self.open.is_empty() {
            return Vec::new();
        }
        let (closed, open) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|cut| cut.held.group == write.group);
        self.open = open;
        let closed: Vec<Cut> = closed;
        let number = write.number();
        let lowers = |cut: &Cut| number.is_some_and(|number| number < cut.values.0);
        let ended = closed.into_iter().filter(lowers);
        ended.map(|cut| Cut { own_end: Some(write.at), ..cut }).collect()
    }
}

/// A lower value by another group.
fn cut(held: &Write, by: &Write) -> Option<Cut> {
    let values = (held.number()?, by.number()?);
    let is_cut = values.1 < values.0 && held.group.is_some() && by.group.is_some();
    let is_cut = is_cut && held.group != by.group;
    is_cut.then(|| Cut { held: held.clone(), by: by.clone(), values, own_end: None })
}

fn short_gap(before: &Write, within: &Write, after: &Write) -> Option<ShortGap> {
    let (policy, _) = before.rule()?;
    let (next, _) = after.rule()?;
    let is_short = after.at.duration_since(within.at) <= SHORT;
    let differs = within.value != before.value && within.value != after.value;
    let is_gap = is_short && differs && policy == next && within.is_of_no_rule(policy);
    is_gap.then(|| ShortGap {
        before: before.clone(),
        within: within.clone(),
        after: after.clone(),
    })
}
