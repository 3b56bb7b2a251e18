//! The functions of expressions: their parameters, results and implementations. A function that is missing here
//! is rejected by name when an expression is compiled.

mod convert;
mod lists;
mod optional;
mod patterns;
mod resources;
#[cfg(test)]
mod tests;
mod text;
mod time;
mod web;

use std::net::IpAddr;

use crate::failure::Failure;
use crate::meter::Meter;
use crate::network::Network;
use crate::quantity::Quantity;
use crate::types::Type;
use crate::url::Url;
use crate::value::{List, Value};
use crate::version::Version;

pub(crate) use patterns::Prepared;

/// One overload of a function.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    /// Whether the function is written after its first argument: `a.size()`.
    pub(crate) is_method: bool,
    /// The types of the parameters.
    pub(crate) takes: &'static [Type],
    /// The type of the result.
    pub(crate) returns: Type,
    run: Run,
}

type Run = for<'v> fn(&Arguments<'_, 'v>) -> Result<Value<'v>, Failure>;

impl Function {
    const fn global(
        name: &'static str,
        takes: &'static [Type],
        returns: Type,
        run: Run,
    ) -> Function {
        Function { name, is_method: false, takes, returns, run }
    }

    const fn method(
        name: &'static str,
        takes: &'static [Type],
        returns: Type,
        run: Run,
    ) -> Function {
        Function { name, is_method: true, takes, returns, run }
    }

    fn accepts(&self, values: &[&Value<'_>]) -> bool {
        self.takes.len() == values.len()
            && self.takes.iter().zip(values).all(|(takes, value)| takes.accepts(value))
    }
}

/// All functions.
pub(crate) fn all() -> impl Iterator<Item = &'static Function> {
    let all = [
        convert::FUNCTIONS,
        lists::FUNCTIONS,
        optional::FUNCTIONS,
        patterns::FUNCTIONS,
        resources::FUNCTIONS,
        text::FUNCTIONS,
        time::FUNCTIONS,
        web::FUNCTIONS,
    ];
    all.into_iter().flatten()
}

/// Calls the first of the overloads of a function that is for these values.
pub(crate) fn call<'v>(
    overloads: &[&'static Function],
    values: &[&Value<'v>],
    meter: &Meter,
) -> Result<Value<'v>, Failure> {
    // Every function takes at least these steps to read its arguments; some take more.
    meter.spend(1 + values.iter().map(|it| it.steps()).sum::<usize>())?;
    if let Some(function) = overloads.iter().find(|it| it.accepts(values)) {
        return (function.run)(&Arguments { values, meter });
    }
    let function = overloads.first().map_or("", |it| it.name);
    Err(Failure::NoSuchOverload { function, of: values.iter().map(|it| it.type_name()).collect() })
}

/// The arguments of a function: values with the number and the types of its parameters.
pub(crate) struct Arguments<'a, 'v> {
    values: &'a [&'a Value<'v>],
    pub(crate) meter: &'a Meter,
}

impl<'a, 'v> Arguments<'a, 'v> {
    fn value(&self, position: usize) -> &'a Value<'v> {
        self.values.get(position).copied().unwrap_or(&Value::Null)
    }

    fn text(&self, position: usize) -> &'a str {
        match self.value(position) {
            Value::Text(text) => text,
            _ => "",
        }
    }

    /// The failure of a first argument without the required form.
    fn is_no(&self, wanted: &'static str) -> Failure {
        Failure::is_no(self.text(0), wanted)
    }

    fn int(&self, position: usize) -> i64 {
        match self.value(position) {
            Value::Int(value) => *value,
            _ => 0,
        }
    }

    fn list(&self, position: usize) -> List<'v> {
        match self.value(position) {
            Value::List(list) => list.clone(),
            _ => List::Made([].into(), 1),
        }
    }

    fn quantity(&self, position: usize) -> Quantity {
        match self.value(position) {
            Value::Quantity(quantity) => *quantity,
            _ => Quantity::from(0),
        }
    }

    fn version(&self, position: usize) -> Result<&'a Version, Failure> {
        match self.value(position) {
            Value::Version(version) => Ok(version),
            other => {
                Err(Failure::NoSuchOverload { function: "semver", of: [other.type_name()].into() })
            }
        }
    }

    fn address(&self, position: usize) -> IpAddr {
        match self.value(position) {
            Value::Ip(address) => *address,
            _ => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
        }
    }

    fn network(&self, position: usize) -> Network {
        match self.value(position) {
            Value::Network(network) => *network,
            _ => Network { address: self.address(position), prefix: 0 },
        }
    }

    fn url(&self, position: usize) -> Result<&'a Url, Failure> {
        match self.value(position) {
            Value::Url(url) => Ok(url),
            other => {
                Err(Failure::NoSuchOverload { function: "url", of: [other.type_name()].into() })
            }
        }
    }
}
