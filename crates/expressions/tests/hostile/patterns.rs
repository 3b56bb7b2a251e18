//! Regular expressions.

use almanac_expressions::{Document, Failure};
use serde_json::json;

use crate::holds;

#[test]
fn a_pattern_that_is_computed_is_bounded_too() {
    let object = Document::of(
        &json!({ "p": "((a{100}){100}){100}", "q": "a|".repeat(10_000), "r": "x".repeat(5_000) }),
    );
    for (text, why) in [
        ("'a'.matches(managedCluster.p)", "\"((a{100}){100}){100}\" is no regular expression"),
        ("'a'.matches(managedCluster.q)", "it would take more than 100000 steps"),
        ("'a'.matches(managedCluster.r)", "it would take more than 100000 steps"),
    ] {
        assert_eq!(holds(text, &object).unwrap_err().to_string(), why);
    }
}

#[test]
fn a_pattern_takes_steps_for_its_own_length_too() {
    let object = Document::of(&json!({ "text": "a".repeat(4_000), "list": vec![1; 30] }));
    let alternatives: Vec<String> = (0..400).map(|it| format!("a{{{it}}}b")).collect();
    let long = alternatives[..60].join("|");
    for (text, result) in [
        ("managedCluster.text.matches('^a+$')".to_owned(), Ok(true)),
        (format!("managedCluster.text.matches('{long}')"), Err(Failure::TooManySteps)),
        (
            format!("managedCluster.list.all(i, 'a'.matches('{long}' + string(i)) || true)"),
            Err(Failure::TooManySteps),
        ),
        // Each match looks through all that is left, and finds one letter.
        ("managedCluster.text.findAll('a|a.*b') == []".to_owned(), Err(Failure::TooManySteps)),
        ("managedCluster.text.findAll('') == []".to_owned(), Err(Failure::TooManySteps)),
    ] {
        assert_eq!(holds(&text, &object), result, "{text:.80}");
    }
}
