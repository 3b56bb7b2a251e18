//! Findings in the formats of other programs, compared with golden files, and read back by independent programs.
//!
//! Run with `ALMANAC_UPDATE=1` to regenerate the expected output.

#![expect(clippy::expect_used, clippy::panic, reason = "what fails here fails the test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use boon::{Compiler, Schemas};
use serde_json::Value;

use crate::forecast::running::cron;
use crate::running::{Ran, almanac, assert_written_down, empty_directory, list, word};

const PRESENT: &str = "2026-01-05T00:00:00Z";

/// A policy whose findings contain names that are hostile to every format.
const HOSTILE: &str = cron!(
    "hours",
    "shop",
    r#"name: a, schedule: "</failure>]]>::error::|`@team\u0001%0A\uffff\\", targetReplicas: 1"#
);

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/offline")
}

/// A separate directory for a test.
fn folder(name: &str) -> PathBuf {
    empty_directory("finding_formats", name)
}

fn validate(folder: &Path, arguments: &[&str]) -> String {
    let mut command = almanac(folder, &[&["validate", "--from", PRESENT], arguments].concat());
    Ran::from_output(&command.env("LC_ALL", "C.UTF-8").output().expect("run the program")).stdout
}

/// The results in a SARIF log.
fn results(sarif: &str) -> Vec<Value> {
    let log: Value = serde_json::from_str(sarif).expect("JSON");
    list(&log["runs"][0]["results"]).to_vec()
}

fn mistakes(format: &str) -> String {
    validate(&here(), &["mistakes/*.yaml", "mistakes/*.json", "-o", format])
}

fn findings() -> Vec<Value> {
    let printed: Value = serde_json::from_str(&mistakes("json")).expect("JSON");
    list(&printed["findings"]).to_vec()
}

/// The SARIF schema, from a package of another project.
fn schema_of_sarif() -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    // A build downloads only the packages of this platform.
    let host = ["--filter-platform", "host-tuple"];
    let metadata = ["metadata", "--format-version", "1", "--offline", "--locked"];
    let output = Command::new(cargo).args(metadata).args(host).output().expect("cargo runs");
    let printed: Value = serde_json::from_slice(&output.stdout).expect("metadata");
    let mut packages = list(&printed["packages"]).iter();
    let package = packages.find(|it| it["name"] == "serde-sarif").expect("the package");
    let manifest = Path::new(word(&package["manifest_path"]));
    let schema = manifest.with_file_name("src").join("schema.json");
    serde_json::from_slice(&fs::read(schema).expect("the schema")).expect("JSON")
}

#[track_caller]
fn assert_is_sarif(found: &str) {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.enable_format_assertions();
    compiler.add_resource("https://example.com/sarif.json", schema_of_sarif()).expect("a schema");
    let schema = compiler.compile("https://example.com/sarif.json", &mut schemas).expect("valid");
    let log: Value = serde_json::from_str(found).expect("JSON");
    if let Err(error) = schemas.validate(&log, schema) {
        panic!("{error:#}");
    }
    let mut wrong = log;
    wrong["runs"][0]["results"][0]["level"] = Value::from("fatal");
    assert!(schemas.validate(&wrong, schema).is_err(), "the schema rejects nothing");
}

#[test]
fn one_of_each_mistake_is_reported_as_sarif_that_is_valid() {
    let found = mistakes("sarif");
    assert_written_down("mistakes.sarif", &found);
    assert_is_sarif(&found);
    let log: serde_sarif::sarif::Sarif = serde_json::from_str(&found).expect("SARIF");
    let run = log.runs.first().expect("a run");
    let rules = run.tool.driver.rules.as_deref().expect("rules");
    let results = run.results.as_deref().expect("results");
    let expected = findings();
    assert_eq!(results.len(), expected.len());
    for (result, finding) in results.iter().zip(&expected) {
        assert_eq!(result.rule_id.as_deref(), finding["code"].as_str());
        let index = usize::try_from(result.rule_index.expect("an index")).expect("small");
        assert_eq!(Some(&rules[index].id), result.rule_id.as_ref());
        let locations = result.locations.as_deref().expect("locations");
        let physical = locations[0].physical_location.as_ref().expect("a place in a file");
        let region = physical.region.as_ref().expect("a region");
        assert_eq!(region.start_line, finding["line"].as_i64());
        assert_eq!(region.start_column, finding["column"].as_i64());
    }
}

#[test]
fn one_of_each_finding_over_time_is_reported_as_sarif_that_is_valid() {
    let folders = ["lint/found", "repositories/catalog"].map(|folder| here().join(folder));
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a folder"));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let is_sarif = |path: &PathBuf| path.extension().is_some_and(|it| it == "sarif");
    let golden: Vec<PathBuf> = paths.filter(is_sarif).collect();
    assert!(golden.len() > 10, "{golden:?}");
    for path in golden {
        assert_is_sarif(&fs::read_to_string(path).expect("text"));
    }
}

#[test]
fn every_rule_of_sarif_has_a_short_title_and_leads_to_its_heading_in_the_documents() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/findings.md")).expect("read the page");
    let each = fs::read_to_string(here().join("repositories/catalog/each-code.sarif"));
    for text in [mistakes("sarif"), each.expect("read the golden file")] {
        let log: Value = serde_json::from_str(&text).expect("JSON");
        let rules = list(&log["runs"][0]["tool"]["driver"]["rules"]);
        assert!(rules.len() > 20, "{rules:?}");
        for rule in rules {
            let id = word(&rule["id"]);
            let title = word(&rule["shortDescription"]["text"]);
            assert!(title.chars().count() < 80, "{title}");
            let address = word(&rule["helpUri"]);
            assert_eq!(address.split_once("/docs/findings.md#").expect("a page").1, id);
            assert!(page.contains(&format!("\n## {id}\n")), "{id}");
            let help = word(&rule["help"]["markdown"]);
            assert!(help.contains(address), "{help}");
        }
    }
}

/// The text after one replacement of SARIF: lines and columns count from 1, and the end is one past.
fn replaced(text: &str, replacement: &Value) -> String {
    let region = &replacement["deletedRegion"];
    let byte = |line: &str, column: &str| {
        let count = |key: &str| {
            usize::try_from(region[key].as_u64().expect("a number")).expect("small") - 1
        };
        let before: usize = text.split_inclusive('\n').take(count(line)).map(str::len).sum();
        let letters = text[before..].chars().take(count(column));
        before + letters.map(char::len_utf8).sum::<usize>()
    };
    let (start, end) = (byte("startLine", "startColumn"), byte("endLine", "endColumn"));
    let inserted = word(&replacement["insertedContent"]["text"]);
    format!("{}{inserted}{}", &text[..start], &text[end..])
}

#[test]
fn sarif_has_the_fixes_that_lint_fix_writes() {
    let folder = folder("fixes");
    let wrong = HOSTILE
        .replace(r#""</failure>]]>::error::|`@team\u0001%0A\uffff\\""#, "'0 8 * * *'")
        .replace("{name: a,", "{ruleName: 'ü', ")
        .replace("apps/v1", "app/v1");
    let file = folder.join("shop.yaml");
    fs::write(&file, &wrong).expect("write the file");
    let sarif = validate(&folder, &["-o", "sarif"]);
    assert_is_sarif(&sarif);
    let results = results(&sarif);
    let mut replacements: Vec<&Value> = results
        .iter()
        .filter_map(|result| result["fixes"].as_array())
        .map(|fixes| &fixes[0]["artifactChanges"][0])
        .inspect(|change| assert_eq!(change["artifactLocation"]["uri"], "shop.yaml"))
        .map(|change| &change["replacements"][0])
        .collect();
    assert_eq!(replacements.len(), 2, "{sarif}");
    // From the end, so that the remaining replacements keep their offsets.
    replacements.sort_by_key(|it| {
        let region = &it["deletedRegion"];
        (region["startLine"].as_u64(), region["startColumn"].as_u64())
    });
    let expected =
        replacements.iter().rev().fold(wrong.clone(), |text, change| replaced(&text, change));
    almanac(&folder, &["lint", "--fix", "--from", PRESENT]).output().expect("run the program");
    let written = fs::read_to_string(&file).expect("text");
    assert_eq!(written, expected);
    assert_ne!(written, wrong);
    let piped = HOSTILE.replace("apps/v1", "app/v1");
    fs::write(folder.join("piped"), piped).expect("write the file");
    let from = fs::File::open(folder.join("piped")).expect("open the file");
    let mut command = almanac(&folder, &["validate", "-f", "-", "-o", "sarif"]);
    let stdout = Ran::from_output(&command.stdin(from).output().expect("run the program")).stdout;
    assert!(stdout.contains("mistyped-version") && !stdout.contains("\"fixes\""), "{stdout}");
}

/// The fingerprints of the findings in these files of a directory.
fn fingerprints(name: &str, text: &str) -> BTreeSet<String> {
    let folder = folder(name);
    fs::write(folder.join("shop.yaml"), text).expect("write the file");
    let results = results(&validate(&folder, &["-o", "sarif"]));
    let of = |it: &Value| it["partialFingerprints"]["almanacFinding/v1"].to_string();
    let all: BTreeSet<String> = results.iter().map(of).collect();
    assert_eq!(all.len(), results.len(), "a fingerprint is not unique");
    all
}

#[test]
fn a_finding_keeps_its_fingerprint_when_its_line_moves() {
    let policy =
        HOSTILE.replace("- {name: a", "- {name: a, schedule: 0, targetReplicas: 1}\n  - {name: b");
    let before = fingerprints("before", &policy);
    assert!(before.len() > 1, "{before:?}");
    let moved = policy
        .replace("spec:", "# a comment\n\nspec:")
        .replace("  rules:", "  rules:\n  - {name: c, schedule: '0 8 * * *', targetReplicas: 2}");
    assert_eq!(fingerprints("moved", &moved), before);
    let other = policy.replace("name: hours", "name: others");
    assert!(fingerprints("other", &other).is_disjoint(&before));
}

#[test]
fn one_of_each_mistake_is_an_annotation() {
    let found = mistakes("github");
    assert_written_down("mistakes.github", &found);
    assert_eq!(found.lines().count(), findings().len());
    assert!(
        found.lines().all(|line| ["::error ", "::warning ", "::notice "]
            .iter()
            .any(|it| line.starts_with(it)))
    );
}

#[test]
fn a_report_of_tests_has_a_failure_for_each_finding_that_fails_the_command() {
    let found = mistakes("junit");
    assert_written_down("mistakes.xml", &found);
    let report = quick_junit::Report::deserialize_from_str(&found).expect("JUnit");
    let findings = findings();
    let errors = findings.iter().filter(|it| it["severity"] == "error").count();
    assert_eq!((report.failures, report.name.as_deref()), (errors, Some("almanac validate")));
    let failures: usize = report.test_suites.iter().map(|it| it.failures).sum();
    assert_eq!(failures, errors);
    let cases: Vec<_> = report.test_suites.iter().flat_map(|it| &it.test_cases).collect();
    assert_eq!(cases.len(), findings.len());
    assert_eq!(report.tests, cases.len());
    let strict = ["mistakes/*.yaml", "mistakes/*.json", "-o", "junit", "--fail-on", "info"];
    let strict = validate(&here(), &strict);
    let strict = quick_junit::Report::deserialize_from_str(&strict).expect("JUnit");
    assert_eq!(strict.failures, findings.len());
}

#[test]
fn a_file_without_findings_is_a_test_that_passes() {
    let folder = folder("fine");
    fs::write(
        folder.join("shop.yaml"),
        HOSTILE.replace(r#""</failure>]]>::error::|`@team\u0001%0A\uffff\\""#, "'0 8 * * *'"),
    )
    .expect("write the file");
    let found = validate(&folder, &["-o", "junit"]);
    let report = quick_junit::Report::deserialize_from_str(&found).expect("JUnit");
    assert_eq!((report.tests, report.failures), (1, 0), "{found}");
    assert_eq!(validate(&folder, &["-o", "markdown"]), "**almanac validate**: no problems found\n");
    assert_eq!(validate(&folder, &["-o", "github"]), "");
    assert_eq!(results(&validate(&folder, &["-o", "sarif"])), [] as [Value; 0]);
}

#[test]
fn hostile_names_change_no_format() {
    let folder = folder("hostile");
    let file = "a,b:c%|`@<i>ü.yaml";
    fs::write(folder.join(file), HOSTILE).expect("write the file");
    let count = validate(&folder, &["-o", "github"]).lines().count();
    assert_eq!(count, 1);
    let sarif = validate(&folder, &["-o", "sarif"]);
    assert_is_sarif(&sarif);
    assert!(sarif.contains("\"uri\": \"a%2Cb%3Ac%25%7C%60%40%3Ci%3E%C3%BC.yaml\""), "{sarif}");
    let junit = validate(&folder, &["-o", "junit"]);
    let report = quick_junit::Report::deserialize_from_str(&junit).expect("JUnit");
    assert_eq!(report.test_suites[0].name.as_str(), file);
    let markdown = validate(&folder, &["-o", "markdown"]);
    let row = markdown.lines().last().expect("a row");
    assert_eq!(row.matches('|').count(), 4, "{row}");
    assert!(!row.contains(['@', '`']) && !row.contains("<i>"), "{row}");
}

#[test]
fn a_comment_starts_with_the_most_severe_finding_and_has_a_bounded_length() {
    let found = mistakes("markdown");
    assert_written_down("mistakes.md", &found);
    let rows = found.lines().filter(|line| line.starts_with("| ")).skip(1);
    let severities: Vec<&str> = rows.filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(severities.len(), findings().len());
    let rank = |it: &&str| ["error", "warning", "info"].iter().position(|known| known == it);
    assert!(severities.iter().is_sorted_by_key(rank), "{severities:?}");
    let folder = folder("many");
    let number = |number: usize| HOSTILE.replace("name: hours", &format!("name: hours-{number}"));
    let policies: Vec<String> = (0..500).map(number).collect();
    fs::write(folder.join("shop.yaml"), policies.join("---")).expect("write the file");
    let found = validate(&folder, &["-o", "markdown"]);
    let length = found.chars().count();
    assert!((60_000..=65_536).contains(&length), "{length} characters");
    let printed = found.lines().filter(|line| line.starts_with("| error")).count();
    let last = found.lines().last().expect("a line");
    let all: Value = serde_json::from_str(&validate(&folder, &["-o", "json"])).expect("JSON");
    let left = list(&all["findings"]).len() - printed;
    assert_eq!(last, format!("and {left} more; the other formats list them"));
}
