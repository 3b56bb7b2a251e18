//! Findings as annotations of GitHub Actions: one workflow command a line.

use std::io::{self, Write};

use almanac_api::finding::Severity;

use super::Report;
use super::location::Location;

pub(super) fn write(output: &mut impl Write, report: &Report) -> io::Result<()> {
    for placed in &report.everything.findings {
        let source = &report.reading.sources[placed.source];
        let finding = &placed.finding;
        let command = match finding.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        let Location { line, column, end } = Location::for_finding(source, placed);
        let end = end
            .map_or(String::new(), |end| format!(",endLine={},endColumn={}", end.line, end.column));
        let (file, title) = (property(source.name()), property(finding.code.name()));
        let message = data(&report.in_full(placed));
        writeln!(
            output,
            "::{command} file={file},line={line},col={column}{end},title={title}::{message}"
        )?;
    }
    Ok(())
}

/// A message, escaped so that no line of it is a separate command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property, which ends with a comma or a colon.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_or_a_message_ends_a_command_or_begins_another() {
        assert_eq!(data("100 %\r\n::error::a,b"), "100 %25%0D%0A::error::a,b");
        assert_eq!(property("a,line=1::b\n%0A"), "a%2Cline=1%3A%3Ab%0A%250A");
    }
}
