//! Lists, maps and bytes.

use std::cmp::Ordering;

use jiff::SignedDuration;

use super::{Arguments, Function};
use crate::arithmetic::Operator;
use crate::failure::Failure;
use crate::types::Type;
use crate::value::Value;

const LIST: Type = Type::List(&Type::Any);
const MAP: Type = Type::Map(&Type::Any, &Type::Other);
const ORDERED: Type = Type::List(&Type::Ordered);

pub(super) const FUNCTIONS: &[Function] = &[
    Function::global("size", &[LIST], Type::Int, size),
    Function::method("size", &[LIST], Type::Int, size),
    Function::global("size", &[MAP], Type::Int, size),
    Function::method("size", &[MAP], Type::Int, size),
    Function::global("size", &[Type::Bytes], Type::Int, size),
    Function::method("size", &[Type::Bytes], Type::Int, size),
    Function::method("indexOf", &[LIST, Type::Any], Type::Int, |it| position(it, false)),
    Function::method("lastIndexOf", &[LIST, Type::Any], Type::Int, |it| position(it, true)),
    Function::method("isSorted", &[ORDERED], Type::Bool, is_sorted),
    Function::method("min", &[ORDERED], Type::Ordered, |it| outermost(it, "min", Ordering::Less)),
    Function::method("max", &[ORDERED], Type::Ordered, |it| {
        outermost(it, "max", Ordering::Greater)
    }),
    Function::method("sum", &[Type::List(&Type::Summed)], Type::Summed, sum),
];

#[expect(clippy::unnecessary_wraps, reason = "the type of every function")]
fn size<'v>(it: &Arguments<'_, 'v>) -> Result<Value<'v>, Failure> {
    Ok(Value::count(match it.value(0) {
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    }))
}

fn position<'v>(it: &Arguments<'_, 'v>, is_last: bool) -> Result<Value<'v>, Failure> {
    let mut found = Value::Int(-1);
    for (position, item) in it.list(0).iter().enumerate() {
        if item.equals(it.value(1), it.meter)? {
            found = Value::count(position);
            if !is_last {
                break;
            }
        }
    }
    Ok(found)
}

fn no_order(function: &'static str, one: &Value<'_>, other: &Value<'_>) -> Failure {
    Failure::NoSuchOverload { function, of: [one.type_name(), other.type_name()].into() }
}

fn is_sorted<'v>(it: &Arguments<'_, 'v>) -> Result<Value<'v>, Failure> {
    let mut before: Option<Value<'v>> = None;
    for item in it.list(0).iter() {
        it.meter.spend(1)?;
        if let Some(before) = &before {
            match before.compare(&item, it.meter)? {
                Some(Ordering::Greater) => return Ok(Value::Bool(false)),
                Some(Ordering::Less | Ordering::Equal) => {}
                None => return Err(no_order("isSorted", before, &item)),
            }
        }
        before = Some(item);
    }
    Ok(Value::Bool(true))
}

fn outermost<'v>(
    it: &Arguments<'_, 'v>,
    name: &'static str,
    wanted: Ordering,
) -> Result<Value<'v>, Failure> {
    let mut best: Option<Value<'v>> = None;
    for item in it.list(0).iter() {
        it.meter.spend(1)?;
        let is_better = match &best {
            Some(best) => {
                let order = item.compare(best, it.meter)?;
                order.ok_or_else(|| no_order(name, best, &item))? == wanted
            }
            None => true,
        };
        if is_better {
            best = Some(item);
        }
    }
    best.ok_or_else(|| Failure::other(format!("{name} of an empty list")))
}

fn sum<'v>(it: &Arguments<'_, 'v>) -> Result<Value<'v>, Failure> {
    let list = it.list(0);
    let mut sum = match list.get(0) {
        Some(Value::Uint(_)) => Value::Uint(0),
        Some(Value::Double(_)) => Value::Double(0.0),
        Some(Value::Duration(_)) => Value::Duration(SignedDuration::ZERO),
        _ => Value::Int(0),
    };
    for item in list.iter() {
        it.meter.spend(1)?;
        sum = Operator::Add.apply(sum, item, it.meter)?;
    }
    Ok(sum)
}
