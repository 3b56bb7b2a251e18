//! A next action: an event of a policy, or a `CronJob` that starts a Job. The outputs decide its form.

use almanac_calendar::{ClockEffect, Zone};
use almanac_engine::{Identity, World};
use almanac_forecast::Event;
use jiff::Timestamp;

use crate::clock_changes::TouchedRule;
use crate::cron_jobs::{STARTS, ShownCronJob, WrittenAt};

/// The kinds of next actions.
#[derive(Clone)]
pub(super) enum NextEntry<'a> {
    /// An event of a policy.
    Event(Event),
    /// A Job start at an instant.
    Start(&'a ShownCronJob, Timestamp),
}

impl NextEntry<'_> {
    pub(super) fn at(&self) -> Timestamp {
        match self {
            NextEntry::Event(event) => event.at,
            NextEntry::Start(_, at) => *at,
        }
    }

    /// The policy and its target. A `CronJob` sets no field, so it stands for both.
    pub(super) fn objects(&self) -> (&Identity, &Identity) {
        match self {
            NextEntry::Event(event) => (&event.policy.identity, &event.target),
            NextEntry::Start(job, _) => (&job.identity, &job.identity),
        }
    }

    pub(super) fn rule(&self) -> Option<&str> {
        match self {
            NextEntry::Event(event) => event.rule.as_deref(),
            NextEntry::Start(..) => None,
        }
    }

    pub(super) fn verb(&self) -> &'static str {
        match self {
            NextEntry::Event(event) => event.what.name(),
            NextEntry::Start(..) => STARTS,
        }
    }

    /// The location of a `CronJob`; `None` if its name is unique.
    pub(super) fn written_at(&self) -> Option<&WrittenAt> {
        match self {
            NextEntry::Event(_) => None,
            NextEntry::Start(job, _) => job.written_at.as_ref(),
        }
    }

    /// The effect of a clock change on the action; `None` if unaffected.
    pub(super) fn effect(&self, world: &World) -> Option<ClockEffect> {
        match self {
            NextEntry::Event(event) => TouchedRule::effect_on_event(world, event),
            NextEntry::Start(job, at) => TouchedRule::effect_on_start(job, *at),
        }
    }

    /// The time zone of its schedule; UTC if the schedule names none.
    pub(super) fn zone(&self, world: &World) -> Zone {
        let event = match self {
            NextEntry::Event(event) => event,
            NextEntry::Start(job, _) => return job.zone(),
        };
        let of_rule = |(rule, _): &(Option<_>, Zone)| rule.is_none() || *rule == event.rule;
        let zone = world.zones_of(&event.policy).into_iter().find(of_rule);
        zone.map_or(Zone::utc(), |(_, zone)| zone)
    }
}
