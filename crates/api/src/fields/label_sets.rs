//! Selectors as sets of labels: whether a selector selects nothing, or only objects that other selectors select too.
//!
//! The result is exact, because a selector has a condition on each label alone, and a label has more possible values
//! than a selector names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_engine::{LabelSelector, ValueRequirement};

/// The maximum number of divisions of a set before the comparison is given up. Few selectors take more than a few
/// dozen.
const DIVISIONS: usize = 1_000;

/// The objects that a selector selects, by its condition on each label.
#[derive(Clone, Debug)]
pub(crate) struct LabelSet(BTreeMap<Arc<str>, Allowed>);

/// The allowed values of a label.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Allowed {
    /// Whether the label may be missing.
    missing: bool,
    values: Values,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Values {
    Only(Arc<BTreeSet<Arc<str>>>),
    AllBut(Arc<BTreeSet<Arc<str>>>),
}

impl LabelSet {
    /// The set of the objects that a selector selects.
    pub(crate) fn from_selector(selector: &LabelSelector) -> LabelSet {
        let everything = LabelSet(BTreeMap::new());
        selector.requirements().iter().fold(everything, |set, requirement| {
            set.narrowed(&requirement.key, &Allowed::by(&requirement.of_value))
        })
    }

    /// Whether no object is in the set.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.values().any(Allowed::is_nothing)
    }

    /// Whether the set is a subset of another set.
    pub(crate) fn is_within(&self, other: &LabelSet) -> bool {
        self.is_within_all(&[other])
    }

    /// Whether the set is a subset of the union of other sets; also `false` if the comparison would take too long.
    pub(crate) fn is_within_all(&self, others: &[&LabelSet]) -> bool {
        self.is_covered(others, &mut DIVISIONS.clone())
    }

    /// The only value of a label in the whole set; `None` if several values are possible.
    pub(crate) fn only_value(&self, key: &str) -> Option<&str> {
        match self.0.get(key) {
            Some(Allowed { missing: false, values: Values::Only(values) }) if values.len() == 1 => {
                values.first().map(|value| &**value)
            }
            _ => None,
        }
    }

    /// Divides this set by the labels of the first of the other sets. The parts outside the first set must be in the
    /// remaining sets.
    fn is_covered(&self, by: &[&LabelSet], divisions: &mut usize) -> bool {
        if self.is_empty() {
            return true;
        }
        let Some((first, others)) = by.split_first() else { return false };
        let mut inside = self.clone();
        for (key, allowed) in &first.0 {
            let Some(left) = divisions.checked_sub(1) else { return false };
            *divisions = left;
            if !inside.narrowed(key, &allowed.opposite()).is_covered(others, divisions) {
                return false;
            }
            inside = inside.narrowed(key, allowed);
            if inside.is_empty() {
                break;
            }
        }
        true
    }

    fn narrowed(&self, key: &Arc<str>, allowed: &Allowed) -> LabelSet {
        let both = self.0.get(key).map_or_else(|| allowed.clone(), |known| known.and(allowed));
        let mut labels = self.0.clone();
        labels.insert(Arc::clone(key), both);
        LabelSet(labels)
    }
}

impl Allowed {
    fn by(requirement: &ValueRequirement) -> Allowed {
        let set = |values: &[Arc<str>]| Arc::new(values.iter().cloned().collect());
        let (missing, values) = match requirement {
            ValueRequirement::In(values) => (false, Values::Only(set(values))),
            ValueRequirement::NotIn(values) => (true, Values::AllBut(set(values))),
            ValueRequirement::Exists => (false, Values::AllBut(Arc::default())),
            ValueRequirement::DoesNotExist => (true, Values::Only(Arc::default())),
        };
        Allowed { missing, values }
    }

    fn is_nothing(&self) -> bool {
        !self.missing && matches!(&self.values, Values::Only(values) if values.is_empty())
    }

    fn opposite(&self) -> Allowed {
        let values = match self.values.clone() {
            Values::Only(values) => Values::AllBut(values),
            Values::AllBut(values) => Values::Only(values),
        };
        Allowed { missing: !self.missing, values }
    }

    fn and(&self, other: &Allowed) -> Allowed {
        let values = match (&self.values, &other.values) {
            (Values::Only(one), Values::Only(other)) => Values::Only(Arc::new(&**one & &**other)),
            (Values::Only(values), Values::AllBut(but))
            | (Values::AllBut(but), Values::Only(values)) => {
                Values::Only(Arc::new(&**values - &**but))
            }
            (Values::AllBut(one), Values::AllBut(other)) => {
                Values::AllBut(Arc::new(&**one | &**other))
            }
        };
        Allowed { missing: self.missing && other.missing, values }
    }
}

#[cfg(test)]
mod tests {
    use almanac_engine::{LabelRequirement, Labels};

    use super::*;

    /// A selector by requirements such as `a in x y`, `a notin x`, `a` and `!a`.
    fn selector(text: &str) -> LabelSelector {
        let requirement = |text: &str| {
            let words: Vec<&str> = text.split_whitespace().collect();
            let values = || words[2..].iter().map(|it| Arc::from(*it)).collect();
            let (key, of_value) = match (words[0], words.get(1)) {
                (key, Some(&"in")) => (key, ValueRequirement::In(values())),
                (key, Some(_)) => (key, ValueRequirement::NotIn(values())),
                (key, None) if key.starts_with('!') => (&key[1..], ValueRequirement::DoesNotExist),
                (key, None) => (key, ValueRequirement::Exists),
            };
            LabelRequirement { key: key.into(), of_value }
        };
        let requirements = text.split(',').filter(|it| !it.is_empty()).map(requirement);
        LabelSelector::new(requirements)
    }

    fn set(text: &str) -> LabelSet {
        LabelSet::from_selector(&selector(text))
    }

    #[test]
    fn a_selector_that_contradicts_itself_selects_nothing() {
        for text in ["a in x,a in y", "a,!a", "a in x,a notin x y", "a in x y,a in y z,a notin y"] {
            assert!(set(text).is_empty(), "{text}");
        }
        for text in ["", "a in x,a in x y", "a,a notin x", "!a,a notin x", "a in x,b in y"] {
            assert!(!set(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_set_is_within_another_that_requires_no_more_of_any_label() {
        for (inner, outer) in [
            ("a in x", ""),
            ("a in x", "a"),
            ("a in x", "a in x y"),
            ("a in x", "a notin y"),
            ("!a", "a notin y"),
            ("a in x,b in y", "b"),
            ("a notin x y", "a notin x"),
            ("a in x,a in y", "b in z"),
            ("a,a notin x", "a"),
        ] {
            assert!(set(inner).is_within(&set(outer)), "{inner} is within {outer}");
        }
        for (inner, outer) in [
            ("", "a"),
            ("", "a notin x"),
            ("a", "a in x"),
            ("a notin x", "a"),
            ("a in x y", "a in x"),
            ("a in x", "a in x,b in y"),
            ("a notin x", "!a"),
        ] {
            assert!(!set(inner).is_within(&set(outer)), "{inner} is not within {outer}");
        }
    }

    #[test]
    fn several_sets_together_include_a_set_that_none_includes_alone() {
        let within = |inner: &str, outer: &[&str]| {
            let outer: Vec<LabelSet> = outer.iter().map(|it| set(it)).collect();
            set(inner).is_within_all(&outer.iter().collect::<Vec<_>>())
        };
        assert!(within("a in x y", &["a in x", "a in y"]));
        assert!(within("", &["a", "!a"]));
        assert!(within("", &["a in x", "a notin x"]));
        assert!(within("a in x", &["a,b in y", "b notin y"]));
        assert!(!within("a in x y", &["a in x", "a in z"]));
        assert!(!within("a in x", &["b in y", "b in z"]), "it may have no b");
        assert!(!within("a", &[]));
    }

    #[test]
    fn a_comparison_that_takes_too_long_is_given_up() {
        // Only the last set includes it, after three parts have been compared with each of the others.
        let others = (0..64).map(|it| format!("k{it} in x,l{it} in y,m{it} in z"));
        let others: Vec<LabelSet> = others.chain(["a".to_owned()]).map(|it| set(&it)).collect();
        assert!(!set("a").is_within_all(&others.iter().collect::<Vec<_>>()));
        assert!(set("a").is_within_all(&others[60..].iter().collect::<Vec<_>>()));
    }

    #[test]
    fn the_results_equal_those_of_trying_all_labels() {
        let of_key = |key: &str| {
            ["in x", "in y", "in x y", "notin x", "notin x y", ""].map(|it| format!("{key} {it}"))
        };
        let single: Vec<String> =
            [&of_key("a")[..], &of_key("b")[..], &["!a".into(), "!b".into()]].concat();
        let double =
            single.iter().flat_map(|one| single.iter().map(move |it| format!("{one},{it}")));
        // An unnamed value stands for all of them.
        let values = [None, Some("x"), Some("y"), Some("other")];
        let labels: Vec<Labels> = values
            .iter()
            .flat_map(|a| values.map(|b| [("a", *a), ("b", b)]))
            .map(|both| Labels::new(both.into_iter().filter_map(|(key, it)| Some((key, it?)))))
            .collect();
        let selected = |selector: &LabelSelector| -> u16 {
            let bits = labels.iter().enumerate().filter(|(_, it)| selector.selects(it));
            bits.map(|(index, _)| 1 << index).sum()
        };
        let with_labels = |text: String| {
            let selector = selector(&text);
            (text, LabelSet::from_selector(&selector), selected(&selector))
        };
        let outer: Vec<_> = single.iter().cloned().map(with_labels).collect();
        for (text, inner, of_inner) in double.map(with_labels) {
            assert_eq!(inner.is_empty(), of_inner == 0, "{text}");
            for (first, one, of_one) in &outer {
                assert_eq!(inner.is_within(one), of_inner & !of_one == 0, "{text} in {first}");
                assert_eq!(one.is_within(&inner), of_one & !of_inner == 0, "{first} in {text}");
                for (second, other, of_other) in &outer {
                    let is_within = inner.is_within_all(&[one, other]);
                    let rest = of_inner & !(of_one | of_other);
                    assert_eq!(is_within, rest == 0, "{text} in {first} and {second}");
                }
            }
        }
    }

    #[test]
    fn the_only_value_of_a_label_is_known_where_there_is_one() {
        assert_eq!(set("a in x").only_value("a"), Some("x"));
        assert_eq!(set("a in x y,a notin y").only_value("a"), Some("x"));
        for text in ["a in x y", "a", "!a", "b in x", ""] {
            assert_eq!(set(text).only_value("a"), None, "{text}");
        }
    }
}
