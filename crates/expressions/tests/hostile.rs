//! Expressions that nobody means well with: none of them panics, and none of them takes long.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helping functions too"
)]

use almanac_expressions::{Document, Expression, Failure, Meter, Subject};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

/// An object with a list, a text and a map that are as long as an object can make them.
fn large() -> Document {
    let list: Vec<_> =
        (0..5_000).map(|it| json!({ "name": format!("claim-{it}"), "value": it })).collect();
    let labels: serde_json::Map<_, _> =
        (0..5_000).map(|it| (format!("label-{it}"), json!("x"))).collect();
    let text = "a".repeat(500_000);
    Document::of(&json!({
        "metadata": { "name": "east", "labels": labels },
        "status": { "clusterClaims": list, "text": text }
    }))
}

fn error(text: &str) -> String {
    Expression::compile(text).map(|_| ()).unwrap_err().to_string()
}

fn holds(text: &str, object: &Document) -> Result<bool, Failure> {
    let subject = Subject { object, scores: &|_| None };
    Expression::compile(text)
        .unwrap_or_else(|it| panic!("{it}: {text:.200}"))
        .holds(&subject, &Meter::new())
}

#[test]
fn what_is_too_long_or_too_deep_is_refused_before_it_is_parsed() {
    assert_eq!(error(&"a".repeat(1_000_000)), "it has more than 16384 bytes");
    let deep = [
        format!("{}true{}", "(".repeat(8_000), ")".repeat(8_000)),
        "(".repeat(16_000),
        format!("{}1{}", "[".repeat(8_000), "]".repeat(8_000)),
        format!("{}true", "!".repeat(16_000)),
        format!("{}1 == 1", "-".repeat(16_000)),
        format!("1{}", " + 1".repeat(4_000)),
        format!("managedCluster{}", ".a".repeat(8_000)),
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
        assert!(error.starts_with("it is nested more than 64 levels deep"), "{text:.40} {error}");
    }
}

#[test]
fn what_is_as_deep_as_allowed_is_evaluated_on_a_small_stack() {
    let object = Document::default();
    for text in [
        format!("{}true{}", "(".repeat(63), ")".repeat(63)),
        format!("{}true", "!".repeat(62)),
        format!("{} == 61", ["1"; 61].join(" + ")),
        format!("{}true{}", "[1].all(x, ".repeat(20), ")".repeat(20)),
        format!("{}true", "true ? true : ".repeat(60)),
        format!("true{}", " && true".repeat(1_500)),
        format!("false{} || true", " || false".repeat(1_500)),
        format!("1 in [{}1]", "1, ".repeat(4_999)),
    ] {
        assert_eq!(holds(&text, &object), Ok(true), "{text:.60}");
    }
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
        format!("'' == '' {brackets}"),
        format!("r'\\' == '' {brackets}"),
        format!("'\\\\' == {brackets}"),
        format!("'''it's''' == {brackets}"),
        format!("'' // '\n == {brackets}"),
        format!("br'\\' == {brackets}"),
    ] {
        assert!(error(&text).starts_with("it is nested"), "{text:.30} {}", error(&text));
    }
}

#[test]
fn lists_in_lists_are_refused_where_they_are_written_and_stopped_where_they_are_read() {
    let list = format!("[{}]", ["1"; 12].join(", "));
    let nested =
        format!("{list}.all(a, {list}.all(b, {list}.all(c, {list}.all(d, {list}.all(e, true)))))");
    let whatever = "it would take more than 100000 steps, whatever the object is";
    assert!(error(&nested).starts_with(whatever), "{}", error(&nested));
    let mapped = "[1, 2, 3].map(a, [1, 2, 3].map(b, [1, 2, 3].map(c, a + b + c))).size() == 3";
    assert_eq!(holds(mapped, &Document::default()), Ok(true));
    let large = large();
    let claims = "managedCluster.status.clusterClaims";
    for text in [
        format!("{claims}.all(a, {claims}.all(b, true))"),
        format!("{claims}.map(a, {claims}.map(b, b)).size() == 1"),
        format!("{claims}.all(a, {claims} == {claims})"),
        format!("{claims}.all(a, a in {claims})"),
        format!(
            "{claims}.all(a, managedCluster.status.text.contains('b') || true) && {claims}.all(a, managedCluster.status.text.split('') == [])"
        ),
        format!("{claims}.all(a, managedCluster.status.text.matches('(a|b|ab)*c') || true)"),
        "managedCluster.status.text.replace('', managedCluster.status.text).size() == 1".to_owned(),
        "managedCluster.metadata.labels.all(a, managedCluster.metadata.labels[a] == 'x')"
            .to_owned(),
    ] {
        assert_eq!(holds(&text, &large), Err(Failure::TooManySteps), "{text}");
    }
    let once = format!("{claims}.exists(c, c.value == 4999)");
    assert_eq!(holds(&once, &large), Ok(true), "what everybody does is no problem");
}

#[test]
fn what_doubles_with_every_step_is_stopped() {
    let object = Document::default();
    for start in ["['aaaaaaaaaaaaaaaa']", "[[1]]", "[b'aaaaaaaaaaaaaaaa']"] {
        let text = format!("{start}{}.size() == 1", ".map(x, x + x)".repeat(20));
        assert_eq!(holds(&text, &object), Err(Failure::TooManySteps), "{text:.60}");
    }
    // Sharing makes this small; comparing it does not.
    let shared = format!("[1]{}", ".map(x, [x, x])".repeat(20));
    let compared = format!("[{shared}].all(a, [{shared}].all(b, a == b))");
    assert_eq!(holds(&compared, &object), Err(Failure::TooManySteps));
}

#[test]
fn numbers_that_do_not_fit_are_errors() {
    let object = Document::default();
    for text in [
        "-9223372036854775808 / -1 == 0",
        "-9223372036854775808 % -1 == 0",
        "9223372036854775807 + 1 == 0",
        "-9223372036854775808 - 1 == 0",
        "9223372036854775807 * 2 == 0",
        "18446744073709551615u + 1u == 0u",
        "0u - 1u == 0u",
        "timestamp('9999-12-30T22:00:00Z') + duration('1s') == timestamp(0)",
        "timestamp('0001-01-01T00:00:00Z') - duration('1s') == timestamp(0)",
        "duration('2562047h') + duration('2562047h') == duration('0')",
        "-dyn(-9223372036854775807 - 1) == 0",
        "timestamp('9999-12-30T00:00:00Z') - timestamp('0001-01-01T00:00:00Z') == duration('0')",
    ] {
        let failed = holds(text, &object).unwrap_err();
        assert_eq!(failed.to_string(), "the result is too large", "{text}");
    }
    for text in ["9223372036854775808 == 0", "18446744073709551616u == 0u"] {
        assert!(Expression::compile(text).is_err(), "{text}");
    }
    for (text, why) in [
        ("int(1e30) == 0", "the result is too large"),
        ("uint(-1) == 0u", "the result is too large"),
        ("timestamp(9223372036854775807) == timestamp(0)", "the result is too large"),
        (
            "'a'.charAt(9223372036854775807) == ''",
            "the position 9223372036854775807 is out of range",
        ),
        ("'a'.substring(-1) == ''", "the position -1 is out of range"),
    ] {
        assert_eq!(holds(text, &object).unwrap_err().to_string(), why, "{text}");
    }
    let held = [
        "quantity('9223372036854775807').add(quantity('9223372036854775807')).isGreaterThan(quantity('1'))",
        "quantity('1e126').compareTo(quantity('9223372036854775807')) == 0",
        "quantity('-9223372036854775807').sub(quantity('9223372036854775807')) != quantity('0')",
        "'abc'.split('', -1).size() == 3 && 'abc'.split('', 0) == []",
        "'abc'.lastIndexOf('c', 9223372036854775807) == -1 && 'aüa'.lastIndexOf('a', 1) == 0",
    ];
    for text in held {
        assert_eq!(holds(text, &object), Ok(true), "{text}");
    }
}

#[test]
fn a_pattern_that_is_computed_is_bounded_too() {
    let object = Document::of(
        &json!({ "p": "((a{100}){100}){100}", "q": "(".repeat(10_000), "r": "x".repeat(5_000) }),
    );
    for (text, why) in [
        ("'a'.matches(managedCluster.p)", "the pattern \"((a{100}){100}){100}\" is too large"),
        ("'a'.matches(managedCluster.q)", "it would take more than 100000 steps"),
        ("'a'.matches(managedCluster.r)", "it would take more than 100000 steps"),
    ] {
        assert_eq!(holds(text, &object).unwrap_err().to_string(), why);
    }
}

/// Pieces of expressions, most of which fit nowhere.
const PIECES: [&str; 52] = [
    "managedCluster",
    ".metadata",
    ".labels",
    ".name",
    "['a']",
    "[0]",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "?",
    "+",
    "-",
    "*",
    "/",
    "%",
    "&&",
    "||",
    "!",
    "==",
    "!=",
    "<",
    "in",
    "1",
    "-1",
    "0",
    "1u",
    "0.5",
    "'a'",
    "''",
    "b'x'",
    "null",
    "true",
    "false",
    ".size()",
    ".all(x, ",
    ".map(x, ",
    "x",
    "has(",
    ".matches('a')",
    "quantity('1')",
    "timestamp('2026-01-01T00:00:00Z')",
    "duration('1h')",
    ".?a",
    ".scores('a')",
    "optional.of(1)",
    "\u{fc}",
    " ",
];

/// Whole expressions of all types, to put between operators.
const OPERANDS: [&str; 30] = [
    "1",
    "-1",
    "0",
    "1u",
    "0.5",
    "'a'",
    "''",
    "b'x'",
    "null",
    "true",
    "[1, 2]",
    "[]",
    "{'a': 1}",
    "{}",
    "[1, 'a']",
    "managedCluster",
    "managedCluster.metadata",
    "managedCluster.metadata.name",
    "managedCluster.absent",
    "managedCluster.status.clusterClaims",
    "managedCluster.status.text",
    "quantity('1')",
    "semver('1.2.3')",
    "timestamp('2026-01-01T00:00:00Z')",
    "duration('1h')",
    "optional.of(1)",
    "optional.none()",
    "ip('::1')",
    "9223372036854775807",
    "dyn(1)",
];

const METHODS: [&str; 40] = [
    "size()",
    "contains('a')",
    "startsWith('a')",
    "matches('a+')",
    "find('a')",
    "findAll('a', 1)",
    "charAt(0)",
    "indexOf('a', 1)",
    "lastIndexOf('a', -1)",
    "replace('', 'b', -1)",
    "split('', 2)",
    "substring(1)",
    "substring(0, 1)",
    "join(',')",
    "join()",
    "trim()",
    "reverse()",
    "min()",
    "max()",
    "sum()",
    "isSorted()",
    "first()",
    "value()",
    "hasValue()",
    "orValue(1)",
    "getHours('Europe/Berlin')",
    "getDayOfYear()",
    "asInteger()",
    "add(1)",
    "isLessThan(quantity('1'))",
    "major()",
    "parseJSON()",
    "all(x, x == 1)",
    "exists(x, x)",
    "exists_one(x, x == 'a')",
    "map(x, x)",
    "filter(x, x == 1)",
    "masked()",
    "getQuery()",
    "optMap(x, x)",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_pieces_panics(pieces in proptest::collection::vec(select(&PIECES[..]), 0..20)) {
        let object = Document::of(&json!({ "metadata": { "name": "a" } }));
        if let Ok(expression) = Expression::compile(&pieces.concat()) {
            let _ = expression.holds(&Subject { object: &object, scores: &|_| Some(vec![("a", 1)]) }, &Meter::new());
        }
    }

    #[test]
    fn no_operation_panics(
        one in select(&OPERANDS[..]),
        other in select(&OPERANDS[..]),
        operator in select(&["+", "-", "*", "/", "%", "==", "<", "in", "&&", "?true:"][..]),
        method in select(&METHODS[..]),
    ) {
        let object = Document::of(&json!({
            "metadata": { "name": "a" },
            "status": { "text": "äöü", "clusterClaims": [1, "a", { "b": null }] }
        }));
        for text in [
            format!("dyn({one}) {operator} dyn({other})"),
            format!("{one} {operator} {other}"),
            format!("dyn({one}).{method}"),
            format!("dyn({one})[dyn({other})]"),
            format!("[{one}, {other}].{method}"),
        ] {
            if let Ok(expression) = Expression::compile(&text) {
                let subject = Subject { object: &object, scores: &|_| None };
                prop_assert_eq!(expression.holds(&subject, &Meter::new()), expression.holds(&subject, &Meter::new()));
            }
        }
    }

    #[test]
    fn no_text_panics(text in ".{0,60}") {
        let _ = Expression::compile(&text);
    }
}
