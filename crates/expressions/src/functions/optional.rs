//! Values that may be missing. The evaluator itself handles parts that are evaluated only if a value is missing.

use super::{Arguments, Function};
use crate::failure::Failure;
use crate::types::Type;
use crate::value::Value;

const OPTIONAL: Type = Type::Optional(&Type::Any);
const OPTIONALS: Type = Type::List(&OPTIONAL);
const LIST: Type = Type::List(&Type::Any);

pub(super) const FUNCTIONS: &[Function] = &[
    Function::global("optional.none", &[], OPTIONAL, |_| Ok(Value::Optional(None))),
    Function::global("optional.of", &[Type::Any], OPTIONAL, |it| Value::some(it.value(0).clone())),
    Function::global("optional.ofNonZeroValue", &[Type::Any], OPTIONAL, |it| {
        let value = it.value(0);
        Value::optional((!value.is_zero()).then(|| value.clone()))
    }),
    Function::global("optional.unwrap", &[OPTIONALS], LIST, unwrap),
    Function::method("unwrapOpt", &[OPTIONALS], LIST, unwrap),
    Function::method("hasValue", &[OPTIONAL], Type::Bool, |it| {
        Ok(Value::Bool(matches!(it.value(0), Value::Optional(Some(_)))))
    }),
    Function::method("value", &[OPTIONAL], Type::Any, |it| match it.value(0) {
        Value::Optional(Some(value)) => Ok((***value).clone()),
        _ => Err(Failure::other("there is no value")),
    }),
    Function::method("first", &[LIST], OPTIONAL, |it| Value::optional(it.list(0).get(0))),
    Function::method("last", &[LIST], OPTIONAL, |it| {
        let list = it.list(0);
        Value::optional(list.len().checked_sub(1).and_then(|last| list.get(last)))
    }),
];

fn unwrap<'v>(it: &Arguments<'_, 'v>) -> Result<Value<'v>, Failure> {
    let list = it.list(0);
    it.meter.spend(list.len())?;
    let mut values = Vec::new();
    for item in list.iter() {
        match item {
            Value::Optional(Some(value)) => values.push((**value).clone()),
            Value::Optional(None) => {}
            other => {
                let of = [other.type_name()].into();
                return Err(Failure::NoSuchOverload { function: "optional.unwrap", of });
            }
        }
    }
    Value::list(values)
}
