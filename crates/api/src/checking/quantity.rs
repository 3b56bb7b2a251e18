//! Quantities of Kubernetes, exactly, in billionths: what is finer is rounded up, and what is larger than the
//! largest is that, as in Kubernetes.

use almanac_engine::metric_scaling::MetricTarget;
use almanac_engine::placement::Quantity;
use serde_json::Value as Json;

/// The largest quantity: `i64::MAX`.
const LARGEST: u128 = i64::MAX as u128 * 1_000_000_000;

/// By how much a suffix multiplies: a power of two, and one of ten.
struct Scale {
    of_two: u32,
    of_ten: i32,
}

/// A quantity above zero; `None` for anything else.
pub(super) fn positive(text: &str) -> Option<MetricTarget> {
    MetricTarget::from_billionths(billionths(text.strip_prefix('+').unwrap_or(text))?)
}

/// A quantity as it stands in an object, where it may be a number; `None` for anything else.
pub(crate) fn of_json(written: &Json) -> Option<Quantity> {
    let text = match written {
        Json::String(text) => text.clone(),
        Json::Number(number) => number.to_string(),
        _ => return None,
    };
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => (-1, unsigned),
        None => (1, text.strip_prefix('+').unwrap_or(&text)),
    };
    Quantity::from_billionths(sign * i128::try_from(billionths(unsigned)?).ok()?)
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
    let digits = [whole, fraction].concat();
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    let exponent = of_ten + 9 - i32::try_from(fraction.len()).ok()?;
    let power = 10_u128.checked_pow(exponent.unsigned_abs());
    // What has more digits than fit is larger than the largest, or so long that nobody means it.
    let digits = digits.parse::<u128>().ok()?.checked_mul(1 << of_two);
    let billionths = if exponent >= 0 {
        digits.zip(power).and_then(|(digits, power)| digits.checked_mul(power))
    } else {
        digits.map(|digits| power.map_or(1, |power| digits.div_ceil(power)))
    };
    Some(billionths.unwrap_or(LARGEST).min(LARGEST))
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
        _ => ten(suffix.strip_prefix(['e', 'E'])?.parse::<i8>().ok()?.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_numbers_with_a_suffix_kubernetes_knows() {
        for (written, value) in [
            ("1", "1"),
            ("0.5", "0.5"),
            (".5", "0.5"),
            ("5.", "5"),
            ("500m", "0.5"),
            ("2Gi", "2147483648"),
            ("0.001Ki", "1.024"),
            ("1e3", "1000"),
            ("1E3", "1000"),
            ("1E", "1000000000000000000"),
            ("25e-1", "2.5"),
            ("+1", "1"),
            ("0.1n", "0.000000001"),
            ("9999999999999999999999999999", "9223372036854775807"),
            ("1e99", "9223372036854775807"),
            ("1e-99", "0.000000001"),
        ] {
            let quantity = positive(written).map(|it| it.to_string());
            assert_eq!(quantity.as_deref(), Some(value), "{written}");
        }
        for (written, billionths) in
            [("0", 0), ("0m", 0), ("-1", -1_000_000_000), ("1500m", 1_500_000_000), ("+2n", 2)]
        {
            let quantity = of_json(&written.into()).map(Quantity::billionths);
            assert_eq!(quantity, Some(billionths), "{written}");
        }
        assert_eq!(of_json(&4.into()).map(Quantity::billionths), Some(4_000_000_000));
        assert_eq!([of_json(&"--1".into()), of_json(&"-".into()), of_json(&Json::Null)], [None; 3]);
        for bad in ["", "0", "-1", "1x", "m", "1.2.3", "ten", "0m", ".", "+", "++1", "1e", "1e999"]
        {
            assert_eq!(positive(bad), None, "{bad}");
        }
    }
}
