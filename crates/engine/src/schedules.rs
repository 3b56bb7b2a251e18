//! The schedules of policies, one for each rule of any family: the effects of time alone, and of clock changes.

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
    /// The position of the rule in the spec, from 0.
    pub position: u32,
    /// Whether the rule has no effect because it is suspended or disabled.
    pub is_off: bool,
    /// The firings or the windows of the rule.
    pub schedule: Schedule,
    /// The priority of the rule and its value, for a policy whose open rule with the highest priority applies and whose
    /// order decides only among equals.
    pub ranked: Option<(i32, u32)>,
    /// The number that the rule requests, for a comparison with other rules of the policy; `None` for several numbers.
    pub requested_value: Option<i64>,
    /// The values that the rule sets when it fires, if they are known in advance.
    pub sets: Vec<(Field, u32)>,
}

impl RuleSchedule {
    /// The time zone of the schedule.
    #[must_use]
    pub fn zone(&self) -> Zone {
        match &self.schedule {
            Schedule::Firings(firings) => firings.zone(),
            Schedule::Windows(windows) => windows.zone(),
        }
    }

    /// Whether the rule fires or is open in `[from, to)`.
    #[must_use]
    pub fn applies_within(&self, from: Timestamp, to: Timestamp) -> bool {
        self.is_open(from) || self.begins(from, to).next().is_some()
    }

    /// The last instant, at or before the given one, at which the rule fired, opened or closed.
    #[must_use]
    pub fn last(&self, at: Timestamp) -> Option<Timestamp> {
        match &self.schedule {
            Schedule::Firings(firings) => firings.previous(at),
            Schedule::Windows(windows) => windows.previous_transition(at).map(|it| it.at),
        }
    }

    /// Whether the rule is open at an instant; always `false` for firings.
    #[must_use]
    pub fn is_open(&self, at: Timestamp) -> bool {
        match &self.schedule {
            Schedule::Firings(_) => false,
            Schedule::Windows(windows) => windows.is_open(at),
        }
    }

    /// The instants at which the rule fires or opens in `[from, to)`, in order.
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

    /// The days of a month, as bits 1 to 31, on which the rule fires or opens, and on which it closes.
    #[must_use]
    pub fn days_of_month(&self, year: i16, month: i8) -> [u32; 2] {
        match &self.schedule {
            Schedule::Firings(firings) => [firings.days_of_month(year, month), 0],
            Schedule::Windows(windows) => windows.days_of_month(year, month),
        }
    }

    /// Whether the schedule is the same every week.
    #[must_use]
    pub fn repeats_weekly(&self) -> bool {
        match &self.schedule {
            Schedule::Firings(firings) => firings.repeats_weekly(),
            Schedule::Windows(windows) => windows.repeats_weekly(),
        }
    }

    /// The instant at which the rule closes after an instant; `None` for firings.
    #[must_use]
    pub fn closes(&self, after: Timestamp) -> Option<Timestamp> {
        let Schedule::Windows(windows) = &self.schedule else { return None };
        let changes = windows.between(after.saturating_add(NANOSECOND).ok()?, Timestamp::MAX);
        changes.into_iter().find(|it| !it.opens).map(|it| it.at)
    }

    /// Whether the rule has windows rather than firings.
    #[must_use]
    pub fn has_windows(&self) -> bool {
        matches!(self.schedule, Schedule::Windows(_))
    }

    /// The effects of clock changes in `[from, to)` on the schedule.
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
