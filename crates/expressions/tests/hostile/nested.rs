//! Values that are put into each other, by an expression or by an object.

use almanac_expressions::Document;
use serde_json::{Value, json};

use crate::{holds, on_small_stack};

const TOO_DEEP: &str = "the expression nests values more than 128 levels deep";

/// Texts that put a variable into ten values, each in the next one.
fn wrappers() -> [String; 3] {
    [
        format!("{}x{}", "[".repeat(10), "]".repeat(10)),
        format!("{}x{}", "{'a': ".repeat(10), "}".repeat(10)),
        format!("{}x{}", "optional.of(".repeat(10), ")".repeat(10)),
    ]
}

#[test]
fn values_that_are_put_into_each_other_thousands_deep_are_refused() {
    for wrapper in wrappers() {
        // The result of a round goes into the next one, ever deeper, while the written expression is not nested any
        // deeper.
        let chain = format!(".map(x, {wrapper})").repeat(15);
        let round = format!(".map(x, [x]{chain}[0])");
        let deep = format!("[0]{}", round.repeat(15_000 / round.len()));
        for what in
            ["d == d", "d in [d]", "[d].indexOf(d) == 0", "type(d) == list", "[d] + [d] == []"]
        {
            let text = format!("{deep}.all(d, {what})");
            on_small_stack(move || {
                let failed = holds(&text, &Document::default()).unwrap_err();
                assert_eq!(failed.to_string(), TOO_DEEP, "{text:.60}");
            });
        }
    }
}

#[test]
fn values_as_deep_as_they_may_be_are_compared_and_dropped_on_a_small_stack() {
    // As deep as JSON is read.
    let inner: Value = format!("{}{}", "[".repeat(127), "]".repeat(127)).parse().unwrap();
    let object = Document::from_json(&json!({ "a": inner }));
    for wrapper in wrappers() {
        let deep =
            |times| format!("[managedCluster.a]{}[0]", format!(".map(x, {wrapper})").repeat(times));
        // A hundred and twenty levels, seven more, and the list of the macro.
        let deepest = format!("[{}].map(x, [[[[[[[x]]]]]]])", deep(12));
        let text = format!("{deepest} == {deepest} && {deepest} in [[], {deepest}[0], {deepest}]");
        let object = object.clone();
        on_small_stack(move || {
            assert_eq!(holds(&format!("{deepest} == {deepest}"), &object), Ok(true), "{wrapper}");
            let failed = holds(&text, &object).unwrap_err();
            assert_eq!(failed.to_string(), TOO_DEEP, "one level more: {wrapper}");
        });
    }
}

#[test]
fn a_text_in_json_is_read_as_deep_as_the_stack_allows_and_no_deeper() {
    let object = |levels| {
        let text = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        Document::from_json(
            &json!({ "text": text, "maps": "{\"a\":".repeat(levels) + "0" + &"}".repeat(levels) }),
        )
    };
    on_small_stack(move || {
        for field in ["text", "maps"] {
            let text =
                format!("managedCluster.{field}.parseJSON() == managedCluster.{field}.parseJSON()");
            assert_eq!(holds(&text, &object(127)), Ok(true));
            let failed = holds(&text, &object(5_000)).unwrap_err().to_string();
            assert!(failed.ends_with("is not a valid JSON text"), "{failed}");
            let deeper = format!("[[managedCluster.{field}.parseJSON()]] == []");
            assert_eq!(holds(&deeper, &object(127)).unwrap_err().to_string(), TOO_DEEP);
        }
    });
}

#[test]
fn no_key_of_an_object_is_more_than_a_key() {
    let object = Document::from_json(&json!({
        "raw": { "$serde_json::private::RawValue": "[1" },
        "number": { "$serde_json::private::Number": "x" },
        "text": "{\"$serde_json::private::RawValue\": \"[1\"}",
    }));
    for text in [
        "managedCluster.raw == {'$serde_json::private::RawValue': '[1'}",
        "managedCluster.number == {'$serde_json::private::Number': 'x'}",
        "managedCluster.text.parseJSON() == managedCluster.raw",
        r#"'{"$serde_json::private::RawValue": 1}'.parseJSON() == {'$serde_json::private::RawValue': 1}"#,
        r#"'{"$serde_json::private::RawValue": "true"}'.parseJSON() != true"#,
        r#"'{"$serde_json::private::Number": "1"}'.parseJSON() == {'$serde_json::private::Number': '1'}"#,
        r#"'{"b": 1, "a": 2, "b": 3}'.parseJSON().map(k, k) == ['a', 'b']"#,
        r#"'{"b": 1, "a": 2, "b": 3}'.parseJSON().b == 3"#,
        r#"'[1, -2, 18446744073709551615, 1.5, null, true, "a"]'.parseJSON().size() == 7"#,
    ] {
        assert_eq!(holds(text, &object), Ok(true), "{text}");
    }
    // Each of these would be read as deep again as what is around it.
    let mut nested = "1".to_owned();
    for _ in 0..8 {
        let lists = format!("{}{nested}{}", "[".repeat(100), "]".repeat(100));
        nested = json!({ "$serde_json::private::RawValue": lists }).to_string();
    }
    let object = Document::from_json(&json!({ "text": nested }));
    on_small_stack(move || {
        assert_eq!(holds("managedCluster.text.parseJSON().size() == 1", &object), Ok(true));
    });
}

#[test]
fn an_object_that_is_nested_too_deep_has_no_result() {
    let nested = |levels| {
        let mut nested = json!(1);
        for _ in 0..levels {
            nested = json!({ "a": [nested] });
        }
        nested
    };
    on_small_stack(move || {
        let (deep, too_deep) = (Document::from_json(&nested(64)), Document::from_json(&nested(65)));
        assert_eq!(holds("managedCluster == managedCluster", &deep), Ok(true));
        let failed = holds("managedCluster == managedCluster", &too_deep).unwrap_err();
        assert_eq!(failed.to_string(), "the object is nested more than 128 levels deep");
        assert_eq!(format!("{too_deep:?}"), "null");
    });
}
