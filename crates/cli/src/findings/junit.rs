//! Findings as a report of tests: a suite for each file that was checked, and a case for each finding in it.
//!
//! A finding that makes the command fail is a failure; any other finding is a case that passes, with the finding as
//! its output. A file without findings is a case that passes.

use std::io::{self, Write};

use almanac_api::reading::PlacedFinding;

use super::Report;
use super::location::Location;
use crate::markup::escaped;
use crate::outcome::FailOn;

pub(super) fn write(output: &mut impl Write, report: &Report, fail_on: FailOn) -> io::Result<()> {
    let findings = &report.everything.findings;
    let is_failure = |placed: &&PlacedFinding| fail_on.fails_on(placed.finding.severity());
    let failures = findings.iter().filter(is_failure).count();
    let files = report.everything.files(&report.reading);
    let is_of = |source: usize| move |placed: &&PlacedFinding| placed.source == source;
    let cases = |source| findings.iter().filter(is_of(source)).count().max(1);
    let tests: usize = files.iter().map(|source| cases(*source)).sum();
    writeln!(output, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    let name = format!("almanac {}", report.command);
    writeln!(output, "<testsuites name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\">")?;
    for source in files {
        let file = escaped(report.reading.sources[source].name());
        let here = || findings.iter().filter(is_of(source));
        let (tests, failures) = (cases(source), here().filter(is_failure).count());
        writeln!(
            output,
            "  <testsuite name=\"{file}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">"
        )?;
        for placed in here() {
            write_case(output, report, placed, is_failure(&placed))?;
        }
        if here().next().is_none() {
            writeln!(output, "    <testcase name=\"no problems\" classname=\"{file}\"/>")?;
        }
        writeln!(output, "  </testsuite>")?;
    }
    writeln!(output, "</testsuites>")
}

fn write_case(
    output: &mut impl Write,
    report: &Report,
    placed: &PlacedFinding,
    is_failure: bool,
) -> io::Result<()> {
    let finding = &placed.finding;
    let source = &report.reading.sources[placed.source];
    let Location { line, column, .. } = Location::for_finding(source, placed);
    let (file, code) = (source.name(), finding.code.name());
    let name = escaped(&format!("{code} at {line}:{column}")).into_owned();
    writeln!(output, "    <testcase name=\"{name}\" classname=\"{}\">", escaped(file))?;
    let severity = finding.severity();
    let text = report.in_full(placed);
    let text = format!("{file}:{line}:{column}: {severity}[{code}]: {text}");
    let text = escaped(&text);
    if is_failure {
        // In an attribute a line break would be read as a space.
        let message = finding.to_string().replace('\n', " ");
        let message = escaped(&message);
        writeln!(output, "      <failure type=\"{code}\" message=\"{message}\">{text}</failure>")?;
    } else {
        writeln!(output, "      <system-out>{text}</system-out>")?;
    }
    writeln!(output, "    </testcase>")
}
