//! The schedule of `almanac when`, from its arguments.

use almanac_calendar::{
    ClockEffect, Cron, DailyWindow, DailyWindowPart, Firings, Pattern, PatternField, PatternText,
    PatternWindow, Windows, Zone,
};
use jiff::Timestamp;

use super::WhenArguments;
use crate::complaint::Complaint;

/// A schedule of either shape.
pub(super) enum Schedule {
    Firings(Firings),
    Windows(Windows),
}

/// What happens at an instant.
#[derive(Clone, Copy)]
pub(super) enum Happening {
    Fires,
    Opens,
    Closes,
}

impl Happening {
    pub(super) fn verb(self) -> &'static str {
        match self {
            Happening::Fires => "fires",
            Happening::Opens => "opens",
            Happening::Closes => "closes",
        }
    }
}

impl Schedule {
    pub(super) fn check(arguments: &WhenArguments, zone: Zone) -> Result<Schedule, Complaint> {
        if let Some(text) = &arguments.cron {
            let cron = Cron::parse(text)
                .map_err(|error| Complaint::new("--cron", text, error.span(), error))?;
            return Ok(Schedule::Firings(cron.in_zone(zone)));
        }
        if let Some(text) = &arguments.daily {
            return Ok(Schedule::Windows(daily(text)?.in_zone(zone)));
        }
        let (start, end) = (arguments.start.as_deref(), arguments.end.as_deref());
        let start = pattern("--start", start.unwrap_or_default())?;
        let end_text = end.unwrap_or_default();
        let window = PatternWindow::new(start, pattern("--end", end_text)?)
            .map_err(|error| Complaint::whole("--end", end_text, error))?;
        Ok(Schedule::Windows(window.in_zone(zone)))
    }

    pub(super) fn zone(&self) -> Zone {
        match self {
            Schedule::Firings(firings) => firings.zone(),
            Schedule::Windows(windows) => windows.zone(),
        }
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Schedule::Firings(firings) => format!("fires {}", firings.cron().describe()),
            Schedule::Windows(windows) => windows.describe_without_zone(),
        }
    }

    /// What happens in `[from, to)`, in order, found as it is asked for.
    pub(super) fn between(
        &self,
        from: Timestamp,
        to: Timestamp,
    ) -> Box<dyn Iterator<Item = (Timestamp, Happening)> + '_> {
        match self {
            Schedule::Firings(firings) => {
                Box::new(firings.between(from, to).map(|at| (at, Happening::Fires)))
            }
            Schedule::Windows(windows) => Box::new(windows.between(from, to).map(|change| {
                (change.at, if change.opens { Happening::Opens } else { Happening::Closes })
            })),
        }
    }

    pub(super) fn clock_effects(
        &self,
        from: Timestamp,
        to: Timestamp,
    ) -> Box<dyn Iterator<Item = ClockEffect> + '_> {
        match self {
            Schedule::Firings(firings) => Box::new(firings.clock_effects(from, to)),
            Schedule::Windows(windows) => Box::new(windows.clock_effects(from, to)),
        }
    }
}

/// Reads `22:00-06:00`.
fn daily(text: &str) -> Result<DailyWindow, Complaint> {
    let Some((start, end)) = text.split_once('-') else {
        let message = "a daily window is two times with a dash between them, such as 22:00-06:00";
        return Err(Complaint::whole("--daily", text, message));
    };
    DailyWindow::parse(start, end).map_err(|error| {
        let offset = match error.part() {
            DailyWindowPart::Start => 0,
            DailyWindowPart::End => start.len() + 1,
        };
        let span = error.span();
        Complaint::new("--daily", text, span.start + offset..span.end + offset, error)
    })
}

/// Reads `weekdays=Mon, Tue hours=9`: each field's name, an equals sign and its list.
fn pattern(argument: &'static str, text: &str) -> Result<Pattern, Complaint> {
    const FIELDS: &str = "minutes, hours, days, months, weekdays and years";
    let mut fields = PatternText::default();
    let mut offsets: Vec<(PatternField, usize)> = Vec::new();
    let mut rest = 0;
    while let Some(equals) = text[rest..].find('=').map(|found| found + rest) {
        let start = text[rest..equals].rfind(char::is_whitespace).map_or(rest, |it| rest + it + 1);
        let name = &text[start..equals];
        let after_next = text[equals + 1..].find('=').map_or(text.len(), |next| {
            let next = equals + 1 + next;
            text[equals + 1..next].rfind(char::is_whitespace).map_or(next, |it| equals + 1 + it)
        });
        let value = &text[equals + 1..after_next];
        let (field, slot) = match name {
            "minutes" => (PatternField::Minutes, &mut fields.minutes),
            "hours" => (PatternField::Hours, &mut fields.hours),
            "days" => (PatternField::Days, &mut fields.days),
            "months" => (PatternField::Months, &mut fields.months),
            "weekdays" => (PatternField::Weekdays, &mut fields.weekdays),
            "years" => (PatternField::Years, &mut fields.years),
            _ => {
                let message = format!("`{name}` is not a field of a pattern; there are {FIELDS}");
                return Err(Complaint::new(argument, text, start..equals, message));
            }
        };
        if slot.replace(value).is_some() {
            let message = format!("{name} is given twice; write one list");
            return Err(Complaint::new(argument, text, start..equals, message));
        }
        offsets.push((field, equals + 1));
        rest = after_next;
    }
    if !text[rest..].trim().is_empty() || text.trim().is_empty() {
        let message = format!(
            "a pattern is fields with their lists, such as 'weekdays=Mon,Tue hours=9'; there are \
             {FIELDS}"
        );
        return Err(Complaint::whole(argument, text, message));
    }
    Pattern::parse(fields).map_err(|error| {
        let offset = |field| offsets.iter().find(|(it, _)| *it == field).map(|(_, at)| *at);
        let span = match error.field().and_then(offset) {
            Some(offset) => error.span().start + offset..error.span().end + offset,
            None => 0..text.len(),
        };
        Complaint::new(argument, text, span, error)
    })
}
