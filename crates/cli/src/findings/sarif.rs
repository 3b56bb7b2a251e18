//! Findings in the Static Analysis Results Interchange Format (SARIF), version 2.1.0, for code review.
//!
//! Covers only the required parts of the format. Paths are relative to the current directory, as in every output.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write as _;
use std::io::Write;

use almanac_api::finding::{Code, Severity};
use almanac_api::reading::{Change, PlacedFinding, Position, Source, fix_text};
use almanac_engine::Fingerprint;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::Report;
use super::location::Location;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The root of relative paths: the directory in which the command runs, which is the root of the sources.
const ROOT: &str = "%SRCROOT%";

/// The version of the composition of fingerprints. Another version would make old findings new.
const FINGERPRINT: &str = "almanacFinding/v1";

/// The repository with the page of findings, in place of the repository in Cargo.toml: a URL, up to and with the
/// revision of its files.
const OTHER_REPOSITORY: &str = "ALMANAC_DOCUMENTED_IN";

/// The repository in Cargo.toml, at its newest revision.
const DOCUMENTED_IN: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD");

/// The page of findings in it, which has a heading for each code.
const PAGE: &str = "docs/findings.md";

#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool,
    /// The unit of columns, here and in all outputs.
    column_kind: &'static str,
    original_uri_base_ids: BTreeMap<&'static str, Value>,
    results: Vec<Finding<'a>>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<Rule>,
}

/// A code with at least one finding.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: &'static str,
    short_description: Value,
    full_description: Value,
    default_configuration: Value,
    help_uri: String,
    help: Help,
}

/// The explanation of a code is Markdown that is also readable as plain text.
#[derive(Serialize)]
struct Help {
    text: String,
    markdown: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding<'a> {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Value,
    locations: [SarifLocation; 1],
    partial_fingerprints: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Fix>,
    properties: Properties<'a>,
}

/// The edit of `almanac lint --fix`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Fix {
    description: Value,
    artifact_changes: [ArtifactChange; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactChange {
    artifact_location: Artifact,
    replacements: [Replacement; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Replacement {
    deleted_region: Region,
    inserted_content: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifLocation {
    physical_location: Physical,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Physical {
    artifact_location: Artifact,
    region: Region,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: usize,
    start_column: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_column: Option<usize>,
}

impl Region {
    fn new(start: Position, end: Option<Position>) -> Region {
        Region {
            start_line: start.line,
            start_column: start.column,
            end_line: end.map(|end| end.line),
            end_column: end.map(|end| end.column),
        }
    }
}

/// Properties for which the format has no names.
#[derive(Serialize)]
struct Properties<'a> {
    #[serde(skip_serializing_if = "String::is_empty")]
    field: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    at: &'a [Timestamp],
}

pub(super) fn write(output: &mut impl Write, report: &Report) -> anyhow::Result<()> {
    let findings = &report.everything.findings;
    let codes: BTreeSet<Code> = findings.iter().map(|placed| placed.finding.code).collect();
    let codes: Vec<Code> = codes.into_iter().collect();
    let mut fingerprints = Fingerprints::default();
    let mut fixes = fixes(report);
    let results = findings.iter().enumerate().map(|(position, placed)| Finding {
        fixes: fixes.remove(&position).into_iter().collect(),
        ..result(report, placed, &codes, fingerprints.add(report, placed))
    });
    let results = results.collect();
    let documented_in = env::var(OTHER_REPOSITORY).ok().filter(|it| !it.is_empty());
    let documented_in = documented_in.as_deref().unwrap_or(DOCUMENTED_IN);
    let driver = Driver {
        name: "almanac",
        semantic_version: env!("CARGO_PKG_VERSION"),
        rules: codes.iter().map(|code| rule(*code, documented_in)).collect(),
    };
    let root = json!({ "description": message("The directory in which the command runs.") });
    let run = Run {
        tool: Tool { driver },
        column_kind: "unicodeCodePoints",
        original_uri_base_ids: BTreeMap::from([(ROOT, root)]),
        results,
    };
    let log = Log { schema: SCHEMA, version: "2.1.0", runs: [run] };
    serde_json::to_writer_pretty(&mut *output, &log)?;
    writeln!(output)?;
    Ok(())
}

/// A message, or other content that is only text.
fn message(text: &str) -> Value {
    json!({ "text": text })
}

/// The short description is the title of alerts on GitHub.
fn rule(code: Code, documented_in: &str) -> Rule {
    let text = code.explanation();
    let help_uri = format!("{documented_in}/{PAGE}#{}", code.name());
    let markdown = format!("{text}\n\n[All findings]({help_uri})");
    Rule {
        id: code.name(),
        short_description: message(&code.title()),
        full_description: message(&text),
        default_configuration: json!({ "level": level(code.severity()) }),
        help_uri,
        help: Help { text, markdown },
    }
}

fn result<'a>(
    report: &'a Report,
    placed: &'a PlacedFinding,
    codes: &[Code],
    fingerprint: String,
) -> Finding<'a> {
    let finding = &placed.finding;
    let source = &report.reading.sources[placed.source];
    let location = Location::for_finding(source, placed);
    let start = Position { line: location.line, column: location.column };
    let region = Region::new(start, location.end);
    Finding {
        rule_id: finding.code.name(),
        rule_index: codes.partition_point(|code| *code < finding.code),
        level: level(finding.severity()),
        message: message(&report.in_full(placed)),
        locations: [SarifLocation {
            physical_location: Physical { artifact_location: artifact(source.name()), region },
        }],
        partial_fingerprints: BTreeMap::from([(FINGERPRINT, fingerprint)]),
        fixes: Vec::new(),
        properties: Properties {
            field: finding.field.to_string(),
            place: report.everything.place_of(placed),
            at: &finding.at,
        },
    }
}

/// The fixes that can be written into files, by the index of the finding.
fn fixes(report: &Report) -> BTreeMap<usize, Fix> {
    let mut by_source: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let findings = &report.everything.findings;
    for (position, placed) in findings.iter().enumerate() {
        if placed.finding.replacement.is_some() {
            by_source.entry(placed.source).or_default().push(position);
        }
    }
    let mut fixes = BTreeMap::new();
    for (source, positions) in by_source {
        let source = &report.reading.sources[source];
        let found = positions.iter().map(|position| &findings[*position]);
        // Standard input and the output of a build are not files.
        let fixed_text = source.folder().and_then(|_| fix_text(source.text(), found));
        for change in fixed_text.into_iter().flat_map(|fixed_text| fixed_text.changes) {
            for position in change.findings.iter().map(|it| positions[*it]) {
                fixes.extend(fix(source, &findings[position], &change).map(|it| (position, it)));
            }
        }
    }
    fixes
}

fn fix(source: &Source, placed: &PlacedFinding, change: &Change) -> Option<Fix> {
    let position = |byte: usize| Some(source.position(u32::try_from(byte).ok()?));
    let (start, end): (Position, Position) = (position(change.at.start)?, position(change.at.end)?);
    let description = placed.finding.fix.as_deref().unwrap_or("write the intended value");
    Some(Fix {
        description: message(description),
        artifact_changes: [ArtifactChange {
            artifact_location: artifact(source.name()),
            replacements: [Replacement {
                deleted_region: Region::new(start, Some(end)),
                inserted_content: message(&change.written),
            }],
        }],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// A file by its URI: relative, unless its path is absolute.
fn artifact(name: &str) -> Artifact {
    let mut uri = String::new();
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            other => {
                // Writing to a string never fails.
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    if name.starts_with('/') {
        Artifact { uri: format!("file://{uri}"), uri_base_id: None }
    } else {
        Artifact { uri, uri_base_id: Some(ROOT) }
    }
}

/// Keys of findings that stay the same when lines move.
#[derive(Default)]
struct Fingerprints {
    /// The number of earlier findings with each fingerprint.
    known: BTreeMap<Fingerprint, usize>,
}

impl Fingerprints {
    /// The key of a finding: its code, object and line, and its number among findings that agree in these.
    fn add(&mut self, report: &Report, placed: &PlacedFinding) -> String {
        let source = &report.reading.sources[placed.source];
        let objects = &report.everything.objects;
        let object = placed.object.and_then(|it| objects.get(it)?.identity.as_ref());
        let object = object.map(ToString::to_string).unwrap_or_default();
        let line = placed.span.map_or("", |span| source.line_around(span.start).trim());
        let place = report.everything.place_of(placed).unwrap_or_default();
        let code = placed.finding.code.name();
        let fingerprint = Fingerprint::from_parts([code, source.name(), &object, line, place]);
        let count = self.known.entry(fingerprint).or_default();
        *count += 1;
        format!("{fingerprint}:{count}")
    }
}
