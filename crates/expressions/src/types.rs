//! Types: of what functions take, and of what an expression is known to be before it is evaluated. Of a document
//! nothing is known.

use std::fmt;
use std::sync::Arc;

use crate::source::shortened;
use crate::value::Value;

/// A type as functions are declared with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    /// Any type; it is unknown at compile time.
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Timestamp,
    Duration,
    /// The type of types.
    Meta,
    Quantity,
    Version,
    Ip,
    Network,
    Url,
    List(&'static Type),
    Map(&'static Type, &'static Type),
    Optional(&'static Type),
    /// Any type, but the same one in all positions.
    Any,
    /// Another type than `Any`, but the same type in all positions.
    Other,
    /// The same as `Any`, for types with an order.
    Ordered,
    /// The same as `Any`, for types with a sum.
    Summed,
}

impl Type {
    /// The maximum number of names, with dots between them, in the name of a type.
    pub(crate) const MAX_NAMES: usize = 3;
    const ORDERED: [Type; 8] = [
        Type::Int,
        Type::Uint,
        Type::Double,
        Type::Bool,
        Type::Duration,
        Type::Timestamp,
        Type::Text,
        Type::Bytes,
    ];
    const SUMMED: [Type; 4] = [Type::Int, Type::Uint, Type::Double, Type::Duration];

    /// Whether a value is of this type. Of a list or a map, the first item is checked.
    pub(crate) fn accepts(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Type::Dyn | Type::Any | Type::Other, _) => true,
            (Type::Ordered, value) => Type::ORDERED.iter().any(|it| it.accepts(value)),
            (Type::Summed, value) => Type::SUMMED.iter().any(|it| it.accepts(value)),
            (Type::List(of), Value::List(list)) => list.get(0).is_none_or(|it| of.accepts(&it)),
            (Type::Map(key, of), Value::Map(map)) => {
                let first = map.iter().next();
                first.is_none_or(|it| key.accepts(&it.0) && of.accepts(&it.1))
            }
            (Type::Optional(of), Value::Optional(value)) => {
                value.as_ref().is_none_or(|it| of.accepts(it))
            }
            (plain, value) => plain.name() == value.type_name(),
        }
    }

    /// The name of the type in expressions.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Type::Dyn | Type::Any | Type::Other | Type::Ordered | Type::Summed => "dyn",
            Type::Null => "null_type",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Uint => "uint",
            Type::Double => "double",
            Type::Text => "string",
            Type::Bytes => "bytes",
            Type::Timestamp => "google.protobuf.Timestamp",
            Type::Duration => "google.protobuf.Duration",
            Type::Meta => "type",
            Type::Quantity => "kubernetes.Quantity",
            Type::Version => "kubernetes.Semver",
            Type::Ip => "net.IP",
            Type::Network => "net.CIDR",
            Type::Url => "kubernetes.URL",
            Type::List(_) => "list",
            Type::Map(..) => "map",
            Type::Optional(_) => "optional_type",
        }
    }

    /// The type whose name this is, where expressions may name it.
    pub(crate) fn named(name: &str) -> Option<&'static str> {
        let named = [
            Type::Null,
            Type::Bool,
            Type::Int,
            Type::Uint,
            Type::Double,
            Type::Text,
            Type::Bytes,
            Type::Timestamp,
            Type::Duration,
            Type::Meta,
            Type::List(&Type::Dyn),
            Type::Map(&Type::Dyn, &Type::Dyn),
            Type::Optional(&Type::Dyn),
            Type::Quantity,
            Type::Version,
            Type::Ip,
            Type::Network,
            Type::Url,
        ];
        named.into_iter().map(Type::name).find(|it| *it == name)
    }
}

/// The known type of a part of an expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum StaticType {
    /// Nothing.
    Dyn,
    /// One without types in it.
    Plain(Type),
    List(Arc<StaticType>),
    Map(Arc<StaticType>, Arc<StaticType>),
    Optional(Arc<StaticType>),
}

/// The types of `Any` and `Other` in one call.
#[derive(Default)]
pub(crate) struct Bindings {
    any: Option<StaticType>,
    other: Option<StaticType>,
}

impl StaticType {
    pub(crate) const BOOL: StaticType = StaticType::Plain(Type::Bool);
    /// The maximum depth of a type. Deeper types are unknown: a type may double with every level.
    const DEEPEST: usize = 6;

    pub(crate) fn list(of: StaticType) -> StaticType {
        StaticType::List(of.within())
    }

    pub(crate) fn optional(of: StaticType) -> StaticType {
        StaticType::Optional(of.within())
    }

    pub(crate) fn map(key: StaticType, value: StaticType) -> StaticType {
        StaticType::Map(key.within(), value.within())
    }

    /// This type as part of another one.
    fn within(self) -> Arc<StaticType> {
        Arc::new(if self.depth() < StaticType::DEEPEST { self } else { StaticType::Dyn })
    }

    fn depth(&self) -> usize {
        match self {
            StaticType::Dyn | StaticType::Plain(_) => 0,
            StaticType::List(of) | StaticType::Optional(of) => 1 + of.depth(),
            StaticType::Map(key, value) => 1 + key.depth().max(value.depth()),
        }
    }

    /// Whether values of two types may be the same, or stand for each other.
    pub(crate) fn fits(&self, other: &StaticType) -> bool {
        match (self, other) {
            (StaticType::Dyn, _) | (_, StaticType::Dyn) => true,
            (StaticType::List(one), StaticType::List(other))
            | (StaticType::Optional(one), StaticType::Optional(other)) => one.fits(other),
            (StaticType::Map(key, value), StaticType::Map(other_key, other_value)) => {
                key.fits(other_key) && value.fits(other_value)
            }
            (StaticType::Plain(Type::Null), other) | (other, StaticType::Plain(Type::Null)) => {
                other.may_be_null()
            }
            (one, other) => one == other,
        }
    }

    fn may_be_null(&self) -> bool {
        use Type::{Duration, Ip, Network, Null, Quantity, Timestamp, Url, Version};
        let of_language = matches!(self, StaticType::Plain(Null | Timestamp | Duration));
        of_language || matches!(self, StaticType::Plain(Quantity | Version | Ip | Network | Url))
    }

    /// The common type of a value of one of two types.
    pub(crate) fn joined(self, other: &StaticType) -> StaticType {
        if self == *other { self } else { StaticType::Dyn }
    }

    /// Whether a function that takes a type takes this one.
    pub(crate) fn is_taken_by(&self, takes: Type, bindings: &mut Bindings) -> bool {
        let restricted = match takes {
            Type::Ordered => Some(&Type::ORDERED[..]),
            Type::Summed => Some(&Type::SUMMED[..]),
            _ => None,
        };
        let is_one_of = |types: &[Type]| types.iter().any(|it| StaticType::Plain(*it) == *self);
        if restricted.is_some_and(|types| *self != StaticType::Dyn && !is_one_of(types)) {
            return false;
        }
        match (takes, self) {
            (Type::Any | Type::Ordered | Type::Summed, _) => bind(&mut bindings.any, self),
            (Type::Other, _) => bind(&mut bindings.other, self),
            (Type::Dyn, _) | (_, StaticType::Dyn) => true,
            (Type::List(takes), StaticType::List(of))
            | (Type::Optional(takes), StaticType::Optional(of)) => of.is_taken_by(*takes, bindings),
            (Type::Map(key, value), StaticType::Map(of_key, of_value)) => {
                of_key.is_taken_by(*key, bindings) && of_value.is_taken_by(*value, bindings)
            }
            (takes, StaticType::Plain(Type::Null)) => StaticType::Plain(takes).may_be_null(),
            (takes, known) => StaticType::Plain(takes) == *known,
        }
    }

    /// The type that a function returns.
    pub(crate) fn returned(returns: Type, bindings: &Bindings) -> StaticType {
        let of = |it: &'static Type| StaticType::returned(*it, bindings);
        match returns {
            Type::Dyn => StaticType::Dyn,
            Type::Any | Type::Ordered | Type::Summed => {
                bindings.any.clone().unwrap_or(StaticType::Dyn)
            }
            Type::Other => bindings.other.clone().unwrap_or(StaticType::Dyn),
            Type::List(item) => StaticType::list(of(item)),
            Type::Optional(item) => StaticType::optional(of(item)),
            Type::Map(key, value) => StaticType::map(of(key), of(value)),
            plain => StaticType::Plain(plain),
        }
    }
}

fn bind(bound: &mut Option<StaticType>, known: &StaticType) -> bool {
    match bound.take() {
        None => {
            *bound = Some(known.clone());
            true
        }
        Some(before) if before.fits(known) => {
            *bound = Some(before.joined(known));
            true
        }
        Some(before) => {
            *bound = Some(before);
            false
        }
    }
}

impl StaticType {
    fn written(&self) -> String {
        match self {
            StaticType::Dyn => "dyn".to_owned(),
            StaticType::Plain(plain) => plain.name().to_owned(),
            StaticType::List(of) => format!("list({})", of.written()),
            StaticType::Map(key, value) => format!("map({}, {})", key.written(), value.written()),
            StaticType::Optional(of) => format!("optional_type({})", of.written()),
        }
    }
}

/// Writes the type, such as `list(string)` or `dyn`, cut off at a maximum length.
impl fmt::Display for StaticType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&shortened(&self.written()))
    }
}
