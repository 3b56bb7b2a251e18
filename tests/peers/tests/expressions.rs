//! Almanac's expressions compared with the code of Kubernetes: every result must be equal, except for the intended
//! differences. The results are recorded; `cargo xtask peers` records the results again.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helping functions too"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use almanac_expressions::{Document, Expression, Failure, Meter, Subject};
use almanac_peers::{
    EXPRESSIONS_RECORD, ExpressionsRecord, clusters, expressions, expressions_digest, scores_of,
    version,
};

/// An intended difference: the expressions, Almanac's result, and the reason.
struct Difference {
    why: &'static str,
    expressions: &'static [&'static str],
}

const DIFFERENCES: &[Difference] = &[
    Difference {
        why: "strings are not formatted",
        expressions: &["'%s'.format(['a']) == 'a'", "format.named('dns1123Label').hasValue()"],
    },
    Difference {
        why: "message literals are not supported",
        expressions: &["google.protobuf.Duration{seconds: 1} == duration('1s')"],
    },
    Difference {
        why: "numbers of different types are compared wherever they stand, not only after a macro",
        expressions: &["1 < 1.5", "1u < 2", "2 > 1u", "1.5 > 1", "1 <= 1.0 && 1 >= 1.0"],
    },
    Difference {
        why: "the types of items of an empty list are unknown",
        expressions: &["[].map(y, y + dyn(1)) == ['a']"],
    },
    Difference {
        why: "a duration is not made of a number, which always fails",
        expressions: &["duration(1000000000) == duration('1s')"],
    },
    Difference {
        why: "no number is read from hexadecimal digits with a power of two",
        expressions: &["double('0x1p4') == 16.0"],
    },
    Difference {
        why: "amounts beyond the largest quantity are the largest quantity",
        expressions: &[
            "quantity('9223372036854775808') == quantity('9223372036854775807')",
            "quantity('9999999999999999999999') == quantity('9223372036854775807')",
            "quantity('10E') == quantity('9223372036854775807')",
        ],
    },
    Difference {
        why: "a quantity is an integer if it is one, however it is written",
        expressions: &[
            "quantity('1Ei').asInteger() == 1152921504606846976",
            "quantity('1').isInteger() && !quantity('500m').isInteger() && quantity('1000m').isInteger()",
            "quantity('9223372036854775807').isInteger()",
            "quantity('10E').isInteger()",
        ],
    },
    Difference {
        why: "an instant is written with a point, and is before 9999-12-30T22:00:01Z",
        expressions: &[
            "timestamp('2026-03-02T12:00:00,5Z').getMilliseconds() == 500",
            "timestamp('9999-12-31T23:59:59Z').getFullYear() == 9999",
        ],
    },
    Difference {
        why: "keys of maps follow the specification",
        expressions: &["{[1]: 'a'}.size() == 1", "{timestamp(0): 'a'}.size() == 1"],
    },
    Difference {
        why: "what has no order has no largest item, and is not sorted",
        expressions: &["[1, 'a'].max() == 1", "[1, 'a'].isSorted()"],
    },
    Difference {
        why: "categories of Unicode have short names",
        expressions: &[r"'a'.matches('\\p{Letter}')"],
    },
    Difference {
        why: "a duration is written exactly, and not by way of a floating-point number",
        expressions: &["string(duration('2562047h47m16.854775807s')) == '9223372036.854775807s'"],
    },
    Difference {
        why: "values are in each other 128 deep at most",
        expressions: &[concat!(
            "[0]",
            ".map(x, [[[[[[[[[[x]]]]]]]]]])",
            ".map(x, [[[[[[[[[[x]]]]]]]]]])",
            ".map(x, [[[[[[[[[[x]]]]]]]]]])",
            ".map(x, [[[[[[[[[[x]]]]]]]]]])",
            ".map(x, [[[[[[[[[[x]]]]]]]]]])",
            ".map(x, [[[[[[[[[[x]]]]]]]]]])",
            ".map(x, [[[[[[[[[[x]]]]]]]]]])",
            ".map(x, [[[[[[[[[[x]]]]]]]]]])",
            ".map(x, [[[[[[[[[[x]]]]]]]]]])",
            ".map(x, [[[[[[[[[[x]]]]]]]]]])",
            ".map(x, [[[[[[[[[[x]]]]]]]]]])",
            ".map(x, [[[[[[[[[[x]]]]]]]]]])",
            ".map(x, [[[[[[[[[[x]]]]]]]]]])",
            ".size() == 1"
        )],
    },
    Difference {
        why: "an instant has no offset, so its text is in UTC",
        expressions: &["string(timestamp('2026-03-02T12:00:00+01:00')) == '2026-03-02T11:00:00Z'"],
    },
];

fn record() -> ExpressionsRecord {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(EXPRESSIONS_RECORD);
    let text = fs::read_to_string(file).unwrap();
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// The result of Almanac, in the characters of the record.
fn ours(expression: &str, objects: &[(String, Document)]) -> String {
    let Ok(compiled) = Expression::compile(expression) else { return "!".to_owned() };
    let letters = objects.iter().map(|(name, object)| {
        let scores = |of: &str| scores_of(name, of).map(Into::into);
        match compiled.holds(&Subject { object, scores: &scores }, &Meter::new()) {
            Ok(true) => 't',
            Ok(false) => 'f',
            Err(Failure::NotABoolean(_)) => 'o',
            Err(_) => 'e',
        }
    });
    letters.collect()
}

fn objects() -> Vec<(String, Document)> {
    let named = |it: serde_json::Value| {
        (it["metadata"]["name"].as_str().unwrap().to_owned(), Document::from_json(&it))
    };
    clusters().into_iter().map(named).collect()
}

#[test]
fn the_record_matches_the_current_expressions() {
    let record = record();
    assert_eq!(record.kubernetes, version().unwrap(), "run `cargo xtask peers`");
    assert_eq!(record.digest, expressions_digest(), "run `cargo xtask peers`");
    assert_eq!(record.answers.len(), expressions().len(), "run `cargo xtask peers`");
}

#[test]
fn every_result_equals_that_of_kubernetes_except_for_intended_differences() {
    let (objects, record) = (objects(), record());
    let meant: BTreeMap<&str, &str> =
        DIFFERENCES.iter().flat_map(|it| it.expressions.iter().map(|one| (*one, it.why))).collect();
    let mut failures = Vec::new();
    let mut found = 0;
    for (expression, theirs) in expressions().iter().zip(&record.answers) {
        let ours = ours(expression, &objects);
        let is_meant = meant.contains_key(expression.as_str());
        found += usize::from(is_meant);
        if (ours == *theirs) == is_meant {
            failures.push(format!("{expression}\n  Kubernetes {theirs}\n  ours       {ours}"));
        }
    }
    assert!(failures.is_empty(), "{} results differ:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(found, meant.len(), "a difference is in no expression of the comparison");
}
