//! The values that an expression is evaluated to, what they are equal to, and their order. Numbers of different types
//! are compared by what they are; nothing else of different types is equal, and nothing else has an order.

mod map;

use std::cmp::Ordering;
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::document::{Content, Stored, StoredList};
use crate::evaluate::NamedScores;
use crate::failure::Failure;
use crate::meter::Meter;
use crate::network::Network;
use crate::quantity::Quantity;
use crate::url::Url;
use crate::version::Version;

pub(crate) use map::{Map, is_key, steps_to_key};

/// The maximum nesting of lists, maps and optional values by an expression. Recursion over values uses the
/// stack by this many levels more than the deepest document.
const MAX_NESTED_VALUES: u8 = 128;

/// A value. It may be part of a document, or of an expression.
#[derive(Clone, Debug)]
pub(crate) enum Value<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Text<'v>),
    Bytes(Arc<[u8]>),
    List(List<'v>),
    Map(Map<'v>),
    Timestamp(Timestamp),
    Duration(SignedDuration),
    /// The type of a value, by its name.
    Type(&'static str),
    Optional(Option<Arc<OptionalValue<'v>>>),
    Quantity(Quantity),
    Version(Arc<Version>),
    Ip(IpAddr),
    Network(Network),
    Url(Arc<Url>),
}

#[derive(Clone, Debug)]
pub(crate) enum Text<'v> {
    Stored(&'v str),
    Made(Arc<str>),
}

#[derive(Clone, Debug)]
pub(crate) enum List<'v> {
    Stored(StoredList<'v>),
    /// One of the maps of scores.
    Scores(NamedScores<'v>),
    /// One that an expression has made, and how deep it is.
    Made(Arc<[Value<'v>]>, u8),
}

/// The value of an optional one, and how deep that is.
#[derive(Debug)]
pub(crate) struct OptionalValue<'v> {
    value: Value<'v>,
    depth: u8,
}

impl<'v> Deref for OptionalValue<'v> {
    type Target = Value<'v>;

    fn deref(&self) -> &Value<'v> {
        &self.value
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Text::Stored(text) => text,
            Text::Made(text) => text,
        }
    }
}

impl<'v> From<Stored<'v>> for Value<'v> {
    fn from(stored: Stored<'v>) -> Value<'v> {
        match stored.content() {
            Content::Null => Value::Null,
            Content::Bool(value) => Value::Bool(value),
            Content::Int(value) => Value::Int(value),
            Content::Double(value) => Value::Double(value),
            Content::Text(text) => Value::Text(Text::Stored(text)),
            Content::List(list) => Value::List(List::Stored(list)),
            Content::Map(map) => Value::Map(Map::Stored(map)),
        }
    }
}

impl<'v> Value<'v> {
    pub(crate) fn text(text: impl Into<Arc<str>>) -> Value<'v> {
        Value::Text(Text::Made(text.into()))
    }

    pub(crate) fn list(items: impl IntoIterator<Item = Value<'v>>) -> Result<Value<'v>, Failure> {
        List::from_items(items.into_iter().collect()).map(Value::List)
    }

    pub(crate) fn some(value: Value<'v>) -> Result<Value<'v>, Failure> {
        let depth = one_deeper([&value])?;
        Ok(Value::Optional(Some(Arc::new(OptionalValue { value, depth }))))
    }

    /// An optional value.
    pub(crate) fn optional(value: Option<Value<'v>>) -> Result<Value<'v>, Failure> {
        value.map_or(Ok(Value::Optional(None)), Value::some)
    }

    pub(crate) fn map(
        entries: impl IntoIterator<Item = (Value<'v>, Value<'v>)>,
    ) -> Result<Value<'v>, Failure> {
        Map::from_entries(entries.into_iter().collect()).map(Value::Map)
    }

    /// A length, or a position.
    pub(crate) fn count(count: usize) -> Value<'v> {
        Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// The steps to go through it once: through the letters of a text, and the items of a list.
    pub(crate) fn steps(&self) -> usize {
        match self {
            Value::Text(text) => text.len() / 16,
            Value::Bytes(bytes) => bytes.len() / 16,
            Value::List(list) => list.len() / 8,
            Value::Map(map) => map.len() / 8,
            Value::Version(version) => version.steps(),
            Value::Url(url) => url.length() / 16,
            _ => 0,
        }
    }

    /// The depth of nested values that an expression has created here.
    fn depth(&self) -> u8 {
        match self {
            Value::List(list) => list.depth(),
            Value::Map(map) => map.depth(),
            Value::Optional(Some(held)) => held.depth,
            _ => 0,
        }
    }

    /// Whether the value takes little memory.
    pub(crate) fn is_small(&self) -> bool {
        let is_small_item = |value: &Value<'_>| match value {
            Value::Text(text) => text.len() <= 256,
            Value::Bytes(bytes) => bytes.len() <= 256,
            Value::List(_) | Value::Map(_) | Value::Optional(_) | Value::Url(_) => false,
            _ => true,
        };
        match self {
            Value::List(list) => list.len() <= 16 && list.iter().all(|it| is_small_item(&it)),
            Value::Url(_) => true,
            Value::Optional(value) => value.as_deref().is_none_or(|it| is_small_item(it)),
            value => is_small_item(value),
        }
    }

    /// The name of the type of the value.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null_type",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Uint(_) => "uint",
            Value::Double(_) => "double",
            Value::Text(_) => "string",
            Value::Bytes(_) => "bytes",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Timestamp(_) => "google.protobuf.Timestamp",
            Value::Duration(_) => "google.protobuf.Duration",
            Value::Type(_) => "type",
            Value::Optional(_) => "optional_type",
            Value::Quantity(_) => "kubernetes.Quantity",
            Value::Version(_) => "kubernetes.Semver",
            Value::Ip(_) => "net.IP",
            Value::Network(_) => "net.CIDR",
            Value::Url(_) => "kubernetes.URL",
        }
    }

    /// Whether the value is the zero, or the empty value, of its type.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Value::Null => true,
            Value::Bool(value) => !value,
            Value::Int(value) => *value == 0,
            Value::Uint(value) => *value == 0,
            Value::Double(value) => *value == 0.0,
            Value::Text(text) => text.is_empty(),
            Value::Bytes(bytes) => bytes.is_empty(),
            Value::List(list) => list.len() == 0,
            Value::Map(map) => map.len() == 0,
            Value::Duration(value) => value.is_zero(),
            Value::Optional(value) => value.is_none(),
            Value::Timestamp(_)
            | Value::Type(_)
            | Value::Quantity(_)
            | Value::Version(_)
            | Value::Ip(_)
            | Value::Network(_)
            | Value::Url(_) => false,
        }
    }

    /// Whether the value has a type that Kubernetes adds to the language.
    pub(crate) fn is_of_kubernetes(&self) -> bool {
        matches!(
            self,
            Value::Quantity(_)
                | Value::Version(_)
                | Value::Ip(_)
                | Value::Network(_)
                | Value::Url(_)
        )
    }

    /// Whether two values are equal. The steps are proportional to their sizes.
    pub(crate) fn equals(&self, other: &Value<'v>, meter: &Meter) -> Result<bool, Failure> {
        meter.spend(1)?;
        Ok(match (self, other) {
            (Value::Null, Value::Null) | (Value::Optional(None), Value::Optional(None)) => true,
            (Value::Bool(one), Value::Bool(other)) => one == other,
            (Value::Text(one), Value::Text(other)) => {
                // Only texts of one length are compared.
                meter.spend(if one.len() == other.len() { one.len() / 16 } else { 0 })?;
                **one == **other
            }
            (Value::Bytes(one), Value::Bytes(other)) => {
                meter.spend(if one.len() == other.len() { one.len() / 16 } else { 0 })?;
                one == other
            }
            (Value::List(one), Value::List(other)) => {
                if one.len() != other.len() {
                    return Ok(false);
                }
                for (one, other) in one.iter().zip(other.iter()) {
                    if !one.equals(&other, meter)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Value::Map(one), Value::Map(other)) => {
                if one.len() != other.len() {
                    return Ok(false);
                }
                for (key, value) in one.iter() {
                    let Some(other) = other.get(&key, meter)? else { return Ok(false) };
                    if !value.equals(&other, meter)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Value::Timestamp(one), Value::Timestamp(other)) => one == other,
            (Value::Duration(one), Value::Duration(other)) => one == other,
            (Value::Type(one), Value::Type(other)) => one == other,
            (Value::Optional(Some(one)), Value::Optional(Some(other))) => {
                return one.equals(other, meter);
            }
            (Value::Quantity(one), Value::Quantity(other)) => one == other,
            (Value::Version(one), Value::Version(other)) => {
                meter.spend(one.steps().min(other.steps()))?;
                one.cmp(other) == Ordering::Equal
            }
            (Value::Ip(one), Value::Ip(other)) => one == other,
            (Value::Network(one), Value::Network(other)) => one == other,
            (Value::Url(one), Value::Url(other)) => {
                meter.spend(self.steps().min(other.length() / 16))?;
                one == other
            }
            _ => compare_numbers(self, other) == Some(Ordering::Equal),
        })
    }

    /// The order of two values; `None` without an order. The steps are proportional to their sizes.
    pub(crate) fn compare(
        &self,
        other: &Value<'v>,
        meter: &Meter,
    ) -> Result<Option<Ordering>, Failure> {
        meter.spend(self.steps().min(other.steps()))?;
        Ok(match (self, other) {
            (Value::Bool(one), Value::Bool(other)) => Some(one.cmp(other)),
            (Value::Text(one), Value::Text(other)) => Some((**one).cmp(&**other)),
            (Value::Bytes(one), Value::Bytes(other)) => Some(one.cmp(other)),
            (Value::Timestamp(one), Value::Timestamp(other)) => Some(one.cmp(other)),
            (Value::Duration(one), Value::Duration(other)) => Some(one.cmp(other)),
            _ => compare_numbers(self, other),
        })
    }
}

/// The order of two numbers; `None` if one is not a number.
#[expect(clippy::cast_precision_loss, reason = "as every implementation of the language does")]
fn compare_numbers(one: &Value<'_>, other: &Value<'_>) -> Option<Ordering> {
    match (one, other) {
        (Value::Int(one), Value::Int(other)) => Some(one.cmp(other)),
        (Value::Uint(one), Value::Uint(other)) => Some(one.cmp(other)),
        (Value::Double(one), Value::Double(other)) => one.partial_cmp(other),
        (Value::Int(one), Value::Uint(other)) => Some(i128::from(*one).cmp(&i128::from(*other))),
        (Value::Int(one), Value::Double(other)) => (*one as f64).partial_cmp(other),
        (Value::Uint(one), Value::Double(other)) => (*one as f64).partial_cmp(other),
        (Value::Uint(_), Value::Int(_)) | (Value::Double(_), Value::Int(_) | Value::Uint(_)) => {
            compare_numbers(other, one).map(Ordering::reverse)
        }
        _ => None,
    }
}

/// The depth of a value that contains these values.
fn one_deeper<'a, 'v: 'a>(values: impl IntoIterator<Item = &'a Value<'v>>) -> Result<u8, Failure> {
    let deepest = values.into_iter().map(Value::depth).max().unwrap_or_default();
    if deepest >= MAX_NESTED_VALUES {
        let message =
            format!("the expression nests values more than {MAX_NESTED_VALUES} levels deep");
        return Err(Failure::other(message));
    }
    Ok(deepest + 1)
}

impl<'v> List<'v> {
    /// The list of some items.
    pub(crate) fn from_items(items: Arc<[Value<'v>]>) -> Result<List<'v>, Failure> {
        let depth = one_deeper(&*items)?;
        Ok(List::Made(items, depth))
    }

    fn depth(&self) -> u8 {
        match self {
            List::Stored(_) => 0,
            List::Scores(scores) => {
                if scores.is_empty() {
                    1
                } else {
                    2
                }
            }
            List::Made(_, depth) => *depth,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            List::Stored(list) => list.len(),
            List::Scores(scores) => scores.len(),
            List::Made(items, _) => items.len(),
        }
    }

    pub(crate) fn get(&self, position: usize) -> Option<Value<'v>> {
        match self {
            List::Stored(list) => list.get(position).map(Value::from),
            List::Scores(scores) => {
                let (name, score) = *scores.get(position)?;
                Some(Value::Map(Map::Score { name, score }))
            }
            List::Made(items, _) => items.get(position).cloned(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Value<'v>> + '_ {
        (0..self.len()).filter_map(|position| self.get(position))
    }
}
