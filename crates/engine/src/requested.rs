//! The requests of policies for a field, or the reasons for requesting nothing. `requests` ranks the requests of a
//! field.

use std::fmt;

use jiff::Timestamp;

use crate::{Exempt, Value};

/// A value that a policy requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requested {
    /// The requested value.
    pub value: Value,
    /// The instant from which the value is requested; `None` if it is unknown.
    pub since: Option<Timestamp>,
    /// The instant at which the policy set the value; `None` if that is unknown, or if the policy sets the value again
    /// after each change.
    pub applied: Option<Timestamp>,
}

/// The reason that a policy requests no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inactive {
    /// No rule of the policy names the field.
    NotNamed,
    /// All rules that name the field are suspended.
    Suspended,
    /// No rule that names the field has fired since it was created or edited.
    NotFired,
    /// A query of an autoscaler has no usable sample, and the autoscaler has set nothing yet.
    NoAnswer,
    /// The target, or its current value, is unknown.
    TargetUnknown,
    /// The policy or its target is exempt.
    Exempt(Exempt),
}

impl Inactive {
    /// The code in JSON.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::NotNamed => "not-named",
            Self::Suspended => "suspended",
            Self::NotFired => "not-fired",
            Self::NoAnswer => "no-answer",
            Self::TargetUnknown => "target-unknown",
            Self::Exempt(Exempt::Policy(_)) => "policy-exempt",
            Self::Exempt(Exempt::Target(_)) => "target-exempt",
        }
    }
}

impl fmt::Display for Inactive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::NotNamed => "none of its rules names the field",
            Self::Suspended => "all rules that name the field are suspended",
            Self::NotFired => "no rule has fired since it was created or edited",
            Self::NoAnswer => "a query has no usable sample",
            Self::TargetUnknown => "the target or its current value is unknown",
            Self::Exempt(exempt) => return exempt.fmt(formatter),
        };
        formatter.write_str(text)
    }
}
