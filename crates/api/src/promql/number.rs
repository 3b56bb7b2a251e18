//! Numbers and durations, parsed from their written form.

/// The units of a duration in milliseconds, in the order of a duration.
const UNITS: [(&str, f64); 7] = [
    ("y", 365.0 * 86_400_000.0),
    ("w", 7.0 * 86_400_000.0),
    ("d", 86_400_000.0),
    ("h", 3_600_000.0),
    ("m", 60_000.0),
    ("s", 1_000.0),
    ("ms", 1.0),
];
/// The maximum duration in milliseconds: 63 bits of nanoseconds, about 292 years.
const MAX_MILLISECONDS: f64 = 9_223_372_036_854.0;

/// The number at the start of a text, and its end. A duration is its number of seconds.
pub(super) fn number(text: &str) -> Option<(f64, usize)> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    if digits > 0 && text[digits..].starts_with(['s', 'm', 'h', 'd', 'w', 'y']) {
        let end = text.find(|letter: char| !is_of_word(letter)).unwrap_or(text.len());
        return Some((seconds(&text[..end])?, end));
    }
    let end = end_of_number(text)?;
    Some((value(&text[..end])?, end))
}

/// Whether a character continues a word.
pub(super) fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The seconds of a duration such as `1h30m`.
fn seconds(text: &str) -> Option<f64> {
    let (mut rest, mut units) = (text, UNITS.iter());
    let mut milliseconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, others) = rest.split_at(digits);
        let end = others.find(|letter: char| letter.is_ascii_digit()).unwrap_or(others.len());
        let (unit, others) = others.split_at(end);
        let (_, factor) = units.find(|(name, _)| *name == unit)?;
        milliseconds += number.parse::<f64>().ok()? * factor;
        rest = others;
    }
    let whole = (milliseconds / 1_000.0).floor();
    (milliseconds <= MAX_MILLISECONDS).then_some(whole + milliseconds % 1_000.0 / 1_000.0)
}

/// The end of a number; `None` for a mistyped one.
///
/// Even in some places of a hexadecimal number, such as the second digit, Prometheus reads an `e` as the start of an
/// exponent. It refuses `0x1e` at the end of a query, so this module does, too.
fn end_of_number(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_next = |at: usize, set: &[u8]| bytes.get(at).is_some_and(|byte| set.contains(byte));
    let is_hex = is_next(0, b"0") && is_next(1, b"xX");
    let is_digit = |at: usize| {
        let of_base = if is_hex { u8::is_ascii_hexdigit } else { u8::is_ascii_digit };
        bytes.get(at).is_some_and(of_base)
    };
    let cannot_follow = |at: usize| at == bytes.len() || is_next(at, b"._eE");
    let mut at = if is_hex { 2 + usize::from(is_next(2, b"_")) } else { 0 };
    at += usize::from(is_next(at, b"."));
    at += usize::from(is_digit(at));
    let (mut has_point, mut has_exponent) = (false, false);
    loop {
        if is_next(at, b".") {
            if has_point || is_hex || is_next(at + 1, b"._") {
                return None;
            }
            has_point = true;
            at += 1;
        } else if is_next(at, b"eE") {
            at += 1;
            at += usize::from(is_next(at, b"+-"));
            if has_exponent || cannot_follow(at) {
                return None;
            }
            has_exponent = true;
        } else if is_next(at, b"_") {
            at += 1;
            if cannot_follow(at) {
                return None;
            }
        } else if is_digit(at) {
            at += 1;
            while is_digit(at) {
                at += 1;
            }
        } else {
            break;
        }
    }
    let goes_on = bytes.get(at).is_some_and(|byte| is_of_word(char::from(*byte)));
    (!goes_on).then_some(at)
}

/// The value of a number. A number with a leading zero is octal if its digits permit.
fn value(text: &str) -> Option<f64> {
    if text.ends_with('_') || text.contains("__") {
        return None;
    }
    let plain = text.replace('_', "");
    let of_base = |digits: &str, base| i64::from_str_radix(digits, base).ok();
    #[expect(clippy::cast_precision_loss, reason = "Prometheus rounds what has over 53 bits too")]
    if let Some(digits) = plain.strip_prefix("0x").or_else(|| plain.strip_prefix("0X")) {
        let is_signed = digits.starts_with(['+', '-']);
        return of_base(digits, 16).filter(|_| !is_signed).map(|number| number as f64);
    } else if plain.starts_with('0')
        && let Some(number) = of_base(&plain, 8)
    {
        return Some(number as f64);
    }
    plain.parse().ok().filter(|number: &f64| number.is_finite())
}
