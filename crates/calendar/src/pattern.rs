//! The meaning of patterns, and of the windows between two of them. Their text is read in [`parse`].

mod error;
mod parse;

use std::fmt;

pub use self::error::{PatternError, PatternErrorKind, PatternField};
use crate::describe;
use crate::recurrence::Recurrence;
use crate::{Windows, Zone};

/// The fields of a pattern as they are written: comma lists of values.
///
/// Omitted minutes and hours are 0; omitted days, months, weekdays and years mean any.
///
/// ```
/// use almanac_calendar::{Pattern, PatternText};
///
/// let text = PatternText { hours: Some("9"), weekdays: Some("Mon, Tue"), ..PatternText::default() };
/// assert_eq!(Pattern::parse(text).unwrap().describe(), "at 09:00 on Monday and Tuesday");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatternText<'a> {
    /// 0 to 59.
    pub minutes: Option<&'a str>,
    /// 0 to 23.
    pub hours: Option<&'a str>,
    /// Days of the month, 1 to 31.
    pub days: Option<&'a str>,
    /// 1 to 12, or English names, whole or of three letters.
    pub months: Option<&'a str>,
    /// 0 to 7, where 0 and 7 are Sunday, or English names, whole or of three letters.
    pub weekdays: Option<&'a str>,
    /// Calendar years, for dates that happen once.
    pub years: Option<&'a str>,
}

/// A recurring moment of the wall clock, at which a window opens or closes.
///
/// Days and weekdays must both match when both are given: days 1 to 7 with Thursday is the first
/// Thursday of the month.
///
/// ```
/// use almanac_calendar::{Pattern, PatternText};
///
/// let black_friday = Pattern::parse(PatternText {
///     hours: Some("6"),
///     days: Some("27"),
///     months: Some("Nov"),
///     years: Some("2026"),
///     ..PatternText::default()
/// })?;
/// assert_eq!(black_friday.describe(), "at 06:00 on 27 November 2026");
/// # Ok::<(), almanac_calendar::PatternError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    recurrence: Recurrence,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// ```
    /// use almanac_calendar::{Pattern, PatternText};
    ///
    /// let error = Pattern::parse(PatternText { weekdays: Some("Mon-Fri"), ..PatternText::default() });
    /// assert_eq!(
    ///     error.unwrap_err().to_string(),
    ///     "`Mon-Fri` is a range, and a pattern takes lists; write Mon,Tue,Wed,Thu,Fri",
    /// );
    /// ```
    pub fn parse(text: PatternText<'_>) -> Result<Pattern, PatternError> {
        parse::parse(text)
    }

    /// The meaning of the pattern, in one English line without a zone.
    ///
    /// ```
    /// use almanac_calendar::{Pattern, PatternText};
    ///
    /// assert_eq!(Pattern::parse(PatternText::default()).unwrap().describe(), "at 00:00 every day");
    /// ```
    #[must_use]
    pub fn describe(&self) -> String {
        describe::recurrence(&self.recurrence)
    }
}

/// A window that one pattern opens and another closes.
///
/// ```
/// use almanac_calendar::{Pattern, PatternText, PatternWindow, Zone};
///
/// let at = |weekday, hour| Pattern::parse(PatternText {
///     weekdays: Some(weekday),
///     hours: Some(hour),
///     ..PatternText::default()
/// });
/// let weekend = PatternWindow::new(at("Fri", "17")?, at("Mon", "9")?).unwrap().in_zone(Zone::utc());
/// assert!(weekend.is_open("2026-01-04T12:00:00Z".parse().unwrap()));
/// # Ok::<(), almanac_calendar::PatternError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PatternWindow {
    start: Recurrence,
    end: Recurrence,
}

impl PatternWindow {
    /// The window from `start` to `end`, unless they are always the same moment.
    ///
    /// ```
    /// use almanac_calendar::{Pattern, PatternText, PatternWindow};
    ///
    /// let nine = || Pattern::parse(PatternText { hours: Some("9"), ..PatternText::default() }).unwrap();
    /// assert!(PatternWindow::new(nine(), nine()).is_err());
    /// ```
    pub fn new(start: Pattern, end: Pattern) -> Result<PatternWindow, PatternWindowError> {
        let (start, end) = (start.recurrence, end.recurrence);
        if start.without(&end).is_empty() && end.without(&start).is_empty() {
            return Err(PatternWindowError);
        }
        Ok(PatternWindow { start, end })
    }

    /// The meaning of the window, in one English line without a zone.
    ///
    /// ```
    /// use almanac_calendar::{Pattern, PatternText, PatternWindow};
    ///
    /// let on = |weekday| Pattern::parse(PatternText { weekdays: Some(weekday), ..PatternText::default() });
    /// let window = PatternWindow::new(on("Sat")?, on("Mon")?).unwrap();
    /// assert_eq!(window.describe(), "opens at 00:00 every Saturday; closes at 00:00 every Monday");
    /// # Ok::<(), almanac_calendar::PatternError>(())
    /// ```
    #[must_use]
    pub fn describe(&self) -> String {
        describe::window(&self.start, &self.end)
    }

    /// The times at which the window is open, in a zone.
    ///
    /// ```
    /// use almanac_calendar::{Pattern, PatternText, PatternWindow, Zone};
    ///
    /// let at = |hour| Pattern::parse(PatternText { hours: Some(hour), ..PatternText::default() }).unwrap();
    /// let window = PatternWindow::new(at("9"), at("17")).unwrap().in_zone(Zone::utc());
    /// assert_eq!(window.zone(), Zone::utc());
    /// ```
    #[must_use]
    pub fn in_zone(self, zone: Zone) -> Windows {
        Windows::new(self.start, self.end, zone)
    }
}

/// Start and end of a window are always the same moment, so it would never change.
///
/// ```
/// use almanac_calendar::{Pattern, PatternText, PatternWindow};
///
/// let midnight = || Pattern::parse(PatternText::default()).unwrap();
/// assert_eq!(
///     PatternWindow::new(midnight(), midnight()).unwrap_err().to_string(),
///     "start and end are always the same instant, so the window has no length; write an end that \
///      differs from the start",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternWindowError;

impl fmt::Display for PatternWindowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "start and end are always the same instant, so the window has no length; write an end \
             that differs from the start",
        )
    }
}

impl std::error::Error for PatternWindowError {}
