//! A period of time.

use jiff::Timestamp;

/// The instants from `from`, included, to `to`, excluded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Period {
    from: Timestamp,
    to: Timestamp,
}

impl Period {
    /// `None` unless `to` is later than `from`.
    #[must_use]
    pub fn new(from: Timestamp, to: Timestamp) -> Option<Period> {
        (from < to).then_some(Period { from, to })
    }

    /// The first instant of the period.
    #[must_use]
    pub fn from(self) -> Timestamp {
        self.from
    }

    /// The first instant after the period.
    #[must_use]
    pub fn to(self) -> Timestamp {
        self.to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_never_empty() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(Period::new(at(2), at(2)), None);
        assert_eq!(Period::new(at(2), at(1)), None);
        assert!(Period::new(at(1), at(2)).is_some());
    }
}
