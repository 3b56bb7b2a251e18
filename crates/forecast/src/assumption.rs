//! Values that are unknown in a world, and the assumptions in their place.

use std::collections::BTreeMap;
use std::fmt;

use almanac_engine::{Field, Identity, Presumption, few};
use jiff::Timestamp;

/// Values that the caller specifies for the start of a forecast.
pub type AssumedValues = BTreeMap<(Identity, Field), u32>;

/// An assumption of a forecast.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Assumption {
    /// The current rules are assumed to have been in force before the start.
    InForceBefore {
        /// The start of the forecast.
        from: Timestamp,
    },
    /// Another version of the policies, or none, was in force before the start.
    TakesOver {
        /// The start of the forecast.
        from: Timestamp,
    },
    /// The known state is later than the start, so the forecast replays the time in between.
    Replayed {
        /// The start of the forecast.
        from: Timestamp,
    },
    /// A policy changes an object that the world lacks; the object is assumed to exist.
    TargetExists {
        /// The object.
        target: Identity,
    },
    /// The value of a field at the start is unknown.
    UnknownAtStart {
        /// The object.
        target: Identity,
        /// The field of the object.
        field: Field,
    },
    /// A field has the value that the caller specified.
    Stated {
        /// The object.
        target: Identity,
        /// The field of the object.
        field: Field,
        /// The value.
        value: u32,
    },
    /// An assumption that the engine made for a policy.
    Presumed(Presumption),
    /// A bound moves because the caller specified the other bound.
    MadeWay {
        /// The object.
        target: Identity,
        /// The bound that moves.
        field: Field,
        /// The new value of the bound.
        value: u32,
    },
}

/// An assumption as a sentence, and its subject if the same sentence may apply to other subjects.
pub type Sentence = (Option<String>, String);

/// The sentences in order. Equal sentences about several objects are one: `A, B, C, D, E and 3 more: each exists`.
#[must_use]
pub fn merge_sentences(sentences: impl IntoIterator<Item = Sentence>) -> Vec<String> {
    let mut merged: Vec<(Vec<String>, String)> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (subject, sentence) in sentences {
        let Some(subject) = subject else {
            merged.push((Vec::new(), sentence));
            continue;
        };
        let rest = sentence.strip_prefix(&*subject).unwrap_or(&sentence).trim_start().to_owned();
        let index = *known.entry(rest.clone()).or_insert(merged.len());
        match merged.get_mut(index) {
            Some((subjects, _)) => subjects.push(subject),
            None => merged.push((vec![subject], rest)),
        }
    }
    let line = |(subjects, rest): (Vec<String>, String)| match &*subjects {
        [] => rest,
        [only] => format!("{only} {rest}"),
        several => format!("{}: each {rest}", few(several)),
    };
    merged.into_iter().map(line).collect()
}

impl Assumption {
    /// Writes the assumption as a sentence.
    #[must_use]
    pub fn sentence(&self) -> Sentence {
        let subject = match self {
            Assumption::TargetExists { target } => Some(target.to_string()),
            Assumption::UnknownAtStart { target, field } => Some(format!("{field} of {target}")),
            Assumption::Presumed(presumption) => presumption.subject().map(str::to_owned),
            Assumption::InForceBefore { .. }
            | Assumption::TakesOver { .. }
            | Assumption::Replayed { .. }
            | Assumption::Stated { .. }
            | Assumption::MadeWay { .. } => None,
        };
        (subject, self.to_string())
    }
}

impl fmt::Display for Assumption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Assumption::InForceBefore { from } => {
                write!(formatter, "before {from:.0}, the current rules were in force")
            }
            Assumption::TakesOver { from } => write!(
                formatter,
                "this version takes over at {from:.0}: firings of new and edited rules before that set nothing"
            ),
            Assumption::Replayed { from } => write!(
                formatter,
                "{from:.0} is earlier than the state that was read; the time in between is replayed \
                 from the rules and may differ from the actual events"
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
            Assumption::MadeWay { target, field, value } => {
                write!(formatter, "{field} of {target} starts at {value}, to fit the other bound")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_assumptions_about_several_objects_are_one_sentence() {
        let target = |name: &str| Identity::new("apps", "Deployment", "default", name);
        let exists = |name: &str| Assumption::TargetExists { target: target(name) };
        let all = |names: &[&str]| {
            let other = Assumption::InForceBefore { from: Timestamp::UNIX_EPOCH };
            let field = Field::Replicas;
            let unknown = Assumption::UnknownAtStart { target: target("a"), field };
            let exist = names.iter().map(|name| exists(name));
            merge_sentences(
                [other].into_iter().chain(exist).chain([unknown]).map(|it| it.sentence()),
            )
        };
        let in_force = "before 1970-01-01T00:00:00Z, the current rules were in force";
        let unknown = "replicas of Deployment.apps default/a is unknown until a rule sets it";
        let one = "Deployment.apps default/a exists, although it is not in the input";
        assert_eq!(all(&["a"]), [in_force, one, unknown]);
        let several = "Deployment.apps default/a, Deployment.apps default/b: each exists, although it is not in the \
                       input";
        assert_eq!(all(&["a", "b"]), [in_force, several, unknown]);
        let [_, many, _] = &*all(&["a", "b", "c", "d", "e", "f", "g"]) else {
            panic!("three lines")
        };
        assert!(many.contains("default/e and 2 more: each exists"), "{many}");
    }
}
