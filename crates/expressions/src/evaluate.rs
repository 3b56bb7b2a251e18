//! Evaluates a compiled expression over an object. Every step is counted, so that it ends.

use crate::document::Document;
use crate::failure::Failure;
use crate::functions;
use crate::meter::Meter;
use crate::node::{Each, Item, Node};
use crate::source::shortened;
use crate::value::{List, Map, Text, Value, is_key};

/// What an expression is evaluated over.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The object.
    pub object: &'a Document,
    /// The scores of the object, by the name of what they are in. `None` if there is nothing of that name.
    pub scores: &'a dyn Fn(&str) -> Option<NamedScores<'a>>,
}

/// Scores, each with its name.
pub type NamedScores<'a> = Vec<(&'a str, i64)>;

impl std::fmt::Debug for Subject<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.object.fmt(formatter)
    }
}

type Evaluated<'v> = Result<Value<'v>, Failure>;

/// An evaluation.
pub(crate) struct Scope<'s, 'v> {
    subject: &'s Subject<'v>,
    meter: &'s Meter,
    variables: Vec<Value<'v>>,
}

impl<'s, 'v> Scope<'s, 'v> {
    pub(crate) fn new(subject: &'s Subject<'v>, meter: &'s Meter) -> Scope<'s, 'v> {
        Scope { subject, meter, variables: Vec::new() }
    }

    pub(crate) fn evaluate(&mut self, node: &'v Node) -> Evaluated<'v> {
        self.meter.spend(1)?;
        match node {
            Node::Constant(value) => Ok(borrowed(value)),
            Node::Object => self.subject.object.root().map(Value::from),
            Node::Variable(position) => {
                Ok(self.variables.get(*position).cloned().unwrap_or(Value::Null))
            }
            Node::Scores(name) => self.scores(name),
            Node::Field { of, name, is_optional } => self.field(of, name, *is_optional),
            Node::Has { of, name } => self.has(of, name),
            Node::Index { of, index, is_optional } => self.index(of, index, *is_optional),
            Node::Logical { parts, decides } => self.logical(parts, *decides),
            Node::Not(of) => match self.evaluate(of)? {
                Value::Bool(value) => Ok(Value::Bool(!value)),
                other => Err(no_overload("!", &[&other])),
            },
            Node::Negative(of) => crate::arithmetic::negative(&self.evaluate(of)?),
            Node::Condition { condition, then, otherwise } => match self.evaluate(condition)? {
                Value::Bool(true) => self.evaluate(then),
                Value::Bool(false) => self.evaluate(otherwise),
                other => Err(no_overload("?:", &[&other])),
            },
            Node::Equals { one, other, is_negated } => {
                let (one, other) = (self.evaluate(one)?, self.evaluate(other)?);
                let is_of_other_type = one.type_name() != other.type_name();
                // What Kubernetes adds to the language is the same as nothing else, and is not compared with it.
                if is_of_other_type && one.is_of_kubernetes() && !is_negated {
                    return Err(no_overload("==", &[&one, &other]));
                }
                Ok(Value::Bool(one.equals(&other, self.meter)? != *is_negated))
            }
            Node::Compare { one, other, comparison } => {
                let (one, other) = (self.evaluate(one)?, self.evaluate(other)?);
                let order = one.compare(&other, self.meter)?;
                let order =
                    order.ok_or_else(|| no_overload(comparison.symbol(), &[&one, &other]))?;
                Ok(Value::Bool(comparison.holds(order)))
            }
            Node::Arithmetic { one, other, operator } => {
                let (one, other) = (self.evaluate(one)?, self.evaluate(other)?);
                operator.apply(one, other, self.meter)
            }
            Node::In { item, container } => self.contains(item, container),
            Node::List(items) => self.list(items),
            Node::Map(entries) => self.map(entries),
            Node::Each { range, each } => self.each(range, each),
            Node::OptionalMap { of, result, is_flat } => self.optional_map(of, result, *is_flat),
            Node::Or { of, otherwise, is_optional } => match self.evaluate(of)? {
                Value::Optional(None) => self.evaluate(otherwise),
                Value::Optional(Some(value)) if !is_optional => Ok((**value).clone()),
                // What is not optional is there.
                value => Ok(value),
            },
            Node::Pattern { text, pattern, prepared } => match self.evaluate(text)? {
                Value::Text(text) => prepared.apply(pattern, &text, self.meter),
                other => Err(no_overload("matches", &[&other])),
            },
            Node::Call { overloads, arguments } => {
                let values = arguments.iter().map(|it| self.evaluate(it));
                let values: Vec<Value<'v>> = values.collect::<Result<_, _>>()?;
                functions::call(overloads, &values, self.meter)
            }
        }
    }

    fn scores(&mut self, name: &'v Node) -> Evaluated<'v> {
        let name = match self.evaluate(name)? {
            Value::Text(name) => name,
            other => return Err(no_overload("scores", &[&other])),
        };
        let Some(scores) = (self.subject.scores)(&name) else {
            let name = shortened(&name);
            return Err(Failure::other(format!("there is no AddOnPlacementScore {name}")));
        };
        // They are looked up, and each becomes a map of its own.
        self.meter.spend(scores.len().saturating_mul(4).saturating_add(16))?;
        let text = |text| Value::Text(Text::Stored(text));
        let scores = scores.into_iter().map(|(name, value)| {
            Value::map([(text("name"), text(name)), (text("value"), Value::Int(value))])
        });
        Value::list(scores.collect::<Result<Vec<_>, _>>()?)
    }

    fn field(&mut self, of: &'v Node, name: &'v str, is_optional: bool) -> Evaluated<'v> {
        let of = self.evaluate(of)?;
        let (of, is_optional) = match of {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(of)) => ((**of).clone(), true),
            of => (of, is_optional),
        };
        let found = match &of {
            Value::Map(map) => map.field(name, self.meter)?,
            Value::List(_) => return Err(no_overload("[]", &[&of, &Value::text("")])),
            _ if is_optional && !of.is_of_kubernetes() => None,
            _ => return Err(no_overload("selecting a field", &[&of])),
        };
        match (found, is_optional) {
            (found, true) => Value::optional(found),
            (Some(found), false) => Ok(found),
            (None, false) => Err(Failure::no_such_key(name)),
        }
    }

    fn has(&mut self, of: &'v Node, name: &'v str) -> Evaluated<'v> {
        let of = match self.evaluate(of)? {
            Value::Optional(None) => return Ok(Value::Bool(false)),
            Value::Optional(Some(of)) => (**of).clone(),
            of => of,
        };
        match of {
            Value::Map(map) => Ok(Value::Bool(map.field(name, self.meter)?.is_some())),
            Value::List(_) => Err(no_overload("has", &[&of])),
            _ => Ok(Value::Bool(false)),
        }
    }

    fn index(&mut self, of: &'v Node, index: &'v Node, is_optional: bool) -> Evaluated<'v> {
        let (of, is_optional) = match self.evaluate(of)? {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(of)) => ((**of).clone(), true),
            of => (of, is_optional),
        };
        let index = self.evaluate(index)?;
        let found = match &of {
            Value::Map(map) if is_key(&index) => map.get(&index, self.meter)?,
            Value::List(list) => {
                let position = position(&index).ok_or_else(|| no_overload("[]", &[&of, &index]))?;
                self.meter.spend(list.len() / 8)?;
                position.and_then(|position| list.get(position))
            }
            Value::Map(_) => return Err(no_overload("[]", &[&of, &index])),
            _ if is_optional && is_key(&index) => None,
            _ => return Err(no_overload("[]", &[&of, &index])),
        };
        match (found, is_optional) {
            (found, true) => Value::optional(found),
            (Some(found), false) => Ok(found),
            (None, false) => Err(missing(&index)),
        }
    }

    /// One that decides does so even if another one fails.
    fn logical(&mut self, parts: &'v [Node], decides: bool) -> Evaluated<'v> {
        let mut failed = None;
        for part in parts {
            match self.evaluate(part) {
                Ok(Value::Bool(value)) if value == decides => return Ok(Value::Bool(decides)),
                Ok(Value::Bool(_)) => {}
                Ok(other) => failed = failed.or_else(|| Some(not_boolean(decides, &other))),
                Err(failure) => failed = failed.or(Some(self.meter.pass_over(failure)?)),
            }
        }
        failed.map_or(Ok(Value::Bool(!decides)), Err)
    }

    fn contains(&mut self, item: &'v Node, container: &'v Node) -> Evaluated<'v> {
        let (item, container) = (self.evaluate(item)?, self.evaluate(container)?);
        match &container {
            Value::List(list) => {
                for known in list.iter() {
                    if known.equals(&item, self.meter)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            Value::Map(map) if is_key(&item) => {
                Ok(Value::Bool(map.get(&item, self.meter)?.is_some()))
            }
            Value::Map(_) => Ok(Value::Bool(false)),
            _ => Err(no_overload("in", &[&item, &container])),
        }
    }

    /// The value of an item of a list or a map; `None` if it is optional and there is none.
    fn item(&mut self, item: &'v Item) -> Result<Option<Value<'v>>, Failure> {
        match self.evaluate(&item.node)? {
            value if !item.is_optional => Ok(Some(value)),
            Value::Optional(value) => Ok(value.map(|value| (**value).clone())),
            other => Err(no_overload("?", &[&other])),
        }
    }

    fn list(&mut self, items: &'v [Item]) -> Evaluated<'v> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            values.extend(self.item(item)?);
        }
        Value::list(values)
    }

    fn map(&mut self, entries: &'v [(Node, Item)]) -> Evaluated<'v> {
        let mut values: Vec<(Value<'v>, Value<'v>)> = Vec::with_capacity(entries.len());
        for (key, item) in entries {
            let key = self.evaluate(key)?;
            // Its place among the others is looked for.
            self.meter.spend(1 + key.steps())?;
            if let Some(value) = self.item(item)? {
                values.push((key, value));
            }
        }
        Value::map(values)
    }

    /// Evaluates something with a variable.
    fn with(&mut self, variable: Value<'v>, node: &'v Node) -> Evaluated<'v> {
        self.variables.push(variable);
        let result = self.evaluate(node);
        self.variables.pop();
        result
    }

    fn holds(&mut self, variable: &Value<'v>, node: &'v Node) -> Result<bool, Failure> {
        match self.with(variable.clone(), node)? {
            Value::Bool(value) => Ok(value),
            other => Err(no_overload("?:", &[&other])),
        }
    }

    fn each(&mut self, range: &'v Node, each: &'v Each) -> Evaluated<'v> {
        let range = match self.evaluate(range)? {
            Value::List(list) => list,
            Value::Map(map) => {
                self.meter.spend(map.len())?;
                List::of(keys(&map))?
            }
            other => return Err(no_overload("going through its items", &[&other])),
        };
        match each {
            Each::Quantified { holds, decides } => {
                let mut failed = None;
                for item in range.iter() {
                    match self.with(item, holds) {
                        Ok(Value::Bool(value)) if value == *decides => {
                            return Ok(Value::Bool(value));
                        }
                        Ok(Value::Bool(_)) => {}
                        Ok(other) => failed = Some(not_boolean(*decides, &other)),
                        Err(failure) => failed = Some(self.meter.pass_over(failure)?),
                    }
                }
                failed.map_or(Ok(Value::Bool(!decides)), Err)
            }
            Each::ExactlyOne { holds } => {
                let mut found = 0_usize;
                for item in range.iter() {
                    found += usize::from(self.holds(&item, holds)?);
                }
                Ok(Value::Bool(found == 1))
            }
            Each::Filter { holds } => {
                let mut kept = Vec::new();
                for item in range.iter() {
                    if self.holds(&item, holds)? {
                        kept.push(item);
                    }
                }
                Value::list(kept)
            }
            Each::Map { holds, result } => {
                let mut made = Vec::new();
                for item in range.iter() {
                    let is_kept = match holds {
                        Some(holds) => self.holds(&item, holds)?,
                        None => true,
                    };
                    if is_kept {
                        made.push(self.with(item, result)?);
                    }
                }
                Value::list(made)
            }
        }
    }

    fn optional_map(&mut self, of: &'v Node, result: &'v Node, is_flat: bool) -> Evaluated<'v> {
        match self.evaluate(of)? {
            Value::Optional(None) => Ok(Value::Optional(None)),
            Value::Optional(Some(value)) => {
                let result = self.with((**value).clone(), result)?;
                if is_flat { Ok(result) } else { Value::some(result) }
            }
            other => Err(no_overload("optMap", &[&other])),
        }
    }
}

/// A constant, without copying its text.
fn borrowed<'v>(value: &'v Value<'static>) -> Value<'v> {
    match value {
        Value::Text(text) => Value::Text(Text::Stored(text)),
        other => other.clone(),
    }
}

fn keys<'v>(map: &Map<'v>) -> std::sync::Arc<[Value<'v>]> {
    map.iter().map(|(key, _)| key).collect()
}

/// The position that an index is; `None` for what is no index, and within it for one that is in no list.
#[expect(clippy::option_option, reason = "no index, and one that is out of range, are different")]
fn position(index: &Value<'_>) -> Option<Option<usize>> {
    match index {
        Value::Int(index) => Some(usize::try_from(*index).ok()),
        Value::Uint(index) => Some(usize::try_from(*index).ok()),
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole")]
        Value::Double(index) if index.fract() == 0.0 => {
            Some((*index >= 0.0 && *index < 1e15).then_some(*index as usize))
        }
        _ => None,
    }
}

fn missing(index: &Value<'_>) -> Failure {
    match index {
        Value::Text(key) => Failure::no_such_key(key),
        Value::Int(index) => Failure::other(format!("there is no item {index}")),
        Value::Uint(index) => Failure::other(format!("there is no item {index}")),
        Value::Double(index) => Failure::other(format!("there is no item {index}")),
        _ => Failure::other("there is no such item"),
    }
}

fn no_overload(function: &'static str, of: &[&Value<'_>]) -> Failure {
    Failure::NoSuchOverload { function, of: of.iter().map(|it| it.type_name()).collect() }
}

fn not_boolean(decides: bool, value: &Value<'_>) -> Failure {
    no_overload(if decides { "||" } else { "&&" }, &[value])
}
