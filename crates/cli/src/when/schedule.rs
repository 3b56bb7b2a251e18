//! The schedule of `almanac when`, from its arguments or from an object. [`super::pattern`] reads patterns of the
//! command line.

use almanac_calendar::{
    ClockEffect, Cron, CronNote, DailyWindow, DailyWindowPart, Firings, PatternWindow, Windows,
    Zone,
};
use jiff::Timestamp;

use super::WhenArguments;
use super::pattern::pattern;
use super::typed::ARGUMENT;
use crate::argument_error::ArgumentError;
use crate::clock_changes::ScheduleEvent;

/// A schedule and its meaning.
pub(super) struct Schedule {
    /// The meaning in a sentence, without the zone.
    pub(super) meaning: String,
    /// The unexpected effects of the schedule, each in a sentence.
    pub(super) notes: Vec<String>,
    /// Whether the schedule is suspended and therefore has no events.
    pub(super) is_off: bool,
    pub(super) shape: Shape,
}

/// The two shapes of schedule.
pub(super) enum Shape {
    Firings(Firings),
    Windows(Windows),
}

impl Schedule {
    /// The typed schedule; `None` if no schedule is typed.
    pub(super) fn check(
        arguments: &WhenArguments,
        expression: Option<&str>,
        zone: Zone,
    ) -> Result<Option<Schedule>, ArgumentError> {
        let expression = expression.map(|text| (ARGUMENT, text));
        let with_flag = || arguments.cron.as_deref().map(|text| ("--cron", text));
        if let Some((argument, text)) = expression.or_else(with_flag) {
            let cron = Cron::parse(text)
                .map_err(|error| ArgumentError::new(argument, text, error.span(), error))?;
            let meaning = format!("fires {}", cron.describe());
            let notes = CronNote::all(text).iter().map(ToString::to_string).collect();
            let schedule = Schedule::from_firings(meaning, cron.in_zone(zone));
            return Ok(Some(Schedule { notes, ..schedule }));
        }
        if let Some(text) = &arguments.daily {
            let window = daily(text)?;
            let meaning = window.describe();
            return Ok(Some(Schedule::from_windows(meaning, window.in_zone(zone))));
        }
        let (Some(start), Some(end_text)) = (&arguments.start, &arguments.end) else {
            return Ok(None);
        };
        let start = pattern("--start", start)?;
        let window = PatternWindow::new(start, pattern("--end", end_text)?)
            .map_err(|error| ArgumentError::whole("--end", end_text, error))?;
        let meaning = window.describe();
        Ok(Some(Schedule::from_windows(meaning, window.in_zone(zone))))
    }

    pub(super) fn from_firings(meaning: String, firings: Firings) -> Schedule {
        Schedule { meaning, notes: Vec::new(), is_off: false, shape: Shape::Firings(firings) }
    }

    pub(super) fn from_windows(meaning: String, windows: Windows) -> Schedule {
        Schedule { meaning, notes: Vec::new(), is_off: false, shape: Shape::Windows(windows) }
    }

    pub(super) fn zone(&self) -> Zone {
        match &self.shape {
            Shape::Firings(firings) => firings.zone(),
            Shape::Windows(windows) => windows.zone(),
        }
    }

    /// The events in `[from, to)`, in order, computed lazily.
    pub(super) fn between(
        &self,
        from: Timestamp,
        to: Timestamp,
    ) -> Box<dyn Iterator<Item = (Timestamp, ScheduleEvent)> + '_> {
        match &self.shape {
            Shape::Firings(firings) => {
                Box::new(firings.between(from, to).map(|at| (at, ScheduleEvent::Fires)))
            }
            Shape::Windows(windows) => Box::new(windows.between(from, to).map(|change| {
                (change.at, if change.opens { ScheduleEvent::Opens } else { ScheduleEvent::Closes })
            })),
        }
    }

    pub(super) fn clock_effects(
        &self,
        from: Timestamp,
        to: Timestamp,
    ) -> Box<dyn Iterator<Item = ClockEffect> + '_> {
        match &self.shape {
            Shape::Firings(firings) => Box::new(firings.clock_effects(from, to)),
            Shape::Windows(windows) => Box::new(windows.clock_effects(from, to)),
        }
    }
}

/// Reads `22:00-06:00`, with or without spaces around the dash.
fn daily(text: &str) -> Result<DailyWindow, ArgumentError> {
    let Some((start, end)) = text.split_once('-') else {
        let message = "a daily window is two times with a `-` between them, such as 22:00-06:00";
        return Err(ArgumentError::whole("--daily", text, message));
    };
    let end_at = start.len() + 1 + end.len() - end.trim_start().len();
    let start_at = start.len() - start.trim_start().len();
    DailyWindow::parse(start.trim(), end.trim()).map_err(|error| {
        let at = match error.part() {
            DailyWindowPart::Start => start_at,
            DailyWindowPart::End => end_at,
        };
        let span = error.span();
        ArgumentError::new("--daily", text, span.start + at..span.end + at, error)
    })
}
