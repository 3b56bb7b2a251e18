//! Puts words together. The parser counts the depth of nested parts before it uses the stack for them.

use super::tokens::{Kind, Token, Tokens, parsed};
use super::{Binary, Item, Part, Syntax};
use crate::arithmetic::Operator;
use crate::node::Comparison;
use crate::source::{CompileError, MAX_BYTES, MAX_NESTED, error_at, shortened};
use crate::value::Value;

/// An operator between parts.
#[derive(Clone, Copy)]
enum InfixOperator {
    Logical { decides: bool },
    Binary(Binary),
}

/// Words that are reserved, so they cannot name variables or functions.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

type PartResult = Result<Part, CompileError>;

/// Reads an expression.
pub(crate) fn parse(text: &str) -> PartResult {
    if text.len() > MAX_BYTES {
        return Err(
            CompileError::new(format!("the expression has more than {MAX_BYTES} bytes")).too_much()
        );
    }
    let mut tokens = Tokens::new(text);
    let next = tokens.next()?;
    let mut parser = Parser { tokens, next, nested: 0 };
    let part = parser.expression()?;
    match parser.next.kind {
        Kind::End => Ok(part),
        _ => Err(parser.unexpected("the end")),
    }
}

struct Parser<'a> {
    tokens: Tokens<'a>,
    /// The next word. Nothing looks further.
    next: Token,
    /// The number of incomplete parts around.
    nested: usize,
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<Token, CompileError> {
        let next = self.tokens.next()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    /// Goes on behind a symbol if it is next.
    fn take(&mut self, symbol: &str) -> Result<bool, CompileError> {
        let is_next = matches!(self.next.kind, Kind::Symbol(next) if next == symbol);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    fn expect(&mut self, symbol: &str) -> Result<(), CompileError> {
        if self.take(symbol)? { Ok(()) } else { Err(self.unexpected(symbol)) }
    }

    fn unexpected(&self, wanted: &str) -> CompileError {
        let Token { start, end, kind } = &self.next;
        let message = if *kind == Kind::End {
            format!("the expression ends without {wanted}")
        } else {
            let found = shortened(self.tokens.text.get(*start..*end).unwrap_or_default());
            format!("expected {wanted} instead of {found}")
        };
        error_at(self.tokens.text, *start, message)
    }

    fn too_deep(&self, at: usize) -> CompileError {
        let message = format!("the expression is nested more than {MAX_NESTED} levels deep");
        error_at(self.tokens.text, at, message).too_much()
    }

    /// Reads a part within another one.
    fn nested(&mut self, parse: impl FnOnce(&mut Self) -> PartResult) -> PartResult {
        if self.nested == MAX_NESTED {
            return Err(self.too_deep(self.next.start));
        }
        self.nested += 1;
        let part = parse(self);
        self.nested -= 1;
        part
    }

    fn part(&self, at: usize, syntax: Syntax) -> PartResult {
        let deepest = |parts: &[Part]| parts.iter().map(|it| it.depth).max().unwrap_or_default();
        let within = match &syntax {
            Syntax::Literal(_) | Syntax::Name(_) => 0,
            Syntax::Field { of, .. } | Syntax::Not(of) | Syntax::Negative(of) => of.depth,
            Syntax::Index { of, index, .. } => of.depth.max(index.depth),
            Syntax::Call { of, arguments, .. } => {
                of.as_ref().map_or(0, |it| it.depth).max(deepest(arguments))
            }
            Syntax::Binary(_, parts) => deepest(&**parts),
            Syntax::Logical { parts, .. } => deepest(parts),
            Syntax::Condition(parts) => deepest(&**parts),
            Syntax::List(items) => items.iter().map(|it| it.part.depth).max().unwrap_or_default(),
            Syntax::Map(entries) => {
                let depths = entries.iter().map(|(key, item)| key.depth.max(item.part.depth));
                depths.max().unwrap_or_default()
            }
        };
        Ok(Part { at, syntax, depth: self.deeper(at, within)? })
    }

    /// The depth of what has parts of a depth in it.
    fn deeper(&self, at: usize, within: usize) -> Result<usize, CompileError> {
        if within >= MAX_NESTED { Err(self.too_deep(at)) } else { Ok(within + 1) }
    }

    fn expression(&mut self) -> PartResult {
        self.nested(|it| {
            let condition = it.binary(0)?;
            let at = it.next.start;
            if !it.take("?")? {
                return Ok(condition);
            }
            let then = it.binary(0)?;
            it.expect(":")?;
            let otherwise = it.expression()?;
            it.part(at, Syntax::Condition(Box::new([condition, then, otherwise])))
        })
    }

    /// The operator that is next, and how strongly it binds.
    fn operator(&self) -> Option<(InfixOperator, usize)> {
        let Kind::Symbol(symbol) = self.next.kind else { return None };
        let equals = |is_negated| Binary::Equals { is_negated };
        Some(match symbol {
            "||" => (InfixOperator::Logical { decides: true }, 0),
            "&&" => (InfixOperator::Logical { decides: false }, 1),
            "==" => (InfixOperator::Binary(equals(false)), 2),
            "!=" => (InfixOperator::Binary(equals(true)), 2),
            "<" => (InfixOperator::Binary(Binary::Compare(Comparison::Less)), 2),
            "<=" => (InfixOperator::Binary(Binary::Compare(Comparison::LessOrEqual)), 2),
            ">" => (InfixOperator::Binary(Binary::Compare(Comparison::Greater)), 2),
            ">=" => (InfixOperator::Binary(Binary::Compare(Comparison::GreaterOrEqual)), 2),
            "in" => (InfixOperator::Binary(Binary::In), 2),
            "+" => (InfixOperator::Binary(Binary::Arithmetic(Operator::Add)), 3),
            "-" => (InfixOperator::Binary(Binary::Arithmetic(Operator::Subtract)), 3),
            "*" => (InfixOperator::Binary(Binary::Arithmetic(Operator::Multiply)), 4),
            "/" => (InfixOperator::Binary(Binary::Arithmetic(Operator::Divide)), 4),
            "%" => (InfixOperator::Binary(Binary::Arithmetic(Operator::Remainder)), 4),
            _ => return None,
        })
    }

    /// Parts between operators that bind at least as strongly as `weakest`. Operators of the same strength go from left
    /// to right.
    fn binary(&mut self, weakest: usize) -> PartResult {
        let mut one = self.unary()?;
        while let Some((operator, strength)) = self.operator().filter(|it| it.1 >= weakest) {
            let at = self.advance()?.start;
            let other = self.nested(|it| it.binary(strength + 1))?;
            let syntax = match (operator, one) {
                (
                    InfixOperator::Logical { decides },
                    Part { syntax: Syntax::Logical { mut parts, decides: same }, depth, .. },
                ) if same == decides => {
                    // Only the new part is counted: there may be thousands before it.
                    let depth = depth.max(self.deeper(at, other.depth)?);
                    parts.push(other);
                    one = Part { at, syntax: Syntax::Logical { parts, decides }, depth };
                    continue;
                }
                (InfixOperator::Logical { decides }, one) => {
                    Syntax::Logical { parts: vec![one, other], decides }
                }
                (InfixOperator::Binary(operator), one) => {
                    Syntax::Binary(operator, [one, other].into())
                }
            };
            one = self.part(at, syntax)?;
        }
        Ok(one)
    }

    /// Two of the same signs cancel each other out.
    fn unary(&mut self) -> PartResult {
        let at = self.next.start;
        let Kind::Symbol(symbol @ ("!" | "-")) = self.next.kind else {
            return self.primary(false).and_then(|part| self.members(part));
        };
        let mut times = 0_usize;
        while self.take(symbol)? {
            times += 1;
        }
        let is_number = matches!(self.next.kind, Kind::Int | Kind::Double);
        if symbol == "-" && times == 1 && is_number {
            let number = Part { at, ..self.primary(true)? };
            return self.members(number);
        }
        let is_negative = symbol == "!" && self.take("-")?;
        if is_negative && !matches!(self.next.kind, Kind::Int | Kind::Double) {
            return Err(self.unexpected("a number"));
        }
        let of = self.primary(is_negative).and_then(|part| self.members(part))?;
        match symbol {
            _ if times.is_multiple_of(2) => Ok(of),
            "!" => self.part(at, Syntax::Not(of.into())),
            _ => self.part(at, Syntax::Negative(of.into())),
        }
    }

    /// A part with its fields, items and methods.
    fn members(&mut self, mut of: Part) -> PartResult {
        loop {
            let at = self.next.start;
            of = if self.take(".")? {
                let is_optional = self.take("?")?;
                let name = self.name()?;
                let at_call = self.next.start;
                if !is_optional && self.take("(")? {
                    let (of, arguments) = (Some(of.into()), self.arguments()?);
                    self.part(at_call, Syntax::Call { of, name, arguments })?
                } else {
                    self.part(at, Syntax::Field { of: of.into(), name, is_optional })?
                }
            } else if self.take("[")? {
                let is_optional = self.take("?")?;
                let index = self.expression()?.into();
                self.expect("]")?;
                self.part(at, Syntax::Index { of: of.into(), index, is_optional })?
            } else {
                if let (Kind::Symbol("{"), Some(name)) = (&self.next.kind, of.dotted_name()) {
                    let message = format!(
                        "message literals such as {}{{}} are not supported",
                        shortened(&name)
                    );
                    return Err(error_at(self.tokens.text, at, message));
                }
                return Ok(of);
            };
        }
    }

    fn name(&mut self) -> Result<String, CompileError> {
        if self.next.kind != Kind::Name {
            return Err(self.unexpected("a name"));
        }
        let Token { start, end, .. } = self.advance()?;
        Ok(self.tokens.text.get(start..end).unwrap_or_default().to_owned())
    }

    /// The arguments of a call, and the bracket at their end.
    fn arguments(&mut self) -> Result<Vec<Part>, CompileError> {
        let mut arguments = Vec::new();
        if self.take(")")? {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression()?);
            if !self.take(",")? {
                self.expect(")")?;
                return Ok(arguments);
            }
        }
    }

    /// The items between brackets and commas; a comma may be the last.
    fn items<T>(
        &mut self,
        end: &'static str,
        item: impl Fn(&mut Self, bool) -> Result<T, CompileError>,
    ) -> Result<Vec<T>, CompileError> {
        let mut items = Vec::new();
        loop {
            if self.take(end)? {
                return Ok(items);
            }
            if items.is_empty() && self.take(",")? {
                self.expect(end)?;
                return Ok(items);
            }
            let is_optional = self.take("?")?;
            items.push(item(self, is_optional)?);
            if !self.take(",")? {
                self.expect(end)?;
                return Ok(items);
            }
        }
    }

    fn primary(&mut self, is_negative: bool) -> PartResult {
        let at = self.next.start;
        let syntax = match &self.next.kind {
            Kind::Symbol("(") => {
                self.advance()?;
                let part = self.expression()?;
                self.expect(")")?;
                return Ok(part);
            }
            Kind::Symbol("[") => {
                self.advance()?;
                Syntax::List(self.items("]", |it, is_optional| {
                    Ok(Item { part: it.expression()?, is_optional })
                })?)
            }
            Kind::Symbol("{") => {
                self.advance()?;
                Syntax::Map(self.items("}", |it, is_optional| {
                    let key = it.expression()?;
                    it.expect(":")?;
                    Ok((key, Item { part: it.expression()?, is_optional }))
                })?)
            }
            Kind::Symbol(".") => {
                self.advance()?;
                return self.named(at, ".");
            }
            Kind::Name => return self.named(at, ""),
            _ => return self.literal(is_negative),
        };
        self.part(at, syntax)
    }

    /// A variable, a type or a function.
    fn named(&mut self, at: usize, dot: &str) -> PartResult {
        let name = self.name()?;
        if RESERVED.contains(&&*name) {
            return Err(error_at(self.tokens.text, at, format!("{name} is a reserved word")));
        }
        let at_call = self.next.start;
        if self.take("(")? {
            let arguments = self.arguments()?;
            return self.part(at_call, Syntax::Call { of: None, name, arguments });
        }
        self.part(at, Syntax::Name(format!("{dot}{name}")))
    }

    fn literal(&mut self, is_negative: bool) -> PartResult {
        let is_literal = !matches!(self.next.kind, Kind::Symbol(_) | Kind::End)
            || matches!(self.next.kind, Kind::Symbol("true" | "false" | "null"));
        if !is_literal {
            return Err(self.unexpected("a value"));
        }
        let Token { kind, start, end } = self.advance()?;
        let text = self.tokens.text.get(start..end).unwrap_or_default();
        let unsigned = text.trim_end_matches(['u', 'U']);
        let value = match kind {
            Kind::Text(text) => Ok(Value::text(text)),
            Kind::Bytes(bytes) => Ok(Value::Bytes(bytes.into())),
            Kind::Int => {
                parsed(text, is_negative, |it| i64::from_str_radix(it, 16).ok()).map(Value::Int)
            }
            Kind::Uint => {
                parsed(unsigned, false, |it| u64::from_str_radix(it, 16).ok()).map(Value::Uint)
            }
            Kind::Double => match parsed(text, is_negative, |_| None) {
                Ok(value) if f64::is_finite(value) => Ok(Value::Double(value)),
                _ => Err(format!("the number {} is too large", shortened(text))),
            },
            Kind::Symbol("true") => Ok(Value::Bool(true)),
            Kind::Symbol("false") => Ok(Value::Bool(false)),
            Kind::Symbol(_) | Kind::Name | Kind::End => Ok(Value::Null),
        };
        match value {
            Ok(value) => self.part(start, Syntax::Literal(value)),
            Err(message) => Err(error_at(self.tokens.text, start, message)),
        }
    }
}
