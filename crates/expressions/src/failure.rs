//! The reasons that an expression has no result for an object.

use std::borrow::Cow;
use std::fmt;

use crate::meter::MOST_STEPS;
use crate::source::shortened;

/// The reason that an expression is neither true nor false.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// A map has no such key.
    NoSuchKey(Box<str>),
    /// A function or an operator is not for values of these types.
    NoSuchOverload {
        /// As it is written.
        function: &'static str,
        /// The names of the types.
        of: Box<[&'static str]>,
    },
    /// The result is of this type instead of boolean.
    NotABoolean(&'static str),
    /// The evaluation would take too many steps.
    TooManySteps,
    /// A text is not what it should be.
    Malformed {
        /// The start of the text.
        text: Box<str>,
        /// The required form.
        wanted: &'static str,
    },
    /// Anything else.
    Other(Cow<'static, str>),
}

impl Failure {
    pub(crate) fn no_such_key(key: &str) -> Failure {
        Failure::NoSuchKey((&*shortened(key)).into())
    }

    /// A text without the required form. The message quotes it, because few failures have one.
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
                write!(formatter, "it would take more than {MOST_STEPS} steps")
            }
            Failure::Malformed { text, wanted } => {
                write!(formatter, "{text:?} is not a valid {wanted}")
            }
            Failure::Other(message) => formatter.write_str(message),
        }
    }
}
