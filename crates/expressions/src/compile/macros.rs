//! Macros: expressions over the items of a list or a map, with a variable for each.

use super::{Compiler, Typed};
use crate::document::Name;
use crate::node::{ItemOperation, Node};
use crate::source::CompileError;
use crate::syntax::{Part, Syntax};
use crate::types::StaticType;
use crate::value::Value;

impl Compiler<'_> {
    /// A call that is a macro; `None` for any other.
    pub(super) fn expand(
        &mut self,
        part: &Part,
        of: Option<&Part>,
        name: &str,
        arguments: &[Part],
    ) -> Option<Typed> {
        match (of, arguments) {
            (None, [field]) if name == "has" => Some(self.has(part, field)),
            (Some(of), [variable, result]) if matches!(name, "optMap" | "optFlatMap") => {
                Some(self.optional_map(of, variable, result, name == "optFlatMap"))
            }
            (Some(of), [_, _, _] | [_, _]) if is_macro(name, arguments.len()) => {
                Some(self.each(part, of, name, arguments))
            }
            _ => None,
        }
    }

    fn has(&mut self, part: &Part, field: &Part) -> Typed {
        let Syntax::Field { of, name, is_optional: false } = &field.syntax else {
            return Err(self.error(part, "has is of a field, such as has(a.b)"));
        };
        let (of, known) = self.node(of)?;
        self.field_type(part, &known)?;
        Ok((Node::Has { of: of.into(), name: Name::new(name) }, StaticType::BOOL))
    }

    fn each(&mut self, part: &Part, of: &Part, name: &str, arguments: &[Part]) -> Typed {
        let [variable, parts @ .., last] = arguments else {
            return Err(self.error(part, format!("{name} needs a variable")));
        };
        let variable = self.variable(variable)?;
        let (range, known) = self.node(of)?;
        let item = match known {
            StaticType::Dyn => StaticType::Dyn,
            StaticType::List(item) | StaticType::Map(item, _) => (*item).clone(),
            known => {
                let message = format!("{name} is for lists and maps, and not for type {known}");
                return Err(self.error(of, message));
            }
        };
        let times = self.times;
        if let Some(items) = written_length(&range) {
            self.times = times.saturating_mul(items);
        }
        self.variables.push((variable, item.clone()));
        let holds = |compiler: &mut Self, part| compiler.boolean(part).map(Box::new);
        let (each, known) = match name {
            "all" => (
                ItemOperation::Quantified { holds: holds(self, last)?, decides: false },
                StaticType::BOOL,
            ),
            "exists" => (
                ItemOperation::Quantified { holds: holds(self, last)?, decides: true },
                StaticType::BOOL,
            ),
            "filter" => {
                (ItemOperation::Filter { holds: holds(self, last)? }, StaticType::list(item))
            }
            "map" => {
                let holds = parts.first().map(|part| holds(self, part)).transpose()?;
                let (result, known) = self.node(last)?;
                (ItemOperation::Map { holds, result: result.into() }, StaticType::list(known))
            }
            _ => (ItemOperation::ExactlyOne { holds: holds(self, last)? }, StaticType::BOOL),
        };
        self.variables.pop();
        self.times = times;
        Ok((Node::Each { range: range.into(), each }, known))
    }

    fn optional_map(&mut self, of: &Part, variable: &Part, result: &Part, is_flat: bool) -> Typed {
        let variable = self.variable(variable)?;
        let (optional, known) = self.node(of)?;
        let value = match known {
            StaticType::Dyn => StaticType::Dyn,
            StaticType::Optional(value) => (*value).clone(),
            known => return Err(self.no_overload(of, "optMap", &[known])),
        };
        self.variables.push((variable, value));
        let compiled = self.node(result);
        self.variables.pop();
        let (node, known) = compiled?;
        let known = match known {
            known if !is_flat => StaticType::optional(known),
            known @ (StaticType::Optional(_) | StaticType::Dyn) => known,
            known => return Err(self.no_overload(result, "optFlatMap", &[known])),
        };
        Ok((Node::OptionalMap { of: optional.into(), result: node.into(), is_flat }, known))
    }

    /// The name of a variable that a macro introduces.
    fn variable(&self, part: &Part) -> Result<String, CompileError> {
        match &part.syntax {
            Syntax::Name(name) if !name.starts_with('.') => Ok(name.clone()),
            _ => Err(self.error(part, "a variable has a simple name")),
        }
    }
}

fn is_macro(name: &str, arguments: usize) -> bool {
    match name {
        "all" | "exists" | "exists_one" | "filter" => arguments == 2,
        "map" => true,
        _ => false,
    }
}

/// The number of items of a list that is written in the expression.
fn written_length(range: &Node) -> Option<usize> {
    match range {
        Node::List(items) => Some(items.len()),
        Node::Constant(Value::List(list)) => Some(list.len()),
        Node::Constant(Value::Map(map)) => Some(map.len()),
        Node::Map(entries) => Some(entries.len()),
        Node::Each { range, each: ItemOperation::Map { holds: None, .. } } => written_length(range),
        _ => None,
    }
}
