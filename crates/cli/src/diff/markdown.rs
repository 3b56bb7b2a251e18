//! The differences as Markdown, for a comment on a pull request: one paragraph, then a table.
//!
//! A comment on GitHub has at most 65,536 characters. What does not fit is counted. Names are those of others, so
//! nothing in them is markup, a link, a mention or a reference here.

use std::fmt::Write as _;
use std::io::Write;

use almanac_api::finding::Severity;

use super::question::Question;
use super::rows::Change;
use super::text::hours_of;
use super::words::{Summary, counted, listed, peaks, period, sentence, set_by, title, values};

/// Less than fits, so that a comment can have a few lines of its own.
const MOST_BYTES: usize = 60_000;

/// So many changes are told in the paragraph.
const IN_PARAGRAPH: usize = 3;

const HEAD: &str = "| target | field | when | before | after | hours a week | peak | set by |\n\
                    |---|---|---|---|---|---:|---|---|\n";

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<bool> {
    let (changes, summary, _) = question.changes()?;
    let mut written = paragraph(question, &changes, &summary);
    let findings = findings(question);
    let room = MOST_BYTES - findings.len().min(MOST_BYTES / 2);
    if !changes.is_empty() {
        written += "\n";
        written += HEAD;
    }
    for (index, change) in changes.iter().enumerate() {
        let rows = rows(change);
        if written.len() + rows.len() > room {
            let left = changes.len() - index;
            let values = if left == 1 { "value is" } else { "values are" };
            // Writing to a text cannot fail.
            let _ = writeln!(written, "\n{left} more changed {values} not shown here.");
            break;
        }
        written += &rows;
    }
    written += &findings;
    output.write_all(written.as_bytes())?;
    Ok(summary.is_changed())
}

/// What changes, when, and what it comes to.
fn paragraph(question: &Question<'_>, changes: &[Change], summary: &Summary) -> String {
    let (old, new) = (escaped(&question.old.name), escaped(&question.new.name));
    let mut said =
        format!("**{}** from {old} to {new}, {}.", summary.counted(), escaped(&period(question)));
    for change in most_important(changes) {
        // Writing to a text cannot fail.
        let _ = write!(said, " {}: {}.", escaped(&title(change)), escaped(&sentence(change)));
    }
    let hours = summary.hours(question.period);
    if changes.len() > IN_PARAGRAPH && !hours.is_empty() {
        let _ = write!(said, " In all, {}.", listed(&hours));
    }
    said + "\n"
}

/// Those that cost or save most, in their own order.
fn most_important(changes: &[Change]) -> Vec<&Change> {
    let zero = almanac_forecast::PodHours::default();
    let size = |change: &Change| {
        let growth = change.growth.unwrap_or(zero);
        if growth < zero { zero - growth } else { growth }
    };
    let mut positions: Vec<usize> = (0..changes.len()).collect();
    positions.sort_by_key(|it| (std::cmp::Reverse(changes.get(*it).map(size)), *it));
    positions.truncate(IN_PARAGRAPH);
    positions.sort_unstable();
    positions.into_iter().filter_map(|it| changes.get(it)).collect()
}

fn rows(change: &Change) -> String {
    let mut written = String::new();
    for (index, row) in change.rows.iter().enumerate() {
        let of_change = |text: String| if index == 0 { text } else { String::new() };
        let (before, after) = values(&row.first);
        let cells = [
            of_change(title(change)),
            of_change(change.field.to_string()),
            row.when.clone(),
            before,
            after,
            hours_of(change, row),
            of_change(peaks(change)),
            set_by(row),
        ];
        let _ = writeln!(written, "| {} |", cells.map(|cell| escaped(&cell)).join(" | "));
    }
    if change.more > 0 {
        let _ = writeln!(written, "| | | and {} more | | | | | |", change.more);
    }
    written
}

/// How many findings there are on each side, and the errors of the new one.
fn findings(question: &Question<'_>) -> String {
    let mut written = String::new();
    for (side, which) in [(question.old, "old"), (question.new, "new")] {
        let is_bad = |severity| severity != Severity::Info;
        let bad = side.input.findings.iter().filter(|it| is_bad(it.finding.severity()));
        let bad: Vec<_> = bad.collect();
        if bad.is_empty() {
            continue;
        }
        let _ = writeln!(written, "\n{} in the {which} files:\n", counted(bad.len(), "finding"));
        for placed in bad.iter().take(5) {
            let source = &side.input.reading.sources[placed.source];
            let line = placed.span.map_or(1, |span| source.position(span.start).line);
            let finding = &placed.finding;
            let said = format!("{}:{line}: {}: {finding}", source.name(), finding.severity());
            let _ = writeln!(written, "- {}", escaped(&shortened(&said)));
        }
        if bad.len() > 5 {
            let _ = writeln!(written, "- and {} more", bad.len() - 5);
        }
    }
    written
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 500;
    let mut letters = text.chars();
    let start: String = letters.by_ref().take(LONGEST).collect();
    if letters.next().is_some() { start + "…" } else { start }
}

/// Text of others as it stands, in Markdown that GitHub shows.
fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            // A mention, a reference to an issue, the scheme of a link.
            // GitHub looks for people and issues once entities are letters again: something has to stand between.
            '@' => written.push_str("@&#8288;"),
            '#' => written.push_str("#&#8288;"),
            '/' if written.ends_with(":/") => {
                written.truncate(written.len() - 2);
                written.push_str("&#58;//");
            }
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' | '$' => {
                written.push('\\');
                written.push(letter);
            }
            '.' if written.to_ascii_lowercase().ends_with("www") => written.push_str("&#46;"),
            letter if letter.is_control() => written.push(' '),
            letter => written.push(letter),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_is_markup() {
        for (name, expected) in [
            ("a|b", "a\\|b"),
            ("<img src=x>", "&lt;img src=x&gt;"),
            ("@team #12", "@&#8288;team #&#8288;12"),
            ("[a](b) `c`", "\\[a\\](b) \\`c\\`"),
            ("https://a.b", "https&#58;//a.b"),
            ("WWW.a.b", "WWW&#46;a.b"),
            ("a\nb", "a b"),
        ] {
            assert_eq!(escaped(name), expected);
        }
    }
}
