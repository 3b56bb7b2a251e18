//! The meaning of a scalar: the rules of YAML 1.1 as kubectl applies them.
//!
//! kubectl turns YAML into JSON first, so `yes` is true, `010` is eight, `1e3` is a thousand and `12:30` is text. A
//! tool with other rules would check other values than kubectl applies.

use serde_json::Number;

/// The value of a scalar.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Number(Number),
    Text,
    /// `.inf` and `.nan`, which exist in YAML but not in JSON.
    NotFinite,
}

/// Resolves a scalar without quotes and without a tag.
pub(crate) fn resolve(text: &str) -> Scalar {
    let Some(first) = text.bytes().next() else { return Scalar::Null };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text),
        b'.' => not_finite(text).or_else(|| float(text)).unwrap_or(Scalar::Text),
        b'+' | b'-' | b'0'..=b'9' => number(text),
        _ => Scalar::Text,
    }
}

/// Resolves a scalar with one of YAML's own tags (`!!int "5"`); `None` if the tag does not fit. Other tags have no
/// meaning for JSON: such a scalar is a string.
pub(crate) fn resolve_tagged(tag: &str, text: &str) -> Option<Scalar> {
    let Some(kind) = tag.strip_prefix("tag:yaml.org,2002:") else { return Some(Scalar::Text) };
    let resolved = resolve(text);
    let fits = match (kind, &resolved) {
        ("null", Scalar::Null)
        | ("bool", Scalar::Bool(_))
        | ("float", Scalar::Number(_) | Scalar::NotFinite) => true,
        ("int", Scalar::Number(number)) => !number.is_f64(),
        ("timestamp", Scalar::Text) => looks_like_a_date(text),
        ("null" | "bool" | "int" | "float" | "timestamp" | "binary", _) => false,
        _ => return Some(Scalar::Text),
    };
    fits.then_some(resolved)
}

fn word(text: &str) -> Scalar {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        _ => Scalar::Text,
    }
}

fn not_finite(text: &str) -> Option<Scalar> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let infinite = matches!(unsigned, ".inf" | ".Inf" | ".INF");
    (infinite || matches!(text, ".nan" | ".NaN" | ".NAN")).then_some(Scalar::NotFinite)
}

fn number(text: &str) -> Scalar {
    if let Some(special) = not_finite(text) {
        return special;
    }
    let plain: String = text.chars().filter(|&letter| letter != '_').collect();
    whole(&plain).or_else(|| float(&plain)).unwrap_or(Scalar::Text)
}

/// The sign, the base by the prefix, and the digits of a number.
fn parts(text: &str) -> (bool, u32, &str) {
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    for (prefixes, base) in [(["0x", "0X"], 16), (["0b", "0B"], 2), (["0o", "0O"], 8)] {
        for prefix in prefixes {
            if let Some(rest) = digits.strip_prefix(prefix) {
                return (negative, base, rest);
            }
        }
    }
    match digits.strip_prefix('0') {
        Some(rest) if !rest.is_empty() => (negative, 8, rest),
        _ => (negative, 10, digits),
    }
}

fn whole(text: &str) -> Option<Scalar> {
    let (negative, base, digits) = parts(text);
    if !digits.chars().all(|digit| digit.is_digit(base)) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, base).ok()?;
    let signed = if negative { -i128::from(magnitude) } else { i128::from(magnitude) };
    if let Ok(value) = i64::try_from(signed) {
        return Some(Scalar::Number(value.into()));
    }
    // Above the range of an int64, this function returns floats, like Kubernetes' JSON reader. The unsigned reader,
    // which is tried second, does not accept a whole number with a sign.
    if text.starts_with(['+', '-']) {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "floats are what larger numbers become")]
    finite(magnitude as f64)
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, and within a float's range.
fn float(text: &str) -> Option<Scalar> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mantissa_fits =
        all_digits(before) && all_digits(after) && (!before.is_empty() || !after.is_empty());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    if mantissa_fits && exponent_fits { finite(text.parse().ok()?) } else { None }
}

/// A float after a round trip through JSON, which writes one without a fraction as a whole number.
fn finite(value: f64) -> Option<Scalar> {
    // 2^63 is exact in a float; everything below it in magnitude fits an int64.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if value.fract() == 0.0 && value.abs() < LIMIT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and within an i64, as just seen"
        )]
        return Some(Scalar::Number((value as i64).into()));
    }
    Number::from_f64(value).map(Scalar::Number)
}

fn looks_like_a_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 4 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-'
}

/// A scalar as a key, in the form of JSON. `None` for null and for numbers that do not exist in JSON.
pub(crate) fn as_key(scalar: &Scalar, text: &str) -> Option<String> {
    match scalar {
        Scalar::Text => Some(text.to_owned()),
        Scalar::Bool(truth) => Some(truth.to_string()),
        Scalar::Number(number) => match number.as_i64() {
            // A float without a fraction is still printed as a float.
            Some(whole) if !text.contains(['.', 'e', 'E']) || text.starts_with("0x") => {
                Some(whole.to_string())
            }
            _ => number.as_f64().map(float_as_key),
        },
        Scalar::Null | Scalar::NotFinite => None,
    }
}

/// The shortest digits that identify a 32-bit float, with an exponent of two digits at least once it reaches six: the
/// form kubectl gives float keys.
fn float_as_key(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "the precision kubectl prints keys with")]
    let scientific = format!("{:e}", value as f32);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the precision kubectl prints keys with"
        )]
        return format!("{}", value as f32);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning_of(text: &str) -> String {
        match resolve(text) {
            Scalar::Null => "null".to_owned(),
            Scalar::Bool(truth) => truth.to_string(),
            Scalar::Number(number) => number.to_string(),
            Scalar::Text => format!("{text:?}"),
            Scalar::NotFinite => "not finite".to_owned(),
        }
    }

    #[test]
    fn odd_scalars_are_resolved_as_in_yaml_1_1() {
        let expected = [
            ("", "null"),
            ("~", "null"),
            ("Null", "null"),
            ("nULL", "\"nULL\""),
            ("yes", "true"),
            ("y", "true"),
            ("On", "true"),
            ("n", "false"),
            ("OFF", "false"),
            ("oN", "\"oN\""),
            ("010", "8"),
            ("08", "8"),
            ("0o17", "15"),
            ("0x1F", "31"),
            ("-0x1F", "-31"),
            ("0b101", "5"),
            ("1_000", "1000"),
            ("+12", "12"),
            ("-0", "0"),
            ("1e3", "1000"),
            ("1.5e-1", "0.15"),
            ("1.", "1"),
            (".5", "0.5"),
            ("._5", "\"._5\""),
            ("-.5", "-0.5"),
            ("1e400", "\"1e400\""),
            ("12:30", "\"12:30\""),
            ("2001-12-14", "\"2001-12-14\""),
            ("0x", "\"0x\""),
            ("-", "\"-\""),
            ("+", "\"+\""),
            ("1e", "\"1e\""),
            (".inf", "not finite"),
            ("-.INF", "not finite"),
            (".nan", "not finite"),
            ("9223372036854775807", "9223372036854775807"),
            ("9223372036854775808", "9.223372036854776e+18"),
            ("1.0", "1"),
            ("0.1", "0.1"),
            ("99999999999999999999", "1e+20"),
            ("0xFFFFFFFFFFFFFFFFFF", "\"0xFFFFFFFFFFFFFFFFFF\""),
            ("1 2", "\"1 2\""),
            ("0 8 * * *", "\"0 8 * * *\""),
            (".", "\".\""),
            ("_1", "\"_1\""),
        ];
        for (text, meaning) in expected {
            assert_eq!(meaning_of(text), meaning, "{text:?}");
        }
    }

    #[test]
    fn keys_become_strings_as_in_json() {
        let key = |text| as_key(&resolve(text), text);
        assert_eq!(key("yes").as_deref(), Some("true"));
        assert_eq!(key("010").as_deref(), Some("8"));
        assert_eq!(key("1.5").as_deref(), Some("1.5"));
        assert_eq!(key("1e7").as_deref(), Some("1e+07"));
        assert_eq!(key("1e3").as_deref(), Some("1000"));
        assert_eq!(key("~"), None);
    }

    #[test]
    fn a_tag_converts_text_to_a_number_or_is_rejected() {
        let int = "tag:yaml.org,2002:int";
        assert_eq!(resolve_tagged(int, "5"), Some(Scalar::Number(5.into())));
        assert_eq!(resolve_tagged(int, "five"), None);
        assert_eq!(resolve_tagged("tag:yaml.org,2002:str", "5"), Some(Scalar::Text));
        assert_eq!(resolve_tagged("!mine", "5"), Some(Scalar::Text));
    }
}
