//! Regular expressions.

use almanac_expressions::{Allowance, Document, Expression, Failure};
use serde_json::json;

use crate::{holds, on_small_stack, steps};

#[test]
fn a_pattern_that_is_computed_is_bounded_too() {
    let object = Document::from_json(
        &json!({ "p": "((a{100}){100}){100}", "q": "a|".repeat(10_000), "r": "x".repeat(5_000) }),
    );
    for (text, why) in [
        (
            "'a'.matches(managedCluster.p)",
            "\"((a{100}){100}){100}\" is not a valid regular expression",
        ),
        ("'a'.matches(managedCluster.q)", "it would take more than 100000 steps"),
        ("'a'.matches(managedCluster.r)", "it would take more than 100000 steps"),
    ] {
        assert_eq!(holds(text, &object).unwrap_err().to_string(), why);
    }
}

#[test]
fn a_pattern_takes_steps_for_its_own_length_too() {
    let object = Document::from_json(&json!({ "text": "a".repeat(4_000), "list": vec![1; 30] }));
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

/// The steps to compile a pattern that an object has, and to compare it with one letter.
fn to_compile(pattern: &str) -> usize {
    let object = Document::from_json(&json!({ "pattern": pattern }));
    let (steps, result) = steps("'!'.matches(managedCluster.pattern) || true", &object);
    assert!(
        result == Ok(true) || result == Err(Failure::TooManySteps),
        "{pattern:.40}: {result:?}"
    );
    steps
}

#[test]
fn letters_in_either_case_take_steps_for_every_letter_that_a_class_may_have() {
    let all = r"[\x{0}-\x{10FFFF}]";
    assert!(to_compile(all) < 1_000);
    for (pattern, least) in [
        (r"(?i)[\x{0}-\x{10FFFF}]", 50_000),
        (r"(?i)[^\x{0}-\x{10FFFE}]", 50_000),
        (r"(?i)a|[\x{0}-\x{10FFFF}]", 50_000),
        (r"(?i:[\x{0}-\x{10FFFF}])", 50_000),
        (r"(?s)(?i-m:[\x{0}-\x{10FFFF}])", 50_000),
        (r"(?i)[\x{0}-\x{1E943}]", 40_000),
        (r"(?i)[\W]", 50_000),
        (r"(?i)[\D.]", 50_000),
        (r"(?i)[[:^alpha:]]", 50_000),
        (r"(?i)[\P{Lu}]", 50_000),
        (r"(?i)[\p{^Lu}]", 50_000),
        (r"(?i)[\p{Any}]", 50_000),
        (r"(?i)\p{Any}", 50_000),
        (r"(?i)\pL", 8_000),
        (r"\pL", 4_000),
    ] {
        let steps = to_compile(pattern);
        assert!(steps >= least, "{pattern} takes {steps} steps");
    }
    // A few of them are more than one object may take.
    let several = r"(?i)[\x{0}-\x{10FFFF}]".repeat(3);
    assert_eq!(
        holds("'!'.matches(managedCluster.p)", &Document::from_json(&json!({ "p": several }))),
        Err(Failure::TooManySteps)
    );
    assert!(
        to_compile("(?i)^v?1[.](30|31)[.][0-9a-z]+$") < 3_000,
        "what everybody does is no problem"
    );
}

#[test]
fn what_is_empty_takes_steps_as_often_as_it_is_repeated() {
    for (pattern, least) in [
        ("|".repeat(1_000), 20_000),
        (format!("({}){{1000}}", "|".repeat(10)), 100_000),
        ("(?:(?:){10}){100}".to_owned(), 20_000),
        ("(?:(?:a{0}){10}){100}".to_owned(), 20_000),
        ("()".repeat(1_000), 20_000),
        ("(a{0}){0}".repeat(500), 20_000),
        ("(?i)(?-i)".repeat(500), 20_000),
        ("(|a)*".repeat(500), 20_000),
        ("$^".repeat(500), 20_000),
    ] {
        let steps = to_compile(&pattern);
        assert!(steps >= least, "{pattern:.30} takes {steps} steps");
    }
}

#[test]
fn a_pattern_takes_steps_for_its_letters_before_it_is_read() {
    for part in ["[:", "{", "\\Qa\\E", "a{1,", "[[:alpha:", "\\x{1", "(?P<a>", "\u{10ffff}"] {
        let pattern = format!("[{}", part.repeat(100_000 / part.len()));
        assert_eq!(to_compile(&pattern), 100_000, "{part}");
    }
}

#[test]
fn written_patterns_that_take_too_long_to_compile_are_refused_where_they_stand() {
    let too_costly = "those of a placement take more than 400000 steps to compile";
    let whole = r"managedCluster.a.matches(r'(?i)[\x{0}-\x{10FFFF}]')";
    let mut allowance = Allowance::new();
    let results = (0..6).map(|_| Expression::compile_within(&mut allowance, whole));
    let errors: Vec<_> = results.filter_map(Result::err).collect();
    assert_eq!(errors.len(), 2, "{errors:?}");
    let expected =
        format!(r#"with the pattern "(?i)[\\x{{0}}-\\x{{10FFFF}}]", {too_costly}, at column 25"#);
    assert_eq!(errors[0].to_string(), expected);
    assert!(errors[0].is_too_much);
    // A constant that was too much to compute takes nothing away from them.
    let mut allowance = Allowance::new();
    let constant = format!("'{}'.replace('', '{}') != ''", "a".repeat(2_000), "b".repeat(2_000));
    for text in [&*constant, whole] {
        assert!(Expression::compile_within(&mut allowance, text).is_ok(), "{text:.40}");
    }
}

#[test]
fn groups_are_matched_as_they_are_written() {
    let object = Document::from_json(&json!({ "text": "ab-12" }));
    for text in [
        r"managedCluster.text.matches(r'^(a)(?P<name>b)-(?<other>\d)(?:2)$')",
        r"managedCluster.text.find(r'(b|c)-(1)') == 'b-1'",
        r"managedCluster.text.findAll(r'([a-z])|(\d)') == ['a', 'b', '1', '2']",
        r"managedCluster.text.matches(r'^((?i)A(?-i)b)-12$') && !managedCluster.text.matches(r'^((?i)A)B')",
    ] {
        assert_eq!(holds(text, &object), Ok(true), "{text}");
    }
}

#[test]
fn brackets_in_brackets_need_no_more_than_a_small_stack() {
    for pattern in [
        format!("{}a{}", "(".repeat(2_000), ")".repeat(2_000)),
        format!("{}a{}", "(?:a|".repeat(1_000), ")".repeat(1_000)),
        format!("{}a{}", "(".repeat(60), ")*".repeat(60)),
        "(".repeat(4_000),
        ")".repeat(4_000),
        "[".repeat(4_000),
    ] {
        on_small_stack(move || {
            let object = Document::from_json(&json!({ "pattern": pattern }));
            let results = [
                holds("'!'.matches(managedCluster.pattern) || true", &object),
                holds(
                    &format!("'!'.matches('{pattern}') || managedCluster == {{}} || true"),
                    &object,
                ),
            ];
            assert_eq!(results, [Ok(true), Ok(true)], "{pattern:.20}");
        });
    }
}

#[test]
fn the_empty_text_and_the_end_are_compared_with_the_whole_pattern_too() {
    let object = Document::from_json(&json!({ "none": "", "many": vec![1; 100] }));
    for pattern in ["(?:a?){900}b", "(?:(?:|){10}){90}b", "(?:a*|){450}b"] {
        let text = format!("managedCluster.many.all(i, !managedCluster.none.matches('{pattern}'))");
        let (steps, held) = steps(&text, &object);
        assert!(held == Ok(true) && steps > 100 * 50, "{pattern} takes {steps} steps");
    }
}
