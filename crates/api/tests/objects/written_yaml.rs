//! Every value that is written as YAML reads back unchanged.

use std::io::Write as _;

use almanac_api::reading::{Reading, Source, read_objects};
use almanac_api::writing::{JsonAsYaml, to_yaml};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Strings with a special meaning in YAML, and any other strings.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        r#"[-a-c:{}\[\],&*!|>'"%@`#\n\r\t /?0-9.~<\\=é\u{85}\u{2028}\u{feff}]{0,40}"#,
        ".{0,20}",
        "(\\PC|[\n ]){0,300}",
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|whole| Value::from(f64::from(whole) + 0.5)),
        texts().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(texts(), inner, 0..6).prop_map(|fields| json!(fields)),
        ]
    })
}

fn read_back(text: &str) -> Option<Value> {
    let mut reading = Reading::default();
    read_objects(&mut reading, Source::new("written.yaml", text));
    reading.objects.first().map(|object| object.node.to_json())
}

proptest! {
    #[test]
    fn any_object_reads_back_unchanged(value in values()) {
        let object = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "a"},
            "spec": {"data": value},
        });
        let text = to_yaml(std::slice::from_ref(&object)).expect("write the object");
        prop_assert_eq!(read_back(&text), Some(object), "{}", text);
    }

    #[test]
    fn json_as_yaml_reads_back_unchanged_however_it_is_split(
        value in values(),
        at_once in 1..9_usize,
        is_pretty in any::<bool>(),
    ) {
        let object = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "a"},
            "spec": {"data": value},
        });
        let written = if is_pretty { format!("{object:#}\n") } else { object.to_string() };
        let mut yaml = Vec::new();
        let mut writer = JsonAsYaml::begin(&mut yaml).expect("a writer");
        for piece in written.as_bytes().chunks(at_once) {
            writer.write_all(piece).expect("write the object");
        }
        writer.end().expect("write the object");
        let text = String::from_utf8(yaml).expect("UTF-8");
        prop_assert_eq!(read_back(&text), Some(object), "{}", text);
    }
}
