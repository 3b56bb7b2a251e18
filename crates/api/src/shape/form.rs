//! The requirements of the patterns and formats of schemas, in words.
//!
//! An API server prints the pattern; these messages describe the value and the fix.

use std::sync::LazyLock;

use jiff::civil::Date;
use regex::Regex;
use serde_json::Value as Json;

use crate::finding::{Code, Finding, Path};
use crate::objects::{GROUP_SIZE, LABEL_KEY, NAME_OF_GROUP, NAME_OF_NAMESPACE, RATE_LIMIT};

/// A required form of a string.
#[derive(Debug)]
pub(super) struct Form {
    /// The pattern or the format in the schema.
    written: &'static str,
    pattern: Regex,
    code: Code,
    why: &'static str,
    fix: &'static str,
}

/// The instants of an API server, to the letter: a date, a time and an offset.
const INSTANT: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[tT]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?\
     ([zZ]|[+-][0-9]{2}:[0-9]{2})$";
const BASE64: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

/// The form with the pattern or the format of a schema; `None` for an unknown one.
pub(super) fn form_of(schema: &Json) -> Option<&'static Form> {
    static FORMS: LazyLock<Vec<Form>> = LazyLock::new(forms);
    let written = schema["pattern"].as_str().or(schema["format"].as_str())?;
    FORMS.iter().find(|form| form.written == written)
}

impl Form {
    /// The finding about a string that does not have the form.
    pub(super) fn finding(&self, text: &str, path: &Path<'_>) -> Option<Finding> {
        let has_date = |text: &str| text.get(..10).is_some_and(|it| it.parse::<Date>().is_ok());
        let fits = self.pattern.is_match(text) && (self.written != "date-time" || has_date(text));
        (!fits).then(|| Finding::invalid(self.code, path, text, self.why).with_fix(self.fix))
    }
}

fn forms() -> Vec<Form> {
    let form = |(written, pattern, code, why, fix)| {
        Some(Form { written, pattern: Regex::new(pattern).ok()?, code, why, fix })
    };
    [
        (
            LABEL_KEY,
            LABEL_KEY,
            Code::UnsupportedValue,
            "the key has letters, digits, '-', '_' and '.', begins and ends with a letter or a digit, and may have a \
             DNS name and '/' before it",
            "write the key as in the intended labels or taints",
        ),
        (
            NAME_OF_GROUP,
            NAME_OF_GROUP,
            Code::InvalidName,
            "the name of a group is a label of its decisions: 2 to 63 letters, digits, '-', '_' and '.', with a \
             letter or a digit at both ends",
            "write such a name",
        ),
        (
            NAME_OF_NAMESPACE,
            NAME_OF_NAMESPACE,
            Code::InvalidName,
            "a namespace has lower-case letters, digits and '-', and begins and ends with a letter or a digit",
            "write the name of a namespace",
        ),
        (
            GROUP_SIZE,
            GROUP_SIZE,
            Code::OutOfRange,
            "must be a number of clusters, or a percentage from 1% to 100%",
            "write a number such as 10, or a percentage such as 25%",
        ),
        (
            RATE_LIMIT,
            RATE_LIMIT,
            Code::Duration,
            "must be a whole number of hours, minutes or seconds",
            "write a duration such as 30s, 1m or 2h",
        ),
        (
            "date-time",
            INSTANT,
            Code::WrongType,
            "must be an instant, such as 2026-03-02T12:00:00Z",
            "write an instant in RFC 3339",
        ),
        ("byte", BASE64, Code::WrongType, "must be in base64", "encode it in base64"),
    ]
    .into_iter()
    .filter_map(form)
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_pattern_is_one_that_can_be_used() {
        assert_eq!(forms().len(), 7);
    }

    #[test]
    fn an_instant_is_a_date_a_time_and_an_offset() {
        let form = form_of(&json!({ "format": "date-time" })).expect("a known value");
        let fits = |text: &str| form.finding(text, &Path::Root).is_none();
        for good in ["2026-03-02T12:00:00Z", "2024-02-29t00:00:00.5+01:00"] {
            assert!(fits(good), "{good}");
        }
        for bad in [
            "",
            "2026-03-02",
            "2026-02-29T00:00:00Z",
            "2026-03-02T24:00:00Z",
            "2026-03-02 12:00:00Z",
        ] {
            assert!(!fits(bad), "{bad}");
        }
    }
}
