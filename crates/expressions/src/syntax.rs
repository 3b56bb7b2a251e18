//! The syntax of expressions: from a text to a tree of bounded depth, so that recursion over it needs little of the
//! stack. The meaning of names and functions is left to others.

mod parser;
mod tokens;

use crate::arithmetic::Operator;
use crate::node::Comparison;
use crate::value::Value;

pub(crate) use parser::parse;

/// A part of an expression, and its position.
#[derive(Debug)]
pub(crate) struct Part {
    /// The byte at which it is. The position of an operation is that of its operator: a sum is at its `+`.
    pub(crate) at: usize,
    pub(crate) syntax: Syntax,
    /// The depth of nested parts here.
    pub(crate) depth: usize,
}

/// The kind of a part.
#[derive(Debug)]
pub(crate) enum Syntax {
    Literal(Value<'static>),
    /// A name, which may begin with a dot.
    Name(String),
    Field {
        of: Box<Part>,
        name: String,
        is_optional: bool,
    },
    Index {
        of: Box<Part>,
        index: Box<Part>,
        is_optional: bool,
    },
    /// A function or a macro.
    Call {
        of: Option<Box<Part>>,
        name: String,
        arguments: Vec<Part>,
    },
    Not(Box<Part>),
    Negative(Box<Part>),
    Binary(Binary, Box<[Part; 2]>),
    /// All or one of them; `decides` is what one of them may decide.
    Logical {
        parts: Vec<Part>,
        decides: bool,
    },
    Condition(Box<[Part; 3]>),
    List(Vec<Item>),
    /// Keys with their values.
    Map(Vec<(Part, Item)>),
}

/// An item of a list, or a value of a map, that may be optional.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) part: Part,
    pub(crate) is_optional: bool,
}

/// An operator between two parts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Binary {
    Equals { is_negated: bool },
    Compare(Comparison),
    In,
    Arithmetic(Operator),
}

impl Part {
    /// A name with dots in it.
    pub(crate) fn dotted_name(&self) -> Option<String> {
        match &self.syntax {
            Syntax::Name(name) => Some(name.clone()),
            Syntax::Field { of, name, is_optional: false } => {
                Some(format!("{}.{name}", of.dotted_name()?))
            }
            _ => None,
        }
    }
}
