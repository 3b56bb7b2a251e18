//! The instants of a schedule that a clock change moves or repeats, and the effects of clock changes
//! on the rules of policies and on `CronJobs`. Every command reports them in the same words.

use std::fmt;
use std::sync::Arc;

use almanac_calendar::{ClockEffect, Effect, Zone};
use almanac_engine::{Identity, Occurrence, PolicyName, World};
use almanac_forecast::Event;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::cron_jobs::{ShownCronJob, WrittenAt, called};
use crate::input::InputPlace;

/// An event at an instant.
#[derive(Clone, Copy)]
pub(crate) enum ScheduleEvent {
    Fires,
    Opens,
    Closes,
}

impl ScheduleEvent {
    pub(crate) fn verb(self) -> &'static str {
        match self {
            ScheduleEvent::Fires => "fires",
            ScheduleEvent::Opens => "opens",
            ScheduleEvent::Closes => "closes",
        }
    }
}

/// A clock change that affects a rule of a policy, or a `CronJob`.
#[derive(Debug)]
pub(crate) struct TouchedRule {
    object: Identity,
    /// The location of a `CronJob`; `None` if its name is unique.
    written_at: Option<WrittenAt>,
    /// The rule; `None` for a `CronJob`.
    rule: Option<Arc<str>>,
    zone: Zone,
    effect: ClockEffect,
}

/// The maximum distance of an affected event from its clock change.
const NEAR: SignedDuration = SignedDuration::from_hours(24);

impl TouchedRule {
    /// The effects of clock changes in `[from, to)` on the rules of these policies, in order of time.
    pub(crate) fn all(
        world: &World,
        policies: impl Iterator<Item = PolicyName>,
        (from, to): (Timestamp, Timestamp),
    ) -> Vec<TouchedRule> {
        let of_policy = |policy: PolicyName| {
            let effects = world.clock_effects(&policy, from, to).into_iter();
            effects.map(move |it| TouchedRule {
                object: policy.identity.clone(),
                written_at: None,
                rule: Some(it.rule),
                zone: it.zone,
                effect: it.effect,
            })
        };
        let mut all: Vec<TouchedRule> = policies.flat_map(of_policy).collect();
        // Stable, so that policies and rules stay in their order.
        all.sort_by_key(TouchedRule::at);
        all
    }

    /// The effects of clock changes in `[from, to)` on these `CronJobs`, in order of time.
    pub(crate) fn for_jobs<'a>(
        jobs: impl Iterator<Item = &'a ShownCronJob>,
        (from, to): (Timestamp, Timestamp),
    ) -> Vec<TouchedRule> {
        let of_job = |job: &'a ShownCronJob| {
            let touched = move |effect| TouchedRule {
                object: job.identity.clone(),
                written_at: job.written_at.clone(),
                rule: None,
                zone: job.zone(),
                effect,
            };
            job.clock_effects(from, to).map(touched)
        };
        let mut all: Vec<TouchedRule> = jobs.flat_map(of_job).collect();
        all.sort_by_key(TouchedRule::at);
        all
    }

    /// The effect of a clock change on the start of a Job; `None` if the start is unaffected.
    pub(crate) fn effect_on_start(job: &ShownCronJob, at: Timestamp) -> Option<ClockEffect> {
        let (from, to) = (at.saturating_sub(NEAR).ok()?, at.saturating_add(NEAR).ok()?);
        job.clock_effects(from, to).find(|effect| touches(effect, at, ScheduleEvent::Fires))
    }

    /// The effect of a clock change on an event; `None` if the event is unaffected.
    pub(crate) fn effect_on_event(world: &World, event: &Event) -> Option<ClockEffect> {
        let schedule_event = match event.what {
            Occurrence::Fires | Occurrence::Superseded | Occurrence::Missed => ScheduleEvent::Fires,
            Occurrence::Opens => ScheduleEvent::Opens,
            Occurrence::Closes => ScheduleEvent::Closes,
            Occurrence::Scales
            | Occurrence::Selects
            | Occurrence::Overflows
            | Occurrence::Suffices => return None,
        };
        let (from, to) = (event.at.saturating_sub(NEAR).ok()?, event.at.saturating_add(NEAR).ok()?);
        let of_policy = world.clock_effects(&event.policy, from, to);
        let of_rule = of_policy.iter().filter(|it| Some(&it.rule) == event.rule.as_ref());
        of_rule.map(|it| it.effect).find(|effect| touches(effect, event.at, schedule_event))
    }

    /// The JSON form, the same in every command.
    pub(crate) fn to_json(&self, place: &InputPlace) -> Value {
        let policy = place.written_reference(&self.object, self.written_at.as_ref());
        let mut json = json!({
            "at": self.at(),
            "policy": policy,
            "zone": self.zone.name(),
            "note": self.effect.to_string(),
        });
        if let Some(rule) = &self.rule {
            json["rule"] = Value::from(&**rule);
        }
        if let Some(name) = &place.name {
            json["place"] = Value::from(&**name);
        }
        json
    }

    pub(crate) fn at(&self) -> Timestamp {
        self.effect.change.at
    }
}

impl fmt::Display for TouchedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TouchedRule { object, written_at, rule, zone, effect } = self;
        match rule {
            Some(rule) => write!(f, "{}/{} {rule}", object.namespace(), object.name())?,
            None => f.write_str(&called(object, written_at.as_ref()))?,
        }
        write!(f, ": in {zone}, {effect}")
    }
}

/// The clock changes that may affect later instants.
///
/// Instants are queried in order of time, so a past change is never visited again: a long period costs no more per
/// instant than a short one.
pub(crate) struct Touches<'a> {
    effects: &'a [ClockEffect],
}

impl<'a> Touches<'a> {
    /// The effects must be in order of time.
    pub(crate) fn among(effects: &'a [ClockEffect]) -> Touches<'a> {
        Touches { effects }
    }

    /// The effect on an event at an instant, which must not precede the previously queried instant.
    pub(crate) fn at(&mut self, at: Timestamp, event: ScheduleEvent) -> Option<&'a ClockEffect> {
        let is_over = |effect: &ClockEffect| since(effect, at) >= reach(effect);
        while let [first, rest @ ..] = self.effects
            && is_over(first)
        {
            self.effects = rest;
        }
        let has_begun = |effect: &&ClockEffect| since(effect, at) >= -reach(effect);
        let mut near = self.effects.iter().take_while(has_begun);
        near.find(|effect| touches(effect, at, event))
    }
}

/// The duration from a clock change to an instant; negative before the change.
fn since(effect: &ClockEffect, at: Timestamp) -> SignedDuration {
    at.duration_since(effect.change.at)
}

/// The maximum distance between a clock change and an affected instant.
fn reach(effect: &ClockEffect) -> SignedDuration {
    effect.change.shift().abs()
}

fn touches(effect: &ClockEffect, at: Timestamp, event: ScheduleEvent) -> bool {
    let (since, reach) = (since(effect, at), reach(effect));
    match (effect.effect, event) {
        (Effect::FiresLate { .. }, ScheduleEvent::Fires)
        | (Effect::OpensLate { .. }, ScheduleEvent::Opens)
        | (Effect::ClosesLate { .. }, ScheduleEvent::Closes) => since.is_zero(),
        (Effect::FiresOnce { .. }, ScheduleEvent::Fires)
        | (Effect::OpensFirst { .. }, ScheduleEvent::Opens)
        | (Effect::ClosesFirst { .. }, ScheduleEvent::Closes) => {
            -reach <= since && since.is_negative()
        }
        (Effect::Twice { .. }, ScheduleEvent::Fires) => -reach <= since && since < reach,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use almanac_calendar::{DailyWindow, Windows, Zone};

    use super::*;

    /// The notes on the events of 2026.
    fn notes_of_2026(windows: &Windows) -> Vec<String> {
        let (from, to) =
            ("2026-01-01T00:00:00Z".parse().unwrap(), "2027-01-01T00:00:00Z".parse().unwrap());
        let effects: Vec<ClockEffect> = windows.clock_effects(from, to).collect();
        let mut touches = Touches::among(&effects);
        let events = windows.between(from, to).map(|change| {
            (change.at, if change.opens { ScheduleEvent::Opens } else { ScheduleEvent::Closes })
        });
        events.filter_map(|(at, event)| Some(touches.at(at, event)?.to_string())).collect()
    }

    #[test]
    fn an_opening_and_a_closing_in_one_fold_each_have_a_note() {
        let zone = Zone::named("America/New_York").unwrap();
        let windows = DailyWindow::parse("01:15", "01:45").unwrap().in_zone(zone);
        let touched = notes_of_2026(&windows);
        let first = |verb: &str, time: &str| {
            format!("the window {verb} the first time the clock shows {time}")
        };
        assert_eq!(touched.len(), 2, "{touched:?}");
        assert!(touched[0].ends_with(&first("opens", "01:15")), "{touched:?}");
        assert!(touched[1].ends_with(&first("closes", "01:45")), "{touched:?}");
    }
}
