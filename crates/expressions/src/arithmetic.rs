//! Operators on two values of the same type. A result that is too large is an error.

use jiff::{SignedDuration, Timestamp};

use crate::failure::Failure;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::Value;

/// An operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// The types of the two operands and of the result of an operator.
type Overload = (Type, Type, Type);

const INT: Overload = (Type::Int, Type::Int, Type::Int);
const UINT: Overload = (Type::Uint, Type::Uint, Type::Uint);
const DOUBLE: Overload = (Type::Double, Type::Double, Type::Double);
const LIST: Type = Type::List(&Type::Any);

/// The first second of a timestamp: the start of year 1.
const FIRST_SECOND: i64 = -62_135_596_800;
/// The last second of a timestamp: the end of year 9999.
const LAST_SECOND: i64 = 253_402_300_799;

impl Operator {
    /// The operator as written.
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Remainder => "%",
        }
    }

    /// The types of the operands and results.
    pub(crate) fn overloads(self) -> &'static [Overload] {
        use Type::{Bytes, Duration, Text, Timestamp};
        match self {
            Operator::Add => &[
                INT,
                UINT,
                DOUBLE,
                (Text, Text, Text),
                (Bytes, Bytes, Bytes),
                (LIST, LIST, LIST),
                (Duration, Duration, Duration),
                (Duration, Timestamp, Timestamp),
                (Timestamp, Duration, Timestamp),
            ],
            Operator::Subtract => &[
                INT,
                UINT,
                DOUBLE,
                (Duration, Duration, Duration),
                (Timestamp, Duration, Timestamp),
                (Timestamp, Timestamp, Duration),
            ],
            Operator::Multiply | Operator::Divide => &[INT, UINT, DOUBLE],
            Operator::Remainder => &[INT, UINT],
        }
    }

    /// The result for two values.
    pub(crate) fn apply<'v>(
        self,
        one: Value<'v>,
        other: Value<'v>,
        meter: &Meter,
    ) -> Result<Value<'v>, Failure> {
        let result = match (one, other) {
            (Value::Int(one), Value::Int(other)) => {
                if other == 0 {
                    self.refuse_zero()?;
                }
                Some(Value::Int(self.integers(one, other).ok_or_else(overflow)?))
            }
            (Value::Uint(one), Value::Uint(other)) => {
                if other == 0 {
                    self.refuse_zero()?;
                }
                Some(Value::Uint(self.unsigned_integers(one, other).ok_or_else(overflow)?))
            }
            (Value::Double(one), Value::Double(other)) => {
                self.doubles(one, other).map(Value::Double)
            }
            (one, other) => return self.other_types(one, other, meter),
        };
        result.ok_or_else(|| self.no_overload("double", "double"))
    }

    fn refuse_zero(self) -> Result<(), Failure> {
        match self {
            Operator::Divide => Err(Failure::other("division by zero")),
            Operator::Remainder => Err(Failure::other("remainder of a division by zero")),
            Operator::Add | Operator::Subtract | Operator::Multiply => Ok(()),
        }
    }

    fn integers(self, one: i64, other: i64) -> Option<i64> {
        match self {
            Operator::Add => one.checked_add(other),
            Operator::Subtract => one.checked_sub(other),
            Operator::Multiply => one.checked_mul(other),
            Operator::Divide => one.checked_div(other),
            Operator::Remainder => one.checked_rem(other),
        }
    }

    fn unsigned_integers(self, one: u64, other: u64) -> Option<u64> {
        match self {
            Operator::Add => one.checked_add(other),
            Operator::Subtract => one.checked_sub(other),
            Operator::Multiply => one.checked_mul(other),
            Operator::Divide => one.checked_div(other),
            Operator::Remainder => one.checked_rem(other),
        }
    }

    fn doubles(self, one: f64, other: f64) -> Option<f64> {
        Some(match self {
            Operator::Add => one + other,
            Operator::Subtract => one - other,
            Operator::Multiply => one * other,
            Operator::Divide => one / other,
            Operator::Remainder => return None,
        })
    }

    fn other_types<'v>(
        self,
        one: Value<'v>,
        other: Value<'v>,
        meter: &Meter,
    ) -> Result<Value<'v>, Failure> {
        match (self, one, other) {
            (Operator::Add, Value::Text(one), Value::Text(other)) => {
                meter.spend((one.len() + other.len()) / 16)?;
                Ok(Value::text([&*one, &*other].concat()))
            }
            (Operator::Add, Value::Bytes(one), Value::Bytes(other)) => {
                meter.spend((one.len() + other.len()) / 16)?;
                Ok(Value::Bytes([&*one, &*other].concat().into()))
            }
            (Operator::Add, Value::List(one), Value::List(other)) => {
                meter.spend(one.len() + other.len())?;
                Value::list(one.iter().chain(other.iter()))
            }
            (Operator::Add, Value::Duration(one), Value::Duration(other)) => {
                one.checked_add(other).ok_or_else(overflow).and_then(duration)
            }
            (Operator::Subtract, Value::Duration(one), Value::Duration(other)) => {
                one.checked_sub(other).ok_or_else(overflow).and_then(duration)
            }
            (Operator::Add, Value::Timestamp(at), Value::Duration(by))
            | (Operator::Add, Value::Duration(by), Value::Timestamp(at)) => {
                at.checked_add(by).map_err(|_| overflow()).and_then(timestamp)
            }
            (Operator::Subtract, Value::Timestamp(at), Value::Duration(by)) => {
                at.checked_sub(by).map_err(|_| overflow()).and_then(timestamp)
            }
            (Operator::Subtract, Value::Timestamp(one), Value::Timestamp(other)) => {
                duration(one.duration_since(other))
            }
            (operator, one, other) => Err(operator.no_overload(one.type_name(), other.type_name())),
        }
    }

    fn no_overload(self, one: &'static str, other: &'static str) -> Failure {
        Failure::NoSuchOverload { function: self.symbol(), of: [one, other].into() }
    }
}

/// The negative of a value.
pub(crate) fn negative<'v>(value: &Value<'v>) -> Result<Value<'v>, Failure> {
    match value {
        Value::Int(value) => value.checked_neg().map(Value::Int).ok_or_else(overflow),
        Value::Double(value) => Ok(Value::Double(-value)),
        Value::Duration(value) => value.checked_neg().ok_or_else(overflow).and_then(duration),
        other => Err(Failure::NoSuchOverload { function: "-", of: [other.type_name()].into() }),
    }
}

/// A timestamp, if it is in the years 1 to 9999.
pub(crate) fn timestamp<'v>(at: Timestamp) -> Result<Value<'v>, Failure> {
    let is_known = (FIRST_SECOND..=LAST_SECOND).contains(&at.as_second());
    is_known.then_some(Value::Timestamp(at)).ok_or_else(overflow)
}

/// A duration, if its nanoseconds are an integer.
pub(crate) fn duration<'v>(duration: SignedDuration) -> Result<Value<'v>, Failure> {
    i64::try_from(duration.as_nanos()).map(|_| Value::Duration(duration)).map_err(|_| overflow())
}

pub(crate) fn overflow() -> Failure {
    Failure::other("the result is too large")
}
