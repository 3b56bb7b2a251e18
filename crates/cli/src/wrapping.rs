//! Text broken into lines between words.
//!
//! An instant, a change of a value, a command, a short value in double quotes and text in backticks stay on one line if
//! they fit, so that users can read and copy them. A word that is longer than a line is never cut, because users copy
//! names and paths, too.

use crate::text_width::{display_width, without_styles};

/// The text before a command to copy.
const BEFORE_COMMAND: &str = "check the result: ";

/// The maximum number of columns of a quoted value that stays on one line. A longer value is a sentence.
const MAX_VALUE_COLUMNS: usize = 40;

/// The additional indentation of a continuation line.
const DEEPER: usize = 2;

/// An unbreakable part of a text, and the number of spaces before it.
struct Part<'a> {
    gap: usize,
    text: &'a str,
}

/// A text in lines of at most this width.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    filled(text, width, width)
}

/// A line in lines of at most this width. The lines after the first are indented further.
pub(crate) fn hanging(line: &str, width: usize) -> Vec<String> {
    if display_width(line) <= width {
        return vec![line.to_owned()];
    }
    let text = line.trim_start_matches(' ');
    let begin = line.len() - text.len();
    // If too few columns are left, the indentation is not kept.
    let deeper = if begin + DEEPER <= width / 2 { begin + DEEPER } else { DEEPER };
    let (first, rest) = (width.saturating_sub(begin), width.saturating_sub(deeper));
    let lines = filled(text, first, rest).into_iter().enumerate();
    let indented = lines.map(|(index, line)| {
        let indent = if index == 0 { begin } else { deeper };
        format!("{:indent$}{line}", "")
    });
    indented.collect()
}

/// The width of the widest part of a text that stays on one line.
pub(crate) fn widest_part(text: &str) -> usize {
    let parts = parts(text, usize::MAX);
    parts.iter().map(|part| display_width(part.text)).max().unwrap_or_default()
}

/// A text in lines. The first line is at most `first` wide, the others `rest`.
fn filled(text: &str, first: usize, rest: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut used) = (String::new(), 0);
    for Part { gap, text } in parts(text, first.min(rest)) {
        let width = display_width(text);
        let room = if lines.is_empty() { first } else { rest };
        if line.is_empty() {
            line.push_str(text);
            used = width;
        } else if used + gap + width <= room {
            line.extend(std::iter::repeat_n(' ', gap));
            line.push_str(text);
            used += gap + width;
        } else {
            lines.push(std::mem::replace(&mut line, text.to_owned()));
            used = width;
        }
    }
    lines.push(line);
    lines
}

/// The words of a text. Words that stay on one line are one part, unless they are wider than a line.
fn parts(text: &str, widest: usize) -> Vec<Part<'_>> {
    let last_backtick = text.rfind('`');
    let command = text.find(BEFORE_COMMAND).map_or(text.len(), |at| at + BEFORE_COMMAND.len());
    let mut parts: Vec<Part<'_>> = Vec::new();
    // The start of the last part, its last word, and whether an earlier backtick is still open.
    let (mut begin, mut former, mut is_quoted) = (0, String::new(), false);
    let (mut at, mut gap) = (0, 0);
    for piece in pieces(text, widest) {
        let (start, end) = (at, at + piece.len());
        at = end + 1;
        if piece.is_empty() {
            gap += 1;
            continue;
        }
        let word = without_styles(piece);
        let is_closed_later = last_backtick.is_some_and(|last| last >= start);
        let stays = start > command
            || (is_quoted && is_closed_later)
            || (gap == 1 && belong_together(&former, &word));
        is_quoted ^= piece.matches('`').count() % 2 == 1;
        former = word;
        match parts.last_mut() {
            Some(part) if stays && display_width(&text[begin..end]) <= widest => {
                part.text = &text[begin..end];
            }
            _ => {
                begin = start;
                parts.push(Part { gap, text: piece });
            }
        }
        gap = 1;
    }
    parts
}

/// The pieces of a text between spaces. A short value in double quotes is not split, unless its piece would be wider
/// than a line.
fn pieces(text: &str, widest: usize) -> impl Iterator<Item = &str> {
    let mut ends = Vec::new();
    // The start of a value, and the number of pieces that end before it.
    let mut value: Option<(usize, usize)> = None;
    // A backslash escapes the next character, unless it is escaped itself.
    let (mut before, mut is_escaped) = (' ', false);
    for (at, letter) in text.char_indices() {
        match (letter, value) {
            (' ', _) => ends.push(at),
            ('"', Some((begin, count))) if !is_escaped => {
                if display_width(&text[begin..=at]) <= MAX_VALUE_COLUMNS {
                    ends.truncate(count);
                }
                value = None;
            }
            // After a letter or a digit, a quote does not start a value: 19".
            ('"', None) if !is_escaped && !before.is_alphanumeric() => {
                value = Some((at, ends.len()));
            }
            _ => {}
        }
        is_escaped = letter == '\\' && !is_escaped;
        before = letter;
    }
    let mut begin = 0;
    ends.into_iter().chain([text.len()]).flat_map(move |end| {
        let piece = &text[begin..end];
        begin = end + 1;
        let count = if display_width(piece) <= widest { 1 } else { usize::MAX };
        piece.splitn(count, ' ')
    })
}

/// Whether two words are parts of an instant such as `Sun 2026-03-08 03:00 -04:00`, or of a change such as `2 → 40`.
fn belong_together(before: &str, after: &str) -> bool {
    let is_arrow = |word: &str| matches!(word, "→" | "->");
    let is_day = |word: &str| matches!(word, "Mon" | "Tue" | "Wed" | "Thu" | "Fri" | "Sat" | "Sun");
    if is_arrow(before) || is_arrow(after) {
        return true;
    }
    let is_dated = has_shape(before, "0000-00-00") && has_shape(after, "00:00");
    let is_offset = after.starts_with("UTC") || has_shape(after, "+00:00");
    let is_time = has_shape(after, "0000-00-00") || has_shape(after, "00:00");
    (is_day(before.trim_start_matches('(')) && is_time)
        || is_dated
        || (has_shape(before, "00:00") && is_offset)
}

/// Whether a word starts in this form, in which 0 is any digit, and + a sign. A bracket may precede the word.
fn has_shape(word: &str, shape: &str) -> bool {
    let mut letters = word.trim_start_matches('(').chars();
    shape.chars().all(|expected| {
        letters.next().is_some_and(|letter| match expected {
            '0' => letter.is_ascii_digit(),
            '+' => matches!(letter, '+' | '-'),
            other => letter == other,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = "  shop-hours open fires; Deployment.apps default/shop: replicas 2 → 40, until Sun 2026-03-08 \
                        03:00 -04:00; set `schedule: 0 8 * * *`";

    #[test]
    fn lines_that_continue_begin_deeper() {
        let lines = hanging("= fix: let only one of the two set it", 20);
        assert_eq!(lines, ["= fix: let only one", "  of the two set it"]);
        assert_eq!(hanging("  one two three", 9), ["  one two", "    three"]);
        assert_eq!(hanging("       one two", 11), ["       one", "  two"]);
        assert_eq!(hanging("  short", 20), ["  short"]);
    }

    #[test]
    fn an_instant_a_change_and_a_quoted_text_stay_on_one_line() {
        for width in 40..120 {
            let lines = hanging(MESSAGE, width);
            for whole in ["2 → 40,", "Sun 2026-03-08 03:00 -04:00;", "`schedule: 0 8 * * *`"] {
                assert!(lines.iter().any(|line| line.contains(whole)), "{width}: {lines:?}");
            }
            assert!(lines.iter().all(|line| display_width(line) <= width), "{width}: {lines:?}");
        }
    }

    #[test]
    fn a_short_value_in_double_quotes_stays_on_one_line_where_it_fits() {
        let message = "spec.rules[0].schedule: \"0 8 * *\" has 4 fields; write (\"0 8 * * 1-5\"), or \"every \\\"working\\\" day\"";
        for width in 26..100 {
            let lines = hanging(message, width);
            for whole in ["\"0 8 * *\"", "(\"0 8 * * 1-5\"),", "\"every \\\"working\\\" day\""] {
                assert!(lines.iter().any(|line| line.contains(whole)), "{width}: {lines:?}");
            }
            assert!(lines.iter().all(|line| display_width(line) <= width), "{width}: {lines:?}");
        }
        assert_eq!(
            wrapped("\"0 8 * * *\" → \"0 9 * * *\"", 14),
            ["\"0 8 * * *\" →", "\"0 9 * * *\""]
        );
        // The value does not fit next to other text, or not on any line. A sentence is broken like other text.
        assert_eq!(wrapped("is \"a b c\"", 7), ["is", "\"a b c\""]);
        assert_eq!(wrapped("is \"a b c\"", 6), ["is \"a", "b c\""]);
        let quoted = |count: usize| format!("\"{}on\"", "so ".repeat(count));
        assert_eq!(wrapped(&format!("is {}", quoted(12)), 42), ["is", &quoted(12)], "40 columns");
        let sentence = wrapped(&format!("is {}", quoted(13)), 44);
        assert_eq!(sentence[0].len(), 42, "{sentence:?}");
    }

    #[test]
    fn an_unclosed_double_quote_or_one_for_inches_keeps_no_words_together() {
        assert_eq!(wrapped("a \"b c d", 4), ["a \"b", "c d"]);
        assert_eq!(wrapped("a 19\" b 21\" c", 6), ["a 19\"", "b 21\"", "c"]);
    }

    #[test]
    fn a_command_stays_on_one_line_where_it_fits() {
        let command = "helm template charts/shop | almanac lint -f -";
        let note = format!("note: charts/shop is a Helm chart; to check the result: {command}");
        assert_eq!(hanging(&note, 60)[1], format!("  {command}"));
        assert!(hanging(&note, 40).iter().all(|line| display_width(line) <= 40));
    }

    #[test]
    fn no_word_is_lost_and_none_is_cut_at_any_width() {
        let name = "n".repeat(253);
        let texts = [
            MESSAGE.to_owned(),
            format!("  {name} 東京の営業時間 🚀 {name}"),
            " ".repeat(9),
            String::new(),
        ];
        for text in texts {
            let words: Vec<&str> = text.split_whitespace().collect();
            for width in 0..300 {
                for lines in [hanging(&text, width), wrapped(&text, width)] {
                    let found: Vec<&str> =
                        lines.iter().flat_map(|it| it.split_whitespace()).collect();
                    assert_eq!(found, words, "{width}");
                    for line in lines.iter().filter(|line| display_width(line) > width) {
                        assert!(!line.trim().contains(' '), "{width}: {line}");
                    }
                }
            }
        }
    }

    #[test]
    fn spaces_between_columns_stay_within_a_line() {
        assert_eq!(wrapped("opens   Fri  !", 20), ["opens   Fri  !"]);
        assert_eq!(wrapped("opens   Fri  !", 11), ["opens   Fri", "!"]);
    }

    #[test]
    fn a_style_takes_no_room() {
        let bold = "\u{1b}[1mone two\u{1b}[0m three";
        assert_eq!(wrapped(bold, 7), ["\u{1b}[1mone two\u{1b}[0m", "three"]);
    }

    #[test]
    fn an_unclosed_backtick_keeps_no_words_together() {
        assert_eq!(wrapped("a `b c d", 4), ["a `b", "c d"]);
    }
}
