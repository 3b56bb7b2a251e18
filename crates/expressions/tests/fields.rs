//! Fields of a document: the fast check whether a field is a text has the same result in as many steps as the slow one.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helping functions too")]

use almanac_expressions::{Document, Expression, Failure, Meter, Subject};
use proptest::prelude::*;
use serde_json::{Value, json};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("name"),
        Just("value"),
        Just("status"),
        Just("east"),
        Just("aLongerTextThanTheOthers")
    ]
    .prop_map(str::to_owned)
}

/// Anything that may be in a field.
fn content() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        6 => text().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => (0..3).prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..3).prop_map(|it| json!(it)),
        ]
    })
}

/// The result of an expression within this number of steps, and how many are left.
fn evaluated(expression: &str, object: &Document, steps: usize) -> (Result<bool, Failure>, usize) {
    let expression = Expression::compile(expression).unwrap();
    let meter = Meter::with(steps);
    let subject = Subject { object, scores: &|_| None };
    (expression.holds(&subject, &meter), meter.remaining_steps())
}

proptest! {
    #[test]
    fn whether_a_field_is_a_text_does_not_depend_on_which_is_written_first(
        claims in prop::collection::vec((content(), content()), 0..6),
        wanted in text(),
        steps in prop_oneof![0..80_usize, Just(1_000)],
    ) {
        let claims = claims.into_iter().map(|(name, value)| json!({ "name": name, "value": value }));
        let claims: Vec<Value> = claims.collect();
        let object = Document::from_json(&json!({ "status": { "claims": claims } }));
        for symbol in ["==", "!="] {
            for (macro_name, rest) in
                [("exists", ""), ("exists", " && c.value == 'status'"), ("all", ""), ("exists", " || c.value.name == 'east'")]
            {
                let written = |condition: String| {
                    format!("managedCluster.status.claims.{macro_name}(c, {condition}{rest})")
                };
                let quick = written(format!("c.name {symbol} '{wanted}'"));
                let slow = written(format!("'{wanted}' {symbol} c.name"));
                let (quick, slow) = (evaluated(&quick, &object, steps), evaluated(&slow, &object, steps));
                prop_assert_eq!(quick, slow);
            }
        }
    }

    #[test]
    fn a_field_is_what_its_key_has(content in content(), name in text()) {
        let object = Document::from_json(&json!({ "spec": content }));
        let of = |expression: String| evaluated(&expression, &object, 1_000).0;
        let by_field = of(format!("managedCluster.spec.{name} == 'east'"));
        let by_key = of(format!("managedCluster['spec']['{name}'] == 'east'"));
        prop_assert_eq!(by_field.is_ok(), by_key.is_ok());
        prop_assert_eq!(by_field.unwrap_or_default(), by_key.unwrap_or_default());
    }
}
