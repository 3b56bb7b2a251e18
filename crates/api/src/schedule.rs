//! Converts a rule's expression and time zone to firings, with fixes for expressions that are unusable or probably a
//! mistake.

use almanac_calendar::{Cron, CronError, CronErrorKind, CronNote, Firings, Zone};

use crate::finding::{Code, Finding, Path};

pub(crate) fn check_firings(
    schedule: &str,
    time_zone: Option<&str>,
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Firings> {
    let field = path.key("schedule");
    let cron = Cron::parse(schedule)
        .map_err(|error| {
            let why = error.to_string();
            let finding = Finding::invalid(Code::Schedule, &field, schedule, &why);
            findings.push(match instead_of(&error, time_zone) {
                Some(fix) => finding.with_fix(fix).with_replacement(error.instead()),
                None => finding,
            });
        })
        .ok();
    for note in CronNote::all(schedule) {
        let (code, fix) = code_and_fix(&note, schedule);
        findings.push(Finding::new(code, field, note.to_string()).with_fix(fix));
    }
    let zone = check_zone(time_zone, &path.key("timeZone"), findings);
    Some(cron?.in_zone(zone?))
}

/// The fix for an unusable expression; `None` if the message already ends with the fix.
fn instead_of(error: &CronError, zone_of_rule: Option<&str>) -> Option<String> {
    if let Some(instead) = error.instead() {
        return Some(format!("write {instead:?}"));
    }
    let CronErrorKind::ZoneInside { zone, expression } = error.kind() else {
        return error.advice();
    };
    let expression = expression.as_ref().map(|it| format!("write {it:?}"));
    let expression = expression.unwrap_or_else(|| "write the five fields alone".to_owned());
    let zone = match zone {
        Ok(zone) => Some(zone.name()),
        Err(error) => error.nearest(),
    };
    let of_rule = zone_of_rule.filter(|written| Zone::named(written).is_ok());
    Some(match (zone, of_rule) {
        (Some(zone), Some(other)) if zone != other => {
            format!("{expression}, and as timeZone either {zone} or {other}")
        }
        (Some(zone), _) | (None, Some(zone)) => format!("{expression}, and timeZone: {zone}"),
        (None, None) => format!("{expression}, and an IANA name such as Europe/Berlin as timeZone"),
    })
}

/// The code of the finding for a note, and its fix.
fn code_and_fix(note: &CronNote, schedule: &str) -> (Code, String) {
    match note {
        CronNote::EitherDay => {
            let alone = |free: usize| {
                let fields = schedule.split_whitespace().enumerate();
                let fields = fields.map(|(index, text)| if index == free { "*" } else { text });
                fields.collect::<Vec<_>>().join(" ")
            };
            let fix = format!("to keep one of the two, write {:?} or {:?}", alone(4), alone(2));
            (Code::EitherDay, fix)
        }
        CronNote::WeekdayNumbers { here, there, .. } => {
            let fix = format!("write the weekdays by name: {here} as they are here, or {there}");
            (Code::WeekdayNumbers, fix)
        }
        CronNote::LongStep { item, value, is_same: true, .. } => {
            (Code::LongStep, format!("write {value} instead of {item}, or a shorter step"))
        }
        CronNote::LongStep { .. } => {
            (Code::LongStep, "write a shorter step, or list the values that are meant".to_owned())
        }
        _ => (Code::LongStep, "write the intended value".to_owned()),
    }
}

/// Looks up a time zone by name; an absent name is UTC.
pub(crate) fn check_zone(
    name: Option<&str>,
    field: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Zone> {
    let Some(name) = name else { return Some(Zone::utc()) };
    Zone::named(name)
        .map_err(|error| {
            let finding = Finding::invalid(Code::TimeZone, field, name, &error.to_string());
            findings.push(match error.nearest() {
                Some(nearest) => finding.meaning(nearest),
                None => finding,
            });
        })
        .ok()
}
