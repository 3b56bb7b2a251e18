//! Nested expressions, and how deep they may be on a small stack.

use almanac_expressions::{Document, Expression, Meter, Subject};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::{error, holds, on_small_stack};

#[test]
fn what_is_too_long_or_too_deep_is_refused_before_it_is_parsed() {
    assert_eq!(error(&"a".repeat(1_000_000)), "the expression has more than 16384 bytes");
    let deep = [
        format!("{}true{}", "(".repeat(8_000), ")".repeat(8_000)),
        "(".repeat(16_000),
        format!("{}1{}", "[".repeat(8_000), "]".repeat(8_000)),
        format!("{}true", "!(".repeat(4_000)),
        format!("{}1 == 1", "-(".repeat(4_000)),
        format!("1{}", " + 1".repeat(4_000)),
        format!("managedCluster{}", ".a".repeat(8_000)),
        format!("managedCluster{}", ".?a".repeat(5_000)),
        format!("managedCluster{}", "[?0]".repeat(4_000)),
        format!("managedCluster{}", "[?0]+a".repeat(2_000)),
        format!("managedCluster{}", "[0]".repeat(5_000)),
        format!("true{}", " == true".repeat(2_000)),
        format!("1{}", " in [1]".repeat(2_000)),
        format!("{}true", "true ? true : ".repeat(1_000)),
        format!("'a'{}", ".trim()".repeat(2_000)),
        format!("{}{{}}", "{1:".repeat(4_000)),
        format!("[1]{}", ".map(x, x)".repeat(1_500)),
        format!("{}true{}", "[1].all(x, ".repeat(1_000), ")".repeat(1_000)),
    ];
    for text in deep {
        let error = error(&text);
        assert!(
            error.starts_with("the expression is nested more than 100 levels deep"),
            "{text:.40} {error}"
        );
    }
}

#[test]
fn what_is_as_deep_as_allowed_is_evaluated_on_a_small_stack() {
    for text in [
        format!("{}true{}", "(".repeat(99), ")".repeat(99)),
        format!("{}true", "!".repeat(16_000)),
        format!("{}1 == 1", "-".repeat(16_000)),
        format!("{} == 97", ["1"; 97].join(" + ")),
        format!("{}true{}", "[1].all(x, ".repeat(32), ")".repeat(32)),
        format!("{}true", "true ? true : ".repeat(96)),
        format!("true{}", " && true".repeat(1_500)),
        format!("false{} || true", " || false".repeat(1_500)),
        format!("1 in [{}1]", "1, ".repeat(4_999)),
    ] {
        on_small_stack(move || {
            assert_eq!(holds(&text, &Document::default()), Ok(true), "{text:.60}");
        });
    }
}

#[test]
fn a_list_in_lists_of_an_object_is_shown_and_compared_on_a_small_stack() {
    // As deep as JSON is read.
    let text = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let object = Document::from_json(&json!({ "a": text.parse::<Value>().unwrap() }));
    on_small_stack(move || {
        assert_eq!(holds("managedCluster.a == managedCluster.a", &object), Ok(true));
        assert!(format!("{object:?}").starts_with("{\"a\": [["));
    });
}

#[test]
fn quotes_and_comments_hide_no_brackets_and_make_none() {
    let object = Document::default();
    let brackets = "(".repeat(200);
    for text in [
        format!("'{brackets}'.size() == 200"),
        format!("\"\"\"{brackets}\"\"\".size() == 200"),
        format!("r'\\{brackets}'.size() == 201"),
        format!("'\\'{brackets}'.size() == 201"),
        format!("b'{brackets}'.size() == 200"),
        format!("true // {brackets}"),
        format!("true // '\n && '{brackets}' != ''"),
    ] {
        assert_eq!(holds(&text, &object), Ok(true), "{text:.30}");
    }
    for text in [
        format!("'' == '' || {brackets}"),
        format!("r'\\' == '' || {brackets}"),
        format!("'\\\\' == {brackets}"),
        format!("'''it's''' == {brackets}"),
        format!("'' // '\n == {brackets}"),
        format!("br'\\' == {brackets}"),
        format!("'\\'\\\\' == {brackets}"),
    ] {
        assert!(
            error(&text).starts_with("the expression is nested"),
            "{text:.30} {}",
            error(&text)
        );
    }
}

#[test]
fn invalid_string_literals_hide_no_brackets() {
    let brackets = "(".repeat(8_000);
    for text in [
        format!("a.`{brackets}"),
        format!("`'` {brackets}"),
        format!("'\r' {brackets}"),
        format!("'\\q' {brackets}"),
        format!("'\\q{brackets}'"),
        format!("rb'' {brackets}"),
        format!("rb'\\' {brackets}"),
        format!("1r'\\' {brackets} '"),
        format!("r'''' {brackets}"),
        format!("'{}' {brackets}", '\u{2028}'),
        format!("# ' {brackets}"),
        format!("// \r {brackets}\n {brackets}"),
    ] {
        on_small_stack(move || assert!(Expression::compile(&text).is_err(), "{text:.30}"));
    }
}

#[test]
fn no_chain_is_hidden_by_what_looks_like_a_text() {
    for start in ["a.`'`", "'\r a", "'\\q", "rb'\\' '", "1r'\\'", "a"] {
        for link in [".a", ".?a", "[0]", " + 1", ".trim()"] {
            let text = format!("{start}{}", link.repeat(16_000 / link.len()));
            on_small_stack(move || assert!(Expression::compile(&text).is_err(), "{text:.30}"));
        }
    }
}

/// Texts that may hide a part, nest a part, or be nothing.
const HOSTILE: [&str; 40] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "`",
    "'''",
    "r'",
    "b\"",
    "rb'",
    "\\",
    "\\'",
    "\r",
    "\n",
    "//",
    "?",
    ":",
    ".?",
    "[?",
    ".",
    "a",
    "1",
    "-",
    "!",
    "+",
    "*",
    "==",
    " in ",
    "&&",
    "||",
    ",",
    "x.map(x,",
    "[1].all(x,",
    "has(a.",
    "{1:",
    "true",
    "\u{e9}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn repeated_input_needs_no_more_than_a_small_stack(
        parts in proptest::collection::vec((proptest::collection::vec(select(&HOSTILE[..]), 1..4), 1_usize..3_000), 1..6)
    ) {
        let mut text: String = parts.iter().map(|(pieces, times)| pieces.concat().repeat(*times)).collect();
        let end = (0..=text.len().min(16_384)).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
        on_small_stack(move || {
            if let Ok(expression) = Expression::compile(&text) {
                let object = Document::default();
                let _ = expression.holds(&Subject { object: &object, scores: &|_| None }, &Meter::new());
            }
        });
    }
}
