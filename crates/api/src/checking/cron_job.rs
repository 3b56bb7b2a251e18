//! When a `CronJob` starts Jobs, the mistakes in the fields that determine it, and the findings over time.

use std::sync::LazyLock;

use almanac_calendar::{Cron, CronErrorKind, Firings, Zone, ZoneErrorKind};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::clock_changes::of_schedule;
use super::envelope::metadata_shape;
use super::everything::Everything;
use super::go_duration;
use super::schedule::check_firings;
use super::shape::Shape;
use crate::finding::{Code, Finding, Path, Segment, Span};
use crate::reading::{CronJob, Node, PlacedFinding, Reading, Starts, Value};

/// So far ahead is looked for the next start.
const TWO_YEARS: SignedDuration = SignedDuration::from_hours(24 * 366 * 2);

/// The syntax of Kubernetes' scheduler of `CronJobs` that our dialect lacks.
const EVERY: &str = "@every ";

/// The fields of a `CronJob`. Other code checks the content of those that determine its starts.
static SHAPE: LazyLock<Shape> = LazyLock::new(|| {
    let count = json!({ "type": "integer", "minimum": 0 });
    let spec = json!({
        "type": "object",
        "properties": {
            "schedule": {}, "timeZone": {}, "suspend": {}, "jobTemplate": {},
            "concurrencyPolicy": { "type": "string", "enum": ["Allow", "Forbid", "Replace"] },
            "startingDeadlineSeconds": count, "successfulJobsHistoryLimit": count,
            "failedJobsHistoryLimit": count
        }
    });
    let mut shape = Shape::of(&json!({ "type": "object", "properties": { "spec": spec } }));
    for name in ["apiVersion", "kind", "status"] {
        shape.set(name, Shape::default());
    }
    shape.set("metadata", metadata_shape());
    shape
});

/// Checks the fields of a `CronJob` but for its Jobs.
pub(crate) fn check_cron_job(node: &Node) -> (Starts, Vec<Finding>) {
    let (mut starts, mut findings) = check_starts(node);
    let mut of_shape = Vec::new();
    SHAPE.examine(node, &Path::Root, &mut of_shape);
    // A field that is there under another name is not missing.
    let is_there = |finding: &Finding| of_shape.iter().any(|known| names(known, finding));
    findings.retain(|finding| finding.code != Code::MissingField || !is_there(finding));
    findings.extend(of_shape);
    let suspend = node.get("spec").and_then(|spec| spec.get("suspend"));
    if suspend.is_some_and(|it| !matches!(it.value, Value::Null | Value::Bool(_))) {
        let message = "Invalid value: must be true or false";
        let finding = Finding::new(Code::WrongType, CronJob::suspend_field(), message);
        findings.push(finding.with_fix("write it without quotes"));
        starts = Starts::Unusable;
    }
    (starts, findings)
}

/// Whether a finding says that the field of another one, or one around it, is there under a name that is not its own.
pub(super) fn names(unknown: &Finding, missing: &Finding) -> bool {
    let Some((_, around)) = unknown.field.segments().split_last() else { return false };
    let within = missing.field.segments().strip_prefix(around);
    let name = match within.and_then(<[Segment]>::first) {
        Some(Segment::Key(name)) => name,
        Some(Segment::Index(_)) | None => return false,
    };
    unknown.code == Code::UnknownField
        && unknown.replacement.as_deref().is_some_and(|it| it.as_str() == &**name)
}

fn check_starts(node: &Node) -> (Starts, Vec<Finding>) {
    let spec = Path::Root.key("spec");
    let field = spec.key("schedule");
    let of_spec = |key: &str| node.get("spec").and_then(|spec| spec.get(key));
    let Some(schedule) = of_spec("schedule") else {
        return (Starts::Unusable, vec![Finding::required(&field, "")]);
    };
    let Some(schedule) = schedule.as_text() else {
        let message = "Invalid value: must be text, such as \"30 2 * * *\"";
        return (Starts::Unusable, vec![Finding::new(Code::WrongType, field, message)]);
    };
    if let Some(interval) = schedule.strip_prefix(EVERY)
        && go_duration::read(interval).is_some()
    {
        return (Starts::Every(schedule.into()), Vec::new());
    }
    let zone = of_spec("timeZone").and_then(Node::as_text);
    let mut findings = Vec::new();
    if names_weekday_seven(schedule) {
        let why = "Sunday is 0 for a CronJob, whose weekdays end with 6";
        let finding = Finding::invalid(Code::Schedule, &field, schedule, why);
        return (Starts::Unusable, vec![finding.with_fix("write 0 or SUN for Sunday")]);
    }
    if let Some(zone) = zone
        && let Some(why) = why_no_zone(zone)
    {
        check_firings(schedule, None, &spec, &mut findings);
        findings.push(Finding::invalid(Code::TimeZone, &spec.key("timeZone"), zone, why));
        return (Starts::Unusable, findings);
    }
    if Cron::parse(schedule).is_err_and(|error| *error.kind() == CronErrorKind::NeverFires) {
        let is_suspended = of_spec("suspend").is_some_and(|it| it.value == Value::Bool(true));
        let told = "starts nothing by itself: no such date exists in the given months";
        let fix = "leave it so if its Jobs are started by hand; suspend: true says the same";
        let finding = Finding::new(Code::NeverFires, field, told).with_fix(fix).as_info();
        return (Starts::Never, if is_suspended { findings } else { vec![finding] });
    }
    let firings = check_firings(schedule, zone, &spec, &mut findings);
    // Its controller matches the wall clock unchanged, and catches nothing up.
    let matching = |it: Firings| it.cron().clone().matching_the_wall_clock().in_zone(it.zone());
    (firings.map_or(Starts::Unusable, |it| Starts::At(matching(it))), findings)
}

/// Whether an expression has the weekday 7, which ours have for Sunday, and the API server refuses in a `CronJob`.
fn names_weekday_seven(schedule: &str) -> bool {
    let weekdays = schedule.split_whitespace().nth(4).unwrap_or_default();
    let days = weekdays.split(',').filter_map(|it| it.split('/').next());
    days.flat_map(|it| it.split('-')).any(|it| it.trim_start_matches('0') == "7")
}

/// Why a text is not a time zone of a `CronJob`, if the advice differs from that for other kinds: there, an omitted
/// zone is UTC.
fn why_no_zone(zone: &str) -> Option<&'static str> {
    match Zone::named(zone).err()?.kind() {
        ZoneErrorKind::Empty => {
            Some("a time zone is an IANA name such as Etc/UTC or Europe/Berlin")
        }
        ZoneErrorKind::Local => Some(
            "a CronJob does not name the zone of a machine; write an IANA name such as Europe/Berlin, or leave it out \
             for that of the kube-controller-manager",
        ),
        _ => None,
    }
}

/// The findings about the `CronJobs` over time, except clock changes.
#[must_use]
pub fn cron_jobs_over_time(
    reading: &Reading,
    everything: &Everything,
    from: Timestamp,
) -> Vec<PlacedFinding> {
    let of_job = |job| over_time(job, from).map(|(at, finding)| placed(job, at, finding));
    everything.cron_jobs(reading).flat_map(of_job).collect()
}

/// The effects of clock changes on the `CronJobs` in `[from, to)`. One that starts every hour in the same way has none:
/// a skipped hour does not pass.
pub(super) fn clock_changes<'a>(
    reading: &'a Reading,
    everything: &'a Everything,
    (from, to): (Timestamp, Timestamp),
) -> impl Iterator<Item = PlacedFinding> + 'a {
    everything.cron_jobs(reading).filter_map(move |job| {
        let Starts::At(firings) = &job.starts else { return None };
        let effects: Vec<_> = firings.clock_effects(from, to).collect();
        let finding = of_schedule(firings.zone(), &effects, CronJob::schedule_field())?;
        (!job.is_suspended() && !job.is_hourly).then(|| placed(job, job.schedule_at, finding))
    })
}

fn over_time(job: &CronJob, from: Timestamp) -> impl Iterator<Item = (Span, Finding)> {
    let at_schedule = |code, told: String, fix| {
        let finding = Finding::new(code, CronJob::schedule_field(), told).with_fix(fix);
        (job.schedule_at, finding)
    };
    let suspended = job.suspended_at.map(|at| {
        let told = "starts nothing: it is suspended";
        let finding = Finding::new(Code::Suspended, CronJob::suspend_field(), told);
        (at, finding.with_fix("remove it if it is not needed any more"))
    });
    let firings = match &job.starts {
        Starts::At(firings) if !job.is_suspended() => Some(firings),
        Starts::At(_) | Starts::Every(_) | Starts::Never | Starts::Unusable => None,
    };
    let until = from.saturating_add(TWO_YEARS).unwrap_or(Timestamp::MAX);
    let never = firings.filter(|it| it.between(from, until).next().is_none()).map(|firings| {
        let last = firings.previous(from);
        let last = last.map_or(String::new(), |it| format!("; it last fired at {it}"));
        let fix = "correct the schedule, or remove it if its time is over";
        at_schedule(Code::NeverFires, format!("never fires within two years{last}"), fix)
    });
    let assumed = firings.filter(|_| !job.names_zone && !job.is_hourly).map(|firings| {
        let told = format!(
            "the CronJob names no timeZone, so it follows that of the kube-controller-manager, taken as {}",
            firings.zone()
        );
        let fix = "write the zone that is meant as timeZone, such as Etc/UTC";
        at_schedule(Code::AssumedZone, told, fix)
    });
    suspended.into_iter().chain(never).chain(assumed)
}

fn placed(job: &CronJob, at: Span, finding: Finding) -> PlacedFinding {
    PlacedFinding::new(job.source, Some(at), finding)
}
