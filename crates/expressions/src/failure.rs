//! The reasons that an expression has no result for an object.

use std::borrow::Cow;
use std::fmt;

use crate::meter::MAX_STEPS;
use crate::source::shortened;

/// The reason that an expression is neither true nor false.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// A map lacks the key.
    NoSuchKey(Box<str>),
    /// A function or an operator is not for values of these types.
    NoSuchOverload {
        /// The function or operator as written.
        function: &'static str,
        /// The names of the types.
        of: Box<[&'static str]>,
    },
    /// The result is of this type instead of boolean.
    NotABoolean(&'static str),
    /// The evaluation would take too many steps.
    TooManySteps,
    /// A string lacks the required form.
    Malformed {
        /// The start of the string.
        text: Box<str>,
        /// The required form.
        wanted: &'static str,
    },
    /// Another failure.
    Other(Cow<'static, str>),
}

impl Failure {
    pub(crate) fn no_such_key(key: &str) -> Failure {
        Failure::NoSuchKey((&*shortened(key)).into())
    }

    /// The failure of a string without the required form. The message quotes the start of the string.
    pub(crate) fn is_no(text: &str, wanted: &'static str) -> Failure {
        Failure::Malformed { text: shortened(text).into(), wanted }
    }

    pub(crate) fn other(message: impl Into<Cow<'static, str>>) -> Failure {
        Failure::Other(message.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NoSuchKey(key) => write!(formatter, "there is no {key:?}"),
            Failure::NoSuchOverload { function, of } => {
                write!(formatter, "{function} is not for {}", of.join(" and "))
            }
            Failure::NotABoolean(found) => {
                write!(formatter, "the result is not a boolean, but of type {found}")
            }
            Failure::TooManySteps => {
                write!(formatter, "it would take more than {MAX_STEPS} steps")
            }
            Failure::Malformed { text, wanted } => {
                write!(formatter, "{text:?} is not a valid {wanted}")
            }
            Failure::Other(message) => formatter.write_str(message),
        }
    }
}
