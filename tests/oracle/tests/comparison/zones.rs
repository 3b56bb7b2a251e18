//! The zones themselves: offsets, clock changes, and from civil time to instant.

use almanac_calendar::Zone;
use almanac_oracle::{Change, Line, year_start};
use fastrand::Rng;
use jiff::tz::Offset;

use crate::compare::instant;

/// The number of civil times a year to resolve, apart from those around clock changes.
const CIVIL_TIMES: usize = 6;

/// The first difference between the calendar's zone and the oracle's line, in one year.
pub(crate) fn compare_zone(
    line: &Line,
    year: i64,
    changes: &[Change],
    rng: &mut Rng,
) -> Result<(), String> {
    let zone = Zone::named(line.name()).map_err(|error| error.to_string())?;
    let (from, to) = (year_start(year), year_start(year + 1));

    let found: Vec<_> = zone
        .changes(instant(from), instant(to))
        .map(|change| Change {
            at: change.at.as_second(),
            before: change.before.seconds().into(),
            after: change.after.seconds().into(),
        })
        .collect();
    if found != changes {
        return Err(format!("changes: the oracle has {changes:?}, the calendar {found:?}"));
    }

    let mut instants: Vec<_> = (0..CIVIL_TIMES).map(|_| rng.i64(from..to)).collect();
    instants.extend(changes.iter().flat_map(|change| [change.at - 1, change.at, change.at + 1]));
    for &at in &instants {
        let civil = Offset::UTC.to_datetime(instant(line.civil(at)));
        let found = zone.civil(instant(at));
        let offset = zone.offset(instant(at)).seconds();
        if found != civil || i64::from(offset) != line.offset(at) {
            return Err(format!(
                "at {}: the oracle's clock shows {civil}, the calendar's {found} at offset {offset}",
                instant(at)
            ));
        }
    }

    let mut civil_times: Vec<_> = (0..CIVIL_TIMES).map(|_| rng.i64(from..to)).collect();
    for change in changes {
        // Both ends of the skipped or repeated time, and a time in between.
        let (before, after) = (change.at + change.before, change.at + change.after);
        let between = rng.i64(before.min(after)..=before.max(after));
        civil_times.extend([before - 1, before, before + 1, after - 1, after, after + 1, between]);
    }
    for civil in civil_times {
        let expected = instant(line.first_reaching(civil));
        let civil = Offset::UTC.to_datetime(instant(civil));
        let found = zone.resolve(civil);
        if found != Some(expected) {
            return Err(format!(
                "{civil} is reached at {expected}, the calendar returns {found:?}"
            ));
        }
    }
    Ok(())
}
