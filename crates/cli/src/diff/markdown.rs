//! The differences as Markdown, for a comment on a pull request: one paragraph, a table, and the assumptions.
//!
//! A comment on GitHub has at most 65,536 characters. The output has the number of the changes that do not fit. Users
//! choose names, so nothing in a name becomes markup, a link, a mention or a reference.

use std::fmt::Write as _;
use std::io::Write;

use almanac_api::finding::Severity;
use almanac_engine::counted;

use super::change_groups::ChangeGroup;
use super::question::Question;
use super::side::Side;
use super::summary::Summary;
use super::table::{self, HEADS};
use super::words::{self, incomplete, listed, period, sentence};
use crate::invisible;

/// The maximum number of bytes of the output. A comment can contain some more lines.
const MAX_BYTES: usize = 60_000;

/// The maximum number of changes in the paragraph.
const MAX_IN_PARAGRAPH: usize = 3;

/// The maximum number of bytes of a sentence in the paragraph, and of a finding.
const MAX_SENTENCE_BYTES: usize = 3000;

/// The maximum number of assumptions.
const MAX_ASSUMPTIONS: usize = 5;
/// The maximum number of bytes of an assumption.
const MAX_ASSUMPTION_BYTES: usize = 400;

/// The maximum number of findings of each side.
const MAX_FINDINGS: usize = 5;

/// The maximum number of notes.
const MAX_NOTES: usize = 6;

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<bool> {
    let (changes, summary, assumptions) = question.changes()?;
    let mut text = paragraph(question, &changes, &summary);
    let assumed =
        list("Assumptions", &words::assumed(&assumptions), MAX_ASSUMPTIONS, MAX_ASSUMPTION_BYTES);
    let further = list("Notes", &question.coverage.notes, MAX_NOTES, MAX_ASSUMPTION_BYTES);
    let notes = assumed + &findings(question) + &further;
    let capacity = MAX_BYTES - notes.len().min(MAX_BYTES / 2);
    let jobs = &question.jobs.changes;
    if !changes.is_empty() || !jobs.is_empty() {
        text += "\n";
        let _ = writeln!(text, "| {} |\n|---|---|---|---|---|---:|---|---|", HEADS.join(" | "));
    }
    let mut is_full = false;
    for (index, change) in changes.iter().enumerate() {
        let rows: String = table::rows(change).into_iter().map(row).collect();
        if text.len() + rows.len() > capacity {
            let omitted: usize = changes.iter().skip(index).map(|it| it.count).sum();
            let values = if omitted == 1 { "value is" } else { "values are" };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\n{omitted} more changed {values} not listed here.");
            is_full = true;
            break;
        }
        text += &rows;
    }
    for (index, job) in jobs.iter().enumerate() {
        let row = row(job.row());
        if is_full || text.len() + row.len() > capacity {
            let omitted = counted(jobs.len() - index, "more changed CronJob");
            let _ = writeln!(text, "\nNot listed here: {omitted}.");
            break;
        }
        text += &row;
    }
    text += &notes;
    output.write_all(text.as_bytes())?;
    Ok(summary.may_differ())
}

/// The changes, their instants, and their sum.
fn paragraph(question: &Question<'_>, changes: &[ChangeGroup], summary: &Summary) -> String {
    let [old, new] = [question.old, question.new].map(|side| short_revision(&side.name));
    let period = period(question);
    let [old, new, period] = [old, new, &*period].map(|it| shortened(it, MAX_SENTENCE_BYTES));
    let warning = incomplete(question);
    let mut text = warning
        .map_or_else(String::new, |it| format!("**{}**\n\n", shortened(&it, MAX_SENTENCE_BYTES)));
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "**{}** from {old} to {new}, {period}.",
        summary.counted(&question.jobs.parts())
    );
    if let Some(rendered) = words::rendered(question) {
        let _ = write!(text, " {}", shortened(&rendered, MAX_SENTENCE_BYTES));
    }
    for change in most_important(changes) {
        let line = format!("{}: {}", change.title(), sentence(change));
        let _ = write!(text, " {}.", shortened(&line, MAX_SENTENCE_BYTES));
    }
    for job in question.jobs.changes.iter().take(MAX_IN_PARAGRAPH) {
        let line = format!("{}: {}", job.title(), job.sentence());
        let _ = write!(text, " {}.", shortened(&line, MAX_ASSUMPTION_BYTES));
    }
    let hours = summary.hours(question.period);
    if changes.len() > MAX_IN_PARAGRAPH && !hours.is_empty() {
        let _ = write!(text, " In all, {}.", listed(&hours));
    }
    text + "\n"
}

/// The changes with the largest differences in pod-hours, in the order of the input.
fn most_important(changes: &[ChangeGroup]) -> Vec<&ChangeGroup> {
    let zero = almanac_forecast::PodHours::default();
    let size = |change: &ChangeGroup| {
        let growth = change.growth().unwrap_or(zero);
        if growth < zero { zero - growth } else { growth }
    };
    let mut positions: Vec<usize> = (0..changes.len()).collect();
    positions.sort_by_key(|it| (std::cmp::Reverse(changes.get(*it).map(size)), *it));
    positions.truncate(MAX_IN_PARAGRAPH);
    positions.sort_unstable();
    positions.into_iter().filter_map(|it| changes.get(it)).collect()
}

fn row(cells: [String; 8]) -> String {
    format!("| {} |\n", cells.map(|it| escaped(&it)).join(" | "))
}

/// A list below a head: the first `most` items, each cut to `longest` bytes, and the number of the others.
fn list(head: &str, items: &[String], most: usize, longest: usize) -> String {
    if items.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{head}:\n\n");
    for item in items.iter().take(most) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {}", shortened(item, longest));
    }
    if items.len() > most {
        let _ = writeln!(text, "- and {} more", items.len() - most);
    }
    text
}

/// The errors and warnings of each side.
fn findings(question: &Question<'_>) -> String {
    let of_side = |(side, which): (&Side, &str)| {
        let all = side.input.findings.iter();
        let bad = all.filter(|it| it.finding.severity() != Severity::Info);
        let bad: Vec<String> = bad.map(|it| side.line_of(it)).collect();
        let head = format!("{} in the {which} files", counted(bad.len(), "finding"));
        list(&head, &bad, MAX_FINDINGS, MAX_SENTENCE_BYTES)
    };
    [(question.old, "old"), (question.new, "new")].map(of_side).concat()
}

/// Text from users, escaped and cut to at most `most` bytes.
fn shortened(text: &str, most: usize) -> String {
    let whole = escaped(text);
    if whole.len() <= most {
        return whole;
    }
    let suffix: Vec<char> = text.chars().collect();
    let start = |count: usize| escaped(&suffix.iter().take(count).collect::<String>());
    let counts: Vec<usize> = (0..=suffix.len().min(most)).collect();
    let fitting = counts.partition_point(|count| start(*count).len() <= most);
    start(fitting.saturating_sub(1)) + "…"
}

/// The minimum number of hexadecimal digits in a word that GitHub reads as the name of a commit.
const MIN_HASH_LENGTH: usize = 7;

/// The number of digits in the short name of a commit.
const SHORT_HASH_LENGTH: usize = 12;

/// The short name of a commit. Any other revision is unchanged.
fn short_revision(name: &str) -> &str {
    let is_commit = matches!(name.len(), 40 | 64) && name.bytes().all(|it| it.is_ascii_hexdigit());
    if is_commit { name.get(..SHORT_HASH_LENGTH).unwrap_or(name) } else { name }
}

/// Text from users, escaped so that GitHub displays it verbatim. A word that could be the name of a commit is code.
fn escaped(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        let suffix = word.trim_end_matches(char::is_whitespace);
        if has_hash(suffix) {
            output += "<code>";
            write_escaped(suffix, &mut output);
            output += "</code>";
            write_escaped(&word[suffix.len()..], &mut output);
        } else {
            write_escaped(word, &mut output);
        }
    }
    output
}

/// Whether a word contains enough consecutive hexadecimal digits for the name of a commit.
fn has_hash(word: &str) -> bool {
    word.split(|character: char| !character.is_ascii_hexdigit())
        .any(|digits| digits.len() >= MIN_HASH_LENGTH)
}

/// Escapes a word. GitHub searches for mentions and references after decoding entities, but only inside a single
/// element. So a character that would start a mention or a reference is in a separate element.
fn write_escaped(text: &str, output: &mut String) {
    for (position, character) in text.char_indices() {
        match character {
            '&' => output.push_str("&amp;"),
            '<' => output.push_str("&lt;"),
            '>' => output.push_str("&gt;"),
            // The start of a mention or of a reference to an issue.
            '@' => output.push_str("<span>@</span>"),
            '#' => output.push_str("<span>#</span>"),
            // A reference to an issue, such as GH-12.
            '-' if ends_with(&text[..position], "gh") => output.push_str("<span>-</span>"),
            // The scheme of a link.
            '/' if output.ends_with(":/") => {
                output.truncate(output.len() - 2);
                output.push_str("&#58;//");
            }
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' | '$' => {
                output.push('\\');
                output.push(character);
            }
            '.' if ends_with(&text[..position], "www") => output.push_str("&#46;"),
            character if character.is_control() => output.push(' '),
            character => match invisible::code_point(character) {
                Some(number) => write_escaped(&number, output),
                None => output.push(character),
            },
        }
    }
}

/// Whether a string ends with this suffix, ignoring case.
fn ends_with(text: &str, suffix: &str) -> bool {
    let end = text.len().checked_sub(suffix.len()).and_then(|start| text.get(start..));
    end.is_some_and(|it| it.eq_ignore_ascii_case(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_before_shortening() {
        assert_eq!(shortened("@a", 100), "<span>@</span>a");
        assert_eq!(shortened("####", 30), "<span>#</span><span>#</span>…");
        assert_eq!(shortened("üüü", 5), "üü…");
    }

    #[test]
    fn no_name_becomes_markup() {
        for (name, expected) in [
            ("a|b", "a\\|b"),
            ("<img src=x>", "&lt;img src=x&gt;"),
            ("@team #12", "<span>@</span>team <span>#</span>12"),
            ("[a](b) `c`", "\\[a\\](b) \\`c\\`"),
            ("https://a.b", "https&#58;//a.b"),
            ("WWW.a.b", "WWW&#46;a.b"),
            ("a\nb", "a b"),
            ("a\u{202e}b\u{200b}", "a&lt;U+202E&gt;b&lt;U+200B&gt;"),
            ("GH-12 gh-3", "GH<span>-</span>12 gh<span>-</span>3"),
            ("a1b2c3 a\t0123456_x y", "a1b2c3 a <code>0123456\\_x</code> y"),
        ] {
            assert_eq!(escaped(name), expected);
        }
    }

    #[test]
    fn the_full_name_of_a_commit_is_shortened() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(short_revision(commit), "0123456789ab");
        for name in ["main", "0123456789abcdef", "v1.0", &commit.replace('0', "g")] {
            assert_eq!(short_revision(name), name);
        }
    }
}
