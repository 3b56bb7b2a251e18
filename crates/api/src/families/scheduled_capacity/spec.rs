//! Converts a `MetricsProducer` to its schedule.

use std::ops::Range;

use almanac_calendar::{
    Pattern as CalendarPattern, PatternError, PatternText, PatternWindow, Windows, Zone,
};
use almanac_engine::scheduled_capacity::{Behavior, ScheduledCapacity};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::families::Checked;
use crate::finding::{Code, Finding, Path, Severity};
use crate::objects::{MetricsProducerSpec, Pattern, Schedule, ScheduledBehavior};
use crate::schedule::check_zone;

/// Checks an object. The value is present only if the whole schedule is valid: a number that is right half the time is
/// worse than none.
pub(super) fn check(spec: &MetricsProducerSpec) -> Checked<ScheduledCapacity> {
    let mut findings = Vec::new();
    let root = Path::Root.key("spec");
    let value = match (&spec.schedule, &spec.schedule_spec) {
        (Some(_), Some(_)) => {
            let why = "schedule and scheduleSpec are two names for the same field";
            findings.push(
                Finding::forbidden(Code::TwoSchedules, &root.key("scheduleSpec"), why)
                    .with_fix("keep only one of them"),
            );
            None
        }
        (Some(schedule), None) => check_schedule(schedule, &root.key("schedule"), &mut findings),
        (None, Some(schedule)) => {
            check_schedule(schedule, &root.key("scheduleSpec"), &mut findings)
        }
        (None, None) => {
            check_other_sources(spec, &root, &mut findings);
            None
        }
    };
    let sound = !findings.iter().any(|finding| finding.severity() == Severity::Error);
    Checked { value: value.filter(|_| sound), findings }
}

fn check_other_sources(spec: &MetricsProducerSpec, path: &Path<'_>, findings: &mut Vec<Finding>) {
    let others = [
        ("queue", &spec.queue),
        ("reservedCapacity", &spec.reserved_capacity),
        ("pendingCapacity", &spec.pending_capacity),
    ];
    let before = findings.len();
    for (name, source) in others {
        if source.is_some() {
            let why = "only schedules are supported; this object will not become active";
            findings.push(Finding::forbidden(Code::Unsupported, &path.key(name), why));
        }
    }
    if findings.len() == before {
        findings.push(Finding::required(
            &path.key("schedule"),
            "a schedule, with at least one behavior",
        ));
    }
}

fn check_schedule(
    schedule: &Schedule,
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<ScheduledCapacity> {
    let zone = check_zone(schedule.timezone.as_deref(), &path.key("timezone"), findings);
    let default_value =
        check_count(schedule.default_replicas, &path.key("defaultReplicas"), findings);
    let list = path.key("behaviors");
    let behaviors: Vec<_> = schedule
        .behaviors
        .iter()
        .enumerate()
        .map(|(position, behavior)| check_behavior(behavior, zone, &list.index(position), findings))
        .collect();
    let behaviors = behaviors.into_iter().collect::<Option<Box<[_]>>>()?;
    Some(ScheduledCapacity { zone: zone?, default_value: default_value?, behaviors })
}

fn check_behavior(
    behavior: &ScheduledBehavior,
    zone: Option<Zone>,
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Behavior> {
    let value = check_count(behavior.replicas, &path.key("replicas"), findings);
    let start = check_pattern(&behavior.start, &path.key("start"), findings);
    let end = check_pattern(&behavior.end, &path.key("end"), findings);
    let windows = check_window(start?, end?, zone, path, findings);
    Some(Behavior { windows: windows?, value: value?, priority: behavior.priority.unwrap_or(0) })
}

fn check_count(count: i32, field: &Path<'_>, findings: &mut Vec<Finding>) -> Option<u32> {
    let checked = u32::try_from(count).ok();
    if checked.is_none() {
        let why = "must be greater than or equal to 0";
        findings.push(Finding::invalid(Code::OutOfRange, field, count, why));
    }
    checked
}

fn check_pattern(
    pattern: &Pattern,
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<CalendarPattern> {
    let text = |field: &Option<IntOrString>| match field {
        None => None,
        Some(IntOrString::Int(number)) => Some(number.to_string()),
        Some(IntOrString::String(text)) => Some(text.clone()),
    };
    let [minutes, hours, days, months, weekdays, years] = [
        &pattern.minutes,
        &pattern.hours,
        &pattern.days,
        &pattern.months,
        &pattern.weekdays,
        &pattern.years,
    ]
    .map(text);
    let written = PatternText {
        minutes: minutes.as_deref(),
        hours: hours.as_deref(),
        days: days.as_deref(),
        months: months.as_deref(),
        weekdays: weekdays.as_deref(),
        years: years.as_deref(),
    };
    match CalendarPattern::parse(written) {
        Ok(pattern) => Some(pattern),
        Err(together) => {
            let alone = wrong_on_their_own(written);
            let errors = if alone.is_empty() { vec![together] } else { alone };
            findings.extend(errors.iter().map(|error| pattern_finding(error, written, path)));
            None
        }
    }
}

/// The mistakes of each field alone: parsing a pattern stops at the first mistake, but the findings cover all fields.
fn wrong_on_their_own(written: PatternText<'_>) -> Vec<PatternError> {
    let alone = [
        PatternText { minutes: written.minutes, ..PatternText::default() },
        PatternText { hours: written.hours, ..PatternText::default() },
        PatternText { days: written.days, ..PatternText::default() },
        PatternText { months: written.months, ..PatternText::default() },
        PatternText { weekdays: written.weekdays, ..PatternText::default() },
        PatternText { years: written.years, ..PatternText::default() },
    ];
    alone.into_iter().filter_map(|field| CalendarPattern::parse(field).err()).collect()
}

fn pattern_finding(error: &PatternError, written: PatternText<'_>, path: &Path<'_>) -> Finding {
    let finding = match error.field() {
        None => Finding::new(Code::Pattern, path, format!("Invalid value: {error}")),
        Some(field) => {
            let name = field.name();
            let value = field_of(written, name);
            Finding::invalid(Code::Pattern, &path.key(name), value, &error.to_string())
        }
    };
    let advice = || minutes_apart(error, written).or_else(|| error.advice());
    match instead_of(error, written) {
        Some(text) => finding.meaning(text),
        None => match advice() {
            Some(advice) => finding.with_fix(advice),
            None => finding,
        },
    }
}

/// The fix for an item of the hours that includes minutes. Midnight is ambiguous in a pattern with days, so it has no
/// fix.
fn minutes_apart(error: &PatternError, written: PatternText<'_>) -> Option<String> {
    let (hour, minute) = error.time_of_day()?;
    let hours = written.hours?;
    let is_twice = written.minutes.is_some() && names_minute(error, hours.get(error.span())?);
    if minute == 0 && !is_twice || error.is_end_of_day() && are_days_named(written) {
        return None;
    }
    Some(if written.minutes.is_none() && !hours.contains(',') {
        format!("write hours: {hour} and minutes: {minute}")
    } else {
        "write whole hours; the field minutes applies to all of them".to_owned()
    })
}

/// Whether an item of the hours includes the minute, such as `17:00` and `noon`.
fn names_minute(error: &PatternError, item: &str) -> bool {
    error.time_of_day().is_some()
        && (item.contains([':', '.']) || !item.contains(|it: char| it.is_ascii_digit()))
}

fn are_days_named(written: PatternText<'_>) -> bool {
    [written.days, written.weekdays, written.months, written.years].iter().any(Option::is_some)
}

/// The maximum number of items of a field with a corrected slip.
const MAX_SLIPS: usize = 32;

/// The only possible intended value of a field, with all of its items. Midnight at the end of a day is on the next day,
/// so in a pattern with days the author must choose.
fn instead_of(error: &PatternError, written: PatternText<'_>) -> Option<String> {
    let name = error.field()?.name();
    let mut text = field_of(written, name).to_owned();
    let mut slip = error.clone();
    for _ in 0..MAX_SLIPS {
        let Range { start, end } = slip.span();
        let item = text.get(start..end)?;
        if names_minute(&slip, item) && written.minutes.is_some()
            || slip.is_end_of_day() && are_days_named(written)
        {
            return None;
        }
        text = format!("{}{}{}", text.get(..start)?, slip.instead()?, text.get(end..)?);
        match CalendarPattern::parse(alone(&text, name)) {
            Ok(_) => return Some(text),
            Err(next) => slip = next,
        }
    }
    None
}

/// A pattern with only this field.
fn alone<'a>(text: &'a str, name: &str) -> PatternText<'a> {
    let mut alone = PatternText::default();
    *match name {
        "minutes" => &mut alone.minutes,
        "hours" => &mut alone.hours,
        "days" => &mut alone.days,
        "months" => &mut alone.months,
        "weekdays" => &mut alone.weekdays,
        _ => &mut alone.years,
    } = Some(text);
    alone
}

fn field_of<'a>(text: PatternText<'a>, name: &str) -> &'a str {
    match name {
        "minutes" => text.minutes,
        "hours" => text.hours,
        "days" => text.days,
        "months" => text.months,
        "weekdays" => text.weekdays,
        _ => text.years,
    }
    .unwrap_or_default()
}

fn check_window(
    start: CalendarPattern,
    end: CalendarPattern,
    zone: Option<Zone>,
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Windows> {
    let window = PatternWindow::new(start, end)
        .map_err(|error| {
            findings.push(Finding::new(Code::Window, path, format!("Invalid value: {error}")));
        })
        .ok();
    Some(window?.in_zone(zone?))
}
