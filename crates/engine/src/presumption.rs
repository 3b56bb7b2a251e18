//! The assumptions of a policy's turns without a cluster. Each family states its own assumptions, in its file
//! `presumed` or in its `logic`.

use std::fmt;
use std::sync::Arc;

use crate::Identity;

/// A fact that is taken for granted, in the order in which facts are listed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Presumption {
    /// Lower ranks come first. Within one rank, the objects determine the order.
    rank: u8,
    objects: Vec<Identity>,
    texts: Vec<Arc<str>>,
    sentence: String,
    subject: Option<String>,
    consequence: Consequence,
}

/// The consequence of an assumption for an object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Consequence {
    /// No consequence for a single object.
    General,
    /// Only this object is affected.
    Only(Identity),
    /// Nothing changes this object.
    Unchanged(Identity),
}

impl Presumption {
    /// Creates a sentence about these objects.
    pub(crate) fn new<const COUNT: usize>(
        rank: u8,
        objects: [&Identity; COUNT],
        sentence: String,
    ) -> Self {
        Self {
            rank,
            objects: objects.into_iter().cloned().collect(),
            texts: Vec::new(),
            sentence,
            subject: None,
            consequence: Consequence::General,
        }
    }

    /// The assumption that a node of which only the name is known has no labels.
    pub(crate) fn node_without_labels(node: &Arc<str>) -> Self {
        let sentence = format!("Node {node} has no labels; it is not among the objects");
        Self::new(3, [], sentence).with_texts([node]).with_subject(format!("Node {node}"))
    }

    /// The strings that order assumptions about the same objects.
    pub(crate) fn with_texts<const COUNT: usize>(self, texts: [&Arc<str>; COUNT]) -> Self {
        Self { texts: texts.into_iter().cloned().collect(), ..self }
    }

    /// Sets the subject at the start of the sentence. Assumptions that differ only in the subject can be combined.
    pub(crate) fn with_subject(self, subject: String) -> Self {
        Self { subject: Some(subject), ..self }
    }

    pub(crate) fn with_consequence(self, consequence: Consequence) -> Self {
        Self { consequence, ..self }
    }

    /// The subject at the start of the sentence; `None` if the assumption cannot be combined.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// The consequence of the assumption for an object.
    #[must_use]
    pub fn consequence(&self) -> &Consequence {
        &self.consequence
    }
}

impl fmt::Display for Presumption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.sentence)
    }
}
