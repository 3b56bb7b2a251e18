//! Evaluates a compiled expression over an object. Every step is counted, so that the evaluation ends.

mod each;
mod stored;

use std::ops::Deref;
use std::sync::Arc;

use crate::document::{Document, Name, StoredMap};
use crate::failure::Failure;
use crate::functions::{self, Function};
use crate::meter::Meter;
use crate::node::{Fields, Item, Node};
use crate::source::shortened;
use crate::value::{List, Map, Text, Value, is_key};

/// The input of an evaluation.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The object.
    pub object: &'a Document,
    /// The scores of the object, by the name of the object that contains them. `None` if no object has that name.
    pub scores: &'a dyn Fn(&str) -> Option<NamedScores<'a>>,
}

/// Scores by their names.
pub type NamedScores<'a> = Arc<[(&'a str, i32)]>;

impl std::fmt::Debug for Subject<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.object.fmt(formatter)
    }
}

type Evaluated<'v> = Result<Value<'v>, Failure>;

/// The state of an evaluation.
pub(crate) struct Evaluation<'s, 'v> {
    pub(crate) subject: &'s Subject<'v>,
    pub(crate) meter: &'s Meter,
}

/// The variable of a macro, and the enclosing scope.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'f, 'v> {
    variable: &'f Value<'v>,
    outer: Option<&'f Scope<'f, 'v>>,
}

/// An operand. Constants and variables are borrowed instead of copied.
enum Operand<'f, 'v> {
    Borrowed(&'f Value<'v>),
    Owned(Value<'v>),
}

impl<'v> Operand<'_, 'v> {
    fn into_value(self) -> Value<'v> {
        match self {
            Operand::Borrowed(value) => value.clone(),
            Operand::Owned(value) => value,
        }
    }
}

impl<'v> Deref for Operand<'_, 'v> {
    type Target = Value<'v>;

    fn deref(&self) -> &Value<'v> {
        match self {
            Operand::Borrowed(value) => value,
            Operand::Owned(value) => value,
        }
    }
}

/// The scope of a part; `None` outside of macros.
type EnclosingScope<'f, 'v> = Option<&'f Scope<'f, 'v>>;

impl<'v> Evaluation<'_, 'v> {
    pub(crate) fn evaluate(&self, node: &'v Node, within: EnclosingScope<'_, 'v>) -> Evaluated<'v> {
        self.meter.spend(1)?;
        match node {
            Node::Logical { parts, decides } => return self.logical(parts, *decides, within),
            Node::Equals { one, other, is_negated } => {
                if let (Node::Fields(fields), Node::Constant(Value::Text(text))) =
                    (&**one, &**other)
                    && let Some(map) = self.stored_map(&fields.of, within)
                    && let Some((is_text, steps)) = stored::is_text(map, &fields.names, text)
                {
                    self.meter.spend(steps)?;
                    return Ok(Value::Bool(is_text != *is_negated));
                }
            }
            _ => {}
        }
        self.operation(node, within)
    }

    /// Evaluates parts without a faster path.
    #[inline(never)]
    fn operation(&self, node: &'v Node, within: EnclosingScope<'_, 'v>) -> Evaluated<'v> {
        match node {
            Node::Logical { parts, decides } => self.logical(parts, *decides, within),
            Node::Constant(value) => Ok(borrowed(value)),
            Node::Object => self.subject.object.root().map(Value::from),
            Node::Variable(outwards) => {
                Ok(variable(*outwards, within).cloned().unwrap_or(Value::Null))
            }
            Node::Scores(name) => self.scores(name, within),
            Node::Fields(fields) => self.fields(fields, within),
            Node::OptionalField { of, name } => self.field(&*self.operand(of, within)?, name, true),
            Node::Has { of, name } => self.has(of, name, within),
            Node::Index { of, index, is_optional } => self.index(of, index, *is_optional, within),
            Node::Not(of) => match self.evaluate(of, within)? {
                Value::Bool(value) => Ok(Value::Bool(!value)),
                other => Err(no_overload("!", &[&other])),
            },
            Node::Negative(of) => crate::arithmetic::negative(&*self.operand(of, within)?),
            Node::Condition { condition, then, otherwise } => {
                match self.evaluate(condition, within)? {
                    Value::Bool(true) => self.evaluate(then, within),
                    Value::Bool(false) => self.evaluate(otherwise, within),
                    other => Err(no_overload("?:", &[&other])),
                }
            }
            Node::Equals { one, other, is_negated } => {
                let (one, other) = (self.operand(one, within)?, self.operand(other, within)?);
                self.equal(&one, &other, *is_negated).map(Value::Bool)
            }
            Node::Compare { one, other, comparison } => {
                let (one, other) = (self.operand(one, within)?, self.operand(other, within)?);
                let order = one.compare(&other, self.meter)?;
                let order =
                    order.ok_or_else(|| no_overload(comparison.symbol(), &[&one, &other]))?;
                Ok(Value::Bool(comparison.holds(order)))
            }
            Node::Arithmetic { one, other, operator } => {
                let (one, other) = (self.evaluate(one, within)?, self.evaluate(other, within)?);
                operator.apply(one, other, self.meter)
            }
            Node::In { item, container } => self.contains(item, container, within),
            Node::List(items) => self.list(items, within),
            Node::Map(entries) => self.map(entries, within),
            Node::Each { range, each } => self.each(range, each, within),
            Node::OptionalMap { of, result, is_flat } => {
                self.optional_map(of, result, *is_flat, within)
            }
            Node::Or { of, otherwise, is_optional } => match self.evaluate(of, within)? {
                Value::Optional(None) => self.evaluate(otherwise, within),
                Value::Optional(Some(value)) if !is_optional => Ok((**value).clone()),
                // A value that is not optional is present.
                value => Ok(value),
            },
            Node::Pattern { text, pattern, prepared } => match &*self.operand(text, within)? {
                Value::Text(text) => prepared.apply(pattern, text, self.meter),
                other => Err(no_overload("matches", &[other])),
            },
            Node::Call { overloads, arguments } => self.call(overloads, arguments, within),
        }
    }

    /// Evaluates a part whose value is only borrowed.
    fn operand<'f>(
        &self,
        node: &'v Node,
        within: EnclosingScope<'f, 'v>,
    ) -> Result<Operand<'f, 'v>, Failure>
    where
        'v: 'f,
    {
        match node {
            Node::Constant(value) => self.meter.spend(1).map(|()| Operand::Borrowed(value)),
            Node::Variable(outwards) => {
                self.meter.spend(1)?;
                Ok(Operand::Borrowed(variable(*outwards, within).unwrap_or(&Value::Null)))
            }
            node => self.evaluate(node, within).map(Operand::Owned),
        }
    }

    fn call(
        &self,
        overloads: &[&'static Function],
        arguments: &'v [Node],
        within: EnclosingScope<'_, 'v>,
    ) -> Evaluated<'v> {
        match arguments {
            [one] => functions::call(overloads, &[&*self.operand(one, within)?], self.meter),
            [one, other] => {
                let (one, other) = (self.operand(one, within)?, self.operand(other, within)?);
                functions::call(overloads, &[&*one, &*other], self.meter)
            }
            arguments => {
                let values = arguments.iter().map(|it| self.operand(it, within));
                let values: Vec<Operand<'_, 'v>> = values.collect::<Result<_, _>>()?;
                let values: Vec<&Value<'v>> = values.iter().map(|it| &**it).collect();
                functions::call(overloads, &values, self.meter)
            }
        }
    }

    fn scores(&self, name: &'v Node, within: EnclosingScope<'_, 'v>) -> Evaluated<'v> {
        let name = self.operand(name, within)?;
        let Value::Text(name) = &*name else { return Err(no_overload("scores", &[&name])) };
        let Some(scores) = (self.subject.scores)(name) else {
            let name = shortened(name);
            return Err(Failure::other(format!("there is no AddOnPlacementScore {name}")));
        };
        // Each score is looked up, and is a map of its own.
        self.meter.spend(scores.len().saturating_mul(4).saturating_add(16))?;
        Ok(Value::List(List::Scores(scores)))
    }

    /// The value of a path of fields.
    fn fields(&self, fields: &'v Fields, within: EnclosingScope<'_, 'v>) -> Evaluated<'v> {
        let Fields { of, names } = fields;
        // One has been taken.
        let stored = self.stored_map(of, within).and_then(|map| stored::field(map, names));
        if let Some((found, steps)) = stored {
            return self.meter.spend(steps - 1).map(|()| found.into());
        }
        self.meter.spend(names.len() - 1)?;
        let mut value = self.operand(of, within)?;
        for name in names {
            value = Operand::Owned(self.field(&value, name, false)?);
        }
        Ok(value.into_value())
    }

    fn field(&self, of: &Value<'v>, name: &'v Name, is_optional: bool) -> Evaluated<'v> {
        let (of, is_optional) = match of {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(of)) => (&***of, true),
            of => (of, is_optional),
        };
        let found = match of {
            Value::Map(map) => map.field(name, self.meter)?,
            Value::List(_) => return Err(no_overload("[]", &[of, &Value::text("")])),
            _ if is_optional && !of.is_of_kubernetes() => None,
            _ => return Err(no_overload("selecting a field", &[of])),
        };
        match (found, is_optional) {
            (found, true) => Value::optional(found),
            (Some(found), false) => Ok(found),
            (None, false) => Err(Failure::no_such_key(name)),
        }
    }

    /// The map of a document in the object or a variable.
    fn stored_map(&self, of: &'v Node, within: EnclosingScope<'_, 'v>) -> Option<StoredMap<'v>> {
        match of {
            Node::Object => self.subject.object.root().ok()?.map(),
            Node::Variable(outwards) => match variable(*outwards, within)? {
                Value::Map(Map::Stored(map)) => Some(*map),
                _ => None,
            },
            _ => None,
        }
    }

    fn equal(&self, one: &Value<'v>, other: &Value<'v>, is_negated: bool) -> Result<bool, Failure> {
        // A type that Kubernetes adds to the language equals no other type, and is not compared with it.
        if !is_negated && one.is_of_kubernetes() && one.type_name() != other.type_name() {
            return Err(no_overload("==", &[one, other]));
        }
        Ok(one.equals(other, self.meter)? != is_negated)
    }

    fn has(&self, of: &'v Node, name: &'v Name, within: EnclosingScope<'_, 'v>) -> Evaluated<'v> {
        let of = self.operand(of, within)?;
        let of = match &*of {
            Value::Optional(None) => return Ok(Value::Bool(false)),
            Value::Optional(Some(of)) => &***of,
            of => of,
        };
        match of {
            Value::Map(map) => Ok(Value::Bool(map.field(name, self.meter)?.is_some())),
            Value::List(_) => Err(no_overload("has", &[of])),
            _ => Ok(Value::Bool(false)),
        }
    }

    fn index(
        &self,
        of: &'v Node,
        index: &'v Node,
        is_optional: bool,
        within: EnclosingScope<'_, 'v>,
    ) -> Evaluated<'v> {
        let of = self.operand(of, within)?;
        let (of, is_optional) = match &*of {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(of)) => (&***of, true),
            of => (of, is_optional),
        };
        let index = self.operand(index, within)?;
        let found = match of {
            Value::Map(map) if is_key(&index) => map.get(&index, self.meter)?,
            Value::List(list) => {
                let position = position(&index).ok_or_else(|| no_overload("[]", &[of, &index]))?;
                self.meter.spend(list.len() / 8)?;
                position.and_then(|position| list.get(position))
            }
            Value::Map(_) => return Err(no_overload("[]", &[of, &index])),
            _ if is_optional && is_key(&index) => None,
            _ => return Err(no_overload("[]", &[of, &index])),
        };
        match (found, is_optional) {
            (found, true) => Value::optional(found),
            (Some(found), false) => Ok(found),
            (None, false) => Err(missing(&index)),
        }
    }

    /// Evaluates operands: a deciding operand decides even if another operand fails.
    fn logical(
        &self,
        parts: &'v [Node],
        decides: bool,
        within: EnclosingScope<'_, 'v>,
    ) -> Evaluated<'v> {
        let mut failed = None;
        for part in parts {
            match self.evaluate(part, within) {
                Ok(Value::Bool(value)) if value == decides => return Ok(Value::Bool(decides)),
                Ok(Value::Bool(_)) => {}
                Ok(other) => failed = failed.or_else(|| Some(not_boolean(decides, &other))),
                Err(failure) => failed = failed.or(Some(self.meter.pass_over(failure)?)),
            }
        }
        failed.map_or(Ok(Value::Bool(!decides)), Err)
    }

    fn contains(
        &self,
        item: &'v Node,
        container: &'v Node,
        within: EnclosingScope<'_, 'v>,
    ) -> Evaluated<'v> {
        let (item, container) = (self.operand(item, within)?, self.operand(container, within)?);
        match &*container {
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

    /// The value of an item of a list or a map; `None` if the item is optional and absent.
    fn item(
        &self,
        item: &'v Item,
        within: EnclosingScope<'_, 'v>,
    ) -> Result<Option<Value<'v>>, Failure> {
        match self.evaluate(&item.node, within)? {
            value if !item.is_optional => Ok(Some(value)),
            Value::Optional(value) => Ok(value.map(|value| (**value).clone())),
            other => Err(no_overload("?", &[&other])),
        }
    }

    fn list(&self, items: &'v [Item], within: EnclosingScope<'_, 'v>) -> Evaluated<'v> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            values.extend(self.item(item, within)?);
        }
        Value::list(values)
    }

    fn map(&self, entries: &'v [(Node, Item)], within: EnclosingScope<'_, 'v>) -> Evaluated<'v> {
        let mut values: Vec<(Value<'v>, Value<'v>)> = Vec::with_capacity(entries.len());
        for (key, item) in entries {
            let key = self.evaluate(key, within)?;
            // The search for the key among the other keys takes steps.
            self.meter.spend(1 + key.steps())?;
            if let Some(value) = self.item(item, within)? {
                values.push((key, value));
            }
        }
        Value::map(values)
    }
}

/// A variable, by the number of variables between its definition and its use.
fn variable<'f, 'v>(outwards: usize, within: EnclosingScope<'f, 'v>) -> Option<&'f Value<'v>> {
    let mut scope = within?;
    for _ in 0..outwards {
        scope = scope.outer?;
    }
    Some(scope.variable)
}

/// A constant, without a copy of its string.
fn borrowed<'v>(value: &'v Value<'static>) -> Value<'v> {
    match value {
        Value::Text(text) => Value::Text(Text::Stored(text)),
        other => other.clone(),
    }
}

/// The position in a list for an index value. The outer `None` is for a value that is not an index, the inner `None`
/// for an index out of range.
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
