//! A JSON value with the location of every part.

pub(crate) mod scalar;

use std::sync::Arc;

use serde_json::Number;

use crate::finding::{FieldPath, Segment, Span};

/// A value and its location.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// The location in the text. An alias has the location of its anchor.
    pub span: Span,
    /// The value without its location.
    pub value: Value,
}

/// A JSON value. A copy shares its lists and maps with the original, and needs no memory for them.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `null`, or an empty scalar.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number that fits 64 bits, or a float.
    Number(Number),
    /// A string.
    Text(Box<str>),
    /// A list of values.
    List(Arc<[Node]>),
    /// A map in written order, without duplicate keys.
    Map(Arc<[Entry]>),
}

/// An entry of a map.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The key, as in JSON.
    pub key: Box<str>,
    /// The location of the key.
    pub key_span: Span,
    /// The value of the entry.
    pub value: Node,
}

impl Node {
    /// The entry of a map under a key.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| &*entry.key == key),
            _ => None,
        }
    }

    /// The value of a map under a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The string; `None` for any other value.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items; `None` for a value that is not a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// Converts a JSON value, which has no locations.
    #[must_use]
    pub fn from_json(value: &serde_json::Value) -> Node {
        use serde_json::Value as Json;
        let span = Span::default();
        let value = match value {
            Json::Null => Value::Null,
            Json::Bool(truth) => Value::Bool(*truth),
            Json::Number(number) => Value::Number(as_kubernetes_keeps(number.clone())),
            Json::String(text) => Value::Text(text.as_str().into()),
            Json::Array(items) => Value::List(items.iter().map(Self::from_json).collect()),
            Json::Object(fields) => {
                let entry = |(key, value): (&String, &Json)| Entry {
                    key: key.as_str().into(),
                    key_span: span,
                    value: Self::from_json(value),
                };
                Value::Map(fields.iter().map(entry).collect())
            }
        };
        Node { span, value }
    }

    /// Converts the value to JSON, without locations.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(truth) => serde_json::Value::Bool(*truth),
            Value::Number(number) => serde_json::Value::Number(number.clone()),
            Value::Text(text) => serde_json::Value::String(text.to_string()),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => serde_json::Value::Object(
                entries
                    .iter()
                    .map(|entry| (entry.key.to_string(), entry.value.to_json()))
                    .collect(),
            ),
        }
    }

    /// The location for a finding about a field.
    ///
    /// For a value on one line, this is the value. For a list, a map, or a field whose name is wrong (`at_key`), it is
    /// the key. For an absent field, it is the nearest enclosing field.
    #[must_use]
    pub fn locate(&self, path: &FieldPath, at_key: bool) -> Span {
        let mut node = self;
        let mut here = node.first_key();
        for segment in path.segments() {
            let next = match segment {
                Segment::Key(key) => node.entry(key).map(|entry| (entry.key_span, &entry.value)),
                Segment::Index(index) => node
                    .as_list()
                    .and_then(|items| items.get(*index))
                    .map(|item| (item.first_key(), item)),
            };
            let Some((span, inner)) = next else { return here };
            (here, node) = (span, inner);
        }
        match node.value {
            Value::List(_) | Value::Map(_) => here,
            _ if at_key => here,
            _ => node.span,
        }
    }

    /// The location of the first key of a map, or of the value itself.
    fn first_key(&self) -> Span {
        match &self.value {
            Value::Map(entries) => entries.first().map_or(self.span, |entry| entry.key_span),
            _ => self.span,
        }
    }
}

/// Whether a string without quotes is a string in YAML, and not a number, a boolean or null.
#[must_use]
pub fn reads_as_text(text: &str) -> bool {
    matches!(scalar::resolve(text), scalar::Scalar::Text)
}

/// Converts a number to the form of Kubernetes, in which whole numbers beyond 64 bits are floats.
pub(crate) fn as_kubernetes_keeps(number: Number) -> Number {
    match number.as_u64() {
        Some(large) if i64::try_from(large).is_err() => {
            number.as_f64().and_then(Number::from_f64).unwrap_or(number)
        }
        _ => number,
    }
}
