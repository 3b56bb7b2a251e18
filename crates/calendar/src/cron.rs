//! The meaning of cron expressions. Their text is read in [`parse`], that of other schedulers in
//! [`dialect`]; they are described in [`crate::describe`], and turned into instants by [`crate::Firings`].

mod advice;
mod dialect;
mod error;
mod field;
mod note;
mod parse;

use std::str::FromStr;

pub use self::dialect::{Dialect, OtherDialect};
pub use self::error::{CronError, CronErrorKind, CronField};
pub use self::note::CronNote;
use crate::describe;
use crate::recurrence::Recurrence;
use crate::{Firings, Zone};

/// A cron expression of five fields, in the dialect of Kubernetes' `CronJob`.
///
/// Fields are minute, hour, day of the month, month and weekday. Each is `*` or `?`, or a list of
/// values, ranges (`9-17`) and steps (`*/15`, `0-30/10`, `5/20`). Months and weekdays may be named
/// by three letters in any case, and 7 is Sunday as 0 is. The macros `@yearly`, `@annually`,
/// `@monthly`, `@weekly`, `@daily`, `@midnight` and `@hourly` are known.
///
/// When the day of the month and the weekday are both restricted, a date needs only one of them.
///
/// The acceptance of an expression depends on the text alone, never on the time of day. An
/// expression that would never fire is rejected.
///
/// ```
/// use almanac_calendar::{Cron, Zone};
///
/// let cron = Cron::parse("30 8 * * mon-fri")?;
/// let firings = cron.in_zone(Zone::named("America/New_York").unwrap());
/// let now = "2026-03-06T14:00:00Z".parse().unwrap();
/// assert_eq!(firings.next(now), Some("2026-03-09T12:30:00Z".parse().unwrap()));
/// # Ok::<(), almanac_calendar::CronError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cron {
    pub(crate) recurrence: Recurrence,
    fixed: bool,
}

impl Cron {
    /// Reads an expression.
    ///
    /// ```
    /// use almanac_calendar::Cron;
    ///
    /// assert!(Cron::parse("*/15 9-17 * * 1-5").is_ok());
    /// let error = Cron::parse("0 0 * *").unwrap_err();
    /// assert_eq!(error.to_string(), "a cron expression has five fields, this has four");
    /// ```
    pub fn parse(text: &str) -> Result<Cron, CronError> {
        parse::parse(text)
    }

    /// Whether the expression names times of day rather than a rhythm: neither its minutes nor its
    /// hours contain `*`, `?` or a step.
    ///
    /// A clock change treats the two differently. A fixed firing that falls in a gap happens once, at
    /// the first instant after it, and in a fold once, at the first occurrence. A rhythm follows
    /// what the wall clock shows: nothing is caught up after a gap, and a fold is met twice.
    ///
    /// ```
    /// use almanac_calendar::Cron;
    ///
    /// assert!(Cron::parse("30 2 * * *").unwrap().is_fixed());
    /// assert!(!Cron::parse("*/15 2 * * *").unwrap().is_fixed());
    /// ```
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// The same expression in schedulers that match the unchanged wall clock. A firing in a gap is skipped, and a
    /// firing in a fold occurs twice, also for an expression at fixed times.
    #[must_use]
    pub fn matching_the_wall_clock(self) -> Cron {
        Cron { fixed: false, ..self }
    }

    /// The meaning of the expression, in one English line without a zone.
    ///
    /// ```
    /// use almanac_calendar::Cron;
    ///
    /// assert_eq!(Cron::parse("30 8 * * 1-5").unwrap().describe(), "at 08:30, Monday to Friday");
    /// ```
    #[must_use]
    pub fn describe(&self) -> String {
        describe::recurrence(&self.recurrence)
    }

    /// The instants at which the expression fires in a zone.
    ///
    /// ```
    /// use almanac_calendar::{Cron, Zone};
    ///
    /// let firings = Cron::parse("@daily").unwrap().in_zone(Zone::utc());
    /// assert_eq!(firings.zone(), Zone::utc());
    /// ```
    #[must_use]
    pub fn in_zone(self, zone: Zone) -> Firings {
        Firings::new(self, zone)
    }
}

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Cron, CronError> {
        Cron::parse(text)
    }
}
