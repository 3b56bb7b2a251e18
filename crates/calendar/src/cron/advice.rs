//! The fix for a cron expression if the error message, in [`super::error`], does not contain it.

use super::error::{CronErrorKind, CronField};

impl CronErrorKind {
    /// The advice about a single value, if the message does not include it.
    pub(super) fn advice(&self, field: CronField) -> Option<String> {
        Some(match self {
            CronErrorKind::FieldCount(count @ 10..) if count % 5 == 0 => {
                "write each expression in a rule of its own".to_owned()
            }
            CronErrorKind::FieldCount(_) => {
                "write five fields: minute, hour, day of month, month and weekday".to_owned()
            }
            CronErrorKind::OtherDialect(dialect) => return dialect.advice(),
            CronErrorKind::OutOfRange(_) => {
                let (first, last) = field.bounds();
                format!("write {} from {first} to {last}", field.value())
            }
            CronErrorKind::NotAValue { nearest: Some(nearest), .. } => {
                format!("did you mean {nearest}?")
            }
            CronErrorKind::OpenRange => "write both ends of the range, such as 1-5".to_owned(),
            CronErrorKind::StarWithMore(_) => {
                "use the star alone or with a step, such as */5".to_owned()
            }
            CronErrorKind::UnknownMacro(_) => {
                "write one of the macros, or five fields".to_owned()
            }
            CronErrorKind::LastDay if field == CronField::DayOfMonth => {
                "it can't be kept in one rule; if the last day itself is meant, write a rule for each \
                 length of its months: day 31 in 1,3,5,7,8,10,12, day 30 in 4,6,9,11, and day 28 in 2, \
                 which leaves out 29 February"
                    .to_owned()
            }
            CronErrorKind::LastDay | CronErrorKind::NthWeekday => {
                "it can't be kept; a weekday fires every week, and a day of the month on any weekday".to_owned()
            }
            CronErrorKind::NearestWeekday => {
                "it can't be kept; a day of the month fires on any weekday".to_owned()
            }
            _ => return None,
        })
    }
}
