//! Findings as Markdown, for a comment on a pull request: a table, the most severe first, of bounded length.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::Report;
use super::location::Location;
use super::text::summary;
use crate::invisible;
use crate::markup;

/// The longest comment that GitHub accepts, in characters.
const MAX_CHARACTERS: usize = 65_536;

/// The space reserved for the line after the table with the number of omitted findings.
const REST: usize = 200;

pub(super) fn write(output: &mut impl Write, report: &Report) -> io::Result<()> {
    let head = format!("**almanac {}**: {}\n", report.command, summary(report));
    output.write_all(head.as_bytes())?;
    let mut findings: Vec<_> = report.everything.findings.iter().collect();
    // The sort is stable, so the findings of a file stay in order.
    findings.sort_by_key(|placed| placed.finding.severity());
    if findings.is_empty() {
        return Ok(());
    }
    let columns = "\n| severity | where | what |\n|---|---|---|\n";
    output.write_all(columns.as_bytes())?;
    let mut length = head.chars().count() + columns.chars().count();
    for (listed, placed) in findings.iter().enumerate() {
        let finding = &placed.finding;
        let source = &report.reading.sources[placed.source];
        let Location { line, column, .. } = Location::for_finding(source, placed);
        let place = report.everything.place_of(placed);
        let place = place.map_or(String::new(), |place| format!("<br>in {}", cell(place)));
        let at = cell(&format!("{}:{line}:{column}", source.name()));
        let fix = finding.fix.as_deref().map(cell);
        let fix = fix.map_or(String::new(), |fix| format!("<br>fix: {fix}"));
        let (severity, code) = (finding.severity(), finding.code);
        let message = cell(&finding.headline());
        let row = format!("| {severity} | {at}{place} | {code}: {message}{fix} |\n");
        length += row.chars().count();
        if length > MAX_CHARACTERS - REST {
            let omitted = findings.len() - listed;
            return writeln!(output, "\nand {omitted} more; the other formats list them");
        }
        output.write_all(row.as_bytes())?;
    }
    Ok(())
}

/// A text in a cell, unchanged. The cell is code, so Markdown links no users and no issues. Characters with a meaning
/// in Markdown or HTML are written as references.
fn cell(text: &str) -> String {
    let mut cell = "<code>".to_owned();
    for letter in text.chars() {
        match letter {
            letter if letter.is_control() => cell.push(' '),
            letter if letter.is_ascii_alphanumeric() || " ,.;=/'\"?-".contains(letter) => {
                cell.push(letter);
            }
            letter if letter.is_ascii() => {
                // Writing to a string never fails.
                let _ = write!(cell, "&#{};", u32::from(letter));
            }
            letter => match invisible::code_point(letter) {
                Some(number) => cell.push_str(&markup::escaped(&number)),
                None => cell.push(letter),
            },
        }
    }
    cell.push_str("</code>");
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_text_stays_in_its_cell() {
        let found = cell("a|b\n</code><script> `c` [d](e) @f https://g *h* _i_ &amp; \\|");
        let inside = found.strip_prefix("<code>").unwrap().strip_suffix("</code>").unwrap();
        assert!(
            !inside.contains(['|', '<', '>', '`', '[', ']', '(', '@', '*', '_', '\\', '\n', ':'])
        );
        assert!(inside.starts_with("a&#124;b &#60;/code&#62;"), "{inside}");
    }
}
