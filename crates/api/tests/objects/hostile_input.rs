//! Broken or hostile text results in a clear finding and never in a panic. The tests in `memory` check the work of
//! reading such text.

use std::fmt::Write;

use crate::written::{check, cron_for_workload, findings};
use almanac_api::finding::Code;
use almanac_api::reading::{PlacedFinding, Reading, Source, read_objects};
use proptest::prelude::*;

fn codes(text: &str) -> Vec<Code> {
    let (_, _, findings) = check(text);
    findings.iter().map(|placed| placed.finding.code).collect()
}

#[test]
fn deep_nesting_is_rejected_in_yaml_and_in_json() {
    for text in [
        "[".repeat(1_000_000),
        "{a: ".repeat(250_000),
        "- ".repeat(500_000),
        "? ".repeat(500_000),
        "{\"a\":".repeat(200_000),
        "{\"a\":[".repeat(200_000),
    ] {
        let found = codes(&text);
        assert!(
            matches!(found[..], [Code::TooLarge | Code::Syntax]),
            "{found:?} for {}…",
            &text[..8]
        );
    }
    // Text that must be scanned twice is also refused.
    for opening in ["[", "{a: ", "- "] {
        let text = format!("- \"!,\"\n- {}", opening.repeat(300_000));
        let found = codes(&text);
        assert!(matches!(found[..], [Code::TooLarge | Code::Syntax]), "{found:?} for {opening}…");
    }
    assert_eq!(
        findings(&format!("a: {}", "[".repeat(200))),
        ["1:131 too-large a document may be nested at most 128 levels deep; this one is deeper"]
    );
}

/// An autoscaler with a query.
fn autoscaler(query: &str) -> String {
    let target = almanac_fixtures::objects::target("apps/v1", "Deployment", "shop");
    almanac_fixtures::objects::horizontal_autoscaler("shop", &target, query).to_string()
}

#[test]
fn a_deep_or_long_query_in_a_file_is_rejected() {
    for word in ["max(", "+1", "(", "-", "a[1m:", "2^", "a or ", "{", "\"", "a offset -"] {
        // As long as the schema allows, and as long as a file may be.
        for count in [4_000 / word.len(), 100_000] {
            let text = autoscaler(&word.repeat(count));
            let found = codes(&text);
            let is_rejected = matches!(found[..], [Code::Query | Code::OutOfRange]);
            let is_sum = word == "+1" && count < 4_096;
            assert_eq!(is_rejected, !is_sum, "{found:?} for {count} times {word}");
        }
    }
    let (_, _, found) = check(&autoscaler(&format!("{}a{}", "(".repeat(101), ")".repeat(101))));
    let finding = &found[0].finding;
    assert!(finding.message.ends_with("nested more than 100 levels deep"), "{finding:?}");
    assert!(finding.fix.as_deref().is_some_and(|fix| fix.contains("recording rule")));
}

#[test]
fn a_text_that_ends_anywhere_or_tags_anything_gives_findings_and_never_a_panic() {
    assert_eq!(findings("a: \"b\\"), ["1:7 syntax the text ends inside quotes"]);
    assert_eq!(findings("'!,"), ["1:4 syntax the text ends inside quotes"]);
    assert_eq!(findings("a: [!,b]"), ["1:5 syntax a ',' can't directly follow a tag"]);
    let spaced = findings("['\u{a0}'!,");
    let spaced = spaced.concat();
    assert!(
        spaced.starts_with("1:5 syntax a ',' can't directly follow a tag; the text contains a no-")
    );
    let marked = findings("---\n\u{feff}a: [!,b]");
    assert_eq!(marked, ["2:6 syntax a ',' can't directly follow a tag"]);
    assert_eq!(findings("a: [b]\n c: d\ne: [!,b]\n"), ["2:2 syntax a key was expected here"]);
    let schedule = cron_for_workload("    - {name: a, schedule: '0 7 * * *', targetReplicas: 1}\n");
    let described = format!("{schedule}  description: |\n    not the end of a line");
    assert_eq!(findings(&described).len(), 1, "{:?}", findings(&described));
}

#[test]
fn exploding_aliases_are_rejected() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..30 {
        let before = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(text, "a{level}: &a{level} [{before}]").expect("a string");
    }
    assert_eq!(codes(&text), [Code::Alias]);
    assert!(!codes("a: &a {b: 1}\nc:\n  <<: *a\n").contains(&Code::Alias));
}

#[test]
fn aliases_do_not_nest_a_document_deeper_than_it_may_be_and_repeat_no_more_text_than_an_object_has()
{
    let within = |anchored: usize, around: usize| {
        let nested = |levels: usize, inner: &str| {
            format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels))
        };
        // The enclosing map is a level too.
        format!("a: &a {}\nb: {}\n", nested(anchored, "1"), nested(around, "*a"))
    };
    assert!(!codes(&within(60, 67)).contains(&Code::TooLarge));
    assert_eq!(codes(&within(60, 68)), [Code::TooLarge]);
    let long = format!("a: &a {}\nb: [{}]\n", "b".repeat(1_000), "*a, ".repeat(1_001));
    let found = findings(&long);
    assert!(found[0].contains("at most 1000000 bytes of text"), "{found:?}");
}

#[test]
fn an_alias_needs_an_anchor_before_it_and_may_not_contain_itself() {
    assert_eq!(findings("a: *b\n"), ["1:4 alias there is no anchor &b before this alias"]);
    assert_eq!(findings("a: &a [*a]\n"), ["1:8 alias the anchor &a contains itself"]);
}

#[test]
fn too_many_values_are_rejected_and_excess_findings_are_counted() {
    assert_eq!(codes(&format!("[{}", "1,".repeat(1_500_000))), [Code::TooLarge]);
    let twice: String = (0..200).fold(String::new(), |text, _| text + "a: 1\n");
    let found = findings(&twice);
    assert_eq!(found.len(), 52, "{}", found.len());
    assert!(found[50].ends_with("149 more mistakes in this file"), "{}", found[50]);
}

#[test]
fn a_map_with_very_many_keys_is_read_to_its_end() {
    let keys: String = (0..200_000).fold(String::new(), |mut text, key| {
        writeln!(text, "key{key}: 1").expect("a string");
        text
    });
    assert_eq!(codes(&keys), [Code::NotAnObject]);
}

#[test]
fn a_file_cut_off_anywhere_gives_findings_and_never_a_panic() {
    let whole =
        cron_for_workload("  - name: up\n    schedule: \"30 8 * * *\"\n    targetReplicas: 3\n");
    let json = serde_json::json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a\u{1f600}"}}).to_string();
    for text in [whole, json] {
        for end in 0..text.len() {
            if let Some(cut) = text.get(..end) {
                check(cut);
            }
        }
    }
}

/// Every span lies in its source and can be displayed.
fn assert_placed(sources: &[Source], findings: &[PlacedFinding]) {
    for placed in findings {
        if let Some(span) = placed.span {
            let source = &sources[placed.source];
            assert!(
                span.start <= span.end && span.end as usize <= source.text().len(),
                "{placed:?}"
            );
            let position = source.position(span.start);
            assert!(position.line >= 1 && position.column >= 1);
        }
    }
}

proptest! {
    #[test]
    fn any_text_gives_findings_and_never_a_panic(text in r#"[-a-c:{}\[\],&*!|>'"%@`#\n\t /?0-9.~<\\ü❯\u{a0}]{0,80}"#) {
        let (reading, _, findings) = check(&text);
        assert_placed(&reading.sources, &findings);
    }

    #[test]
    fn any_bytes_give_findings_and_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut reading = Reading::default();
        read_objects(&mut reading, Source::from_bytes("f", bytes));
        assert_placed(&reading.sources, &reading.findings);
    }

    #[test]
    fn a_slightly_mutated_object_gives_findings_and_never_a_panic(
        changes in prop::collection::vec((0_usize..220, any::<char>()), 1..6),
    ) {
        let rules = "  - name: up\n    schedule: \"30 8 * * *\"\n    targetReplicas: 3\n";
        let mut letters: Vec<char> = cron_for_workload(rules).chars().collect();
        for (place, letter) in changes {
            let place = place % letters.len();
            letters[place] = letter;
        }
        let (reading, _, findings) = check(&letters.into_iter().collect::<String>());
        assert_placed(&reading.sources, &findings);
    }
}

#[test]
fn an_escape_that_only_json_has_is_rejected_in_yaml() {
    let expected = ["1:8 syntax kubectl does not support the escape '\\/'"];
    assert_eq!(findings("a: \"x\\\\\\/\"\n"), expected);
    assert_eq!(
        findings("{\"a\": \"\\/\"}").len(),
        1,
        "JSON knows it; only kind and apiVersion lack"
    );
}
