//! Quantities of Kubernetes, exactly, in billionths: what is finer is rounded away from zero, and what is larger than
//! the largest is that, as in Kubernetes.

/// The largest quantity: `i64::MAX`.
const LARGEST: u128 = i64::MAX as u128 * BILLION.unsigned_abs();
const BILLION: i128 = 1_000_000_000;

/// An amount of a resource, exactly, in billionths: as fine as a quantity of Kubernetes is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Quantity(i128);

/// By how much a suffix multiplies: a power of two, and one of ten.
struct Scale {
    of_two: u32,
    of_ten: i32,
}

impl Quantity {
    /// An amount; `None` for one that is larger than any quantity.
    #[must_use]
    pub fn from_billionths(billionths: i128) -> Option<Quantity> {
        (billionths.unsigned_abs() <= LARGEST).then_some(Quantity(billionths))
    }

    /// The quantity in billionths.
    #[must_use]
    pub fn billionths(self) -> i128 {
        self.0
    }

    /// A quantity as it is written, such as `1500m` or `4Gi`; `None` for an invalid one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Quantity> {
        let (sign, unsigned) = match text.strip_prefix('-') {
            Some(unsigned) => (-1, unsigned),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        Some(Quantity(sign * i128::try_from(billionths(unsigned)?).ok()?))
    }

    /// The whole number that it is, if it is one that fits.
    pub(crate) fn whole(self) -> Option<i64> {
        (self.0 % BILLION == 0).then_some(i64::try_from(self.0 / BILLION).ok()).flatten()
    }

    /// About how much it is.
    #[expect(clippy::cast_precision_loss, reason = "the caller requests an approximation")]
    pub(crate) fn approximate(self) -> f64 {
        self.0 as f64 / BILLION as f64
    }

    pub(crate) fn plus(self, other: Quantity) -> Quantity {
        Quantity(self.0.saturating_add(other.0))
    }

    pub(crate) fn minus(self, other: Quantity) -> Quantity {
        Quantity(self.0.saturating_sub(other.0))
    }
}

impl From<i64> for Quantity {
    fn from(whole: i64) -> Quantity {
        Quantity(i128::from(whole) * BILLION)
    }
}

/// The billionths of a quantity without a sign.
fn billionths(unsigned: &str) -> Option<u128> {
    let end = unsigned.find(|letter: char| !matches!(letter, '0'..='9' | '.'));
    let (number, suffix) = unsigned.split_at(end.unwrap_or(unsigned.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let Scale { of_two, of_ten } = scale(suffix)?;
    let digits = digits(whole, fraction)?;
    if digits == 0 {
        return Some(0);
    }
    let exponent = of_ten + 9 - i32::try_from(fraction.len()).ok()?;
    let power = 10_u128.checked_pow(exponent.unsigned_abs());
    let digits = digits.checked_mul(1 << of_two);
    let billionths = if exponent >= 0 {
        digits.zip(power).and_then(|(digits, power)| digits.checked_mul(power))
    } else {
        digits.map(|digits| power.map_or(1, |power| digits.div_ceil(power)))
    };
    Some(billionths.unwrap_or(LARGEST).min(LARGEST))
}

/// The number that some digits are; `None` if they do not fit. Such a number is larger than the largest, or
/// unrealistically long.
fn digits(whole: &str, fraction: &str) -> Option<u128> {
    let mut digits = whole.bytes().chain(fraction.bytes()).map(|digit| digit - b'0');
    if whole.len() + fraction.len() < 20 {
        return Some(digits.fold(0_u64, |number, digit| number * 10 + u64::from(digit)).into());
    }
    digits.try_fold(0_u128, |number, digit| number.checked_mul(10)?.checked_add(digit.into()))
}

fn scale(suffix: &str) -> Option<Scale> {
    let ten = |of_ten| Some(Scale { of_two: 0, of_ten });
    let two = |of_two| Some(Scale { of_two, of_ten: 0 });
    match suffix {
        "n" => ten(-9),
        "u" => ten(-6),
        "m" => ten(-3),
        "" => ten(0),
        "k" => ten(3),
        "M" => ten(6),
        "G" => ten(9),
        "T" => ten(12),
        "P" => ten(15),
        "E" => ten(18),
        "Ki" => two(10),
        "Mi" => two(20),
        "Gi" => two(30),
        "Ti" => two(40),
        "Pi" => two(50),
        "Ei" => two(60),
        _ => ten(suffix.strip_prefix(['e', 'E'])?.parse::<i32>().ok()?.clamp(-1000, 1000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_numbers_with_a_suffix_of_kubernetes() {
        let largest = i128::from(i64::MAX) * BILLION;
        for (written, value) in [
            ("0", 0),
            ("0m", 0),
            ("1", BILLION),
            ("-1", -BILLION),
            ("+1", BILLION),
            ("0.5", BILLION / 2),
            (".5", BILLION / 2),
            ("5.", 5 * BILLION),
            ("1500m", 1_500_000_000),
            ("2Gi", 2_147_483_648 * BILLION),
            ("0.001Ki", 1_024_000_000),
            ("1e3", 1000 * BILLION),
            ("1E3", 1000 * BILLION),
            ("1E", 1_000_000_000_000_000_000 * BILLION),
            ("25e-1", 2_500_000_000),
            ("0.1n", 1),
            ("-0.1n", -1),
            ("9999999999999999999999999999", largest),
            ("1e99", largest),
            ("1e999", largest),
            ("1e-99", 1),
        ] {
            assert_eq!(
                Quantity::parse(written).map(Quantity::billionths),
                Some(value),
                "{written}"
            );
        }
        for bad in ["", "-", "--1", "1x", "m", "1.2.3", "ten", ".", "+", "++1", "1e"] {
            assert_eq!(Quantity::parse(bad), None, "{bad}");
        }
    }
}
