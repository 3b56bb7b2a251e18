//! A broken or hostile `ConfigMap` of Volcano's agent results in a limited number of findings and never in a panic. An
//! API server accepts up to a megabyte.

use std::fmt::Write;

use crate::written::{check, findings, levels_config as config};
use almanac_api::finding::Code;
use proptest::prelude::*;

const POLICIES: &str = "globalConfig:\n  timeBasedQoSPolicies:\n";

/// A `ConfigMap` with `count` policies.
fn config_with_policies(count: usize, policy: impl Fn(usize) -> String) -> String {
    let policies: Vec<String> = (0..count).map(|it| format!("  - {{{}}}\n", policy(it))).collect();
    config(&format!("{POLICIES}{}", policies.concat()))
}

fn sound(number: usize) -> String {
    let (hour, minute) = (number / 60 % 24, number % 60);
    format!(
        "name: p{number}, startTime: '{hour:02}:{minute:02}', endTime: '24:00', selector: {{matchLabels: \
         {{app: a{number}}}}}, targetQoSLevel: -1"
    )
}

#[test]
fn ten_thousand_policies_are_checked_and_the_first_mistakes_reported() {
    assert_eq!(findings(&config_with_policies(10_000, sound)), [""; 0]);
    let bad = "startTime: '25:00', endTime: x, selector: {}, targetQoSLevel: 9, checkInterval: no";
    for (policy, first) in [
        (bad.to_owned(), "8:"),
        (sound(1), "9:"),
        ("startTime: '25:00'".to_owned(), "8:"),
        (String::new(), "8:"),
    ] {
        let found = findings(&config_with_policies(10_000, |_| policy.clone()));
        assert_eq!(found.len(), 1_001, "{policy}");
        assert!(found[0].starts_with(first), "{policy}: {}", found[0]);
        let last = "more mistakes in this document, this one first";
        assert_eq!(found.iter().filter(|it| it.contains(last)).count(), 1, "{policy}");
    }
    // Findings of severity `info` do not hide an error.
    let unknown = |number| match number {
        9_999 => sound(number).replace("-1", "9"),
        _ => format!("{}, more: 1", sound(number)),
    };
    let found = findings(&config_with_policies(10_000, unknown));
    assert_eq!(found.len(), 1_001);
    assert!(found.iter().any(|it| it.contains("out-of-range")), "{found:?}");
}

#[test]
fn a_megabyte_in_one_line_gives_a_thousand_findings_at_most() {
    let policies = "{startTime: '25:00'},".repeat(50_000);
    let text = format!("globalConfig: {{timeBasedQoSPolicies: [{policies}]}}");
    let written = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: volcano-agent-config}}\ndata: {{config.yaml: \
         \"{text}\"}}\n"
    );
    assert_eq!(findings(&written).len(), 1_001);
    let other = format!("other: {}\n{POLICIES}  - {{{}}}\n", "x".repeat(1_000_000), sound(1));
    assert_eq!(findings(&config(&other)), [""; 0]);
}

#[test]
fn nesting_and_aliases_in_the_document_are_limited_as_in_a_file() {
    let codes = |document: &str| {
        let (_, _, findings) = check(&config(document));
        findings.iter().map(|placed| placed.finding.code).collect::<Vec<_>>()
    };
    for opening in ["[", "{a: ", "- "] {
        let found = codes(&format!("globalConfig: {{}}\nnodesConfig: {}", opening.repeat(100_000)));
        assert!(matches!(found[..], [Code::TooLarge | Code::Syntax]), "{found:?} for {opening}");
    }
    let mut aliases = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..30 {
        let before = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(aliases, "a{level}: &a{level} [{before}]").expect("a string");
    }
    assert_eq!(codes(&aliases), [Code::Alias]);
    let same = format!("p: &p {{{}}}\n{POLICIES}{}", sound(1), "  - *p\n".repeat(2_000));
    let found = codes(&same);
    assert_eq!((found.len(), found[0]), (1_001, Code::DuplicateItem));
    let too_many = format!("p: &p {{{}}}\n{POLICIES}{}", sound(1), "  - *p\n".repeat(100_000));
    assert_eq!(codes(&too_many), [Code::Alias]);
}

#[test]
fn a_selector_of_thousands_of_values_is_read() {
    let values: Vec<String> = (0..20_000).map(|it| format!("v{it}")).collect();
    let selector = format!("{{key: app, operator: NotIn, values: [{}]}}", values.join(", "));
    let policy =
        |_| sound(1).replace("matchLabels: {app: a1}", &format!("matchExpressions: [{selector}]"));
    assert_eq!(findings(&config_with_policies(1, policy)), [""; 0]);
}

#[test]
fn a_document_cut_off_anywhere_gives_findings_and_never_a_panic() {
    let whole = format!(
        "{POLICIES}  - {{{}}}\nnodesConfig:\n- selector: {{}}\n  timeBasedQoSPolicies: []\n",
        sound(1)
    );
    for end in 0..whole.len() {
        check(&config(&whole[..end]));
    }
}

proptest! {
    #[test]
    fn any_text_as_the_document_gives_findings_and_never_a_panic(
        text in r#"[-a-c:{}\[\],&*!|>'"%@`#\n\t /?0-9.~<\\]{0,80}"#,
    ) {
        check(&config(&text));
        check(&config(&format!("{POLICIES}  {text}")));
    }

    #[test]
    fn a_slightly_mutated_document_gives_findings_and_never_a_panic(
        changes in prop::collection::vec((0_usize..200, any::<char>()), 1..6),
    ) {
        let mut letters: Vec<char> = format!("{POLICIES}  - {{{}}}\n", sound(1)).chars().collect();
        for (place, letter) in changes {
            let place = place % letters.len();
            letters[place] = letter;
        }
        check(&config(&letters.into_iter().collect::<String>()));
    }
}
