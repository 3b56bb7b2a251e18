//! Conversions from one type to another.

use super::{Arguments, Function};
use crate::arithmetic;
use crate::failure::Failure;
use crate::instant;
use crate::types::Type;
use crate::value::Value;

use jiff::Timestamp;

const TEXT: Type = Type::Text;

/// The steps to calculate a floating-point number that is written with many digits, in addition to those for each of
/// them.
const STEPS_OF_LONG_NUMBER: usize = 200;
/// The steps to write a number, an instant or an address.
const STEPS_TO_WRITE: usize = 4;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::global("type", &[Type::Any], Type::Meta, |it| {
        Ok(Value::Type(it.value(0).type_name()))
    }),
    Function::global("dyn", &[Type::Any], Type::Dyn, same),
    Function::global("bool", &[Type::Bool], Type::Bool, same),
    Function::global("bool", &[TEXT], Type::Bool, |it| match it.text(0) {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
        _ => Err(it.is_no("boolean")),
    }),
    Function::global("bytes", &[Type::Bytes], Type::Bytes, same),
    Function::global("bytes", &[TEXT], Type::Bytes, |it| {
        it.meter.spend_on(it.text(0))?;
        Ok(Value::Bytes(it.text(0).as_bytes().into()))
    }),
    Function::global("double", &[Type::Double], Type::Double, same),
    Function::global("double", &[Type::Int], Type::Double, number_to_double),
    Function::global("double", &[Type::Uint], Type::Double, number_to_double),
    Function::global("double", &[TEXT], Type::Double, |it| {
        let text = it.text(0);
        // A number too long for one machine operation is calculated digit by digit.
        if text.len() > 19 {
            it.meter.spend(text.len() + STEPS_OF_LONG_NUMBER)?;
        }
        let is_finite_text = text.contains(|letter: char| letter.is_ascii_digit());
        let value = text.parse().ok().filter(|it: &f64| it.is_finite() || !is_finite_text);
        value.map(Value::Double).ok_or_else(|| it.is_no("number"))
    }),
    Function::global("int", &[Type::Int], Type::Int, same),
    Function::global("int", &[Type::Double], Type::Int, double_to_int),
    Function::global("int", &[Type::Uint], Type::Int, |it| match it.value(0) {
        Value::Uint(value) => {
            i64::try_from(*value).map(Value::Int).map_err(|_| arithmetic::overflow())
        }
        _ => Err(arithmetic::overflow()),
    }),
    Function::global("int", &[TEXT], Type::Int, |it| {
        it.text(0).parse().map(Value::Int).map_err(|_| it.is_no("whole number"))
    }),
    Function::global("int", &[Type::Timestamp], Type::Int, |it| match it.value(0) {
        Value::Timestamp(at) => Ok(Value::Int(at.as_second())),
        _ => Err(arithmetic::overflow()),
    }),
    Function::global("int", &[Type::Duration], Type::Int, |it| match it.value(0) {
        Value::Duration(duration) => {
            i64::try_from(duration.as_nanos()).map(Value::Int).map_err(|_| arithmetic::overflow())
        }
        _ => Err(arithmetic::overflow()),
    }),
    Function::global("uint", &[Type::Uint], Type::Uint, same),
    Function::global("uint", &[Type::Double], Type::Uint, double_to_uint),
    Function::global("uint", &[Type::Int], Type::Uint, |it| {
        u64::try_from(it.int(0)).map(Value::Uint).map_err(|_| arithmetic::overflow())
    }),
    Function::global("uint", &[TEXT], Type::Uint, |it| {
        let number = it.text(0).parse().ok().filter(|_| !it.text(0).starts_with('+'));
        number.map(Value::Uint).ok_or_else(|| it.is_no("whole number"))
    }),
    Function::global("duration", &[Type::Duration], Type::Duration, same),
    Function::global("duration", &[TEXT], Type::Duration, |it| {
        // The duration may have a part for every two characters.
        it.meter.spend(it.text(0).len() / 4)?;
        let duration = instant::parse_duration(it.text(0)).map(Value::Duration);
        duration.ok_or_else(|| it.is_no("duration such as 1h30m"))
    }),
    Function::global("timestamp", &[Type::Timestamp], Type::Timestamp, same),
    Function::global("timestamp", &[Type::Int], Type::Timestamp, |it| {
        let at = Timestamp::from_second(it.int(0)).map_err(|_| arithmetic::overflow())?;
        arithmetic::timestamp(at)
    }),
    Function::global("timestamp", &[TEXT], Type::Timestamp, |it| {
        let at = instant::parse(it.text(0));
        arithmetic::timestamp(at.ok_or_else(|| it.is_no("instant such as 2026-03-02T12:00:00Z"))?)
    }),
    Function::global("string", &[TEXT], TEXT, same),
    Function::global("string", &[Type::Bool], TEXT, to_text),
    Function::global("string", &[Type::Int], TEXT, to_text),
    Function::global("string", &[Type::Uint], TEXT, to_text),
    Function::global("string", &[Type::Double], TEXT, to_text),
    Function::global("string", &[Type::Bytes], TEXT, to_text),
    Function::global("string", &[Type::Timestamp], TEXT, to_text),
    Function::global("string", &[Type::Duration], TEXT, to_text),
    Function::global("string", &[Type::Ip], TEXT, to_text),
    Function::global("string", &[Type::Network], TEXT, to_text),
];

#[expect(clippy::unnecessary_wraps, reason = "the type of every function")]
fn same<'v>(it: &Arguments<'_, 'v>) -> Result<Value<'v>, Failure> {
    Ok(it.value(0).clone())
}

#[expect(
    clippy::cast_precision_loss,
    clippy::unnecessary_wraps,
    reason = "as every implementation of the language does; the type of every function"
)]
fn number_to_double<'v>(it: &Arguments<'_, 'v>) -> Result<Value<'v>, Failure> {
    Ok(Value::Double(match it.value(0) {
        Value::Uint(value) => *value as f64,
        _ => it.int(0) as f64,
    }))
}

/// The bounds of 64 bits, as floating-point numbers.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

#[expect(
    clippy::cast_possible_truncation,
    reason = "it is within the bounds, and fractions are cut off"
)]
fn double_to_int<'v>(it: &Arguments<'_, 'v>) -> Result<Value<'v>, Failure> {
    match it.value(0) {
        Value::Double(value) if *value > -TWO_TO_63 && *value < TWO_TO_63 => {
            Ok(Value::Int(*value as i64))
        }
        _ => Err(arithmetic::overflow()),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is within the bounds, and fractions are cut off"
)]
fn double_to_uint<'v>(it: &Arguments<'_, 'v>) -> Result<Value<'v>, Failure> {
    match it.value(0) {
        Value::Double(value) if *value >= 0.0 && *value < TWO_TO_64 => {
            Ok(Value::Uint(*value as u64))
        }
        _ => Err(arithmetic::overflow()),
    }
}

fn to_text<'v>(it: &Arguments<'_, 'v>) -> Result<Value<'v>, Failure> {
    it.meter.spend(STEPS_TO_WRITE)?;
    Ok(Value::text(match it.value(0) {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) => format_double(*value),
        Value::Bytes(bytes) => {
            it.meter.spend(bytes.len() / 16)?;
            let text = std::str::from_utf8(bytes);
            text.map_err(|_| Failure::other("the bytes are not UTF-8"))?.to_owned()
        }
        Value::Timestamp(at) => at.to_string(),
        Value::Duration(duration) => instant::in_seconds(*duration),
        Value::Ip(address) => address.to_string(),
        Value::Network(network) => network.to_string(),
        other => {
            let of = [other.type_name()].into();
            return Err(Failure::NoSuchOverload { function: "string", of });
        }
    }))
}

/// A number as Go formats it: with an exponent below a ten-thousandth and from a million on.
fn format_double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() };
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let has_exponent = !(-4..6).contains(&exponent);
    if value != 0.0 && has_exponent {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.unsigned_abs());
    }
    value.to_string()
}
