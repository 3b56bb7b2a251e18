//! Converts a label selector as written to the form of the engine.

use std::sync::Arc;

use almanac_engine::{LabelRequirement, LabelSelector, ValueRequirement};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    LabelSelector as Written, LabelSelectorRequirement,
};

use super::envelope::why_no_subdomain;
use crate::finding::{Code, Finding, Path};
use crate::kinds::nearest;

/// The maximum length of the name and of the value of a label.
const CHARACTERS: usize = 63;

/// The rule for the key of a label.
pub(crate) const KEY_OF_LABEL: &str = "the key of a label has at most 63 letters, digits, '-', '_' and '.', begins and ends with a letter or a digit, \
     and may have a DNS name and '/' before it";

/// The rule for the value of a label.
pub(crate) const VALUE_OF_LABEL: &str = "the value of a label has at most 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or a \
     digit";

/// Checks a selector by the rules of an API server for every selector.
pub(crate) fn check_selector(
    written: &Written,
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<LabelSelector> {
    let before = findings.len();
    let mut requirements = Vec::new();
    let labels = path.key("matchLabels");
    for (key, value) in written.match_labels.iter().flatten() {
        let field = labels.key(key);
        check_key(key, &field, findings);
        check_value(value, &field, findings);
        let of_value = ValueRequirement::In([Arc::from(value.as_str())].into());
        requirements.push(LabelRequirement { key: key.as_str().into(), of_value });
    }
    let list = path.key("matchExpressions");
    for (position, expression) in written.match_expressions.iter().flatten().enumerate() {
        requirements.extend(check_expression(expression, &list.index(position), findings));
    }
    (findings.len() == before).then(|| LabelSelector::new(requirements))
}

/// Reports wrong operators of a selector, for schemas that accept any operator.
pub(crate) fn note_operators(written: &Written, path: &Path<'_>, findings: &mut Vec<Finding>) {
    const OPERATORS: [&str; 4] = ["In", "NotIn", "Exists", "DoesNotExist"];
    let list = path.key("matchExpressions");
    for (position, expression) in written.match_expressions.iter().flatten().enumerate() {
        if !OPERATORS.contains(&&*expression.operator) {
            let item = list.index(position);
            findings.push(unsupported(&item.key("operator"), &expression.operator, &OPERATORS));
        }
    }
}

/// A finding about a value that is not one of the choices, with the choice that was probably meant.
pub(crate) fn unsupported(field: &Path<'_>, written: &str, choices: &[&str]) -> Finding {
    let quoted: Vec<String> = choices.iter().map(|it| format!("{it:?}")).collect();
    let message =
        format!("Unsupported value: {written:?}: supported values: {}", quoted.join(", "));
    let finding = Finding::new(Code::UnsupportedValue, field, message);
    match nearest(written, choices.iter().copied()) {
        Some(meant) => finding.meaning(meant),
        None => finding,
    }
}

fn check_expression(
    expression: &LabelSelectorRequirement,
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<LabelRequirement> {
    check_key(&expression.key, &path.key("key"), findings);
    let field = path.key("values");
    let values = expression.values.as_deref().unwrap_or_default();
    let mut ordered: Vec<Arc<str>> = values.iter().map(|value| value.as_str().into()).collect();
    ordered.sort_unstable();
    ordered.dedup();
    let operator = expression.operator.as_str();
    let of_value = match operator {
        "In" => ValueRequirement::In(ordered.into()),
        "NotIn" => ValueRequirement::NotIn(ordered.into()),
        "Exists" => ValueRequirement::Exists,
        "DoesNotExist" => ValueRequirement::DoesNotExist,
        _ => return None,
    };
    match of_value {
        ValueRequirement::In(_) | ValueRequirement::NotIn(_) => {
            if values.is_empty() {
                let why = format!("{operator} needs at least one value");
                findings.push(Finding::required(&field, &why));
            }
            for (position, value) in values.iter().enumerate() {
                check_value(value, &field.index(position), findings);
            }
        }
        ValueRequirement::Exists | ValueRequirement::DoesNotExist => {
            if !values.is_empty() {
                let why = format!("{operator} takes no values");
                findings.push(
                    Finding::forbidden(Code::Selector, &field, &why)
                        .with_fix("remove them, or write the operator In or NotIn"),
                );
            }
        }
    }
    Some(LabelRequirement { key: expression.key.as_str().into(), of_value })
}

pub(crate) fn check_key(key: &str, field: &Path<'_>, findings: &mut Vec<Finding>) {
    if key.is_empty() {
        findings.push(Finding::required(field, "must not be empty"));
    } else if !is_label_key(key) {
        findings.push(
            Finding::invalid(Code::Selector, field, key, KEY_OF_LABEL)
                .with_fix("write the key as in the intended labels"),
        );
    }
}

fn check_value(value: &str, field: &Path<'_>, findings: &mut Vec<Finding>) {
    if !is_label_text(value) {
        findings.push(
            Finding::invalid(Code::Selector, field, value, VALUE_OF_LABEL)
                .with_fix("write the value as in the intended labels"),
        );
    }
}

/// Whether a string is a valid key of a label: a name, with an optional domain of its owner before it.
pub(crate) fn is_label_key(key: &str) -> bool {
    let (domain, name) = match key.rsplit_once('/') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, key),
    };
    let is_domain = |domain: &str| !domain.contains('/') && why_no_subdomain(domain).is_none();
    !name.is_empty() && is_label_text(name) && domain.is_none_or(is_domain)
}

/// Whether a string is a valid value of a label, or the name in its key.
pub(crate) fn is_label_text(text: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= CHARACTERS
        && edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}
