//! Kubernetes quantities, in billionths: the finest unit of a quantity.

use serde_json::Value;

/// The maximum quantity, without the unit of billionths.
const MAX_WHOLE: i128 = i64::MAX as i128;
const NANOS_IN_ONE: i128 = 1_000_000_000;

/// A quantity in billionths; `None` for other strings. Smaller fractions are rounded away from zero, as Kubernetes
/// does.
#[must_use]
pub fn nanos(written: &Value) -> Option<i128> {
    match written {
        Value::String(text) => parse(text),
        Value::Number(number) => parse(&number.to_string()),
        _ => None,
    }
}

fn parse(text: &str) -> Option<i128> {
    let (is_negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let (times, tens) = scale(suffix)?;
    let digits: i128 = format!("0{whole}{fraction}").parse().ok()?;
    let places = tens + 9 - i32::try_from(fraction.len()).ok()?;
    let shift = 10_i128.checked_pow(places.unsigned_abs());
    let magnitude = digits.checked_mul(times);
    let magnitude = match (magnitude, shift) {
        (Some(0), _) => 0,
        (Some(magnitude), Some(shift)) if places < 0 => (magnitude + shift - 1) / shift,
        (Some(magnitude), Some(shift)) => magnitude.checked_mul(shift).unwrap_or(i128::MAX),
        (Some(_), None) if places < 0 => 1,
        _ => i128::MAX,
    };
    let magnitude = magnitude.min(MAX_WHOLE * NANOS_IN_ONE);
    Some(if is_negative { -magnitude } else { magnitude })
}

/// The factor of a suffix: a power of two, and the exponent of a power of ten.
fn scale(suffix: &str) -> Option<(i128, i32)> {
    Some(match suffix {
        "" => (1, 0),
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (1 << 10, 0),
        "Mi" => (1 << 20, 0),
        "Gi" => (1 << 30, 0),
        "Ti" => (1 << 40, 0),
        "Pi" => (1 << 50, 0),
        "Ei" => (1 << 60, 0),
        exponent => (1, exponent.strip_prefix(['e', 'E'])?.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_of_a_quantity_is_read() {
        for (written, expected) in [
            (json!(3), Some(3_000_000_000)),
            (json!("0"), Some(0)),
            (json!("1500m"), Some(1_500_000_000)),
            (json!(".5"), Some(500_000_000)),
            (json!("5."), Some(5_000_000_000)),
            (json!("+7k"), Some(7_000_000_000_000)),
            (json!("-2"), Some(-2_000_000_000)),
            (json!("12e-1"), Some(1_200_000_000)),
            (json!("1E3"), Some(1_000_000_000_000)),
            (json!("1E"), Some(NANOS_IN_ONE * 1_000_000_000_000_000_000)),
            (json!("1.5Ki"), Some(1_536_000_000_000)),
            (json!("3u"), Some(3_000)),
            (json!("0.1n"), Some(1)),
            (json!("0.0000000001Ki"), Some(103)),
            (json!("1e99"), Some(MAX_WHOLE * NANOS_IN_ONE)),
            (json!("1e-99"), Some(1)),
            (json!(""), None),
            (json!("."), None),
            (json!("1.2.3"), None),
            (json!("5kb"), None),
            (json!("1e"), None),
            (json!("many"), None),
            (json!(null), None),
        ] {
            assert_eq!(nanos(&written), expected, "{written}");
        }
    }
}
