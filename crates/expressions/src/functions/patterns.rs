//! Regular expressions. A pattern that stands in an expression is compiled with it.

use regex::Regex;

use super::{Arguments, Function};
use crate::failure::Failure;
use crate::meter::Meter;
use crate::pattern;
use crate::types::Type;
use crate::value::Value;

/// The steps that it takes to compile a pattern, for each of its letters.
const STEPS_TO_COMPILE: usize = 40;

const TEXT: Type = Type::Text;
const TEXTS: Type = Type::List(&Type::Text);

pub(super) const FUNCTIONS: &[Function] = &[
    Function::global("matches", &[TEXT, TEXT], Type::Bool, |it| once(Prepared::Matches, it)),
    Function::method("matches", &[TEXT, TEXT], Type::Bool, |it| once(Prepared::Matches, it)),
    Function::method("find", &[TEXT, TEXT], TEXT, |it| once(Prepared::Find, it)),
    Function::method("findAll", &[TEXT, TEXT], TEXTS, |it| once(Prepared::FindAll, it)),
    Function::method("findAll", &[TEXT, TEXT, Type::Int], TEXTS, |it| {
        let most = usize::try_from(it.int(2)).unwrap_or(usize::MAX);
        find_all(&compiled(it)?, it.text(0), most, it.meter)
    }),
];

fn compiled(it: &Arguments<'_, '_>) -> Result<Regex, Failure> {
    it.meter.spend(it.text(1).len() * STEPS_TO_COMPILE)?;
    pattern::compile(it.text(1))
}

fn once<'v>(prepared: Prepared, it: &Arguments<'_, 'v>) -> Result<Value<'v>, Failure> {
    prepared.apply(&compiled(it)?, it.text(0), it.meter)
}

/// What is done with a pattern that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Prepared {
    Matches,
    Find,
    FindAll,
}

impl Prepared {
    /// By the name of the function, with its text and its pattern.
    pub(crate) fn named(name: &str) -> Option<Prepared> {
        match name {
            "matches" => Some(Prepared::Matches),
            "find" => Some(Prepared::Find),
            "findAll" => Some(Prepared::FindAll),
            _ => None,
        }
    }

    pub(crate) fn apply<'v>(
        self,
        regex: &Regex,
        text: &str,
        meter: &Meter,
    ) -> Result<Value<'v>, Failure> {
        meter.spend(1 + text.len())?;
        match self {
            Prepared::Matches => Ok(Value::Bool(regex.is_match(text))),
            Prepared::Find => Ok(Value::text(regex.find(text).map_or("", |found| found.as_str()))),
            Prepared::FindAll => find_all(regex, text, usize::MAX, meter),
        }
    }
}

fn find_all<'v>(
    regex: &Regex,
    text: &str,
    most: usize,
    meter: &Meter,
) -> Result<Value<'v>, Failure> {
    meter.spend(1 + text.len())?;
    let found = regex.find_iter(text).take(most).map(|found| Value::text(found.as_str()));
    Ok(Value::list(found))
}
