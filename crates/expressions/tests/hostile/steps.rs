//! Expressions that take many steps, and numbers that do not fit.

use almanac_expressions::{Allowance, Document, Expression, Failure, Meter, Subject};
use serde_json::json;

use crate::{error, holds, large};

#[test]
fn lists_in_lists_are_refused_where_they_are_written_and_stopped_where_they_are_read() {
    let list = format!("[{}]", ["1"; 12].join(", "));
    let nested =
        format!("{list}.all(a, {list}.all(b, {list}.all(c, {list}.all(d, {list}.all(e, true)))))");
    let too_costly = "it would take more than 100000 steps for any object";
    assert!(error(&nested).starts_with(too_costly), "{}", error(&nested));
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
        "'aüb'.lastIndexOf('ü', 0) == -1 && 'aüb'.lastIndexOf('ü', 1) == 1",
    ];
    for text in held {
        assert_eq!(holds(text, &object), Ok(true), "{text}");
    }
}

#[test]
fn a_type_that_doubles_with_every_macro_is_not_known_in_full() {
    for part in
        [".map(x, {x: x})", ".map(x, [{'a': x, 'b': x}])", ".map(x, {1: {2: x}, 3: {4: x}})"]
    {
        let text = format!("[1]{}", part.repeat(20));
        let deep = Expression::compile(&format!("{text}.size() == 1")).map(|_| ());
        assert_eq!(deep, Ok(()), "{part}");
        let error =
            error(&format!("{text}.first().value().startsWith('a') || ({text} + 1 == 'a')"));
        assert!(error.len() < 300, "{error}");
    }
}

#[test]
fn what_is_constant_is_computed_with_the_steps_of_its_placement_and_kept_if_it_is_small() {
    let large = format!("'{}'.replace('', '{}') != ''", "a".repeat(120), "b".repeat(120));
    let object = Document::default();
    assert_eq!(holds(&large, &object), Ok(true));
    // Each would be kept, if results of any size were.
    let many = format!("[{}].all(i, {large})", ["1"; 200].join(","));
    assert_eq!(holds(&many, &object), Err(Failure::TooManySteps));
    let small = vec!["quantity('1').isLessThan(quantity('2'))"; 370].join(" && ");
    assert_eq!(holds(&small, &object), Ok(true));
}

#[test]
fn all_expressions_of_a_placement_share_the_steps_over_one_object() {
    let large = large();
    let subject = Subject { object: &large, scores: &|_| None };
    let expression =
        Expression::compile("managedCluster.status.clusterClaims.all(c, c.value >= 0)").unwrap();
    let meter = Meter::new();
    let results: Vec<_> = (0..5).map(|_| expression.holds(&subject, &meter)).collect();
    assert_eq!(results.first(), Some(&Ok(true)));
    assert_eq!(results.last(), Some(&Err(Failure::TooManySteps)));
    let cheap = Expression::compile("true").unwrap();
    assert_eq!(cheap.holds(&subject, &meter), Err(Failure::TooManySteps), "there are none left");
}

#[test]
fn a_placement_has_a_maximum_number_and_length_of_expressions() {
    let mut allowance = Allowance::new();
    let compiled = (0..101).map(|_| Expression::compile_within(&mut allowance, "true"));
    let errors: Vec<String> = compiled.filter_map(Result::err).map(|it| it.to_string()).collect();
    assert_eq!(errors, ["a placement has at most 100 expressions"]);
    let long = format!("'{}' != ''", "a".repeat(16_000));
    let mut allowance = Allowance::new();
    let compiled = (0..5).map(|_| Expression::compile_within(&mut allowance, &long));
    let errors: Vec<String> = compiled.filter_map(Result::err).map(|it| it.to_string()).collect();
    assert_eq!(errors, ["the expressions of a placement have at most 65536 bytes in all"]);
}

#[test]
fn no_function_and_no_operator_goes_through_a_long_text_for_nothing() {
    let large = large();
    let text = "managedCluster.status.text";
    for operation in [
        "size() == 0",
        "contains('b')",
        "startsWith('b')",
        "endsWith('b')",
        "charAt(499999) == ''",
        "indexOf('b') == 0",
        "lastIndexOf('b') == 0",
        "lowerAscii() == ''",
        "upperAscii() == ''",
        "reverse() == ''",
        "trim() == ''",
        "substring(1) == ''",
        "substring(0, 1) == ''",
        "replace('b', 'c') == ''",
        "split('b') == []",
        "matches('b')",
        "find('b') == ''",
        "findAll('b') == []",
    ] {
        let text = format!("managedCluster.status.clusterClaims.all(c, !({text}.{operation}))");
        assert_eq!(holds(&text, &large), Err(Failure::TooManySteps), "{text}");
    }
    for operation in [
        "size(T) == 0",
        "T + 'b' == T + 'c'",
        "T == T + ''",
        "T < T + 'a'",
        "isURL(T)",
        "isQuantity(T)",
        "isSemver(T)",
        "isSemver(T, true)",
        "isIP(T)",
        "isCIDR(T)",
        "bytes(T) == b''",
        "strings.quote(T) == ''",
        "[T, T].isSorted()",
        "[T, T].max() == ''",
        "[T, T].join() == ''",
        "T in {T: 1}",
        "[T].indexOf(T) == 0",
    ] {
        let operation = operation.replace('T', text);
        let text = format!("managedCluster.status.clusterClaims.map(c, {operation}).size() == 0");
        assert_eq!(holds(&text, &large), Err(Failure::TooManySteps), "{text}");
    }
    for operation in [
        "quantity",
        "semver",
        "url",
        "ip",
        "cidr",
        "duration",
        "timestamp",
        "int",
        "uint",
        "double",
        "bool",
    ] {
        let text = format!(
            "managedCluster.status.clusterClaims.all(c, {operation}({text}) == {operation}('x') || true)"
        );
        assert_eq!(holds(&text, &large), Err(Failure::TooManySteps), "{text}");
    }
}

#[test]
fn a_map_that_is_written_takes_steps_in_proportion_to_its_keys() {
    let entries: Vec<String> = (0..600).map(|it| format!("c.name + '{it}': 1")).collect();
    let object = Document::from_json(
        &json!({ "list": (0..10).map(|it| json!({ "name": it.to_string() })).collect::<Vec<_>>() }),
    );
    let text = format!("managedCluster.list.all(c, {{{}}}.size() == 600)", entries.join(", "));
    assert_eq!(holds(&text, &object), Ok(true));
    let entries: Vec<String> = (0..1_500).map(|it| format!("{it}: 1")).collect();
    let text = format!("{{{}}}.all(k, k < 1500)", entries.join(", "));
    assert_eq!(holds(&text, &object), Ok(true));
}

#[test]
fn a_failure_quotes_no_more_than_the_beginning_of_a_long_text() {
    let long = "a".repeat(5_000);
    let object = Document::from_json(&json!({ "text": long }));
    for text in [
        "quantity(managedCluster.text) == quantity('1')".to_owned(),
        "semver(managedCluster.text).major() == 1".to_owned(),
        "managedCluster.text.parseJSON() == 1".to_owned(),
        "cidr('10.0.0.0/8').containsIP(managedCluster.text)".to_owned(),
        "cidr('10.0.0.0/8').containsCIDR(managedCluster.text)".to_owned(),
        "timestamp(0).getHours(managedCluster.text) == 1".to_owned(),
        "managedCluster[managedCluster.text] == 1".to_owned(),
        "managedCluster.scores(managedCluster.text) == []".to_owned(),
        "'a'.matches('[' + managedCluster.text)".to_owned(),
        format!("managedCluster.{long}.b == 1"),
    ] {
        let failure = holds(&text, &object).unwrap_err().to_string();
        assert!(failure.len() < 160 && failure.contains("aaa…"), "{failure}");
    }
    for text in [
        format!("{long} == 1"),
        format!("{long}(1) == 1"),
        format!("'a'.{long}() == 1"),
        format!("{long}{{}} == 1"),
        format!("1 {long}"),
        format!("{}9 == 1", "9".repeat(5_000)),
    ] {
        assert!(error(&text).len() < 160, "{}", error(&text));
    }
}
