//! A finding about the text of a file, before any object is read.

use super::limits;
use crate::finding::{Code, FieldPath, Finding, Span};

/// A finding about the text itself, and its location.
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

/// The findings about the text of one file: the first ones, and the number of the others. Every other byte may have a
/// finding, and each finding needs hundreds of bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct TextFindings {
    kept: Vec<TextFinding>,
    more: usize,
}

impl TextFindings {
    /// At this length, the later findings are removed and only counted.
    const MAX_KEPT: usize = 4 * limits::FINDINGS_A_FILE;

    pub(super) fn push(&mut self, finding: TextFinding) {
        if self.kept.len() == Self::MAX_KEPT {
            self.keep_the_first();
        }
        self.kept.push(finding);
    }

    pub(super) fn append(&mut self, others: TextFindings) {
        self.more += others.more;
        for finding in others.kept {
            self.push(finding);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The findings in the order of the text, without duplicates. The last finding states the number of findings that
    /// are only counted.
    pub(super) fn into_reported(mut self) -> Vec<TextFinding> {
        self.keep_the_first();
        if self.more > 0 {
            let last = self.kept.last().map(|finding| finding.span).unwrap_or_default();
            let (span, finding) = (last, Box::new(more_mistakes(self.more)));
            self.kept.push(TextFinding { span, finding });
        }
        self.kept
    }

    fn keep_the_first(&mut self) {
        self.kept.sort_by_key(|finding| finding.span.start);
        self.kept.dedup_by(|one, other| one.span == other.span && one.finding == other.finding);
        self.more += self.kept.len().saturating_sub(limits::FINDINGS_A_FILE);
        self.kept.truncate(limits::FINDINGS_A_FILE);
    }
}

/// The finding that replaces the findings that are only counted.
pub(super) fn more_mistakes(count: usize) -> Finding {
    let message = format!("{count} more mistakes in this file");
    Finding::new(Code::Syntax, FieldPath::default(), message).with_fix("correct those above first")
}
