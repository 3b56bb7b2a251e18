//! Numbers that are not counts: samples, and metric targets. Both are decimal numbers to their readers and writers, so
//! they are divided as decimals: 0.07 is 7 % of 1, not slightly more.

use std::fmt;
use std::num::NonZeroU128;

/// A number that is neither infinite nor "not a number".
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct FiniteNumber(f64);

// Every finite number equals itself.
impl Eq for FiniteNumber {}

/// The target of a metric: above zero, in billionths, the precision of a Kubernetes quantity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MetricTarget(NonZeroU128);

/// The number of billionths in one.
const BILLION: u128 = 1_000_000_000;

/// The maximum Kubernetes quantity.
const MAX_TARGET: u128 = i64::MAX as u128 * BILLION;

/// A number in decimal notation, without its sign: `digits` times ten to the power of `exponent`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Decimal {
    digits: u64,
    exponent: i32,
}

impl FiniteNumber {
    /// Creates a number; `None` if it is not finite.
    #[must_use]
    pub fn new(number: f64) -> Option<FiniteNumber> {
        number.is_finite().then_some(FiniteNumber(number))
    }

    /// The number as a float.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// `factor` times this number divided by the target, rounded up; 0 for a negative result, and `i32::MAX` for a
    /// result above that.
    #[must_use]
    pub fn scaled(self, factor: u64, target: MetricTarget) -> u32 {
        const MAX: u32 = i32::MAX.cast_unsigned();
        match self.divided(factor, target) {
            _ if self.0 <= 0.0 || factor == 0 => 0,
            (Some(numerator), Some(denominator)) => {
                u32::try_from(numerator.div_ceil(denominator)).map_or(MAX, |it| it.min(MAX))
            }
            // Larger than any quotient of a 128-bit number.
            (None, _) => MAX,
            // Above zero, and far below one.
            (Some(_), None) => 1,
        }
    }

    /// `factor` times this number, divided by the target for each of the `replicas`, for a comparison with a tolerance.
    /// 1.1 is a tenth above 1, not slightly more.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "what is near one has few digits, or is near one anyway"
    )]
    pub fn ratio(self, factor: u64, target: MetricTarget, replicas: u32) -> f64 {
        let ratio = match self.divided(factor, target) {
            (Some(numerator), Some(denominator)) => {
                numerator as f64 / (denominator as f64 * f64::from(replicas))
            }
            (None, _) => f64::INFINITY,
            (Some(_), None) => 0.0,
        };
        ratio.copysign(self.0)
    }

    /// `factor` times this number without its sign, divided by the target, in whole numbers; `None` for a quotient that
    /// is too large.
    fn divided(self, factor: u64, target: MetricTarget) -> (Option<u128>, Option<u128>) {
        let Decimal { digits, exponent } = self.decimal();
        let product = u128::from(digits) * u128::from(factor);
        // The target is in billionths.
        let exponent = exponent + 9;
        let power = 10_u128.checked_pow(exponent.unsigned_abs());
        if exponent >= 0 {
            (power.and_then(|power| product.checked_mul(power)), Some(target.0.get()))
        } else {
            (Some(product), power.and_then(|power| target.0.get().checked_mul(power)))
        }
    }

    /// The number in Prometheus' notation: the shortest decimal that parses to the same number.
    fn decimal(self) -> Decimal {
        let text = format!("{:e}", self.0.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let digits = mantissa.bytes().filter(u8::is_ascii_digit);
        // At most seventeen digits; no exponent of a number has more than three.
        let digits = digits.fold(0, |sum: u64, digit| sum * 10 + u64::from(digit - b'0'));
        let exponent: i32 = exponent.parse().unwrap_or_default();
        let fraction = i32::try_from(fraction).unwrap_or_default();
        Decimal { digits, exponent: exponent - fraction }
    }
}

impl MetricTarget {
    /// Creates a target in billionths; `None` unless it is above zero and at most the maximum quantity.
    #[must_use]
    pub fn from_billionths(billionths: u128) -> Option<MetricTarget> {
        NonZeroU128::new(billionths).filter(|it| it.get() <= MAX_TARGET).map(MetricTarget)
    }

    /// The target in billionths.
    #[must_use]
    pub fn billionths(self) -> u128 {
        self.0.get()
    }
}

/// Prometheus' notation.
impl fmt::Display for FiniteNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 != 0.0 && !(1e-6..1e21).contains(&self.0.abs()) {
            write!(formatter, "{:e}", self.0)
        } else {
            fmt::Display::fmt(&self.0, formatter)
        }
    }
}

/// Decimal notation, without a suffix.
impl fmt::Display for MetricTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0.get() / BILLION, self.0.get() % BILLION);
        let text = format!("{whole}.{fraction:09}");
        formatter.pad(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(number: f64) -> FiniteNumber {
        FiniteNumber::new(number).unwrap()
    }

    fn target(billionths: u128) -> MetricTarget {
        MetricTarget::from_billionths(billionths).unwrap()
    }

    #[test]
    fn numbers_are_divided_as_they_are_written() {
        let hundredth = target(BILLION / 100);
        for (sample, factor, of, expected) in [
            (50.0, 8, target(3 * BILLION), 134),
            (304.0, 1, target(50 * BILLION), 7),
            // In binary, 0.07 / 7 * 100 is slightly more than one.
            (0.07, 100, target(7 * BILLION), 1),
            (0.1, 1, target(BILLION / 10), 1),
            (0.3, 1, target(BILLION / 10), 3),
            (0.300_000_000_000_000_04, 1, target(BILLION / 10), 4),
            (1.0, 1, hundredth, 100),
            (0.0, 1_000, hundredth, 0),
            (-0.0, 1_000, hundredth, 0),
            (-3.0, 1_000, hundredth, 0),
        ] {
            assert_eq!(number(sample).scaled(factor, of), expected, "{factor} * {sample} / {of}");
        }
    }

    #[test]
    fn a_tenth_above_is_as_far_as_a_tenth_below() {
        for (sample, of, replicas, ratio) in [
            (858.0, 39 * BILLION, 20, 1.1),
            (0.858, 39 * BILLION / 1_000, 20, 1.1),
            (702.0, 39 * BILLION, 20, 0.9),
            (-3.0, BILLION, 3, -1.0),
            (0.0, BILLION, 3, 0.0),
            (1e300, 1, 3, f64::INFINITY),
            (1e-300, MAX_TARGET, 3, 0.0),
        ] {
            let actual = number(sample).ratio(1, target(of), replicas);
            assert_eq!(actual.total_cmp(&ratio), std::cmp::Ordering::Equal, "{sample}: {actual}");
        }
    }

    #[test]
    fn what_is_too_large_or_too_small_stops_at_the_end() {
        let most = i32::MAX.unsigned_abs();
        for large in [f64::MAX, 1e300, 1e20, 2_147_483_648.0] {
            assert_eq!(number(large).scaled(1, target(BILLION)), most, "{large}");
            assert_eq!(number(-large).scaled(1, target(BILLION)), 0, "-{large}");
        }
        assert_eq!(number(2_147_483_647.0).scaled(1, target(BILLION)), most);
        for small in [f64::MIN_POSITIVE, 5e-324, 1e-30] {
            assert_eq!(number(small).scaled(100, target(MAX_TARGET)), 1, "{small}");
        }
    }

    #[test]
    fn a_target_is_above_zero_and_within_the_range_of_kubernetes() {
        assert_eq!(MetricTarget::from_billionths(0), None);
        assert_eq!(MetricTarget::from_billionths(MAX_TARGET + 1), None);
        for (billionths, shown) in [(BILLION, "1"), (1, "0.000000001"), (1_500_000_000, "1.5")] {
            assert_eq!(target(billionths).to_string(), shown);
        }
    }

    #[test]
    fn a_number_is_finite_and_is_printed_as_prometheus_does() {
        for endless in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(FiniteNumber::new(endless), None);
        }
        for (it, shown) in [(3.0, "3"), (0.6, "0.6"), (1e21, "1e21"), (-1e-7, "-1e-7"), (0.0, "0")]
        {
            assert_eq!(number(it).to_string(), shown);
        }
    }
}
