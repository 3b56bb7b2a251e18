//! A pattern in the form of the command line: `weekdays=Mon, Tue hours=9`.
//!
//! This module splits the text into fields; the calendar interprets the list of a field.

use std::ops::Range;

use almanac_calendar::{Pattern, PatternError, PatternField, PatternText};

use crate::argument_error::{ArgumentError, quoted};

const FIELDS: &str = "minutes, hours, days, months, weekdays and years";

/// A field of a pattern: the positions of its name and of its list in the text.
#[derive(Debug, PartialEq, Eq)]
struct Assignment {
    name: Range<usize>,
    list: Range<usize>,
}

/// Reads a pattern: each field's name, an equals sign and its list.
pub(super) fn pattern(argument: &'static str, text: &str) -> Result<Pattern, ArgumentError> {
    let wrong =
        |span: Range<usize>, message: String| ArgumentError::new(argument, text, span, message);
    let Some(assignments) = assignments(text) else {
        let message = format!(
            "a pattern lists values for fields, such as 'weekdays=Mon,Tue hours=9'; the fields \
             are {FIELDS}"
        );
        return Err(wrong(0..text.len(), message));
    };
    let mut fields = PatternText::default();
    let mut lists: Vec<(PatternField, usize)> = Vec::new();
    for Assignment { name, list } in assignments {
        let (field, slot) = match &text[name.clone()] {
            "minutes" => (PatternField::Minutes, &mut fields.minutes),
            "hours" => (PatternField::Hours, &mut fields.hours),
            "days" => (PatternField::Days, &mut fields.days),
            "months" => (PatternField::Months, &mut fields.months),
            "weekdays" => (PatternField::Weekdays, &mut fields.weekdays),
            "years" => (PatternField::Years, &mut fields.years),
            "" => {
                let message =
                    format!("the field name is missing before `=`; the fields are {FIELDS}");
                return Err(wrong(name.start..list.start, message));
            }
            input => {
                let input = quoted(input);
                let message =
                    format!("{input} is not a field of a pattern; the fields are {FIELDS}");
                return Err(wrong(name, message));
            }
        };
        if slot.replace(&text[list.clone()]).is_some() {
            let message = format!("{} is given twice; write one list", field.name());
            return Err(wrong(name, message));
        }
        lists.push((field, list.start));
    }
    Pattern::parse(fields).map_err(|error| {
        let span = span_in(text, &error, &lists);
        ArgumentError::new(argument, text, span, error)
    })
}

/// The position of an error in a field's list, in the whole text.
fn span_in(text: &str, error: &PatternError, lists: &[(PatternField, usize)]) -> Range<usize> {
    let list = error.field().and_then(|field| lists.iter().find(|(it, _)| *it == field));
    match list {
        Some((_, start)) => error.span().start + start..error.span().end + start,
        None => 0..text.len(),
    }
}

/// The fields of a pattern, in written order; `None` without fields.
///
/// The word before an equals sign is a name, and all text up to the next name is its list. The first name is all text
/// before the first equals sign, so no text is ignored.
fn assignments(text: &str) -> Option<Vec<Assignment>> {
    let mut equals = text.match_indices('=').map(|(at, _)| at);
    let first = equals.next()?;
    let mut assignments = Vec::new();
    let mut name = trimmed(text, 0..first);
    let mut list_start = first + 1;
    for next in equals {
        let next_name = last_word(text, list_start..next);
        assignments.push(Assignment { name, list: list_start..next_name.start });
        (name, list_start) = (next_name, next + 1);
    }
    assignments.push(Assignment { name, list: list_start..text.len() });
    Some(assignments)
}

/// A part of the text without surrounding spaces.
fn trimmed(text: &str, part: Range<usize>) -> Range<usize> {
    let input = &text[part.clone()];
    let start = part.start + input.len() - input.trim_start().len();
    start..start + input.trim().len()
}

/// The last word of a part of the text.
fn last_word(text: &str, part: Range<usize>) -> Range<usize> {
    let input = text[part.clone()].trim_end();
    let word = input.rsplit(char::is_whitespace).next().unwrap_or_default();
    part.start + input.len() - word.len()..part.start + input.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        pattern("--start", text).unwrap_err().to_string()
    }

    #[test]
    fn spaces_in_a_pattern_do_not_matter() {
        let plain = pattern("--start", "weekdays=Mon,Tue hours=9").unwrap();
        for text in [
            "weekdays = Mon, Tue hours = 9",
            "  weekdays=Mon ,Tue\thours=9  ",
            "weekdays=Mon,Tue\u{3000}hours=9",
        ] {
            assert_eq!(pattern("--start", text).unwrap(), plain, "{text:?}");
        }
    }

    #[test]
    fn no_word_is_ignored() {
        assert!(message("garbage hours=9").contains("`garbage hours` is not a field"));
        assert!(message("hours=9 garbage").contains("`9 garbage` is not one of the hours"));
        for text in ["hours=9=10", "hours=9 = 10 ="] {
            assert!(message(text).contains("`9` is not a field"), "{text}");
        }
        assert!(message("hours=9 hours=10").contains("hours is given twice"));
    }

    #[test]
    fn a_missing_field_name_is_reported() {
        for text in ["=", "=9", "hours==9"] {
            assert!(message(text).contains("name is missing before `=`"), "{text:?}");
        }
        assert!(message("").contains("a pattern lists values for fields"));
        assert!(message("hours").contains("a pattern lists values for fields"));
    }

    #[test]
    fn an_error_in_a_list_points_into_the_whole_text() {
        let error = pattern("--start", "weekdays=Mon hours=9, 24").unwrap_err();
        assert_eq!(error.span(), 22..24);
    }
}
