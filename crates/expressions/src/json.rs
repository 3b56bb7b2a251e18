//! Values from strings in JSON. All numbers are floating-point numbers, as in JSON. An object with any keys is an
//! object: some keys have a special meaning for `serde_json`'s own type of values.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::failure::Failure;
use crate::value::Value;

/// The value of a string; `None` for invalid JSON, or for too deep nesting for the stack.
pub(crate) fn parse<'v>(text: &str) -> Option<Value<'v>> {
    serde_json::from_str(text).ok().map(|Json(value)| value)
}

struct Json<'v>(Value<'v>);

impl<'de, 'v> Deserialize<'de> for Json<'v> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json<'v>, D::Error> {
        deserializer.deserialize_any(Reading(std::marker::PhantomData)).map(Json)
    }
}

struct Reading<'v>(std::marker::PhantomData<Value<'v>>);

impl<'de, 'v> Visitor<'de> for Reading<'v> {
    type Value = Value<'v>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value<'v>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'v>, E> {
        Ok(Value::Bool(value))
    }

    #[expect(clippy::cast_precision_loss, reason = "it is a floating-point number")]
    fn visit_i64<E>(self, value: i64) -> Result<Value<'v>, E> {
        Ok(Value::Double(value as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "it is a floating-point number")]
    fn visit_u64<E>(self, value: u64) -> Result<Value<'v>, E> {
        Ok(Value::Double(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'v>, E> {
        Ok(Value::Double(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'v>, E> {
        Ok(Value::text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut written: A) -> Result<Value<'v>, A::Error> {
        let mut items = Vec::new();
        while let Some(Json(item)) = written.next_element()? {
            items.push(item);
        }
        read(Value::list(items))
    }

    /// A map in the order of the keys. Of two values of one key, the last counts.
    fn visit_map<A: MapAccess<'de>>(self, mut written: A) -> Result<Value<'v>, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some((key, Json(value))) = written.next_entry::<String, _>()? {
            entries.insert(key, value);
        }
        read(Value::map(entries.into_iter().map(|(key, value)| (Value::text(key), value))))
    }
}

fn read<E: Error>(value: Result<Value<'_>, Failure>) -> Result<Value<'_>, E> {
    value.map_err(E::custom)
}
