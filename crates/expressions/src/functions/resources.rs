//! Quantities and versions, as in Kubernetes, and strings in JSON.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Arguments, Function};
use crate::failure::Failure;
use crate::json;
use crate::quantity::Quantity;
use crate::types::Type;
use crate::value::Value;
use crate::version::Version;

const TEXT: Type = Type::Text;
const AMOUNT: Type = Type::Quantity;
const VERSION: Type = Type::Version;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::global("quantity", &[TEXT], AMOUNT, |it| {
        let quantity = Quantity::parse(it.text(0)).map(Value::Quantity);
        quantity.ok_or_else(|| it.is_no("quantity such as 1500m or 4Gi"))
    }),
    Function::global("isQuantity", &[TEXT], Type::Bool, |it| {
        Ok(Value::Bool(Quantity::parse(it.text(0)).is_some()))
    }),
    Function::global("sign", &[AMOUNT], Type::Int, |it| {
        Ok(Value::Int(i64::try_from(it.quantity(0).billionths().signum()).unwrap_or_default()))
    }),
    Function::method("isInteger", &[AMOUNT], Type::Bool, |it| {
        Ok(Value::Bool(it.quantity(0).whole().is_some()))
    }),
    Function::method("asInteger", &[AMOUNT], Type::Int, |it| {
        let whole = it.quantity(0).whole().map(Value::Int);
        whole.ok_or_else(|| Failure::other("the quantity is not an integer"))
    }),
    Function::method("asApproximateFloat", &[AMOUNT], Type::Double, |it| {
        Ok(Value::Double(it.quantity(0).approximate()))
    }),
    Function::method("add", &[AMOUNT, AMOUNT], AMOUNT, |it| {
        Ok(Value::Quantity(it.quantity(0).plus(it.quantity(1))))
    }),
    Function::method("add", &[AMOUNT, Type::Int], AMOUNT, |it| {
        Ok(Value::Quantity(it.quantity(0).plus(it.int(1).into())))
    }),
    Function::method("sub", &[AMOUNT, AMOUNT], AMOUNT, |it| {
        Ok(Value::Quantity(it.quantity(0).minus(it.quantity(1))))
    }),
    Function::method("sub", &[AMOUNT, Type::Int], AMOUNT, |it| {
        Ok(Value::Quantity(it.quantity(0).minus(it.int(1).into())))
    }),
    Function::method("isGreaterThan", &[AMOUNT, AMOUNT], Type::Bool, |it| {
        Ok(Value::Bool(it.quantity(0) > it.quantity(1)))
    }),
    Function::method("isLessThan", &[AMOUNT, AMOUNT], Type::Bool, |it| {
        Ok(Value::Bool(it.quantity(0) < it.quantity(1)))
    }),
    Function::method("compareTo", &[AMOUNT, AMOUNT], Type::Int, |it| {
        Ok(order(it.quantity(0).cmp(&it.quantity(1))))
    }),
    Function::global("semver", &[TEXT], VERSION, |it| {
        version_value(it, version(it, Version::parse)?)
    }),
    Function::global("semver", &[TEXT, Type::Bool], VERSION, |it| {
        version_value(it, version(it, parser(it))?)
    }),
    Function::global("isSemver", &[TEXT], Type::Bool, |it| {
        Ok(Value::Bool(version(it, Version::parse)?.is_some()))
    }),
    Function::global("isSemver", &[TEXT, Type::Bool], Type::Bool, |it| {
        Ok(Value::Bool(version(it, parser(it))?.is_some()))
    }),
    Function::method("major", &[VERSION], Type::Int, |it| number(it.version(0)?.major)),
    Function::method("minor", &[VERSION], Type::Int, |it| number(it.version(0)?.minor)),
    Function::method("patch", &[VERSION], Type::Int, |it| number(it.version(0)?.patch)),
    Function::method("isGreaterThan", &[VERSION, VERSION], Type::Bool, |it| {
        Ok(Value::Bool(it.version(0)? > it.version(1)?))
    }),
    Function::method("isLessThan", &[VERSION, VERSION], Type::Bool, |it| {
        Ok(Value::Bool(it.version(0)? < it.version(1)?))
    }),
    Function::method("compareTo", &[VERSION, VERSION], Type::Int, |it| {
        Ok(order(it.version(0)?.cmp(it.version(1)?)))
    }),
    Function::method("parseJSON", &[TEXT], Type::Dyn, parse_json),
];

fn order<'v>(order: Ordering) -> Value<'v> {
    Value::Int(order as i64)
}

/// The parser of versions: a lenient one, if the second argument is true.
fn parser(it: &Arguments<'_, '_>) -> fn(&str) -> Option<Version> {
    match it.value(1) {
        Value::Bool(true) => Version::parse_leniently,
        _ => Version::parse,
    }
}

/// Every character may be a part of its own.
fn version(
    it: &Arguments<'_, '_>,
    parse: fn(&str) -> Option<Version>,
) -> Result<Option<Version>, Failure> {
    it.meter.spend(it.text(0).len())?;
    Ok(parse(it.text(0)))
}

fn version_value<'v>(
    it: &Arguments<'_, 'v>,
    version: Option<Version>,
) -> Result<Value<'v>, Failure> {
    let version = version.map(|version| Value::Version(Arc::new(version)));
    version.ok_or_else(|| it.is_no("semantic version such as 1.30.2"))
}

fn number<'v>(number: u64) -> Result<Value<'v>, Failure> {
    i64::try_from(number).map(Value::Int).map_err(|_| crate::arithmetic::overflow())
}

fn parse_json<'v>(it: &Arguments<'_, 'v>) -> Result<Value<'v>, Failure> {
    it.meter.spend(it.text(0).len())?;
    json::parse(it.text(0)).ok_or_else(|| it.is_no("JSON text"))
}
