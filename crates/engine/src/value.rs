//! The value of an object's field: a number, a string, names, numbers by name, or nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// The value of a field. Ordered, so that output is in order; cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Value {
    /// A number of replicas, a bound, or the number that a schedule publishes.
    Number(u32),
    /// A string, such as the name of a level.
    Text(Arc<str>),
    /// Names, such as those of clusters.
    Names(Arc<BTreeSet<Arc<str>>>),
    /// A number by name, such as the pods of each unit.
    Numbers(Arc<BTreeMap<Arc<str>, u32>>),
    /// The field is absent, as for a pod without a level. This differs from an unknown value.
    Nothing,
}

impl Value {
    /// Creates a string value.
    #[must_use]
    pub fn text(text: &str) -> Value {
        Value::Text(Arc::from(text))
    }

    /// Names, in any order.
    #[must_use]
    pub fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> Value {
        Value::Names(Arc::new(names.into_iter().map(Arc::from).collect()))
    }

    /// Numbers by name, in any order.
    #[must_use]
    pub fn numbers<'a>(numbers: impl IntoIterator<Item = (&'a str, u32)>) -> Value {
        let named_numbers = numbers.into_iter().map(|(name, number)| (Arc::from(name), number));
        Value::Numbers(Arc::new(named_numbers.collect()))
    }

    /// The number; `None` for other values.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Text(_) | Value::Names(_) | Value::Numbers(_) | Value::Nothing => None,
        }
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Value {
        Value::Number(number)
    }
}

/// The value for users: `3`, `best-effort`, `east, west`, `spot 3, on-demand 5`; `none` for an empty list or nothing.
impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |formatter: &mut fmt::Formatter<'_>, items: Vec<String>| {
            formatter.write_str(if items.is_empty() { "none" } else { "" })?;
            formatter.write_str(&items.join(", "))
        };
        match self {
            Value::Number(number) => number.fmt(formatter),
            Value::Text(text) => formatter.write_str(text),
            Value::Nothing => formatter.write_str("none"),
            Value::Names(names) => {
                listed(formatter, names.iter().map(ToString::to_string).collect())
            }
            Value::Numbers(numbers) => {
                let items = numbers.iter().map(|(name, number)| format!("{name} {number}"));
                listed(formatter, items.collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_displayed_in_plain_words() {
        let texts = [
            (Value::Number(3), "3"),
            (Value::text("best-effort"), "best-effort"),
            (Value::names(["west", "east"]), "east, west"),
            (Value::names([]), "none"),
            (Value::Nothing, "none"),
            (Value::numbers([("spot", 3), ("on-demand", 5)]), "on-demand 5, spot 3"),
        ];
        for (value, expected) in texts {
            assert_eq!(value.to_string(), expected);
        }
    }

    #[test]
    fn a_value_takes_no_more_than_three_words() {
        assert!(size_of::<Option<Value>>() <= 24, "{} bytes", size_of::<Option<Value>>());
    }
}
