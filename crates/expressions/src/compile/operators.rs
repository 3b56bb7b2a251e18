//! Operators.

use super::{Compiler, Typed};
use crate::arithmetic::{self, Operator};
use crate::document::Name;
use crate::node::{Comparison, Node};
use crate::source::{CompileError, shortened};
use crate::syntax::{Binary, Part};
use crate::types::{Bindings, StaticType, Type};

/// A compiled part of an expression.
type TypedNode = (Node, StaticType);

impl Compiler<'_> {
    pub(super) fn binary(&mut self, part: &Part, operator: Binary, parts: &[Part; 2]) -> Typed {
        let [one, other] = parts;
        let (one, other) = (self.node(one)?, self.node(other)?);
        match operator {
            Binary::Equals { is_negated } => self.equals(part, one, other, is_negated),
            Binary::Compare(comparison) => self.compare(part, one, other, comparison),
            Binary::In => self.contained(part, one, other),
            Binary::Arithmetic(operator) => self.arithmetic(part, one, other, operator),
        }
    }

    /// A part that must be true or false.
    pub(super) fn boolean(&mut self, part: &Part) -> Result<Node, CompileError> {
        let (node, known) = self.node(part)?;
        if known.fits(&StaticType::BOOL) {
            return Ok(node);
        }
        let message = format!("this part is of type {known}, but must be true or false");
        Err(self.error(part, message))
    }

    pub(super) fn not(&mut self, of: &Part) -> Typed {
        Ok((Node::Not(self.boolean(of)?.into()), StaticType::BOOL))
    }

    pub(super) fn negative(&mut self, part: &Part, of: &Part) -> Typed {
        let (of, known) = self.node(of)?;
        if ![Type::Int, Type::Double].iter().any(|it| known.fits(&StaticType::Plain(*it))) {
            return Err(self.no_overload(part, "-", &[known]));
        }
        if let Node::Constant(value) = &of {
            match arithmetic::negative(value) {
                Ok(value) => return Ok((Node::Constant(value), known)),
                Err(failure) => self.warn(part, &failure),
            }
        }
        Ok((Node::Negative(of.into()), known))
    }

    pub(super) fn logical(&mut self, parts: &[Part], decides: bool) -> Typed {
        let parts: Result<Box<[Node]>, _> = parts.iter().map(|it| self.boolean(it)).collect();
        Ok((Node::Logical { parts: parts?, decides }, StaticType::BOOL))
    }

    pub(super) fn condition(&mut self, part: &Part, parts: &[Part; 3]) -> Typed {
        let [condition, then, otherwise] = parts;
        let condition = self.boolean(condition)?.into();
        let (then, known) = self.node(then)?;
        let (otherwise, other) = self.node(otherwise)?;
        if !known.fits(&other) {
            return Err(self.no_overload(part, "?:", &[StaticType::BOOL, known, other]));
        }
        let (then, otherwise) = (then.into(), otherwise.into());
        Ok((Node::Condition { condition, then, otherwise }, known.joined(&other)))
    }

    fn equals(&self, part: &Part, one: TypedNode, other: TypedNode, is_negated: bool) -> Typed {
        let ((one, known), (other, of_other)) = (one, other);
        if !known.fits(&of_other) {
            let symbol = if is_negated { "!=" } else { "==" };
            return Err(self.no_overload(part, symbol, &[known, of_other]));
        }
        Ok((Node::Equals { one: one.into(), other: other.into(), is_negated }, StaticType::BOOL))
    }

    fn compare(
        &self,
        part: &Part,
        one: TypedNode,
        other: TypedNode,
        comparison: Comparison,
    ) -> Typed {
        let ((one, known), (other, of_other)) = (one, other);
        let is_ordered =
            |known: &StaticType| known.is_taken_by(Type::Ordered, &mut Bindings::default());
        let is_number = |known: &StaticType| {
            let numbers = [Type::Int, Type::Uint, Type::Double];
            numbers.iter().any(|it| *known == StaticType::Plain(*it))
        };
        let fits = known.fits(&of_other) || is_number(&known) && is_number(&of_other);
        if !fits || !is_ordered(&known) || !is_ordered(&of_other) {
            return Err(self.no_overload(part, comparison.symbol(), &[known, of_other]));
        }
        Ok((Node::Compare { one: one.into(), other: other.into(), comparison }, StaticType::BOOL))
    }

    fn arithmetic(
        &self,
        part: &Part,
        one: TypedNode,
        other: TypedNode,
        operator: Operator,
    ) -> Typed {
        let ((one, known), (other, of_other)) = (one, other);
        let mut returned: Option<StaticType> = None;
        for (takes, takes_other, returns) in operator.overloads() {
            let mut bindings = Bindings::default();
            if known.is_taken_by(*takes, &mut bindings)
                && of_other.is_taken_by(*takes_other, &mut bindings)
            {
                let result = StaticType::returned(*returns, &bindings);
                returned =
                    Some(returned.map_or_else(|| result.clone(), |known| known.joined(&result)));
            }
        }
        let Some(returned) = returned else {
            return Err(self.no_overload(part, operator.symbol(), &[known, of_other]));
        };
        Ok((Node::Arithmetic { one: one.into(), other: other.into(), operator }, returned))
    }

    fn contained(&self, part: &Part, item: TypedNode, container: TypedNode) -> Typed {
        let ((item, known), (container, of_container)) = (item, container);
        let fits = match &of_container {
            StaticType::Dyn => true,
            StaticType::List(of) | StaticType::Map(of, _) => of.fits(&known),
            StaticType::Plain(_) | StaticType::Optional(_) => false,
        };
        if !fits {
            return Err(self.no_overload(part, "in", &[known, of_container]));
        }
        Ok((Node::In { item: item.into(), container: container.into() }, StaticType::BOOL))
    }

    pub(super) fn index(
        &mut self,
        part: &Part,
        of: &Part,
        index: &Part,
        is_optional: bool,
    ) -> Typed {
        let ((of, known), (index, of_index)) = (self.node(of)?, self.node(index)?);
        let (container, wraps) = match &known {
            StaticType::Optional(of) => (&**of, true),
            // The value may have any of many types.
            StaticType::Dyn => (&StaticType::Dyn, false),
            known => (known, is_optional),
        };
        let item = match container {
            StaticType::Dyn => Some(StaticType::Dyn),
            StaticType::List(item) if of_index.fits(&StaticType::Plain(Type::Int)) => {
                Some((**item).clone())
            }
            StaticType::Map(key, value) if key.fits(&of_index) => Some((**value).clone()),
            _ => None,
        };
        let Some(item) = item else {
            return Err(self.no_overload(part, "[]", &[known, of_index]));
        };
        let item = if wraps { StaticType::optional(item) } else { item };
        Ok((Node::Index { of: of.into(), index: index.into(), is_optional }, item))
    }

    pub(super) fn optional_field(&mut self, part: &Part, of: &Part, name: &str) -> Typed {
        let (of, known) = self.node(of)?;
        let known = match known {
            StaticType::Map(_, value) => StaticType::optional((*value).clone()),
            known => match self.field_type(part, &known)? {
                known @ StaticType::Optional(_) => known,
                known => StaticType::optional(known),
            },
        };
        Ok((Node::OptionalField { of: of.into(), name: Name::new(name) }, known))
    }

    pub(super) fn no_overload(
        &self,
        part: &Part,
        function: &str,
        of: &[StaticType],
    ) -> CompileError {
        let of: Vec<String> = of.iter().map(StaticType::to_string).collect();
        let of = of.join(" and ");
        self.error(part, format!("{} is not for {}", shortened(function), shortened(&of)))
    }
}
