//! The parts that every object has: its name and namespace, and the rules for names.

use crate::finding::{Code, Finding, Path};

/// Checks the name and the namespace of an object.
pub(crate) fn check_names(name: &str, namespace: Option<&str>, findings: &mut Vec<Finding>) {
    let metadata = Path::Root.key("metadata");
    let field = metadata.key("name");
    if name.is_empty() {
        findings.push(Finding::required(&field, "every object needs a name"));
    } else if let Some(why) = why_no_subdomain(name) {
        findings.push(invalid_name(&field, name, &why));
    }
    if let Some(namespace) = namespace
        && let Some(why) = why_no_namespace(namespace)
    {
        let field = metadata.key("namespace");
        let better = nearest_name(&namespace.replace('.', "-"));
        let fix = better.filter(|better| why_no_namespace(better).is_none());
        let finding = invalid_name(&field, namespace, &why);
        findings.push(match fix {
            Some(better) => finding.meaning(better),
            None => finding.with_fix(USUAL_NAME),
        });
    }
}

/// A finding about a name, with the nearest valid name.
pub(crate) fn invalid_name(field: &Path<'_>, name: &str, why: &str) -> Finding {
    let finding = Finding::invalid(Code::InvalidName, field, name, why);
    match nearest_name(name) {
        Some(better) => finding.meaning(better),
        None => finding.with_fix(USUAL_NAME),
    }
}

/// The fix for a name without an obvious correction.
const USUAL_NAME: &str = "use only the letters a to z, digits and '-' inside it";

/// The reason that a name is not a DNS subdomain, the Kubernetes rule for most names; `None` for a valid name.
pub(crate) fn why_no_subdomain(name: &str) -> Option<String> {
    if name.chars().count() > 253 {
        return Some("a name may have at most 253 characters".to_owned());
    }
    let good = name.split('.').all(is_label);
    (!good).then(|| {
        "a name consists of lower-case letters, digits, '-' and '.', and begins and ends with a \
         letter or a digit"
            .to_owned()
    })
}

/// The reason that a name is not a DNS label, the Kubernetes rule for namespaces; `None` for a valid name.
#[must_use]
pub fn why_no_namespace(name: &str) -> Option<String> {
    (!is_label(name) || name.len() > 63).then(|| {
        "a namespace has at most 63 lower-case letters, digits and '-', and begins and ends with a \
         letter or a digit"
            .to_owned()
    })
}

fn is_label(label: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = label.as_bytes();
    edge(bytes.first())
        && edge(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
}

/// The nearest valid name: `FakeScheduling` becomes `fake-scheduling`.
fn nearest_name(name: &str) -> Option<String> {
    // Only the author can choose a spelling without the letters that DNS lacks.
    if name.chars().any(|letter| letter.is_alphanumeric() && !letter.is_ascii()) {
        return None;
    }
    let mut better = String::new();
    let mut after_lower = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && after_lower {
            better.push('-');
        }
        after_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' => {
                better.push(letter.to_ascii_lowercase());
            }
            _ => better.push('-'),
        }
    }
    let better = better.trim_matches(['-', '.']).to_owned();
    (why_no_subdomain(&better).is_none()).then_some(better)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_dns_subdomains() {
        for good in ["a", "shop", "shop-2", "a.b", "0"] {
            assert_eq!(why_no_subdomain(good), None, "{good}");
        }
        for bad in ["", "Shop", "-a", "a-", "a..b", "a_b", "ä", &"a".repeat(254)] {
            assert!(why_no_subdomain(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn a_valid_name_is_suggested_where_there_is_one() {
        assert_eq!(nearest_name("FakeScheduling").as_deref(), Some("fake-scheduling"));
        assert_eq!(nearest_name("my_shop").as_deref(), Some("my-shop"));
        assert_eq!(nearest_name("___"), None);
        assert_eq!(nearest_name("café"), None);
    }
}
