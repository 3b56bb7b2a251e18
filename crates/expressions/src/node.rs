//! A compiled expression: names are resolved, constants are computed, patterns are compiled.

use std::cmp::Ordering;

use crate::arithmetic::Operator;
use crate::document::Name;
use crate::functions::{Function, Prepared};
use crate::pattern::Pattern;
use crate::value::Value;

/// A part of an expression.
#[derive(Debug)]
pub(crate) enum Node {
    Constant(Value<'static>),
    /// The object of the evaluation.
    Object,
    /// The variable of a macro, by the number of variables between its definition and its use.
    Variable(usize),
    /// The scores in the object with a name.
    Scores(Box<Node>),
    Fields(Fields),
    OptionalField {
        of: Box<Node>,
        name: Name,
    },
    Has {
        of: Box<Node>,
        name: Name,
    },
    Index {
        of: Box<Node>,
        index: Box<Node>,
        is_optional: bool,
    },
    /// `&&` or `||`; an operand with the value `decides` determines the result.
    Logical {
        parts: Box<[Node]>,
        decides: bool,
    },
    Not(Box<Node>),
    Negative(Box<Node>),
    Condition {
        condition: Box<Node>,
        then: Box<Node>,
        otherwise: Box<Node>,
    },
    Equals {
        one: Box<Node>,
        other: Box<Node>,
        is_negated: bool,
    },
    Compare {
        one: Box<Node>,
        other: Box<Node>,
        comparison: Comparison,
    },
    Arithmetic {
        one: Box<Node>,
        other: Box<Node>,
        operator: Operator,
    },
    In {
        item: Box<Node>,
        container: Box<Node>,
    },
    List(Box<[Item]>),
    Map(Box<[(Node, Item)]>),
    /// A macro over the items of a list, or the keys of a map.
    Each {
        range: Box<Node>,
        each: ItemOperation,
    },
    /// A macro over the content of an optional value.
    OptionalMap {
        of: Box<Node>,
        result: Box<Node>,
        is_flat: bool,
    },
    /// The content of an optional value, or another value.
    Or {
        of: Box<Node>,
        otherwise: Box<Node>,
        is_optional: bool,
    },
    Pattern {
        text: Box<Node>,
        pattern: Box<Pattern>,
        prepared: Prepared,
    },
    Call {
        overloads: Box<[&'static Function]>,
        arguments: Box<[Node]>,
    },
}

/// A path of fields.
#[derive(Debug)]
pub(crate) struct Fields {
    /// No such fields themselves.
    pub(crate) of: Box<Node>,
    pub(crate) names: Vec<Name>,
}

impl Node {
    pub(crate) fn field(self, name: &str) -> Node {
        let mut fields = match self {
            Node::Fields(fields) => fields,
            of => Fields { of: of.into(), names: Vec::with_capacity(1) },
        };
        fields.names.push(Name::new(name));
        Node::Fields(fields)
    }

    /// The value of the part, if it is constant.
    pub(crate) fn constant(&self) -> Option<Value<'static>> {
        match self {
            Node::Constant(value) => Some(value.clone()),
            _ => None,
        }
    }
}

/// An item of a list, or a value of a map, that may be optional.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) node: Node,
    pub(crate) is_optional: bool,
}

impl Item {
    /// The value of the item, if it is present and constant.
    pub(crate) fn constant(&self) -> Option<Value<'static>> {
        if self.is_optional { None } else { self.node.constant() }
    }
}

/// The operation of a macro on each item.
#[derive(Debug)]
pub(crate) enum ItemOperation {
    /// Whether all, or any, are as they should; `decides` is the result that one of them has for all.
    Quantified {
        holds: Box<Node>,
        decides: bool,
    },
    ExactlyOne {
        holds: Box<Node>,
    },
    Filter {
        holds: Box<Node>,
    },
    Map {
        holds: Option<Box<Node>>,
        result: Box<Node>,
    },
}

/// The comparison of two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }

    pub(crate) fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}
