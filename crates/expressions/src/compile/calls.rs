//! Calls of functions. Those that always have the same result are evaluated once, here.

use super::{Compiler, OBJECT, ReadScores, Typed};
use crate::failure::Failure;
use crate::functions::{self, Function, Prepared};
use crate::meter::MAX_PATTERN_STEPS;
use crate::node::Node;
use crate::pattern::Pattern;
use crate::source::{CompileError, shortened};
use crate::syntax::{Part, Syntax};
use crate::types::{Bindings, StaticType, Type};
use crate::value::Value;

/// The maximum number of parts that always fail in one message.
const MAX_WARNINGS: usize = 10;

impl Compiler<'_> {
    pub(super) fn call(
        &mut self,
        part: &Part,
        of: Option<&Part>,
        name: &str,
        arguments: &[Part],
    ) -> Typed {
        if let Some(compiled) = self.expand(part, of, name, arguments) {
            return compiled;
        }
        let Some(of) = of else {
            return self.function(part, name, false, arguments.iter());
        };
        if let Some(qualified) = self.qualified_function(of, name) {
            return self.function(part, qualified, false, arguments.iter());
        }
        match (name, arguments) {
            ("scores", [object]) => self.scores(part, of, object),
            ("or" | "orValue", [otherwise]) => self.or(part, of, otherwise, name == "or"),
            (name, arguments) => {
                self.function(part, name, true, std::iter::once(of).chain(arguments))
            }
        }
    }

    /// A function whose name has a dot in it, such as `optional.of`.
    fn qualified_function(&self, of: &Part, name: &str) -> Option<&'static str> {
        let Syntax::Name(namespace) = &of.syntax else { return None };
        if self.variables.iter().any(|(known, _)| known == namespace) {
            return None;
        }
        let is_qualified = |it: &&Function| it.name.split_once('.') == Some((namespace, name));
        functions::all().find(is_qualified).map(|it| it.name)
    }

    fn scores(&mut self, part: &Part, of: &Part, object: &Part) -> Typed {
        let (of, _) = self.node(of)?;
        if !matches!(of, Node::Object) {
            return Err(self.error(part, format!("scores is of {OBJECT}, and of nothing else")));
        }
        let (object, known) = self.node(object)?;
        if !known.fits(&StaticType::Plain(Type::Text)) {
            return Err(self.no_overload(part, "scores", &[known]));
        }
        match (&object, &mut self.scores) {
            (Node::Constant(Value::Text(name)), ReadScores::Named(names)) => {
                names.insert((**name).into());
            }
            (_, scores) => *scores = ReadScores::Any,
        }
        Ok((Node::Scores(object.into()), StaticType::list(StaticType::Dyn)))
    }

    fn or(&mut self, part: &Part, of: &Part, otherwise: &Part, is_optional: bool) -> Typed {
        let ((of, known), (otherwise, other)) = (self.node(of)?, self.node(otherwise)?);
        let returned = match &known {
            StaticType::Dyn if is_optional => {
                matches!(other, StaticType::Optional(_) | StaticType::Dyn).then(|| other.clone())
            }
            StaticType::Dyn => Some(other.clone()),
            StaticType::Optional(_) if is_optional => {
                known.fits(&other).then(|| known.clone().joined(&other))
            }
            StaticType::Optional(value) => {
                value.fits(&other).then(|| (**value).clone().joined(&other))
            }
            StaticType::Plain(_) | StaticType::List(_) | StaticType::Map(..) => None,
        };
        let Some(returned) = returned else {
            let name = if is_optional { "or" } else { "orValue" };
            return Err(self.no_overload(part, name, &[known, other]));
        };
        Ok((Node::Or { of: of.into(), otherwise: otherwise.into(), is_optional }, returned))
    }

    fn function<'p>(
        &mut self,
        part: &Part,
        name: &str,
        is_method: bool,
        parts: impl Iterator<Item = &'p Part>,
    ) -> Typed {
        let mut arguments = Vec::new();
        let mut known = Vec::new();
        for argument in parts {
            let (argument, of_argument) = self.node(argument)?;
            arguments.push(argument);
            known.push(of_argument);
        }
        let mut overloads = Vec::new();
        let mut returned: Option<StaticType> = None;
        let is_of_shape = |it: &&Function| it.name == name && it.is_method == is_method;
        for function in functions::all().filter(is_of_shape) {
            let mut bindings = Bindings::default();
            let fits = function.takes.len() == known.len()
                && known
                    .iter()
                    .zip(function.takes)
                    .all(|(it, takes)| it.is_taken_by(*takes, &mut bindings));
            if fits {
                let result = StaticType::returned(function.returns, &bindings);
                returned =
                    Some(returned.map_or_else(|| result.clone(), |known| known.joined(&result)));
                overloads.push(function);
            }
        }
        let Some(returned) = returned else {
            return Err(self.unknown_function(part, name, is_method, &known));
        };
        Ok((self.prepared(part, overloads, arguments)?, returned))
    }

    /// Compiles a call. A literal pattern is compiled here or not at all: otherwise it
    /// would be compiled for every object.
    fn prepared(
        &mut self,
        part: &Part,
        overloads: Vec<&'static Function>,
        mut arguments: Vec<Node>,
    ) -> Result<Node, CompileError> {
        let constants: Option<Vec<_>> = arguments.iter().map(Node::constant).collect();
        if let Some(constants) = constants {
            let constants: Vec<&Value<'static>> = constants.iter().collect();
            match functions::call(&overloads, &constants, self.constants) {
                Ok(value) if value.is_small() => return Ok(Node::Constant(value)),
                Ok(_) | Err(Failure::TooManySteps) => {}
                Err(failure) => self.warn(part, &failure),
            }
        }
        let prepared = overloads.first().and_then(|it| Prepared::named(it.name));
        if let (Some(prepared), [_, Node::Constant(Value::Text(text))]) =
            (prepared, arguments.as_slice())
        {
            match Pattern::kept(text, self.patterns) {
                Ok(pattern) => {
                    let (text, pattern) = (arguments.swap_remove(0).into(), pattern.into());
                    return Ok(Node::Pattern { text, pattern, prepared });
                }
                Err(Failure::TooManySteps) => {
                    let pattern = shortened(text);
                    let message = format!(
                        "with the pattern {pattern:?}, those of a placement take more than \
                         {MAX_PATTERN_STEPS} steps to compile"
                    );
                    return Err(self.error(part, message).too_much());
                }
                Err(failure) => self.warn(part, &failure),
            }
        }
        Ok(Node::Call { overloads: overloads.into(), arguments: arguments.into() })
    }

    /// Records a call that always fails. The call may be evaluated for no object.
    pub(super) fn warn(&mut self, part: &Part, failure: &Failure) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(self.error(part, format!("this part always fails: {failure}")));
        }
    }

    fn unknown_function(
        &self,
        part: &Part,
        name: &str,
        is_method: bool,
        known: &[StaticType],
    ) -> CompileError {
        let named = || functions::all().filter(|it| it.name == name);
        if named().next().is_none() {
            return self.error(part, format!("there is no function {}", shortened(name)));
        }
        if named().all(|it| it.is_method != is_method) {
            let usage = if is_method { format!("{name}(…)") } else { format!("….{name}()") };
            return self.error(part, format!("{name} is written {usage}"));
        }
        self.no_overload(part, name, known)
    }
}
