//! Regular expressions. A constant pattern is compiled with its expression.

use super::{Arguments, Function};
use crate::failure::Failure;
use crate::meter::Meter;
use crate::pattern::Pattern;
use crate::types::Type;
use crate::value::Value;

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

fn compiled(it: &Arguments<'_, '_>) -> Result<Pattern, Failure> {
    Pattern::compile(it.text(1), it.meter)
}

fn once<'v>(prepared: Prepared, it: &Arguments<'_, 'v>) -> Result<Value<'v>, Failure> {
    prepared.apply(&compiled(it)?, it.text(0), it.meter)
}

/// The operation of a function with a constant pattern.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Prepared {
    Matches,
    Find,
    FindAll,
}

impl Prepared {
    /// Calls the function of this name with its string and its pattern.
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
        pattern: &Pattern,
        text: &str,
        meter: &Meter,
    ) -> Result<Value<'v>, Failure> {
        match self {
            Prepared::Matches => pattern.matches(text, meter).map(Value::Bool),
            Prepared::Find => {
                let found = pattern.find_at(text, 0, meter)?;
                Ok(Value::text(found.map_or("", |found| found.as_str())))
            }
            Prepared::FindAll => find_all(pattern, text, usize::MAX, meter),
        }
    }
}

/// All matches that do not overlap. Each match is searched in the rest of the string.
fn find_all<'v>(
    pattern: &Pattern,
    text: &str,
    most: usize,
    meter: &Meter,
) -> Result<Value<'v>, Failure> {
    let mut found = Vec::new();
    let (mut start, mut end_before) = (0, None);
    while found.len() < most
        && let Some(next) = pattern.find_at(text, start, meter)?
    {
        // An empty match directly after another match does not count.
        if !next.is_empty() || Some(next.end()) != end_before {
            found.push(Value::text(next.as_str()));
        }
        end_before = Some(next.end());
        start = next.end();
        if next.is_empty() {
            let Some(letter) = text[start..].chars().next() else { break };
            start += letter.len_utf8();
        }
    }
    Value::list(found)
}
