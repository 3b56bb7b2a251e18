//! Macros: what goes through the items of something, with a variable for each.

use std::sync::Arc;

use cel::common::ast::{CallExpr, Expr, IdedExpr};

use super::{Compiler, Typed};
use crate::node::{Each, Node};
use crate::source::CompileError;
use crate::types::Known;
use crate::value::Value;

impl Compiler<'_> {
    /// A call that is a macro; `None` for any other.
    pub(super) fn expand(&mut self, id: u64, call: &CallExpr) -> Option<Typed> {
        let name = call.func_name.as_str();
        match (&call.target, call.args.as_slice()) {
            (None, [field]) if name == "has" => Some(self.has(id, field)),
            (Some(of), [variable, result]) if matches!(name, "optMap" | "optFlatMap") => {
                Some(self.optional_map(of, variable, result, name == "optFlatMap"))
            }
            (Some(of), [_, _, _] | [_, _]) if is_macro(name, call.args.len()) => {
                Some(self.each(id, of, name, &call.args))
            }
            _ => None,
        }
    }

    fn has(&mut self, id: u64, field: &IdedExpr) -> Typed {
        let Expr::Select(select) = &field.expr else {
            return Err(self.source.error(id, "has is of a field, such as has(a.b)"));
        };
        let (of, known) = self.node(&select.operand)?;
        self.field_type(id, &known)?;
        Ok((Node::Has { of: of.into(), name: select.field.as_str().into() }, Known::BOOL))
    }

    fn each(&mut self, id: u64, of: &IdedExpr, name: &str, arguments: &[IdedExpr]) -> Typed {
        let [variable, parts @ .., last] = arguments else {
            return Err(self.source.error(id, format!("{name} needs a variable")));
        };
        let variable = self.variable(variable)?;
        let (range, known) = self.node(of)?;
        let item = match known {
            Known::Dyn => Known::Dyn,
            Known::List(item) | Known::Map(item, _) => (*item).clone(),
            known => {
                let message =
                    format!("{name} is for lists and maps, and not for what is of type {known}");
                return Err(self.source.error(of.id, message));
            }
        };
        let times = self.times;
        if let Some(items) = written_length(&range) {
            self.times = times.saturating_mul(items);
        }
        self.variables.push((variable, item.clone()));
        let holds = |compiler: &mut Self, part| compiler.boolean(part).map(Box::new);
        let (each, known) = match name {
            "all" => (Each::Quantified { holds: holds(self, last)?, decides: false }, Known::BOOL),
            "exists" => {
                (Each::Quantified { holds: holds(self, last)?, decides: true }, Known::BOOL)
            }
            "filter" => (Each::Filter { holds: holds(self, last)? }, Known::List(Arc::new(item))),
            "map" => {
                let holds = parts.first().map(|part| holds(self, part)).transpose()?;
                let (result, known) = self.node(last)?;
                (Each::Map { holds, result: result.into() }, Known::List(Arc::new(known)))
            }
            _ => (Each::ExactlyOne { holds: holds(self, last)? }, Known::BOOL),
        };
        self.variables.pop();
        self.times = times;
        Ok((Node::Each { range: range.into(), each }, known))
    }

    fn optional_map(
        &mut self,
        of: &IdedExpr,
        variable: &IdedExpr,
        result: &IdedExpr,
        is_flat: bool,
    ) -> Typed {
        let variable = self.variable(variable)?;
        let (optional, known) = self.node(of)?;
        let value = match known {
            Known::Dyn => Known::Dyn,
            Known::Optional(value) => (*value).clone(),
            known => return Err(self.no_overload(of.id, "optMap", &[known])),
        };
        self.variables.push((variable, value));
        let compiled = self.node(result);
        self.variables.pop();
        let (node, known) = compiled?;
        let known = match known {
            known if !is_flat => Known::Optional(Arc::new(known)),
            known @ (Known::Optional(_) | Known::Dyn) => known,
            known => return Err(self.no_overload(result.id, "optFlatMap", &[known])),
        };
        Ok((Node::OptionalMap { of: optional.into(), result: node.into(), is_flat }, known))
    }

    /// The name of a variable that a macro introduces.
    fn variable(&self, part: &IdedExpr) -> Result<String, CompileError> {
        match &part.expr {
            Expr::Ident(name) if !name.starts_with('.') => Ok(name.clone()),
            _ => Err(self.source.error(part.id, "a variable has a simple name")),
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

/// How many items a list has that is written in the expression.
fn written_length(range: &Node) -> Option<usize> {
    match range {
        Node::List(items) => Some(items.len()),
        Node::Constant(Value::List(list)) => Some(list.len()),
        Node::Constant(Value::Map(map)) => Some(map.len()),
        Node::Map(entries) => Some(entries.len()),
        Node::Each { range, each: Each::Map { holds: None, .. } } => written_length(range),
        _ => None,
    }
}
