//! The labels of pods and nodes, and the selectors of labels.
//!
//! `almanac-api` checks labels and selectors.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The end of a key and of a value. No label in Kubernetes contains this character.
const SEPARATOR: char = '\0';

/// The labels of an object, in one allocation: a world contains thousands of pods, and most have a few short labels.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Labels {
    joined: Arc<str>,
}

impl Labels {
    /// Labels, in any order. Of a repeated key, the last value is used.
    pub fn new<Key: AsRef<str>, Value: AsRef<str>>(
        labels: impl IntoIterator<Item = (Key, Value)>,
    ) -> Labels {
        let ordered: BTreeMap<String, String> = labels
            .into_iter()
            .map(|(key, value)| (cleaned(key.as_ref()), cleaned(value.as_ref())))
            .collect();
        let mut joined = String::new();
        for (key, value) in &ordered {
            for part in [key, value] {
                joined.push_str(part);
                joined.push(SEPARATOR);
            }
        }
        Labels { joined: joined.into() }
    }

    /// The value of a label.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// All labels, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut parts = self.joined.split_terminator(SEPARATOR);
        std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
    }
}

fn cleaned(text: &str) -> String {
    text.replace(SEPARATOR, "\u{fffd}")
}

/// `app=shop,tier=web`, in kubectl's format.
impl fmt::Display for Labels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (key, value)) in self.iter().enumerate() {
            let comma = if position == 0 { "" } else { "," };
            write!(formatter, "{comma}{key}={value}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The labels that an object must have to be selected: all requirements apply. A selector without requirements
/// selects everything.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LabelSelector {
    requirements: Box<[LabelRequirement]>,
}

/// One requirement of a selector.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LabelRequirement {
    /// The key of the label.
    pub key: Arc<str>,
    /// The requirement for the value of the label.
    pub of_value: ValueRequirement,
}

/// A requirement for a label.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ValueRequirement {
    /// The label exists, with one of these values.
    In(Box<[Arc<str>]>),
    /// The label does not exist, or has none of these values.
    NotIn(Box<[Arc<str>]>),
    /// The label exists.
    Exists,
    /// The label does not exist.
    DoesNotExist,
}

impl LabelSelector {
    /// A selector with these requirements, whose order does not matter.
    #[must_use]
    pub fn new(requirements: impl IntoIterator<Item = LabelRequirement>) -> LabelSelector {
        let mut requirements: Vec<LabelRequirement> = requirements.into_iter().collect();
        requirements.sort_unstable();
        requirements.dedup();
        LabelSelector { requirements: requirements.into() }
    }

    /// The requirements, sorted.
    #[must_use]
    pub fn requirements(&self) -> &[LabelRequirement] {
        &self.requirements
    }

    /// Whether the selector selects everything, with or without labels.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether the selector selects an object with these labels.
    #[must_use]
    pub fn selects(&self, labels: &Labels) -> bool {
        // Requirements and labels are sorted by key, so one iteration over both compares any number of them.
        let mut rest = labels.iter().peekable();
        self.requirements.iter().all(|requirement| {
            while rest.next_if(|(key, _)| **key < *requirement.key).is_some() {}
            let label = rest.peek().filter(|(key, _)| **key == *requirement.key);
            let value = label.map(|(_, value)| *value);
            let is_one_of = |values: &[Arc<str>]| {
                value.is_some_and(|value| values.iter().any(|known| **known == *value))
            };
            match &requirement.of_value {
                ValueRequirement::In(values) => is_one_of(values),
                ValueRequirement::NotIn(values) => !is_one_of(values),
                ValueRequirement::Exists => value.is_some(),
                ValueRequirement::DoesNotExist => value.is_none(),
            }
        })
    }
}

/// `app=shop,tier in (a,b),!canary`, in the format of kubectl's `-l`.
impl fmt::Display for LabelSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_everything() {
            return formatter.write_str("everything");
        }
        for (position, LabelRequirement { key, of_value }) in self.requirements.iter().enumerate() {
            let comma = if position == 0 { "" } else { "," };
            match of_value {
                ValueRequirement::In(values) if values.len() == 1 => {
                    write!(formatter, "{comma}{key}={}", values[0])?;
                }
                ValueRequirement::In(values) => {
                    write!(formatter, "{comma}{key} in ({})", values.join(","))?;
                }
                ValueRequirement::NotIn(values) => {
                    write!(formatter, "{comma}{key} notin ({})", values.join(","))?;
                }
                ValueRequirement::Exists => write!(formatter, "{comma}{key}")?,
                ValueRequirement::DoesNotExist => write!(formatter, "{comma}!{key}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(key: &str, of_value: ValueRequirement) -> LabelRequirement {
        LabelRequirement { key: key.into(), of_value }
    }

    fn values(texts: &[&str]) -> Box<[Arc<str>]> {
        texts.iter().map(|text| Arc::from(*text)).collect()
    }

    #[test]
    fn labels_are_found_by_their_keys_and_kept_in_order() {
        let labels = Labels::new([("tier", "web"), ("app", "shop"), ("empty", "")]);
        assert_eq!(labels.get("app"), Some("shop"));
        assert_eq!(labels.get("empty"), Some(""));
        assert_eq!(labels.get("ap"), None);
        assert_eq!(labels.to_string(), "app=shop,empty=,tier=web");
        assert_eq!(Labels::new([("app", "a"), ("app", "b")]).to_string(), "app=b");
        assert_eq!(Labels::default().iter().count(), 0);
    }

    #[test]
    fn no_character_can_shift_the_boundary_between_two_labels() {
        let odd = Labels::new([("a\0b", "c\0d\0e")]);
        assert_eq!(odd.iter().count(), 1);
        assert_eq!(odd.get("a"), None);
    }

    #[test]
    fn a_selector_selects_labels_that_meet_all_its_requirements() {
        use ValueRequirement::{DoesNotExist, Exists, In, NotIn};
        let labels = Labels::new([("app", "shop"), ("tier", "web")]);
        let selects = |requirements: &[(&str, ValueRequirement)]| {
            let all = requirements.iter().map(|(key, it)| requirement(key, it.clone()));
            LabelSelector::new(all).selects(&labels)
        };
        assert!(selects(&[]), "a selector without requirements selects everything");
        assert!(selects(&[("app", In(values(&["cart", "shop"]))), ("tier", Exists)]));
        assert!(!selects(&[("app", In(values(&["shop"]))), ("tier", In(values(&["db"])))]));
        assert!(!selects(&[("zone", In(values(&[""])))]), "what is not there has no value");
        assert!(
            selects(&[("zone", NotIn(values(&["a"])))]),
            "an absent label has none of the values"
        );
        assert!(!selects(&[("app", NotIn(values(&["shop"])))]));
        assert!(selects(&[("zone", DoesNotExist)]));
        assert!(!selects(&[("app", DoesNotExist)]) && !selects(&[("zone", Exists)]));
    }

    #[test]
    fn a_selector_is_written_as_kubectl_takes_it() {
        use ValueRequirement::{DoesNotExist, Exists, In, NotIn};
        let selector = LabelSelector::new([
            requirement("tier", In(values(&["a", "b"]))),
            requirement("app", In(values(&["shop"]))),
            requirement("zone", NotIn(values(&["x"]))),
            requirement("canary", DoesNotExist),
            requirement("team", Exists),
        ]);
        assert_eq!(selector.to_string(), "app=shop,!canary,team,tier in (a,b),zone notin (x)");
        assert_eq!(LabelSelector::default().to_string(), "everything");
    }
    #[test]
    fn a_selector_accepts_what_each_of_its_requirements_accepts() {
        const KEYS: [&str; 5] = ["a", "a-b", "a.b", "aa", "b"];
        let mut rng = fastrand::Rng::with_seed(1);
        let mut accepted = 0;
        for _ in 0..10_000 {
            let pair = |_| (KEYS[rng.usize(..5)], ["", "x", "y"][rng.usize(..3)]);
            let labels = Labels::new((0..4).map(pair).collect::<Vec<_>>());
            let random = |_| {
                let values = (0..2).map(|_| Arc::from(["", "x", "z"][rng.usize(..3)])).collect();
                let of_value = match rng.u8(..4) {
                    0 => ValueRequirement::In(values),
                    1 => ValueRequirement::NotIn(values),
                    2 => ValueRequirement::Exists,
                    _ => ValueRequirement::DoesNotExist,
                };
                requirement(KEYS[rng.usize(..5)], of_value)
            };
            let requirements: Vec<LabelRequirement> = (0..2).map(random).collect();
            let expected = requirements.iter().all(|it| {
                let value = labels.get(&it.key);
                let is_one_of = |values: &[Arc<str>]| {
                    value.is_some_and(|value| values.iter().any(|known| **known == *value))
                };
                match &it.of_value {
                    ValueRequirement::In(values) => is_one_of(values),
                    ValueRequirement::NotIn(values) => !is_one_of(values),
                    ValueRequirement::Exists => value.is_some(),
                    ValueRequirement::DoesNotExist => value.is_none(),
                }
            });
            let selector = LabelSelector::new(requirements);
            assert_eq!(selector.selects(&labels), expected, "{selector} of {labels}");
            accepted += usize::from(expected);
        }
        assert!((1_000..9_000).contains(&accepted), "{accepted}");
    }
}
