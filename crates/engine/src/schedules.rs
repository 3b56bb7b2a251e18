//! The schedules of policies, one for each rule of any family: what follows from time alone, and the effect of clock
//! changes.

use std::sync::Arc;

use almanac_calendar::{ClockEffect, Firings, Windows, Zone};
use jiff::{SignedDuration, Timestamp};

use crate::{Field, RuleClockEffect};

const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);

/// The firings or the windows of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Schedule {
    /// The rule fires.
    Firings(Firings),
    /// The rule is open in windows.
    Windows(Windows),
}

/// The schedule of one rule.
#[derive(Clone, Debug)]
pub struct RuleSchedule {
    /// The name of the rule.
    pub rule: Arc<str>,
    /// Its position in the spec, from 0.
    pub position: u32,
    /// Whether it does nothing: it is suspended or disabled.
    pub is_off: bool,
    /// The firings or the windows of the rule.
    pub schedule: Schedule,
    /// Where of several that are open the highest priority decides, and the order only among equals: the priority,
    /// and what it sets.
    pub ranked: Option<(i32, u32)>,
    /// The number that it requests, to compare with those of other rules of its policy; `None` if there are several.
    pub requested_value: Option<i64>,
    /// The values that it sets when it fires, as far as they are known in advance.
    pub sets: Vec<(Field, u32)>,
}

impl RuleSchedule {
    /// The zone it follows.
    #[must_use]
    pub fn zone(&self) -> Zone {
        match &self.schedule {
            Schedule::Firings(firings) => firings.zone(),
            Schedule::Windows(windows) => windows.zone(),
        }
    }

    /// Whether it fires or is open in `[from, to)`.
    #[must_use]
    pub fn applies_within(&self, from: Timestamp, to: Timestamp) -> bool {
        self.is_open(from) || self.begins(from, to).next().is_some()
    }

    /// The last instant at which it fired, opened or closed, at an instant or before.
    #[must_use]
    pub fn last(&self, at: Timestamp) -> Option<Timestamp> {
        match &self.schedule {
            Schedule::Firings(firings) => firings.previous(at),
            Schedule::Windows(windows) => windows.previous_transition(at).map(|it| it.at),
        }
    }

    /// Whether it is open at an instant; never for one that fires.
    #[must_use]
    pub fn is_open(&self, at: Timestamp) -> bool {
        match &self.schedule {
            Schedule::Firings(_) => false,
            Schedule::Windows(windows) => windows.is_open(at),
        }
    }

    /// The instants at which it fires or opens in `[from, to)`, in order.
    #[must_use]
    pub fn begins(
        &self,
        from: Timestamp,
        to: Timestamp,
    ) -> Box<dyn Iterator<Item = Timestamp> + '_> {
        match &self.schedule {
            Schedule::Firings(firings) => Box::new(firings.between(from, to)),
            Schedule::Windows(windows) => {
                Box::new(windows.between(from, to).filter(|it| it.opens).map(|it| it.at))
            }
        }
    }

    /// The days of a month, as bits 1 to 31, on which it fires or opens, and on which it closes.
    #[must_use]
    pub fn days_of_month(&self, year: i16, month: i8) -> [u32; 2] {
        match &self.schedule {
            Schedule::Firings(firings) => [firings.days_of_month(year, month), 0],
            Schedule::Windows(windows) => windows.days_of_month(year, month),
        }
    }

    /// Whether it is the same every week.
    #[must_use]
    pub fn repeats_weekly(&self) -> bool {
        match &self.schedule {
            Schedule::Firings(firings) => firings.repeats_weekly(),
            Schedule::Windows(windows) => windows.repeats_weekly(),
        }
    }

    /// The instant at which it closes after an instant; `None` for one that fires.
    #[must_use]
    pub fn closes(&self, after: Timestamp) -> Option<Timestamp> {
        let Schedule::Windows(windows) = &self.schedule else { return None };
        let changes = windows.between(after.saturating_add(NANOSECOND).ok()?, Timestamp::MAX);
        changes.into_iter().find(|it| !it.opens).map(|it| it.at)
    }

    /// Whether it is open for some time, rather than fires.
    #[must_use]
    pub fn has_windows(&self) -> bool {
        matches!(self.schedule, Schedule::Windows(_))
    }

    /// The effects of clock changes in `[from, to)` on it.
    pub(crate) fn clock_effects(&self, from: Timestamp, to: Timestamp) -> Vec<RuleClockEffect> {
        let effects: Vec<ClockEffect> = match &self.schedule {
            Schedule::Firings(firings) => firings.clock_effects(from, to).collect(),
            Schedule::Windows(windows) => windows.clock_effects(from, to).collect(),
        };
        let (position, zone) = (self.position, self.zone());
        let of_rule =
            |effect| RuleClockEffect { rule: Arc::clone(&self.rule), position, zone, effect };
        effects.into_iter().map(of_rule).collect()
    }
}
