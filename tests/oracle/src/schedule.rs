//! A schedule as a single line, so that a case can be printed, copied and run again, and the rule that the line
//! describes.

use std::fmt;
use std::str::FromStr;

use crate::moments::Moments;
use crate::{cron, window};

/// A schedule, as the strings that a user would write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Schedule {
    /// A cron expression: `cron 0 9 * * mon`.
    Cron(String),
    /// A daily window: `daily 22:00 06:00`.
    Daily {
        /// The start.
        start: String,
        /// The end.
        end: String,
    },
    /// A pattern window: `pattern hours=9; weekdays=Mon, Tue -> hours=17`.
    Pattern {
        /// The start.
        start: Box<PatternTexts>,
        /// The end.
        end: Box<PatternTexts>,
    },
}

/// The fields of one pattern.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PatternTexts {
    /// Minutes of the hour.
    pub minutes: Option<String>,
    /// Hours of the day.
    pub hours: Option<String>,
    /// Days of the month.
    pub days: Option<String>,
    /// Months.
    pub months: Option<String>,
    /// Days of the week.
    pub weekdays: Option<String>,
    /// Years.
    pub years: Option<String>,
}

/// The meaning of a schedule.
#[derive(Debug)]
pub enum Rule {
    /// Fires once for each minute of the set that the clock reaches.
    Reached(Moments),
    /// Fires whenever the clock shows a minute of the set.
    Shown(Moments),
    /// Open when the last start is at or after the last end.
    Between(Moments, Moments),
}

/// A line that is not a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable(pub String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to read the schedule \"{}\"", self.0)
    }
}

impl std::error::Error for Unreadable {}

impl Schedule {
    /// Parses the strings of the schedule.
    pub fn rule(&self) -> Result<Rule, Unreadable> {
        let rule = match self {
            Schedule::Cron(text) => cron::read(text).map(|(moments, fixed)| {
                if fixed { Rule::Reached(moments) } else { Rule::Shown(moments) }
            }),
            Schedule::Daily { start, end } => window::daily(start)
                .and_then(|start| Some(Rule::Between(start, window::daily(end)?))),
            Schedule::Pattern { start, end } => {
                Some(Rule::Between(window::pattern(start), window::pattern(end)))
            }
        };
        rule.ok_or_else(|| Unreadable(self.to_string()))
    }
}

impl Rule {
    /// Whether the calendar must accept this schedule: each set contains a minute, and the start of a window is not
    /// always its end.
    ///
    /// An all-day window starts and ends every midnight.
    #[must_use]
    pub fn is_acceptable(&self, all_day: bool) -> bool {
        match self {
            Rule::Reached(moments) | Rule::Shown(moments) => moments.is_possible(),
            Rule::Between(start, end) => {
                start.is_possible() && end.is_possible() && (all_day || !start.coincides_with(end))
            }
        }
    }
}

impl PatternTexts {
    fn fields(&self) -> [(&'static str, &Option<String>); 6] {
        [
            ("minutes", &self.minutes),
            ("hours", &self.hours),
            ("days", &self.days),
            ("months", &self.months),
            ("weekdays", &self.weekdays),
            ("years", &self.years),
        ]
    }

    fn field_mut(&mut self, name: &str) -> Option<&mut Option<String>> {
        Some(match name {
            "minutes" => &mut self.minutes,
            "hours" => &mut self.hours,
            "days" => &mut self.days,
            "months" => &mut self.months,
            "weekdays" => &mut self.weekdays,
            "years" => &mut self.years,
            _ => return None,
        })
    }

    fn read(text: &str) -> Option<PatternTexts> {
        let mut texts = PatternTexts::default();
        for part in text.split(';').filter(|part| !part.trim().is_empty()) {
            let (name, list) = part.split_once('=')?;
            *texts.field_mut(name.trim())? = Some(list.to_owned());
        }
        Some(texts)
    }
}

impl fmt::Display for PatternTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (name, list) in self.fields() {
            if let Some(list) = list {
                write!(f, "{separator}{name}={list}")?;
                separator = "; ";
            }
        }
        Ok(())
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Cron(text) => write!(f, "cron {text}"),
            Schedule::Daily { start, end } => write!(f, "daily {start} {end}"),
            Schedule::Pattern { start, end } => write!(f, "pattern {start} -> {end}"),
        }
    }
}

impl FromStr for Schedule {
    type Err = Unreadable;

    fn from_str(line: &str) -> Result<Schedule, Unreadable> {
        let unreadable = || Unreadable(line.to_owned());
        let (kind, text) = line.split_once(' ').ok_or_else(unreadable)?;
        match kind {
            "cron" => Ok(Schedule::Cron(text.to_owned())),
            "daily" => text
                .split_once(' ')
                .map(|(start, end)| Schedule::Daily { start: start.into(), end: end.into() })
                .ok_or_else(unreadable),
            "pattern" => text
                .split_once(" -> ")
                .and_then(|(start, end)| {
                    let (start, end) = (PatternTexts::read(start)?, PatternTexts::read(end)?);
                    Some(Schedule::Pattern { start: start.into(), end: end.into() })
                })
                .ok_or_else(unreadable),
            _ => Err(unreadable()),
        }
    }
}
