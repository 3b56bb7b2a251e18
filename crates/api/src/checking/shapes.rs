//! The shape of each kind: the schema of a kind that we define, and the fields that we read of another kind.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value as Json, json};

use crate::definitions::all_custom_resources;
use crate::kinds::Kind;
use crate::shape::{Shape, metadata_shape};
use crate::slim;

/// The shape of a kind.
pub(super) fn shape_of(kind: Kind) -> &'static Shape {
    static SHAPES: LazyLock<BTreeMap<Kind, Shape>> = LazyLock::new(shapes);
    static ANYTHING: LazyLock<Shape> = LazyLock::new(Shape::default);
    SHAPES.get(&kind).unwrap_or(&ANYTHING)
}

fn shapes() -> BTreeMap<Kind, Shape> {
    let mut shapes: BTreeMap<Kind, Shape> =
        Kind::ALL.iter().map(|kind| (*kind, shape_of_numbers(*kind))).collect();
    shapes.insert(Kind::ConfigMap, with_envelope(Shape::from_schema(&texts())));
    for resource in all_custom_resources() {
        if let Some(kind) = resource.known_kind() {
            let mut shape = Shape::from_schema(&resource.schema());
            shape.set("status", Shape::default());
            shapes.insert(kind, with_envelope(shape));
        }
    }
    shapes
}

/// The shape of a kind that we do not define: the numbers that Almanac reads, and any other fields.
fn shape_of_numbers(kind: Kind) -> Shape {
    let count = json!({ "type": "integer", "format": "int32", "minimum": 0, "nullable": true });
    let names = slim::fields(kind.role()).iter();
    let fields: Map<String, Json> = names.map(|it| ((*it).to_owned(), count.clone())).collect();
    let spec = json!({ "type": "object", "properties": fields, "additionalProperties": {} });
    with_envelope(Shape::from_schema(&json!({
        "type": "object",
        "properties": { "spec": spec },
        "additionalProperties": {}
    })))
}

/// The shape of a `ConfigMap`.
fn texts() -> Json {
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "object", "nullable": true, "additionalProperties": text });
    let flag = json!({ "type": "boolean", "nullable": true });
    json!({
        "type": "object",
        "properties": { "data": texts, "binaryData": texts, "immutable": flag }
    })
}

fn with_envelope(mut shape: Shape) -> Shape {
    let text = json!({ "type": "string" });
    shape.set("apiVersion", Shape::from_schema(&text));
    shape.set("kind", Shape::from_schema(&text));
    shape.set("metadata", metadata_shape());
    shape
}
