//! Label selectors in the syntax of kubectl: `app=shop,tier!=test,env in (a, b),!legacy`.

use std::collections::BTreeMap;

use almanac_api::reading::{PlacedFinding, Reading, labels};

use crate::argument_error::ArgumentError;

/// The labels of an object, by key.
pub(crate) type Labels = BTreeMap<String, String>;

/// Requirements on labels. An object must satisfy all of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector(Vec<Requirement>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

impl Selector {
    /// Parses a label selector.
    pub(crate) fn parse(argument: &'static str, text: &str) -> Result<Selector, ArgumentError> {
        let requirements = parts(text).map(|part| requirement(part.trim())).collect();
        let wrong = || {
            let message =
                "not a label selector; write for example app=shop,tier!=test or 'env in (a, b)'";
            ArgumentError::whole(argument, text, message)
        };
        Option::<Vec<Requirement>>::from_iter::<Vec<_>>(requirements)
            .map(Selector)
            .ok_or_else(wrong)
    }

    /// Removes the findings about objects that do not match the label selector.
    pub(crate) fn keep(&self, findings: &mut Vec<PlacedFinding>, reading: &Reading) {
        findings.retain(|placed| {
            let object = placed.object.and_then(|position| reading.objects.get(position));
            object.is_none_or(|object| self.fits(Some(&labels(&object.node))))
        });
    }

    /// Whether these labels match.
    pub(crate) fn fits(&self, labels: Option<&Labels>) -> bool {
        let value = |key: &String| labels.and_then(|labels| labels.get(key));
        self.0.iter().all(|requirement| match requirement {
            Requirement::In(key, values) => value(key).is_some_and(|it| values.contains(it)),
            // As in Kubernetes, an object without the label does not have the value.
            Requirement::NotIn(key, values) => value(key).is_none_or(|it| !values.contains(it)),
            Requirement::Exists(key) => value(key).is_some(),
            Requirement::Absent(key) => value(key).is_none(),
        })
    }
}

/// Splits at the commas that are not between parentheses.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    text.split(move |letter: char| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        letter == ',' && depth == 0
    })
}

fn requirement(text: &str) -> Option<Requirement> {
    let one = |value: &str| vec![value.trim().to_owned()];
    if let Some((key, value)) = text.split_once("!=") {
        return Some(Requirement::NotIn(checked_key(key)?, checked(one(value))?));
    }
    if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return Some(Requirement::In(checked_key(key)?, checked(one(value))?));
    }
    if let Some((before, values)) = text.split_once('(') {
        let values = values.trim_end().strip_suffix(')')?.split(',');
        let values = checked(values.map(|value| value.trim().to_owned()).collect())?;
        let mut words = before.split_whitespace();
        let (key, operator) = (checked_key(words.next()?)?, words.next()?);
        return match (operator, words.next()) {
            ("in", None) => Some(Requirement::In(key, values)),
            ("notin", None) => Some(Requirement::NotIn(key, values)),
            _ => None,
        };
    }
    match text.strip_prefix('!') {
        Some(key) => Some(Requirement::Absent(checked_key(key)?)),
        None => Some(Requirement::Exists(checked_key(text)?)),
    }
}

fn checked_key(key: &str) -> Option<String> {
    let key = key.trim();
    let is_key = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    (!key.is_empty() && key.chars().all(is_key)).then(|| key.to_owned())
}

fn checked(values: Vec<String>) -> Option<Vec<String>> {
    let is_value = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    values.iter().all(|value| value.chars().all(is_value)).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(selector: &str, labels: &[(&str, &str)]) -> bool {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let labels: Labels = labels.iter().map(own).collect();
        Selector::parse("-l", selector).unwrap().fits(Some(&labels))
    }

    #[test]
    fn a_selector_matches_the_same_labels_as_in_kubectl() {
        let shop = [("app", "shop"), ("env", "prod")];
        for selector in [
            "app=shop",
            "app==shop, env=prod",
            "app,env",
            "app!=cart",
            "tier!=front",
            "env in (prod, staging),app=shop",
            "env notin (test)",
            "!legacy",
            "app.kubernetes.io/name notin (a)",
        ] {
            assert!(fits(selector, &shop), "{selector}");
        }
        for selector in ["app=cart", "legacy", "!app", "env in (test)", "env notin (prod)", "tier="]
        {
            assert!(!fits(selector, &shop), "{selector}");
        }
        assert!(Selector::parse("-l", "!app").unwrap().fits(None));
    }

    #[test]
    fn an_invalid_selector_is_an_error() {
        for text in ["", "=shop", "app=a=b", "app in", "app in (a", "app within (a)", "a b", "a,,b"]
        {
            assert!(Selector::parse("-l", text).is_err(), "{text}");
        }
    }
}
