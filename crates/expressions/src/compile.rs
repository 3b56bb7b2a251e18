//! From a syntax tree to a compiled expression: resolves names, checks types as far as they are known, computes what
//! is constant, and rejects unsupported expressions.

mod calls;
mod macros;
mod operators;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::meter::{Allowance, MAX_STEPS, Meter};
use crate::node::{Item, Node};
use crate::source::{CompileError, error_at, shortened};
use crate::syntax::{self, Part, Syntax};
use crate::types::{StaticType, Type};
use crate::value::{Map, Value};

/// The name of the object in expressions.
pub(crate) const OBJECT: &str = "managedCluster";

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) node: Node,
    pub(crate) scores: ReadScores,
    /// The warnings about parts that never have a usable result.
    pub(crate) warnings: Vec<CompileError>,
    /// The steps of the expression for every object, plus those of the previous expressions.
    pub(crate) steps: usize,
}

/// The scores that an expression reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadScores {
    /// Only the scores in the objects with these names.
    Named(BTreeSet<Arc<str>>),
    /// Possibly all scores, because a name is computed.
    Any,
}

/// Compiles an expression, within the remaining allowance of its placement.
pub(crate) fn compile(text: &str, allowance: &Allowance) -> Result<Compiled, CompileError> {
    let expression = syntax::parse(text)?;
    let mut compiler = Compiler {
        text,
        constants: &allowance.constants,
        patterns: &allowance.patterns,
        variables: Vec::new(),
        scores: ReadScores::Named(BTreeSet::new()),
        warnings: Vec::new(),
        times: 1,
        steps: allowance.steps,
    };
    let (node, known) = compiler.node(&expression)?;
    if !known.fits(&StaticType::BOOL) {
        let message = format!("the expression is never true, because its type is {known}");
        compiler.warnings.push(CompileError::new(message));
    }
    let Compiler { scores, warnings, steps, .. } = compiler;
    Ok(Compiled { node, scores, warnings, steps })
}

type Typed = Result<(Node, StaticType), CompileError>;

/// Compiles the syntax tree recursively; its depth is bounded.
struct Compiler<'a> {
    text: &'a str,
    /// The remaining steps to compute constants.
    constants: &'a Meter,
    /// The remaining steps to compile patterns.
    patterns: &'a Meter,
    /// The variables of the enclosing macros, with their types.
    variables: Vec<(String, StaticType)>,
    scores: ReadScores,
    warnings: Vec<CompileError>,
    /// The maximum number of evaluations of a part, as far as the enclosing lists are literals.
    times: usize,
    /// The steps of all parts so far, multiplied by their evaluations.
    steps: usize,
}

impl Compiler<'_> {
    fn error(&self, part: &Part, message: impl Into<String>) -> CompileError {
        error_at(self.text, part.at, message)
    }

    fn node(&mut self, part: &Part) -> Typed {
        self.steps = self.steps.saturating_add(self.times);
        if self.steps > MAX_STEPS {
            let message = format!("it would take more than {MAX_STEPS} steps for any object");
            return Err(self.error(part, message).too_much());
        }
        match &part.syntax {
            Syntax::Literal(value) => Ok(literal(value)),
            Syntax::Name(name) => self.name(part, name),
            Syntax::Field { of, name, is_optional: false } => self.field(part, of, name),
            Syntax::Field { of, name, is_optional: true } => self.optional_field(part, of, name),
            Syntax::Index { of, index, is_optional } => self.index(part, of, index, *is_optional),
            Syntax::Call { of, name, arguments } => self.call(part, of.as_deref(), name, arguments),
            Syntax::Not(of) => self.not(of),
            Syntax::Negative(of) => self.negative(part, of),
            Syntax::Binary(operator, parts) => self.binary(part, *operator, parts),
            Syntax::Logical { parts, decides } => self.logical(parts, *decides),
            Syntax::Condition(parts) => self.condition(part, parts),
            Syntax::List(items) => self.list(items),
            Syntax::Map(entries) => self.map(part, entries),
        }
    }

    fn field(&mut self, part: &Part, of: &Part, name: &str) -> Typed {
        if let Some(name) = self.qualified_type(part) {
            return Ok((Node::Constant(Value::Type(name)), StaticType::Plain(Type::Meta)));
        }
        let (of, known) = self.node(of)?;
        let field = self.field_type(part, &known)?;
        Ok((of.field(name), field))
    }

    fn name(&self, part: &Part, name: &str) -> Typed {
        let plain = name.strip_prefix('.');
        let mut variables = self.variables.iter().rev().enumerate();
        if let Some((outwards, (_, known))) = variables.find(|(_, (known, _))| known == name) {
            return Ok((Node::Variable(outwards), known.clone()));
        }
        let name = plain.unwrap_or(name);
        if name == OBJECT {
            let object = StaticType::map(StaticType::Plain(Type::Text), StaticType::Dyn);
            return Ok((Node::Object, object));
        }
        if let Some(name) = Type::named(name) {
            return Ok((Node::Constant(Value::Type(name)), StaticType::Plain(Type::Meta)));
        }
        let message = format!("there is no variable {}: only {OBJECT}", shortened(name));
        Err(self.error(part, message))
    }

    /// A type whose name has dots in it.
    fn qualified_type(&self, part: &Part) -> Option<&'static str> {
        // No type name has more parts. A longer name is not built for each of its parts.
        let name = if part.depth <= Type::MAX_NAMES { part.dotted_name()? } else { return None };
        let root = name.split('.').next().unwrap_or_default();
        let is_variable = root == OBJECT || self.variables.iter().any(|(known, _)| known == root);
        if is_variable { None } else { Type::named(&name) }
    }

    /// The type of a field.
    fn field_type(&self, part: &Part, of: &StaticType) -> Result<StaticType, CompileError> {
        match of {
            StaticType::Dyn => Ok(StaticType::Dyn),
            StaticType::Map(key, value) if key.fits(&StaticType::Plain(Type::Text)) => {
                Ok((**value).clone())
            }
            StaticType::Optional(of) => self.field_type(part, of).map(StaticType::optional),
            of => Err(self.error(part, format!("type {of} has no fields"))),
        }
    }

    fn list(&mut self, written: &[syntax::Item]) -> Typed {
        let mut items = Vec::with_capacity(written.len());
        let mut of: Option<StaticType> = None;
        for item in written {
            let (item, known) = self.item(item)?;
            of = Some(of.map_or_else(|| known.clone(), |of| of.joined(&known)));
            items.push(item);
        }
        let known = StaticType::list(of.unwrap_or(StaticType::Dyn));
        let constants: Option<Vec<Value<'static>>> = items.iter().map(Item::constant).collect();
        Ok(match constants.map(Value::list).transpose() {
            Ok(Some(list)) => (Node::Constant(list), known),
            // A list with too deep nesting fails at its evaluation.
            _ => (Node::List(items.into()), known),
        })
    }

    fn map(&mut self, part: &Part, written: &[(Part, syntax::Item)]) -> Typed {
        let mut entries = Vec::with_capacity(written.len());
        let mut of: Option<(StaticType, StaticType)> = None;
        for (key, item) in written {
            let (key, of_key) = self.node(key)?;
            if of_key == StaticType::Plain(Type::Null) {
                return Err(self.error(part, "a map has no keys of type null_type"));
            }
            let (item, of_value) = self.item(item)?;
            of = Some(match of {
                Some((key, value)) => (key.joined(&of_key), value.joined(&of_value)),
                None => (of_key, of_value),
            });
            entries.push((key, item));
        }
        let (key, value) = of.unwrap_or((StaticType::Dyn, StaticType::Dyn));
        let known = StaticType::map(key, value);
        let constants: Option<Vec<_>> =
            entries.iter().map(|(key, item)| Some((key.constant()?, item.constant()?))).collect();
        Ok(match constants.map(Map::from_entries).transpose() {
            Ok(Some(map)) => (Node::Constant(Value::Map(map)), known),
            // An invalid map fails at its evaluation.
            _ => (Node::Map(entries.into()), known),
        })
    }

    fn item(&mut self, item: &syntax::Item) -> Result<(Item, StaticType), CompileError> {
        let syntax::Item { part, is_optional } = item;
        let (node, known) = self.node(part)?;
        let known = match known {
            known if !is_optional => known,
            StaticType::Optional(of) => (*of).clone(),
            StaticType::Dyn => StaticType::Dyn,
            known => {
                let message =
                    format!("an optional entry needs an optional value, not one of type {known}");
                return Err(self.error(part, message));
            }
        };
        Ok((Item { node, is_optional: *is_optional }, known))
    }
}

fn literal(value: &Value<'static>) -> (Node, StaticType) {
    let known = match value {
        Value::Bool(_) => Type::Bool,
        Value::Bytes(_) => Type::Bytes,
        Value::Double(_) => Type::Double,
        Value::Int(_) => Type::Int,
        Value::Text(_) => Type::Text,
        Value::Uint(_) => Type::Uint,
        _ => Type::Null,
    };
    (Node::Constant(value.clone()), StaticType::Plain(known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;

    #[test]
    fn constants_are_computed_until_the_meter_has_no_steps_left() {
        let allowance = Allowance::new();
        let part = format!("'{}'.replace('', 'aaaaaaaaaaaaaaaa') != ''", "a".repeat(2_000));
        let text = [&*part; 7].join(" && ");
        for _ in 0..8 {
            assert!(
                compile(&text, &allowance).is_ok(),
                "a constant that is not computed is not an error"
            );
        }
        assert_eq!(allowance.constants.spend(1), Err(Failure::TooManySteps));
    }
}
