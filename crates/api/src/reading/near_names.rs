//! Finds texts with an object whose name is similar to that of a target, by their words alone. Most files of a
//! repository have neither a policy nor a target, and are never read as YAML.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::claim::values_of;
use super::objects::Targets;
use crate::near_name::{MAX_COMPARISONS, slip};

/// A search of texts for names similar to those of targets.
#[derive(Debug)]
pub struct NearNames<'a> {
    /// The names by kind.
    targets: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// The number of pairs of names that may still be compared.
    remaining: usize,
}

impl<'a> NearNames<'a> {
    /// Creates a search for names similar to those of these targets.
    #[must_use]
    pub fn new(targets: &Targets<'a>) -> NearNames<'a> {
        let mut by_kind: BTreeMap<&'a str, BTreeSet<&'a str>> = BTreeMap::new();
        for &(kind, name) in targets {
            by_kind.entry(kind).or_default().insert(name);
        }
        NearNames { targets: by_kind, remaining: MAX_COMPARISONS }
    }

    /// The kinds and names in a text that are similar to those of a target. Empty after the maximum number of
    /// comparisons.
    pub fn in_text(&mut self, bytes: &[u8]) -> BTreeSet<(String, String)> {
        let mut near = BTreeSet::new();
        let Ok(text) = std::str::from_utf8(bytes) else { return near };
        let kinds: BTreeSet<&str> =
            values_of(text, "kind").filter(|kind| self.targets.contains_key(*kind)).collect();
        if kinds.is_empty() {
            return near;
        }
        let names: BTreeSet<&str> = values_of(text, "name").collect();
        for kind in kinds {
            for name in names.iter().filter(|name| self.is_near(kind, name)) {
                near.insert((kind.to_owned(), (*name).to_owned()));
            }
        }
        near
    }

    fn is_near(&mut self, kind: &str, name: &str) -> bool {
        let Some(targets) = self.targets.get(kind).filter(|it| !it.contains(name)) else {
            return false;
        };
        // A slip does not change the first letter.
        let Some(first) = name.get(..1) else { return false };
        let from: (Bound<&str>, Bound<&str>) = (Bound::Included(first), Bound::Unbounded);
        let near = targets.range::<str, _>(from).take_while(|it| it.starts_with(first));
        for target in near.take(self.remaining) {
            self.remaining -= 1;
            if slip(target, name).is_some() {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_a_near_name_of_the_kind_is_found() {
        let targets = [("Deployment", "shop-frontend"), ("StatefulSet", "checkout")];
        let targets = BTreeSet::from(targets);
        let near_names = |text: &str| {
            let near = NearNames::new(&targets).in_text(text.as_bytes());
            let near = near.into_iter().map(|(kind, name)| format!("{kind}/{name}"));
            near.collect::<Vec<_>>().join(" ")
        };
        let front = "kind: Deployment\nmetadata:\n  name: shop-front\n";
        assert_eq!(near_names(front), "Deployment/shop-front");
        assert_eq!(
            near_names(r#"{"kind":"StatefulSet","metadata":{"name":"chekout"}}"#),
            "StatefulSet/chekout"
        );
        for text in [
            front.replace("Deployment", "Service").as_str(),
            &front.replace("shop-front", "shop-frontend"),
            &front.replace("shop-front", "cart"),
            "kind: Deployment\nmetadata:\n  name: chekout\n",
            "# kind: Deployment\nname: shop-front\n",
            "",
        ] {
            assert_eq!(near_names(text), "", "{text}");
        }
    }

    #[test]
    fn names_are_compared_up_to_a_limit() {
        let targets = BTreeSet::from([("Deployment", "shop-frontend")]);
        let mut near = NearNames { remaining: 1, ..NearNames::new(&targets) };
        let text = |name: &str| format!("kind: Deployment\nname: {name}\n");
        assert_eq!(near.in_text(text("shop-cart").as_bytes()).len(), 0);
        assert_eq!(near.in_text(text("shop-front").as_bytes()).len(), 0, "no more is compared");
    }
}
