//! The cron expression among the words of `almanac when`; the other words name objects or files.

use std::path::Path;

use super::WhenArguments;
use crate::argument_error::ArgumentError;

/// The name of the argument for an expression that is typed without a flag.
pub(super) const ARGUMENT: &str = "SCHEDULE";

/// The expression that is typed without a flag, which must be the only word; `None` without such an expression.
pub(super) fn expression(arguments: &WhenArguments) -> Result<Option<&str>, ArgumentError> {
    let words = &arguments.words;
    let Some(text) = words.iter().map(String::as_str).find(|word| is_expression(word)) else {
        return check_names(arguments).map(|()| None);
    };
    let wrong = |message: &str| Err(ArgumentError::whole(ARGUMENT, text, message));
    if words.len() > 1 {
        return wrong("one schedule is explained at a time, without names and files");
    }
    if arguments.has_flag_of_schedule() {
        return wrong("another schedule is typed with a flag; remove one of them");
    }
    if let Some(flags) = arguments.flags_of_objects() {
        return wrong(&format!("a typed schedule needs no files and no cluster; remove {flags}"));
    }
    Ok(Some(text))
}

/// Whether a word is an expression: names and kinds contain no space and do not start with `@`, and paths exist.
fn is_expression(word: &str) -> bool {
    (word.starts_with('@') || word.trim().contains(char::is_whitespace))
        && !Path::new(word).exists()
}

/// Rejects names of objects next to a typed schedule.
fn check_names(arguments: &WhenArguments) -> Result<(), ArgumentError> {
    let words = &arguments.words;
    let Some(first) = words.first() else { return Ok(()) };
    if arguments.has_flag_of_schedule() {
        let message =
            "a schedule is typed, but an object or a file is also named; use only one of them";
        return Err(ArgumentError::whole("NAME", first, message));
    }
    if let [minute, hour, ..] = &words[..]
        && is_field(minute)
        && is_field(hour)
    {
        // The shell has expanded a `*`, so the words do not contain it.
        let all = words.join(" ");
        let message = if words.len() == 5 && words.iter().all(|word| is_field(word)) {
            format!("a cron expression is one word; write '{all}', in quotes")
        } else {
            "a cron expression is one word; put it into quotes, as in '30 8 * * 1-5'".to_owned()
        };
        return Err(ArgumentError::whole(ARGUMENT, &all, message));
    }
    match arguments.period.typed_zone() {
        Some(zone) => {
            let message = "is for a typed schedule; objects are explained in their own time zones; to see another one \
                           as well, set ALMANAC_ZONE";
            Err(ArgumentError::whole("--zone", zone, message))
        }
        None => Ok(()),
    }
}

/// Whether a word is a field of a cron expression that has no names in it.
fn is_field(word: &str) -> bool {
    // A field contains at least one of these characters; `-` alone is standard input.
    word.contains(|it: char| it.is_ascii_digit() || matches!(it, '*' | '?'))
        && word.chars().all(|it| it.is_ascii_digit() || matches!(it, '*' | '/' | ',' | '-' | '?'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_distinguished_from_a_name_and_a_path() {
        for word in ["0 8 * * *", "@daily", "@every 5m", "rate(5 minutes)", "CRON_TZ=UTC 0 8 * * *"]
        {
            assert!(is_expression(word), "{word}");
        }
        for word in ["shop", "deployment/shop", "shop-*", "policies.yaml", ".", "*/15"] {
            assert!(!is_expression(word), "{word}");
        }
    }

    #[test]
    fn a_field_has_a_digit_or_stands_for_all_of_them() {
        for word in ["0", "*/15", "1-5", "1,2", "*", "?"] {
            assert!(is_field(word), "{word}");
        }
        for word in ["-", "/", "", "mon", "a1"] {
            assert!(!is_field(word), "{word}");
        }
    }
}
