//! Calls of functions. Those that always have the same result are carried out once, here.

use cel::common::ast::{CallExpr, Expr, IdedExpr};

use super::{Compiler, OBJECT, ReadScores, Typed};
use crate::failure::Failure;
use crate::functions::{self, Function, Prepared};
use crate::meter::Meter;
use crate::node::Node;
use crate::pattern;
use crate::source::CompileError;
use crate::types::{Bindings, Known, Type};
use crate::value::Value;

impl Compiler<'_> {
    pub(super) fn call(&mut self, id: u64, call: &CallExpr) -> Typed {
        if let Some(compiled) = self.operator(id, call) {
            return compiled;
        }
        if let Some(compiled) = self.expand(id, call) {
            return compiled;
        }
        let name = call.func_name.as_str();
        let Some(target) = &call.target else {
            let name = name.strip_prefix('.').unwrap_or(name);
            return self.function(id, name, false, call.args.iter());
        };
        if let Some(qualified) = self.qualified_function(target, name) {
            return self.function(id, qualified, false, call.args.iter());
        }
        match (name, call.args.as_slice()) {
            ("scores", [object]) => self.scores(id, target, object),
            ("or" | "orValue", [otherwise]) => self.or(id, target, otherwise, name == "or"),
            (name, arguments) => {
                self.function(id, name, true, std::iter::once(&**target).chain(arguments))
            }
        }
    }

    /// A function whose name has a dot in it, such as `optional.of`.
    fn qualified_function(&self, target: &IdedExpr, name: &str) -> Option<&'static str> {
        let Expr::Ident(namespace) = &target.expr else { return None };
        if self.variables.iter().any(|(known, _)| known == namespace) {
            return None;
        }
        let is_qualified = |it: &&Function| it.name.split_once('.') == Some((namespace, name));
        functions::all().find(is_qualified).map(|it| it.name)
    }

    fn scores(&mut self, id: u64, target: &IdedExpr, object: &IdedExpr) -> Typed {
        let (target, _) = self.node(target)?;
        if !matches!(target, Node::Object) {
            return Err(self
                .source
                .error(id, format!("scores is of {OBJECT}, and of nothing else")));
        }
        let (object, known) = self.node(object)?;
        if !known.fits(&Known::Plain(Type::Text)) {
            return Err(self.no_overload(id, "scores", &[known]));
        }
        match (&object, &mut self.scores) {
            (Node::Constant(Value::Text(name)), ReadScores::Named(names)) => {
                names.insert((**name).into());
            }
            (_, scores) => *scores = ReadScores::Any,
        }
        Ok((Node::Scores(object.into()), Known::List(Known::Dyn.into())))
    }

    fn or(&mut self, id: u64, of: &IdedExpr, otherwise: &IdedExpr, is_optional: bool) -> Typed {
        let ((of, known), (otherwise, other)) = (self.node(of)?, self.node(otherwise)?);
        let returned = match &known {
            Known::Dyn => Some(Known::Dyn),
            Known::Optional(_) if is_optional => {
                known.fits(&other).then(|| known.clone().joined(&other))
            }
            Known::Optional(value) => value.fits(&other).then(|| (**value).clone().joined(&other)),
            Known::Plain(_) | Known::List(_) | Known::Map(..) => None,
        };
        let Some(returned) = returned else {
            let name = if is_optional { "or" } else { "orValue" };
            return Err(self.no_overload(id, name, &[known, other]));
        };
        Ok((Node::Or { of: of.into(), otherwise: otherwise.into(), is_optional }, returned))
    }

    fn function<'p>(
        &mut self,
        id: u64,
        name: &str,
        is_method: bool,
        parts: impl Iterator<Item = &'p IdedExpr>,
    ) -> Typed {
        let mut arguments = Vec::new();
        let mut known = Vec::new();
        for part in parts {
            let (argument, of_argument) = self.node(part)?;
            arguments.push(argument);
            known.push(of_argument);
        }
        let mut overloads = Vec::new();
        let mut returned: Option<Known> = None;
        let is_of_shape = |it: &&Function| it.name == name && it.is_method == is_method;
        for function in functions::all().filter(is_of_shape) {
            let mut bindings = Bindings::default();
            let fits = function.takes.len() == known.len()
                && known
                    .iter()
                    .zip(function.takes)
                    .all(|(it, takes)| it.is_taken_by(*takes, &mut bindings));
            if fits {
                let result = Known::returned(function.returns, &bindings);
                returned =
                    Some(returned.map_or_else(|| result.clone(), |known| known.joined(&result)));
                overloads.push(function);
            }
        }
        let Some(returned) = returned else {
            return Err(self.unknown_function(id, name, is_method, &known));
        };
        Ok((self.prepared(id, overloads, arguments), returned))
    }

    /// A call, or what has been prepared of it.
    fn prepared(
        &mut self,
        id: u64,
        overloads: Vec<&'static Function>,
        mut arguments: Vec<Node>,
    ) -> Node {
        let constants = arguments.iter().map(|it| match it {
            Node::Constant(value) => Some(value.clone()),
            _ => None,
        });
        if let Some(constants) = constants.collect::<Option<Vec<Value<'static>>>>() {
            match functions::call(&overloads, &constants, &Meter::new()) {
                Ok(value) => return Node::Constant(value),
                Err(failure) => self.doubt(id, &failure),
            }
        }
        let prepared = overloads.first().and_then(|it| Prepared::named(it.name));
        if let (Some(prepared), [_, Node::Constant(Value::Text(text))]) =
            (prepared, arguments.as_slice())
        {
            match pattern::compile(text) {
                Ok(regex) => {
                    let (text, regex) = (arguments.swap_remove(0).into(), regex.into());
                    return Node::Pattern { text, regex, prepared };
                }
                Err(failure) => self.doubt(id, &failure),
            }
        }
        Node::Call { overloads: overloads.into(), arguments: arguments.into() }
    }

    /// Notes a call that fails whenever it is made. It may be made for no object.
    pub(super) fn doubt(&mut self, id: u64, failure: &Failure) {
        self.doubts.push(self.source.error(id, format!("it always fails: {failure}")));
    }

    fn unknown_function(
        &self,
        id: u64,
        name: &str,
        is_method: bool,
        known: &[Known],
    ) -> CompileError {
        let named = || functions::all().filter(|it| it.name == name);
        if named().next().is_none() {
            return self.source.error(id, format!("there is no function {name}"));
        }
        if named().all(|it| it.is_method != is_method) {
            let written = if is_method { format!("{name}(…)") } else { format!("….{name}()") };
            return self.source.error(id, format!("{name} is written {written}"));
        }
        self.no_overload(id, name, known)
    }
}
