//! The fix for a finding without one. The fix uses the terms of the message, if the message names them.
//!
//! Messages have the form `the problem; the fix`, or `must be …`, so that one line is complete.

use super::{Code, Finding};

impl Finding {
    /// The problem, without the advice if the fix repeats the advice.
    #[must_use]
    pub fn problem(&self) -> &str {
        let Some((problem, advice)) = self.message.rsplit_once("; ") else { return &self.message };
        let meant = MEANING.iter().find_map(|begin| advice.strip_prefix(begin));
        let meant = meant.map(|meant| meant.trim_end_matches('?'));
        let has_advice = |fix: &str| {
            let is_same = |text: &str| fix.contains(text) || text.contains(fix);
            is_same(advice) || meant.is_some_and(is_same)
        };
        if self.fix.as_deref().is_some_and(has_advice) { problem } else { &self.message }
    }

    /// The field and the problem.
    #[must_use]
    pub fn headline(&self) -> String {
        if self.field.segments().is_empty() {
            self.problem().to_owned()
        } else {
            format!("{}: {}", self.field, self.problem())
        }
    }

    /// Sets the usual fix of the code if the finding has no fix.
    #[must_use]
    pub fn with_some_fix(mut self) -> Self {
        self.fix = self.fix.take().or_else(|| Some(self.usual_fix().into()));
        self
    }

    fn usual_fix(&self) -> String {
        let own_advice = || advice(&self.message).map(str::to_owned);
        let key = || self.field.last_key().unwrap_or("it");
        match self.code {
            Code::MissingField => format!("add {}", key()),
            Code::UnknownField | Code::IgnoredField => "remove it".to_owned(),
            Code::CrossedBounds => "lower it, or raise the upper bound".to_owned(),
            Code::DuplicateItem => "rename one of them".to_owned(),
            Code::Unsupported => "remove it, or expect no effect".to_owned(),
            Code::UnsupportedValue => match self.message.split_once("supported values: ") {
                Some((_, values)) => format!("write one of {values}"),
                None => "write a supported value".to_owned(),
            },
            Code::Schedule => own_advice().unwrap_or_else(|| {
                "write five fields: minute, hour, day of month, month and weekday".to_owned()
            }),
            Code::Pattern => own_advice()
                .unwrap_or_else(|| "write values of the field with commas between them".into()),
            Code::TimeOfDay => {
                own_advice().unwrap_or_else(|| "write two digits each, as in 08:00".to_owned())
            }
            Code::Duration => {
                own_advice().unwrap_or_else(|| "write one such as 30s or 1m30s".to_owned())
            }
            Code::TimeZone => own_advice()
                .unwrap_or_else(|| "write an IANA name such as Europe/Berlin".to_owned()),
            Code::NotAnObject => format!("add {}, or move the document elsewhere", key()),
            Code::TooLarge => "split it into several documents".to_owned(),
            Code::Alias => "write the value out instead of repeating it".to_owned(),
            Code::UnreadableFile => own_advice()
                .unwrap_or_else(|| "correct the path, or the permissions of the file".into()),
            Code::Syntax => "correct it here or just before".to_owned(),
            _ => match bounds(&self.message) {
                Some(bounds) if bounds.starts_with("a ") => format!("write {bounds}"),
                Some(bounds) => format!("write a value {bounds}"),
                None => own_advice().unwrap_or_else(|| "correct the value".to_owned()),
            },
        }
    }
}

/// The starts of the last part of a message that names the intended value.
const MEANING: [&str; 4] =
    ["write its three letters, ", "write ", "did you mean ", "the nearest name is "];

/// The advice in a message: the part after the last semicolon, if it starts with a verb.
fn advice(message: &str) -> Option<&str> {
    let last = message.rsplit("; ").next().filter(|last| *last != message);
    let verbs = ["write ", "leave ", "list ", "remove ", "use ", "join ", "set ", "split "];
    last.filter(|last| verbs.iter().any(|verb| last.starts_with(verb)))
}

/// The part of a message that states the allowed values of a field.
fn bounds(message: &str) -> Option<&str> {
    message.split_once("must be ").map(|(_, bounds)| bounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Path;

    #[test]
    fn the_problem_omits_the_advice_of_the_fix() {
        let problem = |message: &str, fix: Option<&str>| {
            let finding = Finding::new(Code::Schedule, Path::Root.key("a"), message);
            let finding = fix.map_or(finding.clone(), |fix| finding.with_fix(fix));
            finding.problem().to_owned()
        };
        for (message, fix) in [
            ("it is wrong; write 5", "write 5"),
            ("it is wrong; the nearest name is Europe/Berlin", "write Europe/Berlin"),
            ("it is wrong; did you mean sep?", "write \"0 8 1 sep *\""),
            ("it is wrong; write its three letters, sep", "write \"0 8 1 sep *\""),
            ("it is wrong; write a date that exists, or none", "write a date that exists"),
        ] {
            assert_eq!(problem(message, Some(fix)), "it is wrong", "{message}");
            assert_eq!(problem(message, None), message);
            assert_eq!(problem(message, Some("remove it")), message);
        }
    }

    #[test]
    fn the_advice_in_a_message_is_the_fix() {
        let fix = |code, message: &str| {
            Finding::new(code, Path::Root.key("spec"), message)
                .with_some_fix()
                .fix
                .unwrap()
                .into_string()
        };
        let message = "Invalid value: \"a\": it never fires; write a date that exists";
        assert_eq!(fix(Code::Schedule, message), "write a date that exists");
        let message = "Invalid value: 5: must be less than or equal to 3";
        assert_eq!(fix(Code::OutOfRange, message), "write a value less than or equal to 3");
        assert_eq!(fix(Code::MissingField, "Required value"), "add spec");
        let message = "Unsupported value: \"a\": supported values: \"b\", \"c\"";
        assert_eq!(fix(Code::UnsupportedValue, message), "write one of \"b\", \"c\"");
        let known = Finding::new(Code::Tab, Path::Root.key("a"), "a; write b").with_fix("c");
        assert_eq!(known.with_some_fix().fix.as_deref(), Some("c"));
    }
}
