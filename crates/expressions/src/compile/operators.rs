//! Operators. The syntax tree has them as calls of functions with odd names.

use std::sync::Arc;

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};

use super::{Compiler, Typed};
use crate::arithmetic::{self, Operator};
use crate::node::{Comparison, Node};
use crate::source::CompileError;
use crate::types::{Bindings, Known, Type};

impl Compiler<'_> {
    /// A call that is an operator; `None` for any other.
    pub(super) fn operator(&mut self, id: u64, call: &CallExpr) -> Option<Typed> {
        let [one, rest @ ..] = call.args.as_slice() else { return None };
        Some(match (call.func_name.as_str(), rest) {
            (operators::LOGICAL_NOT, []) => self.not(one),
            (operators::NEGATE, []) => self.negative(id, one),
            (operators::LOGICAL_AND, [other]) => self.logical(one, other, false),
            (operators::LOGICAL_OR, [other]) => self.logical(one, other, true),
            (operators::CONDITIONAL, [then, otherwise]) => self.condition(id, one, then, otherwise),
            (operators::EQUALS, [other]) => self.equals(id, one, other, false),
            (operators::NOT_EQUALS, [other]) => self.equals(id, one, other, true),
            (operators::LESS, [other]) => self.compare(id, one, other, Comparison::Less),
            (operators::LESS_EQUALS, [other]) => {
                self.compare(id, one, other, Comparison::LessOrEqual)
            }
            (operators::GREATER, [other]) => self.compare(id, one, other, Comparison::Greater),
            (operators::GREATER_EQUALS, [other]) => {
                self.compare(id, one, other, Comparison::GreaterOrEqual)
            }
            (operators::ADD, [other]) => self.arithmetic(id, one, other, Operator::Add),
            (operators::SUBSTRACT, [other]) => self.arithmetic(id, one, other, Operator::Subtract),
            (operators::MULTIPLY, [other]) => self.arithmetic(id, one, other, Operator::Multiply),
            (operators::DIVIDE, [other]) => self.arithmetic(id, one, other, Operator::Divide),
            (operators::MODULO, [other]) => self.arithmetic(id, one, other, Operator::Remainder),
            (operators::IN, [container]) => self.contained(id, one, container),
            (operators::INDEX, [index]) => self.index(id, one, index, false),
            (operators::OPT_INDEX, [index]) => self.index(id, one, index, true),
            (operators::OPT_SELECT, [field]) => self.optional_field(id, one, field),
            _ => return None,
        })
    }

    /// A part that has to be true or false.
    pub(super) fn boolean(&mut self, part: &IdedExpr) -> Result<Node, CompileError> {
        let (node, known) = self.node(part)?;
        if known.fits(&Known::BOOL) {
            return Ok(node);
        }
        let message = format!("this is of type {known}, and has to be true or false");
        Err(self.source.error(part.id, message))
    }

    fn not(&mut self, of: &IdedExpr) -> Typed {
        Ok((Node::Not(self.boolean(of)?.into()), Known::BOOL))
    }

    fn negative(&mut self, id: u64, of: &IdedExpr) -> Typed {
        let (of, known) = self.node(of)?;
        if ![Type::Int, Type::Double].iter().any(|it| known.fits(&Known::Plain(*it))) {
            return Err(self.no_overload(id, "-", &[known]));
        }
        if let Node::Constant(value) = &of {
            match arithmetic::negative(value) {
                Ok(value) => return Ok((Node::Constant(value), known)),
                Err(failure) => self.doubt(id, &failure),
            }
        }
        Ok((Node::Negative(of.into()), known))
    }

    fn logical(&mut self, one: &IdedExpr, other: &IdedExpr, decides: bool) -> Typed {
        let (one, other) = (self.boolean(one)?.into(), self.boolean(other)?.into());
        Ok((Node::Logical { one, other, decides }, Known::BOOL))
    }

    fn condition(
        &mut self,
        id: u64,
        condition: &IdedExpr,
        then: &IdedExpr,
        otherwise: &IdedExpr,
    ) -> Typed {
        let condition = self.boolean(condition)?.into();
        let (then, known) = self.node(then)?;
        let (otherwise, other) = self.node(otherwise)?;
        if !known.fits(&other) {
            return Err(self.no_overload(id, "?:", &[Known::BOOL, known, other]));
        }
        let (then, otherwise) = (then.into(), otherwise.into());
        Ok((Node::Condition { condition, then, otherwise }, known.joined(&other)))
    }

    fn equals(&mut self, id: u64, one: &IdedExpr, other: &IdedExpr, is_negated: bool) -> Typed {
        let ((one, known), (other, of_other)) = (self.node(one)?, self.node(other)?);
        if !known.fits(&of_other) {
            let symbol = if is_negated { "!=" } else { "==" };
            return Err(self.no_overload(id, symbol, &[known, of_other]));
        }
        Ok((Node::Equals { one: one.into(), other: other.into(), is_negated }, Known::BOOL))
    }

    fn compare(
        &mut self,
        id: u64,
        one: &IdedExpr,
        other: &IdedExpr,
        comparison: Comparison,
    ) -> Typed {
        let ((one, known), (other, of_other)) = (self.node(one)?, self.node(other)?);
        let is_ordered = |known: &Known| known.is_taken_by(Type::Ordered, &mut Bindings::default());
        let is_number = |known: &Known| {
            let numbers = [Type::Int, Type::Uint, Type::Double];
            numbers.iter().any(|it| *known == Known::Plain(*it))
        };
        let fits = known.fits(&of_other) || is_number(&known) && is_number(&of_other);
        if !fits || !is_ordered(&known) || !is_ordered(&of_other) {
            return Err(self.no_overload(id, comparison.symbol(), &[known, of_other]));
        }
        Ok((Node::Compare { one: one.into(), other: other.into(), comparison }, Known::BOOL))
    }

    fn arithmetic(
        &mut self,
        id: u64,
        one: &IdedExpr,
        other: &IdedExpr,
        operator: Operator,
    ) -> Typed {
        let ((one, known), (other, of_other)) = (self.node(one)?, self.node(other)?);
        let mut returned: Option<Known> = None;
        for (takes, takes_other, returns) in operator.overloads() {
            let mut bindings = Bindings::default();
            if known.is_taken_by(*takes, &mut bindings)
                && of_other.is_taken_by(*takes_other, &mut bindings)
            {
                let result = Known::returned(*returns, &bindings);
                returned =
                    Some(returned.map_or_else(|| result.clone(), |known| known.joined(&result)));
            }
        }
        let Some(returned) = returned else {
            return Err(self.no_overload(id, operator.symbol(), &[known, of_other]));
        };
        Ok((Node::Arithmetic { one: one.into(), other: other.into(), operator }, returned))
    }

    fn contained(&mut self, id: u64, item: &IdedExpr, container: &IdedExpr) -> Typed {
        let ((item, known), (container, of_container)) = (self.node(item)?, self.node(container)?);
        let fits = match &of_container {
            Known::Dyn => true,
            Known::List(of) | Known::Map(of, _) => of.fits(&known),
            Known::Plain(_) | Known::Optional(_) => false,
        };
        if !fits {
            return Err(self.no_overload(id, "in", &[known, of_container]));
        }
        Ok((Node::In { item: item.into(), container: container.into() }, Known::BOOL))
    }

    fn index(&mut self, id: u64, of: &IdedExpr, index: &IdedExpr, is_optional: bool) -> Typed {
        let ((of, known), (index, of_index)) = (self.node(of)?, self.node(index)?);
        let (container, wraps) = match &known {
            Known::Optional(of) => (&**of, true),
            known => (known, is_optional),
        };
        let item = match container {
            Known::Dyn => Some(Known::Dyn),
            Known::List(item) if of_index.fits(&Known::Plain(Type::Int)) => Some((**item).clone()),
            Known::Map(key, value) if key.fits(&of_index) => Some((**value).clone()),
            _ => None,
        };
        let Some(item) = item else {
            return Err(self.no_overload(id, "[]", &[known, of_index]));
        };
        let item = if wraps { Known::Optional(Arc::new(item)) } else { item };
        Ok((Node::Index { of: of.into(), index: index.into(), is_optional }, item))
    }

    fn optional_field(&mut self, id: u64, of: &IdedExpr, field: &IdedExpr) -> Typed {
        let Expr::Literal(LiteralValue::String(name)) = &field.expr else {
            return Err(self.source.error(id, "a field has a name"));
        };
        let (of, known) = self.node(of)?;
        let known = match self.field_type(id, &known)? {
            known @ Known::Optional(_) => known,
            known => Known::Optional(Arc::new(known)),
        };
        Ok((Node::Field { of: of.into(), name: name.inner().into(), is_optional: true }, known))
    }

    pub(super) fn no_overload(&self, id: u64, function: &str, of: &[Known]) -> CompileError {
        let of: Vec<String> = of.iter().map(Known::to_string).collect();
        self.source.error(id, format!("{function} is not for {}", of.join(" and ")))
    }
}
