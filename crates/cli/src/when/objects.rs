//! The schedules of policies and `CronJobs`, explained like typed ones.

use std::collections::BTreeSet;

use almanac_api::reading::Starts;
use almanac_calendar::Zone;
use almanac_engine::{self as engine, Family, Identity, PolicyName, RuleSchedule};

use super::Question;
use super::schedule::Schedule;
use crate::argument_error::ArgumentError;
use crate::cron_jobs::{ShownCronJob, WrittenAt};
use crate::input::{Input, InputPlace};
use crate::subject::Subject;

/// The schedule of an object, or of one of its rules.
pub(super) struct ObjectSchedule<'a> {
    pub(super) place: &'a InputPlace,
    pub(super) identity: Identity,
    /// The location of a `CronJob`; `None` if its name is unique.
    pub(super) written_at: Option<WrittenAt>,
    pub(super) rule: Option<String>,
    pub(super) lookup: ScheduleLookup,
}

/// The result for an object.
pub(super) enum ScheduleLookup {
    When(Question),
    /// The times are unknown. Contains the reasons.
    Unknown(Vec<String>),
}

/// The schedules of the requested objects, place by place: first each rule of the policies, then the `CronJobs`.
pub(super) fn schedules<'a>(
    input: &'a Input,
    only: &[Subject],
    question: impl Fn(Schedule) -> Result<Question, ArgumentError>,
) -> Result<Vec<ObjectSchedule<'a>>, ArgumentError> {
    let mut all = Vec::new();
    for place in &input.places {
        for policy in policies(input, place, only) {
            for rule in place.world.schedules(&policy) {
                let name = rule.rule.to_string();
                let lookup = ScheduleLookup::When(question(for_rule(rule))?);
                let identity = policy.identity.clone();
                all.push(ObjectSchedule {
                    place,
                    identity,
                    written_at: None,
                    rule: Some(name),
                    lookup,
                });
            }
        }
        let is_named =
            |job: &&ShownCronJob| only.is_empty() || only.iter().any(|it| it.fits(&job.identity));
        for job in place.cron_jobs.iter().filter(is_named) {
            let lookup = match for_job(job) {
                Some(schedule) => ScheduleLookup::When(question(schedule)?),
                None => ScheduleLookup::Unknown(job.notes().collect()),
            };
            let (identity, written_at) = (job.identity.clone(), job.written_at.clone());
            all.push(ObjectSchedule { place, identity, written_at, rule: None, lookup });
        }
    }
    Ok(all)
}

fn policies(input: &Input, place: &InputPlace, only: &[Subject]) -> BTreeSet<PolicyName> {
    let world = &place.world;
    // Policies for QoS levels apply to a whole cluster, so they count only if they select pods in the scope.
    let is_relevant = |policy: &PolicyName| {
        let is_of_cluster = world.objects.seen_at.is_some() && policy.family == Family::QosLevels;
        !is_of_cluster || !world.footprint(policy).writes.is_empty()
    };
    if only.is_empty() {
        let selected = world.policies().filter(|it| input.is_selected(place, it));
        return selected.filter(is_relevant).collect();
    }
    only.iter().flat_map(|subject| input.policies(place, subject)).collect()
}

fn for_rule(rule: RuleSchedule) -> Schedule {
    let RuleSchedule { is_off, schedule, .. } = rule;
    let schedule = match schedule {
        engine::Schedule::Firings(firings) => {
            let meaning = without_zone(firings.describe(), firings.zone());
            Schedule::from_firings(format!("fires {meaning}"), firings)
        }
        engine::Schedule::Windows(windows) => {
            let meaning = without_zone(windows.describe(), windows.zone());
            Schedule::from_windows(meaning, windows)
        }
    };
    let notes = if is_off { vec!["is suspended or disabled".to_owned()] } else { Vec::new() };
    Schedule { notes, is_off, ..schedule }
}

/// A description without the zone at its end, which the output prints elsewhere.
fn without_zone(mut meaning: String, zone: Zone) -> String {
    let end = meaning.strip_suffix(&format!(" ({zone})")).map_or(meaning.len(), str::len);
    meaning.truncate(end);
    meaning
}

fn for_job(job: &ShownCronJob) -> Option<Schedule> {
    let Starts::At(firings) = &job.job.starts else { return None };
    let meaning = format!("starts a Job {}", firings.cron().describe());
    let schedule = Schedule::from_firings(meaning, firings.clone());
    Some(Schedule { notes: job.notes().collect(), is_off: job.job.is_suspended(), ..schedule })
}
