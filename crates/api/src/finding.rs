//! A problem in a text or an object of a user, and its fix.
//!
//! One type and one table of codes, for files, for admission and for conditions. A finding has a field; files and
//! lines are up to the code that prints it.

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

/// One mistake in an object, or one thing worth knowing about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Its code, which determines the severity.
    pub code: Code,
    /// The field it is about; empty when it is about the whole object or file.
    pub field: FieldPath,
    /// The problem and what would be right, in Kubernetes' form but without the field: `Invalid value: "0 0 * *": a
    /// cron expression has five fields, this has four`.
    pub message: String,
    /// The fix, where there is only one.
    pub fix: Option<Box<str>>,
    /// The replacement for its key, or else for its value, where only one meaning is possible.
    pub replacement: Option<Box<Replacement>>,
    /// The instants at which it occurs, if any.
    pub at: Box<[Timestamp]>,
    /// The other object that it is about, of two that set the same.
    pub other: Option<Box<Identity>>,
    /// The location in the embedded document of its field, if that is the text of a value in the object.
    pub in_text: Option<Span>,
    /// Whether it is an info only, in spite of the severity that its code has elsewhere.
    pub is_info: bool,
}

/// The only possible text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Replacement {
    /// A text, in quotes where it needs them.
    Text(Box<str>),
    /// A number, or `true` or `false`.
    Bare(Box<str>),
}

impl Replacement {
    /// The text itself, without quotes.
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

    /// The same with a fix.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<Box<str>>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// The same with the only possible text, if there is one.
    #[must_use]
    pub fn with_replacement(mut self, replacement: Option<impl Into<Box<str>>>) -> Self {
        self.replacement = replacement.map(|text| Box::new(Replacement::Text(text.into())));
        self
    }

    /// The same with the only possible text as its fix.
    #[must_use]
    pub fn meaning(self, meant: impl Into<Box<str>>) -> Self {
        let meant = meant.into();
        self.with_fix(format!("write {meant}")).with_replacement(Some(meant))
    }

    /// The same with the only number or truth value that a text can mean as its fix.
    #[must_use]
    pub fn meaning_bare(mut self, written: &str, meant: impl Into<Box<str>>) -> Self {
        let meant = meant.into();
        let verb = if *written == *meant { "remove the quotes:" } else { "write" };
        self.fix = Some(format!("{verb} {meant}").into());
        self.replacement = Some(Box::new(Replacement::Bare(meant)));
        self
    }

    /// The same as something that is only worth knowing.
    #[must_use]
    pub fn as_info(mut self) -> Self {
        self.is_info = true;
        self
    }

    /// The same with the instants at which it occurs.
    #[must_use]
    pub fn with_instants(mut self, at: Vec<Timestamp>) -> Self {
        self.at = at.into();
        self
    }

    /// The same about another object too.
    #[must_use]
    pub fn with_other(mut self, other: Identity) -> Self {
        self.other = Some(Box::new(other));
        self
    }

    /// Its severity.
    #[must_use]
    pub fn severity(&self) -> Severity {
        if self.is_info { Severity::Info } else { self.code.severity() }
    }

    /// The whole finding in one line, with the fix if the message does not have it already: for a condition, or a
    /// response to `kubectl apply`.
    #[must_use]
    pub fn sentence(&self) -> String {
        with_fix(self.headline(), self)
    }

    /// The same without the field, for callers that print the field next to it.
    #[must_use]
    pub fn sentence_about_field(&self) -> String {
        with_fix(self.problem().to_owned(), self)
    }

    /// A value that is not valid, in Kubernetes' words.
    #[must_use]
    pub fn invalid(code: Code, field: &Path<'_>, value: impl MessageValue, why: &str) -> Self {
        Self::new(code, field, format!("Invalid value: {}: {why}", value.in_message()))
    }

    /// A required value that is missing, in Kubernetes' words.
    #[must_use]
    pub fn required(field: &Path<'_>, why: &str) -> Self {
        let message = if why.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {why}")
        };
        Self::new(Code::MissingField, field, message)
    }

    /// A value that must not be there, in Kubernetes' words.
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
    /// The value in the form that a message has.
    fn in_message(&self) -> String;
}

/// The longest value a message repeats. The full value is at the location of the finding.
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
