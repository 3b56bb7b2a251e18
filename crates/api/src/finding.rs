//! A problem in a user's text or object, and its fix.
//!
//! Files, admission and conditions share this type and its table of codes. A finding has a field; the code that prints
//! a finding adds files and lines.

mod codes;
mod fix;
mod path;
mod span;
mod titles;

use almanac_engine::Identity;
use jiff::Timestamp;

pub use codes::{Code, Severity};
pub use path::{FieldPath, Path, Segment};
pub use span::Span;

/// A mistake in an object, or a fact worth knowing about the object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The code, which determines the severity.
    pub code: Code,
    /// The field with the problem; empty for a finding about the whole object or file.
    pub field: FieldPath,
    /// The problem and the requirement, in Kubernetes' form but without the field: `Invalid value: "0 0 * *": a cron
    /// expression has five fields, this has four`.
    pub message: String,
    /// The fix, if only one is possible.
    pub fix: Option<Box<str>>,
    /// The replacement for the key of the field, or for its value, if only one meaning is possible.
    pub replacement: Option<Box<Replacement>>,
    /// The instants at which the problem occurs.
    pub at: Box<[Timestamp]>,
    /// The other object, if two objects set the same field.
    pub other: Option<Box<Identity>>,
    /// The location in an embedded document, if the value of a field in the object is such a document.
    pub in_text: Option<Span>,
    /// Whether the severity is info instead of the severity of the code.
    pub is_info: bool,
}

/// The only possible replacement for a key or a value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Replacement {
    /// A string, written in quotes if necessary.
    Text(Box<str>),
    /// A number, or `true` or `false`.
    Bare(Box<str>),
}

impl Replacement {
    /// The replacement without quotes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Text(text) | Self::Bare(text) => text,
        }
    }
}

impl Finding {
    /// A finding about a field.
    #[must_use]
    pub fn new(code: Code, field: impl Into<FieldPath>, message: impl Into<String>) -> Self {
        let (field, message) = (field.into(), message.into());
        Self {
            code,
            field,
            message,
            fix: None,
            replacement: None,
            at: Box::default(),
            other: None,
            in_text: None,
            is_info: false,
        }
    }

    /// Sets the fix.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<Box<str>>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// Sets the only possible replacement; `None` if several are possible.
    #[must_use]
    pub fn with_replacement(mut self, replacement: Option<impl Into<Box<str>>>) -> Self {
        self.replacement = replacement.map(|text| Box::new(Replacement::Text(text.into())));
        self
    }

    /// Sets the only possible string as both the fix and the replacement.
    #[must_use]
    pub fn meaning(self, meant: impl Into<Box<str>>) -> Self {
        let meant = meant.into();
        self.with_fix(format!("write {meant}")).with_replacement(Some(meant))
    }

    /// Sets the only number or boolean that a string can mean as both the fix and the replacement.
    #[must_use]
    pub fn meaning_bare(mut self, written: &str, meant: impl Into<Box<str>>) -> Self {
        let meant = meant.into();
        let verb = if *written == *meant { "remove the quotes:" } else { "write" };
        self.fix = Some(format!("{verb} {meant}").into());
        self.replacement = Some(Box::new(Replacement::Bare(meant)));
        self
    }

    /// Lowers the severity to info.
    #[must_use]
    pub fn as_info(mut self) -> Self {
        self.is_info = true;
        self
    }

    /// Sets the instants at which the problem occurs.
    #[must_use]
    pub fn with_instants(mut self, at: Vec<Timestamp>) -> Self {
        self.at = at.into();
        self
    }

    /// Sets the other object.
    #[must_use]
    pub fn with_other(mut self, other: Identity) -> Self {
        self.other = Some(Box::new(other));
        self
    }

    /// The severity by the code, unless the finding is only an info.
    #[must_use]
    pub fn severity(&self) -> Severity {
        if self.is_info { Severity::Info } else { self.code.severity() }
    }

    /// The whole finding in one line, with the fix unless the message contains it: for a condition, or a response to
    /// `kubectl apply`.
    #[must_use]
    pub fn sentence(&self) -> String {
        with_fix(self.headline(), self)
    }

    /// The sentence without the field, for callers that print the field separately.
    #[must_use]
    pub fn sentence_about_field(&self) -> String {
        with_fix(self.problem().to_owned(), self)
    }

    /// A finding about an invalid value, in Kubernetes' words.
    #[must_use]
    pub fn invalid(code: Code, field: &Path<'_>, value: impl MessageValue, why: &str) -> Self {
        Self::new(code, field, format!("Invalid value: {}: {why}", value.in_message()))
    }

    /// A finding about a missing required value, in Kubernetes' words.
    #[must_use]
    pub fn required(field: &Path<'_>, why: &str) -> Self {
        let message = if why.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {why}")
        };
        Self::new(Code::MissingField, field, message)
    }

    /// A finding about a value that must be absent, in Kubernetes' words.
    #[must_use]
    pub fn forbidden(code: Code, field: &Path<'_>, why: &str) -> Self {
        Self::new(code, field, format!("Forbidden: {why}"))
    }
}

fn with_fix(mut text: String, finding: &Finding) -> String {
    if let Some(fix) = finding.fix.as_deref().filter(|fix| !text.contains(fix)) {
        text.push_str("; ");
        text.push_str(fix);
    }
    text
}

/// `spec.rules[1].schedule: Invalid value: …`, the whole finding in one line.
impl std::fmt::Display for Finding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.field.segments().is_empty() {
            formatter.write_str(&self.message)
        } else {
            write!(formatter, "{}: {}", self.field, self.message)
        }
    }
}

/// The form of a value in a message: text quoted, numbers bare, both short.
pub trait MessageValue {
    /// The value in the form of a message.
    fn in_message(&self) -> String;
}

/// The maximum length of a value in a message, in characters. The full value is at the location of the finding.
const MAX_VALUE_CHARACTERS: usize = 60;

impl MessageValue for str {
    fn in_message(&self) -> String {
        if self.chars().nth(MAX_VALUE_CHARACTERS).is_none() {
            return format!("{self:?}");
        }
        let start: String = self.chars().take(MAX_VALUE_CHARACTERS - 1).collect();
        format!("{:?}", start + "…")
    }
}

impl MessageValue for String {
    fn in_message(&self) -> String {
        self.as_str().in_message()
    }
}

impl MessageValue for i32 {
    fn in_message(&self) -> String {
        self.to_string()
    }
}

impl<T: MessageValue + ?Sized> MessageValue for &T {
    fn in_message(&self) -> String {
        (*self).in_message()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_as_kubernetes_would_put_it() {
        let spec = Path::Root.key("spec");
        let rules = spec.key("rules");
        let rule = rules.index(1);
        let field = rule.key("schedule");
        let finding = Finding::invalid(Code::Schedule, &field, "0 0 * *", "too short");
        assert_eq!(
            finding.to_string(),
            r#"spec.rules[1].schedule: Invalid value: "0 0 * *": too short"#
        );
    }

    #[test]
    fn long_values_are_truncated() {
        assert_eq!("x".repeat(100).in_message(), format!("\"{}…\"", "x".repeat(59)));
    }
}
