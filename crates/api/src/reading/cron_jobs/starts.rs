//! The instants at which a `CronJob` starts Jobs, and the mistakes in the fields that determine them. The module
//! `checking` computes the consequences over time.

use std::sync::LazyLock;

use almanac_calendar::{Cron, CronErrorKind, Firings, Zone, ZoneErrorKind};
use serde_json::json;

use super::{CronJob, Starts};
use crate::finding::{Code, Finding, Path};
use crate::go_duration;
use crate::schedule::check_firings;
use crate::shape::{Shape, metadata_shape, names};
use crate::tree::{Node, Value};

/// The prefix of intervals, which the `CronJob` controller accepts and our dialect lacks.
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
    let mut shape =
        Shape::from_schema(&json!({ "type": "object", "properties": { "spec": spec } }));
    for name in ["apiVersion", "kind", "status"] {
        shape.set(name, Shape::default());
    }
    shape.set("metadata", metadata_shape());
    shape
});

/// Checks the fields of a `CronJob` except the template of its Jobs.
pub(crate) fn check_cron_job(node: &Node) -> (Starts, Vec<Finding>) {
    let (mut starts, mut findings) = check_starts(node);
    let mut of_shape = Vec::new();
    SHAPE.examine(node, &Path::Root, &mut of_shape);
    // A field that is present under another name is not missing.
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
        && let Some(why) = zone_problem(zone)
    {
        check_firings(schedule, None, &spec, &mut findings);
        findings.push(Finding::invalid(Code::TimeZone, &spec.key("timeZone"), zone, why));
        return (Starts::Unusable, findings);
    }
    if Cron::parse(schedule).is_err_and(|error| *error.kind() == CronErrorKind::NeverFires) {
        let is_suspended = of_spec("suspend").is_some_and(|it| it.value == Value::Bool(true));
        let message = "starts nothing by itself: no such date exists in the given months";
        let fix = "keep it if its Jobs are started manually; suspend: true has the same effect";
        let finding = Finding::new(Code::NeverFires, field, message).with_fix(fix).as_info();
        return (Starts::Never, if is_suspended { findings } else { vec![finding] });
    }
    let firings = check_firings(schedule, zone, &spec, &mut findings);
    // The CronJob controller compares the wall clock unchanged, and does not catch up.
    let matching = |it: Firings| it.cron().clone().matching_the_wall_clock().in_zone(it.zone());
    (firings.map_or(Starts::Unusable, |it| Starts::At(matching(it))), findings)
}

/// Whether an expression has the weekday 7. Our dialect accepts 7 for Sunday, but the API server rejects it in a
/// `CronJob`.
fn names_weekday_seven(schedule: &str) -> bool {
    let weekdays = schedule.split_whitespace().nth(4).unwrap_or_default();
    let days = weekdays.split(',').filter_map(|it| it.split('/').next());
    days.flat_map(|it| it.split('-')).any(|it| it.trim_start_matches('0') == "7")
}

/// The reason that a name is not a time zone of a `CronJob`; `None` if the advice for other kinds applies. In other
/// kinds, an omitted time zone is UTC.
fn zone_problem(zone: &str) -> Option<&'static str> {
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
