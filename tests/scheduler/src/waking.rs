//! The instant at which time alone next changes a schedule: schedules at every instant that any object mentions.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use crate::objects::{Objects, instant, list};
use crate::{Exclusion, MissingScore, Schedule, schedule, taints};

/// The first instant after `now` at which the schedule of a placement differs if no object changes before. A schedule
/// differs in its clusters, totals, exclusions, reported taints without a time, or in a score that has expired or
/// became unreadable.
#[must_use]
pub fn next_change(objects: &Objects, placement: &Value, now: Timestamp) -> Option<Timestamp> {
    let held = at(objects, placement, now);
    // Scores of a cluster that a taint excludes do not matter.
    let names: Vec<&String> =
        held.iter().flat_map(|it| &it.expired).map(|(cluster, _)| cluster).collect();
    let differs = |instant: Timestamp| {
        let mut then = at(objects, placement, instant);
        if let Some(then) = &mut then {
            then.expired.retain(|(cluster, _)| names.contains(&cluster));
        }
        then != held
    };
    let mentioned = mentioned(objects, placement).into_iter();
    let mut later = mentioned.filter(|nanos| *nanos > now.as_nanosecond());
    later.find_map(|nanos| {
        let just_before = Timestamp::from_nanosecond(nanos - 1).ok();
        let at = Timestamp::from_nanosecond(nanos).ok();
        // The schedule is constant between two such instants; otherwise, an instant is missing from the list.
        debug_assert!(just_before.is_none_or(|at| !differs(at)), "a change before {nanos}");
        at.filter(|at| differs(*at))
    })
}

/// The schedule at an instant. The reason for a missing score may change without an effect.
fn at(objects: &Objects, placement: &Value, instant: Timestamp) -> Option<Schedule> {
    let mut schedule = schedule(objects, placement, instant).ok()?;
    for part in schedule.ranked.iter_mut().flat_map(|it| &mut it.parts) {
        part.missing = part.missing.map(|_| MissingScore::Score);
    }
    for (_, why) in &mut schedule.excluded {
        *why = Exclusion::Predicates;
    }
    Some(schedule)
}

/// Every start and end that any object mentions.
fn mentioned(objects: &Objects, placement: &Value) -> BTreeSet<i128> {
    let scores = objects.with_kind("AddOnPlacementScore");
    let scores = scores.filter_map(|it| instant(&it["status"]["validUntil"]));
    let mut mentioned: BTreeSet<i128> = scores.map(Timestamp::as_nanosecond).collect();
    for taint in objects.with_kind("ManagedCluster").flat_map(|it| list(&it["spec"]["taints"])) {
        mentioned.extend(instant(&taint["timeAdded"]).map(Timestamp::as_nanosecond));
        let tolerations = list(&placement["spec"]["tolerations"]).iter();
        mentioned.extend(tolerations.filter_map(|it| taints::ends_at(it, taint)));
    }
    mentioned
}
