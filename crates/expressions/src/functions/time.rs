//! The parts of an instant in UTC or in a time zone, such as its hour or its weekday, and the parts of a duration.

use almanac_calendar::Zone;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

use super::{Arguments, Function};
use crate::failure::Failure;
use crate::types::Type;
use crate::value::Value;

const AT: &[Type] = &[Type::Timestamp];
const AT_IN_ZONE: &[Type] = &[Type::Timestamp, Type::Text];
const DURATION: &[Type] = &[Type::Duration];

/// One part of a civil time, in UTC and in a zone.
macro_rules! shown {
    ($($name:literal: $part:expr),* $(,)?) => {
        &[
            $(
                Function::method($name, AT, Type::Int, |it| part(it, $part)),
                Function::method($name, AT_IN_ZONE, Type::Int, |it| part(it, $part)),
            )*
            // No zone has an offset with a fraction of a second.
            Function::method("getMilliseconds", AT, Type::Int, milliseconds),
            Function::method("getMilliseconds", AT_IN_ZONE, Type::Int, |it| {
                part(it, |_| 0)?;
                milliseconds(it)
            }),
            Function::method("getHours", DURATION, Type::Int, |it| whole(it, 3_600_000_000_000)),
            Function::method("getMinutes", DURATION, Type::Int, |it| whole(it, 60_000_000_000)),
            Function::method("getSeconds", DURATION, Type::Int, |it| whole(it, 1_000_000_000)),
            Function::method("getMilliseconds", DURATION, Type::Int, |it| whole(it, 1_000_000)),
        ]
    };
}

// Months, days of the month and days of the year are counted from 0, dates from 1, days of the week from Sunday.
pub(super) const FUNCTIONS: &[Function] = shown! {
    "getFullYear": |it| it.year().into(),
    "getMonth": |it| i64::from(it.month()) - 1,
    "getDayOfYear": |it| i64::from(it.day_of_year()) - 1,
    "getDayOfMonth": |it| i64::from(it.day()) - 1,
    "getDate": |it| it.day().into(),
    "getDayOfWeek": |it| it.weekday().to_sunday_zero_offset().into(),
    "getHours": |it| it.hour().into(),
    "getMinutes": |it| it.minute().into(),
    "getSeconds": |it| it.second().into(),
};

fn part<'v>(it: &Arguments<'_, 'v>, part: fn(DateTime) -> i64) -> Result<Value<'v>, Failure> {
    let Value::Timestamp(at) = it.value(0) else { return Ok(Value::Null) };
    let shown = match it.value(1) {
        Value::Text(zone) => {
            it.meter.spend(STEPS_OF_ZONE)?;
            civil(*at, zone)?
        }
        _ => Offset::UTC.to_datetime(*at),
    };
    Ok(Value::Int(part(shown)))
}

/// The steps to look a zone up.
const STEPS_OF_ZONE: usize = 50;

/// The civil time in a zone, given by name or by offset, such as `-05:30`. As in Kubernetes, an offset may
/// be larger than that of any zone.
fn civil(at: Timestamp, zone: &str) -> Result<DateTime, Failure> {
    let unknown = || Failure::is_no(zone, "time zone");
    let Some((hours, minutes)) = zone.split_once(':') else {
        let zone = if zone.is_empty() { "UTC" } else { zone };
        return Ok(Zone::find(zone).ok_or_else(unknown)?.civil(at));
    };
    let hours: i64 = hours.parse().map_err(|_| unknown())?;
    let minutes: i64 = minutes.parse().map_err(|_| unknown())?;
    let minutes = if zone.starts_with('-') { minutes.checked_neg() } else { Some(minutes) };
    let minutes =
        hours.checked_mul(60).zip(minutes).and_then(|(of_hours, it)| of_hours.checked_add(it));
    let seconds = minutes.and_then(|it| it.checked_mul(60)).ok_or_else(unknown)?;
    let shown = Offset::UTC.to_datetime(at).checked_add(SignedDuration::from_secs(seconds));
    shown.map_err(|_| unknown())
}

#[expect(clippy::unnecessary_wraps, reason = "the type of every function")]
fn milliseconds<'v>(it: &Arguments<'_, 'v>) -> Result<Value<'v>, Failure> {
    let Value::Timestamp(at) = it.value(0) else { return Ok(Value::Null) };
    let milliseconds = at.as_nanosecond().rem_euclid(1_000_000_000) / 1_000_000;
    Ok(Value::Int(i64::try_from(milliseconds).unwrap_or_default()))
}

fn duration(it: &Arguments<'_, '_>) -> SignedDuration {
    match it.value(0) {
        Value::Duration(duration) => *duration,
        _ => SignedDuration::ZERO,
    }
}

/// The whole units of a duration.
#[expect(clippy::unnecessary_wraps, reason = "the type of every function")]
fn whole<'v>(it: &Arguments<'_, 'v>, unit: i128) -> Result<Value<'v>, Failure> {
    Ok(Value::Int(i64::try_from(duration(it).as_nanos() / unit).unwrap_or(i64::MAX)))
}
