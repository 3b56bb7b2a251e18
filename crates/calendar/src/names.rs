//! The English names of months and weekdays, which schedules are written in and described with.

pub(crate) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Sunday first, as cron counts them.
pub(crate) const WEEKDAYS: [&str; 7] =
    ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// The position of the name that `text` is, in any letter case.
pub(crate) fn position_of_name(names: &[&str], text: &str) -> Option<u8> {
    let index = names.iter().position(|name| name.eq_ignore_ascii_case(text))?;
    u8::try_from(index).ok()
}

/// The position of the name whose first three letters `text` is, in any letter case.
pub(crate) fn position_of_short_name(names: &[&str], text: &str) -> Option<u8> {
    let index = names.iter().position(|name| name[..3].eq_ignore_ascii_case(text))?;
    u8::try_from(index).ok()
}

/// The three letters of the one name that a mistyped text was probably meant to be.
pub(crate) fn nearest_name(names: &[&'static str], text: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    // One letter does not identify a name, and a long text is not a mistyped name.
    if !(2..=16).contains(&lower.len()) || !lower.bytes().all(|it| it.is_ascii_alphabetic()) {
        return None;
    }
    let begins = |name: &str| name.starts_with(&lower) || lower.starts_with(&name[..3]);
    let differs_little = |name: &str| {
        lower.len() > 2
            && (strsim::osa_distance(&lower, &name[..3]) <= 1
                || strsim::osa_distance(&lower, name) <= 1 + lower.len() / 6)
    };
    let only = |fits: &dyn Fn(&str) -> bool| {
        let mut fitting = names.iter().filter(|name| fits(name));
        fitting.next().filter(|_| fitting.next().is_none()).map(|name| &name[..3])
    };
    only(&begins).or_else(|| only(&differs_little))
}

/// A capitalized name, as in a sentence.
pub(crate) fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

/// A small number as a word.
pub(crate) fn number(value: usize) -> String {
    const WORDS: [&str; 13] = [
        "none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    WORDS.get(value).map_or_else(|| value.to_string(), |word| (*word).to_owned())
}
