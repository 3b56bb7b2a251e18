//! The subject of the comparison with the oracle: the calendar's two kinds of schedule, behind traits. A faulty
//! schedule can replace them to show that the comparison detects the fault.

use almanac_calendar::{
    Cron, DailyWindow, Firings, Pattern, PatternText, PatternWindow, Windows, Zone,
};
use almanac_oracle::{PatternTexts, Schedule};
use jiff::{SignedDuration, Timestamp};

pub(crate) trait Fires {
    fn next(&self, now: Timestamp) -> Option<Timestamp>;
    fn previous(&self, now: Timestamp) -> Option<Timestamp>;
    fn between(&self, from: Timestamp, to: Timestamp) -> Vec<Timestamp>;
    fn shortest_interval(&self, from: Timestamp, to: Timestamp) -> Option<SignedDuration>;
}

/// A change of state: the instant, and whether the window opens.
pub(crate) type Turn = (Timestamp, bool);

pub(crate) trait Opens {
    fn is_open(&self, now: Timestamp) -> bool;
    fn next(&self, now: Timestamp) -> Option<Turn>;
    fn previous(&self, now: Timestamp) -> Option<Turn>;
    fn between(&self, from: Timestamp, to: Timestamp) -> Vec<Turn>;
}

pub(crate) enum Subject {
    Fires(Box<dyn Fires>),
    Opens(Box<dyn Opens>),
}

/// The calendar's reading of a schedule, or the message with which it rejects it.
pub(crate) fn calendar(zone: &str, schedule: &Schedule) -> Result<Subject, String> {
    let zone = Zone::named(zone).map_err(|error| error.to_string())?;
    Ok(match schedule {
        Schedule::Cron(text) => {
            let cron = Cron::parse(text).map_err(|error| error.to_string())?;
            Subject::Fires(Box::new(cron.in_zone(zone)))
        }
        Schedule::Daily { start, end } => {
            let window = DailyWindow::parse(start, end).map_err(|error| error.to_string())?;
            Subject::Opens(Box::new(window.in_zone(zone)))
        }
        Schedule::Pattern { start, end } => {
            let start = pattern(start)?;
            let end = pattern(end)?;
            let window = PatternWindow::new(start, end).map_err(|error| error.to_string())?;
            Subject::Opens(Box::new(window.in_zone(zone)))
        }
    })
}

fn pattern(texts: &PatternTexts) -> Result<Pattern, String> {
    Pattern::parse(PatternText {
        minutes: texts.minutes.as_deref(),
        hours: texts.hours.as_deref(),
        days: texts.days.as_deref(),
        months: texts.months.as_deref(),
        weekdays: texts.weekdays.as_deref(),
        years: texts.years.as_deref(),
    })
    .map_err(|error| error.to_string())
}

impl Fires for Firings {
    fn next(&self, now: Timestamp) -> Option<Timestamp> {
        Firings::next(self, now)
    }

    fn previous(&self, now: Timestamp) -> Option<Timestamp> {
        Firings::previous(self, now)
    }

    fn between(&self, from: Timestamp, to: Timestamp) -> Vec<Timestamp> {
        Firings::between(self, from, to).collect()
    }

    fn shortest_interval(&self, from: Timestamp, to: Timestamp) -> Option<SignedDuration> {
        Firings::shortest_interval(self, from, to)
    }
}

impl Opens for Windows {
    fn is_open(&self, now: Timestamp) -> bool {
        Windows::is_open(self, now)
    }

    fn next(&self, now: Timestamp) -> Option<Turn> {
        self.next_transition(now).map(|turn| (turn.at, turn.opens))
    }

    fn previous(&self, now: Timestamp) -> Option<Turn> {
        self.previous_transition(now).map(|turn| (turn.at, turn.opens))
    }

    fn between(&self, from: Timestamp, to: Timestamp) -> Vec<Turn> {
        Windows::between(self, from, to).map(|turn| (turn.at, turn.opens)).collect()
    }
}
