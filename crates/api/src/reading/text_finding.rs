//! A finding about the text of a file, before there is an object to name a field of.

use super::source::Span;
use crate::finding::{Code, FieldPath, Finding};

/// A finding about the text itself, and where.
#[derive(Clone, Debug)]
pub(super) struct TextFinding {
    pub(super) span: Span,
    pub(super) finding: Box<Finding>,
}

impl TextFinding {
    pub(super) fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        let finding = Finding::new(code, FieldPath::default(), message);
        Self { span, finding: Box::new(finding) }
    }

    pub(super) fn with_fix(mut self, fix: impl Into<Box<str>>) -> Self {
        self.finding.fix = Some(fix.into());
        self
    }
}
