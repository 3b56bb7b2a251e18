//! Random expressions.

use almanac_expressions::{Document, Expression, Meter, Subject};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

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
        let object = Document::from_json(&json!({ "metadata": { "name": "a" } }));
        if let Ok(expression) = Expression::compile(&pieces.concat()) {
            let _ = expression.holds(&Subject { object: &object, scores: &|_| Some([("a", 1)].into()) }, &Meter::new());
        }
    }

    #[test]
    fn no_operation_panics(
        one in select(&OPERANDS[..]),
        other in select(&OPERANDS[..]),
        operator in select(&["+", "-", "*", "/", "%", "==", "<", "in", "&&", "?true:"][..]),
        method in select(&METHODS[..]),
    ) {
        let object = Document::from_json(&json!({
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
