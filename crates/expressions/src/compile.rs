//! From a syntax tree to a compiled expression: resolves names, checks types as far as they are known, computes what
//! is constant, and refuses what cannot be evaluated.

mod calls;
mod macros;
mod operators;

use std::collections::BTreeSet;
use std::sync::Arc;

use cel::common::ast::{EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr};

use crate::meter::MOST_STEPS;
use crate::node::{Item, Node};
use crate::source::{CompileError, MOST_NESTED, Source};
use crate::types::{Known, Type};
use crate::value::{List, Value};

/// The name of the object in expressions.
pub(crate) const OBJECT: &str = "managedCluster";

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) node: Node,
    pub(crate) scores: ReadScores,
    /// What of it never has the result that it needs.
    pub(crate) doubts: Vec<CompileError>,
}

/// Which scores an expression reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadScores {
    /// Those in the objects of these names, and no others.
    Named(BTreeSet<Arc<str>>),
    /// It may be any: a name is computed.
    Any,
}

/// Compiles an expression.
pub(crate) fn compile(text: &str) -> Result<Compiled, CompileError> {
    let (expression, source) = Source::parse(text)?;
    let mut compiler = Compiler {
        source,
        variables: Vec::new(),
        scores: ReadScores::Named(BTreeSet::new()),
        doubts: Vec::new(),
        depth: 0,
        times: 1,
        steps: 0,
    };
    let (node, known) = compiler.node(&expression)?;
    if !known.fits(&Known::BOOL) {
        let message = format!("it is never true, because it is of type {known}");
        compiler.doubts.push(CompileError::new(message));
    }
    Ok(Compiled { node, scores: compiler.scores, doubts: compiler.doubts })
}

type Typed = Result<(Node, Known), CompileError>;

struct Compiler<'a> {
    source: Source<'a>,
    /// The variables of the macros around, with their types.
    variables: Vec<(String, Known)>,
    scores: ReadScores,
    doubts: Vec<CompileError>,
    depth: usize,
    /// How often a part is evaluated at most, as far as the lists around it are written in the expression.
    times: usize,
    /// The steps of all parts so far, each as often as it is evaluated.
    steps: usize,
}

impl Compiler<'_> {
    fn node(&mut self, part: &IdedExpr) -> Typed {
        self.depth += 1;
        // The syntax is a little deeper than the text.
        if self.depth > 2 * MOST_NESTED {
            let message = format!("it is nested more than {MOST_NESTED} levels deep");
            return Err(self.source.error(part.id, message));
        }
        self.steps = self.steps.saturating_add(self.times);
        if self.steps > MOST_STEPS {
            let message =
                format!("it would take more than {MOST_STEPS} steps, whatever the object is");
            return Err(self.source.error(part.id, message));
        }
        let compiled = self.part(part);
        self.depth -= 1;
        compiled
    }

    fn part(&mut self, part: &IdedExpr) -> Typed {
        match &part.expr {
            Expr::Literal(literal) => Ok(self::literal(literal)),
            Expr::Ident(name) => self.name(part, name),
            Expr::Select(select) => {
                if let Some(name) = self.qualified_type(part) {
                    return Ok((Node::Constant(Value::Type(name)), Known::Plain(Type::Meta)));
                }
                let (of, known) = self.node(&select.operand)?;
                let field = self.field_type(part.id, &known)?;
                let name = select.field.as_str().into();
                Ok((Node::Field { of: of.into(), name, is_optional: false }, field))
            }
            Expr::Call(call) => self.call(part.id, call),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(part.id, map),
            Expr::Struct(message) => {
                let message = format!("there are no messages, such as {}{{}}", message.type_name);
                Err(self.source.error(part.id, message))
            }
            Expr::Comprehension(_) | Expr::Unspecified => {
                Err(self.source.error(part.id, "it is no expression"))
            }
        }
    }

    fn name(&self, part: &IdedExpr, name: &str) -> Typed {
        let plain = name.strip_prefix('.');
        let variable = self.variables.iter().rposition(|(known, _)| known == name);
        if let Some(position) = variable {
            let known = self.variables.get(position).map_or(Known::Dyn, |(_, known)| known.clone());
            return Ok((Node::Variable(position), known));
        }
        let name = plain.unwrap_or(name);
        if name == OBJECT {
            let object = Known::Map(Known::Plain(Type::Text).into(), Known::Dyn.into());
            return Ok((Node::Object, object));
        }
        match Type::named(name) {
            Some(name) => Ok((Node::Constant(Value::Type(name)), Known::Plain(Type::Meta))),
            None => Err(self
                .source
                .error(part.id, format!("there is no variable {name}: only {OBJECT}"))),
        }
    }

    /// A type whose name has dots in it.
    fn qualified_type(&self, part: &IdedExpr) -> Option<&'static str> {
        fn qualified(part: &IdedExpr) -> Option<String> {
            match &part.expr {
                Expr::Ident(name) => Some(name.clone()),
                Expr::Select(select) => {
                    Some(format!("{}.{}", qualified(&select.operand)?, select.field))
                }
                _ => None,
            }
        }
        let name = qualified(part)?;
        let root = name.split('.').next().unwrap_or_default();
        let is_variable = root == OBJECT || self.variables.iter().any(|(known, _)| known == root);
        if is_variable { None } else { Type::named(&name) }
    }

    /// The type of a field of something.
    fn field_type(&self, part: u64, of: &Known) -> Result<Known, CompileError> {
        match of {
            Known::Dyn => Ok(Known::Dyn),
            Known::Map(key, value) if key.fits(&Known::Plain(Type::Text)) => Ok((**value).clone()),
            Known::Optional(of) => {
                self.field_type(part, of).map(|field| Known::Optional(Arc::new(field)))
            }
            of => Err(self.source.error(part, format!("what is of type {of} has no fields"))),
        }
    }

    fn list(&mut self, list: &ListExpr) -> Typed {
        let mut items = Vec::with_capacity(list.elements.len());
        let mut of: Option<Known> = None;
        for (position, part) in list.elements.iter().enumerate() {
            let is_optional = list.optional_indices.contains(&position);
            let (item, known) = self.item(part, is_optional)?;
            of = Some(of.map_or_else(|| known.clone(), |of| of.joined(&known)));
            items.push(item);
        }
        let known = Known::List(Arc::new(of.unwrap_or(Known::Dyn)));
        let constants: Option<Vec<Value<'static>>> = items.iter().map(constant).collect();
        Ok(match constants {
            Some(values) => (Node::Constant(Value::List(List::Made(values.into()))), known),
            None => (Node::List(items.into()), known),
        })
    }

    fn map(&mut self, id: u64, map: &MapExpr) -> Typed {
        let mut entries = Vec::with_capacity(map.entries.len());
        let mut of: Option<(Known, Known)> = None;
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(self.source.error(id, "there are no messages"));
            };
            let (key, of_key) = self.node(&entry.key)?;
            if of_key == Known::Plain(Type::Null) {
                return Err(self.source.error(id, "a map has no keys of type null_type"));
            }
            let (item, of_value) = self.item(&entry.value, entry.optional)?;
            of = Some(match of {
                Some((key, value)) => (key.joined(&of_key), value.joined(&of_value)),
                None => (of_key, of_value),
            });
            entries.push((key, item));
        }
        let (key, value) = of.unwrap_or((Known::Dyn, Known::Dyn));
        Ok((Node::Map(entries.into()), Known::Map(key.into(), value.into())))
    }

    fn item(&mut self, part: &IdedExpr, is_optional: bool) -> Result<(Item, Known), CompileError> {
        let (node, known) = self.node(part)?;
        let known = match known {
            known if !is_optional => known,
            Known::Optional(of) => (*of).clone(),
            Known::Dyn => Known::Dyn,
            known => {
                let message = format!("what is optional is no value of type {known}");
                return Err(self.source.error(part.id, message));
            }
        };
        Ok((Item { node, is_optional }, known))
    }
}

fn constant(item: &Item) -> Option<Value<'static>> {
    match &item.node {
        Node::Constant(value) if !item.is_optional => Some(value.clone()),
        _ => None,
    }
}

fn literal(literal: &LiteralValue) -> (Node, Known) {
    let (value, known) = match literal {
        LiteralValue::Boolean(value) => (Value::Bool(*value.inner()), Type::Bool),
        LiteralValue::Bytes(bytes) => (Value::Bytes(bytes.inner().into()), Type::Bytes),
        LiteralValue::Double(value) => (Value::Double(*value.inner()), Type::Double),
        LiteralValue::Int(value) => (Value::Int(*value.inner()), Type::Int),
        LiteralValue::Null => (Value::Null, Type::Null),
        LiteralValue::String(text) => (Value::text(text.inner()), Type::Text),
        LiteralValue::UInt(value) => (Value::Uint(*value.inner()), Type::Uint),
    };
    (Node::Constant(value), Known::Plain(known))
}
