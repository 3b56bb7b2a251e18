//! Daily windows: from one time of day to another, every day.

use std::fmt;
use std::ops::Range;

use crate::describe;
use crate::quoted::{QuotedText, excerpt};
use crate::recurrence::{DateSet, Recurrence, TimeSet};
use crate::{Windows, Zone};

/// A window that is open between two times of every day.
///
/// Times are written `HH:MM`, with two digits each; the end may also be `24:00`. An end before the
/// start is on the next day.
///
/// ```
/// use almanac_calendar::{DailyWindow, Zone};
///
/// let night = DailyWindow::parse("22:00", "06:00")?.in_zone(Zone::utc());
/// assert!(night.is_open("2026-01-01T03:00:00Z".parse().unwrap()));
/// assert!(!night.is_open("2026-01-01T06:00:00Z".parse().unwrap()));
/// # Ok::<(), almanac_calendar::DailyWindowError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DailyWindow {
    start: TimeOfDay,
    end: TimeOfDay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct TimeOfDay {
    hour: u8,
    minute: u8,
}

const END_OF_DAY: TimeOfDay = TimeOfDay { hour: 24, minute: 0 };

impl DailyWindow {
    /// Reads the two times of a window.
    ///
    /// ```
    /// use almanac_calendar::DailyWindow;
    ///
    /// assert!(DailyWindow::parse("00:00", "24:00").is_ok());
    /// assert_eq!(
    ///     DailyWindow::parse("8:00", "20:00").unwrap_err().to_string(),
    ///     "`8:00` is not a time of day; write 08:00",
    /// );
    /// ```
    pub fn parse(start: &str, end: &str) -> Result<DailyWindow, DailyWindowError> {
        let start_time = TimeOfDay::parse(start, DailyWindowPart::Start)?;
        let end_time = TimeOfDay::parse(end, DailyWindowPart::End)?;
        if start_time == end_time {
            return Err(DailyWindowError::new(
                DailyWindowErrorKind::StartIsEnd,
                DailyWindowPart::End,
                end,
            ));
        }
        Ok(DailyWindow { start: start_time, end: end_time })
    }

    /// The meaning of the window, in one English line without a zone.
    ///
    /// ```
    /// use almanac_calendar::DailyWindow;
    ///
    /// let day = DailyWindow::parse("08:00", "24:00").unwrap();
    /// assert_eq!(day.describe(), "open from 08:00 to 24:00 every day");
    /// ```
    #[must_use]
    pub fn describe(&self) -> String {
        describe::window(&self.start.every_day(), &self.end.every_day())
    }

    /// The times at which the window is open, in a zone.
    ///
    /// ```
    /// use almanac_calendar::{DailyWindow, Zone};
    ///
    /// let day = DailyWindow::parse("08:00", "20:00").unwrap().in_zone(Zone::utc());
    /// assert_eq!(day.describe(), "open from 08:00 to 20:00 every day (UTC)");
    /// ```
    #[must_use]
    pub fn in_zone(self, zone: Zone) -> Windows {
        Windows::new(self.start.every_day(), self.end.every_day(), zone)
    }
}

impl TimeOfDay {
    fn parse(text: &str, part: DailyWindowPart) -> Result<TimeOfDay, DailyWindowError> {
        let wrong = |kind| DailyWindowError::new(kind, part, text);
        let Some(&[tens, ones, b':', minute_tens, minute_ones]) = text.as_bytes().as_array() else {
            return Err(wrong(DailyWindowErrorKind::Format));
        };
        let (Some(hour), Some(minute)) = (number(tens, ones), number(minute_tens, minute_ones))
        else {
            return Err(wrong(DailyWindowErrorKind::Format));
        };
        match (hour, minute) {
            (24, 0) if part == DailyWindowPart::End => Ok(END_OF_DAY),
            (24, 0) => Err(wrong(DailyWindowErrorKind::StartAtEndOfDay)),
            (24.., _) => Err(wrong(DailyWindowErrorKind::Hour)),
            (_, 60..) => Err(wrong(DailyWindowErrorKind::Minute)),
            _ => Ok(TimeOfDay { hour, minute }),
        }
    }

    /// The end of a day is the start of the next.
    fn every_day(self) -> Recurrence {
        let times = TimeSet::single(self.hour % 24, self.minute);
        Recurrence { dates: DateSet::EVERY_DAY, times }
    }
}

fn number(tens: u8, ones: u8) -> Option<u8> {
    (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| (tens - b'0') * 10 + ones - b'0')
}

/// The two parts of a daily window.
///
/// ```
/// use almanac_calendar::{DailyWindow, DailyWindowPart};
///
/// let error = DailyWindow::parse("08:00", "25:00").unwrap_err();
/// assert_eq!(error.part(), DailyWindowPart::End);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DailyWindowPart {
    /// The opening time.
    Start,
    /// The closing time.
    End,
}

/// The reason that two strings are not a daily window, and the fix.
///
/// ```
/// use almanac_calendar::DailyWindow;
///
/// assert_eq!(
///     DailyWindow::parse("24:00", "06:00").unwrap_err().to_string(),
///     "24:00 is the end of a day, so a window cannot start then; write 00:00",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DailyWindowError {
    kind: DailyWindowErrorKind,
    part: DailyWindowPart,
    given: String,
    length: usize,
}

/// The problem in a daily window.
///
/// ```
/// use almanac_calendar::{DailyWindow, DailyWindowErrorKind};
///
/// let error = DailyWindow::parse("08:00", "08:00").unwrap_err();
/// assert_eq!(error.kind(), DailyWindowErrorKind::StartIsEnd);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DailyWindowErrorKind {
    /// Not two digits, a colon and two digits.
    Format,
    /// An hour over 23.
    Hour,
    /// A minute over 59.
    Minute,
    /// `24:00` as a start.
    StartAtEndOfDay,
    /// The window would have no length, or be open all day.
    StartIsEnd,
}

impl DailyWindowError {
    fn new(kind: DailyWindowErrorKind, part: DailyWindowPart, text: &str) -> DailyWindowError {
        DailyWindowError { kind, part, given: excerpt(text), length: text.len() }
    }

    /// The kind of the error.
    ///
    /// ```
    /// use almanac_calendar::{DailyWindow, DailyWindowErrorKind};
    ///
    /// let error = DailyWindow::parse("08:00", "20:60").unwrap_err();
    /// assert_eq!(error.kind(), DailyWindowErrorKind::Minute);
    /// ```
    #[must_use]
    pub fn kind(&self) -> DailyWindowErrorKind {
        self.kind
    }

    /// The wrong part.
    ///
    /// ```
    /// use almanac_calendar::{DailyWindow, DailyWindowPart};
    ///
    /// let error = DailyWindow::parse("08:00", "20:60").unwrap_err();
    /// assert_eq!(error.part(), DailyWindowPart::End);
    /// ```
    #[must_use]
    pub fn part(&self) -> DailyWindowPart {
        self.part
    }

    /// The corrected time of day, if the meaning is certain.
    ///
    /// ```
    /// use almanac_calendar::DailyWindow;
    ///
    /// let instead = |start| DailyWindow::parse(start, "20:00").unwrap_err().instead();
    /// assert_eq!(instead("8:30").as_deref(), Some("08:30"));
    /// assert_eq!(instead("8pm").as_deref(), Some("20:00"));
    /// assert_eq!(instead("8.5pm"), None);
    /// assert_eq!(instead("noon").as_deref(), Some("12:00"));
    /// assert_eq!(instead("evening"), None);
    /// ```
    #[must_use]
    pub fn instead(&self) -> Option<String> {
        match self.kind {
            DailyWindowErrorKind::Format
                if self.part == DailyWindowPart::End && is_midnight(&self.given) =>
            {
                Some("24:00".to_owned())
            }
            DailyWindowErrorKind::Format => {
                let (hour, minute) = as_people_write_it(&self.given)?;
                Some(format!("{hour:02}:{minute:02}"))
            }
            DailyWindowErrorKind::StartAtEndOfDay => Some("00:00".to_owned()),
            _ => None,
        }
    }

    /// The bytes of that text that are wrong: all of it.
    ///
    /// ```
    /// use almanac_calendar::DailyWindow;
    ///
    /// assert_eq!(DailyWindow::parse("8:00", "20:00").unwrap_err().span(), 0..4);
    /// ```
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        0..self.length
    }
}

impl fmt::Display for DailyWindowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = QuotedText(&self.given);
        match self.kind {
            DailyWindowErrorKind::Format if self.given.is_empty() => {
                f.write_str("a time of day is missing; write two digits each, as in 08:00")
            }
            DailyWindowErrorKind::Format => match self.instead() {
                Some(time) => write!(f, "{given} is not a time of day; write {time}"),
                None => {
                    write!(f, "{given} is not a time of day; write two digits each, as in 08:00")
                }
            },
            DailyWindowErrorKind::Hour => {
                write!(f, "{given} is not a time of day; hours run from 00 to 23")?;
                match self.part {
                    DailyWindowPart::Start => Ok(()),
                    DailyWindowPart::End => f.write_str(", and 24:00 is the end of the day"),
                }
            }
            DailyWindowErrorKind::Minute => {
                write!(f, "{given} is not a time of day; minutes run from 00 to 59")
            }
            DailyWindowErrorKind::StartAtEndOfDay => {
                f.write_str("24:00 is the end of a day, so a window cannot start then; write 00:00")
            }
            DailyWindowErrorKind::StartIsEnd => f.write_str(
                "the window ends when it starts; for the whole day write 00:00 and 24:00",
            ),
        }
    }
}

impl std::error::Error for DailyWindowError {}

/// The hour and the minute in `8:30`, `8am`, `8.30 PM` or `noon`, if they can only mean a time of day. Without `am` or
/// `pm`, `8.50` may be a part of an hour; one digit other than 0 may be that, or the tens of a minute.
pub(crate) fn as_people_write_it(text: &str) -> Option<(u8, u8)> {
    let lower = text.trim().to_ascii_lowercase();
    match &*lower {
        "noon" => return Some((12, 0)),
        "midnight" => return Some((0, 0)),
        _ => {}
    }
    let half = ["am", "pm"].into_iter().find_map(|it| Some((lower.strip_suffix(it)?.trim(), it)));
    let time = half.map_or(lower.as_str(), |(time, _)| time);
    let parts = time.split_once(':').or_else(|| half.and(time.split_once('.')));
    let (hour, minute) = match parts {
        None if half.is_some() => (time, "00"),
        parts => parts.filter(|(_, minute)| minute.len() == 2 || *minute == "0")?,
    };
    let (hour, minute): (u8, u8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        Some((_, half)) if (1..=12).contains(&hour) => {
            hour % 12 + if half == "pm" { 12 } else { 0 }
        }
        Some(_) => return None,
        None => hour,
    };
    (hour < 24 && minute < 60).then_some((hour, minute))
}

/// Whether a text is `midnight` or `12am`, which may be the start or the end of a day.
pub(crate) fn is_midnight(text: &str) -> bool {
    !text.trim_start().starts_with('0') && as_people_write_it(text) == Some((0, 0))
}
