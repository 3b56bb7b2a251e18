//! What is unknown about the world, and what is assumed instead.

use std::collections::BTreeMap;
use std::fmt;

use almanac_engine::{Field, Identity, Presumption};
use jiff::Timestamp;

/// Values that the caller specifies for the start of a forecast.
pub type AssumedValues = BTreeMap<(Identity, Field), u32>;

/// Something that was assumed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Assumption {
    /// Rules are assumed to have been in force before the beginning.
    InForceBefore {
        /// The beginning.
        from: Timestamp,
    },
    /// The known state is later than the beginning, so the time before was replayed.
    Replayed {
        /// The beginning.
        from: Timestamp,
    },
    /// A policy changes an object that is not in the world; it is assumed to exist.
    TargetExists {
        /// The object.
        target: Identity,
    },
    /// The value of a field at the beginning is unknown.
    UnknownAtStart {
        /// The object.
        target: Identity,
        /// Its field.
        field: Field,
    },
    /// A field has the value that the caller specified.
    Stated {
        /// The object.
        target: Identity,
        /// Its field.
        field: Field,
        /// What it is.
        value: u32,
    },
    /// What a policy takes for granted.
    Presumed(Presumption),
    /// A bound makes way for the other one, which the caller specified.
    MadeWay {
        /// The object.
        target: Identity,
        /// The bound that makes way.
        field: Field,
        /// What it is.
        value: u32,
    },
}

impl fmt::Display for Assumption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Assumption::InForceBefore { from } => {
                write!(formatter, "before {from:.0}, the rules were in force as they are now")
            }
            Assumption::Replayed { from } => write!(
                formatter,
                "{from:.0} is earlier than the state that was read; what happened in between is replayed \
                 from the rules and may differ from what really happened"
            ),
            Assumption::TargetExists { target } => {
                write!(formatter, "{target} exists, although it is not in the input")
            }
            Assumption::UnknownAtStart { target, field } => {
                write!(formatter, "{field} of {target} is unknown until a rule sets it")
            }
            Assumption::Presumed(presumption) => presumption.fmt(formatter),
            Assumption::Stated { target, field, value } => {
                write!(formatter, "{field} of {target} starts at {value}, as specified")
            }
            Assumption::MadeWay { target, field, value } => write!(
                formatter,
                "{field} of {target} starts at {value}, to make way for the other bound"
            ),
        }
    }
}
