//! Synthetic nodes, for input without nodes: one for each unit, and one outside of all units of a policy.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::units::{Node, ResourcePolicy};
use crate::{LabelSelector, Labels, ValueRequirement};

/// The maximum number of label sets to try for a unit. The unit's own selector almost always yields one.
const TRIED: usize = 10_000;

/// A value that no policy names.
const OTHER: &str = "other";

/// The stand-ins of policies, by name. A unit has none if all nodes that it selects belong to better units.
pub(super) fn stand_ins<'p>(
    policies: impl Iterator<Item = &'p ResourcePolicy>,
) -> BTreeMap<Arc<str>, Node> {
    let mut labels = BTreeSet::new();
    for policy in policies {
        let unit_indexes = (0..policy.units.len()).map(Some).chain([None]);
        labels.extend(unit_indexes.filter_map(|unit_index| labels_in(policy, unit_index)));
    }
    let nodes = (0..).zip(labels).map(|(number, labels): (u32, Labels)| {
        // No real node has such a name.
        (format!("any node with {labels} #{number}").into(), Node { labels, ..Node::default() })
    });
    nodes.collect()
}

/// Labels that put a node into a unit of a policy, or outside of all of them.
fn labels_in(policy: &ResourcePolicy, unit_index: Option<usize>) -> Option<Labels> {
    let own =
        unit_index.and_then(|unit_index| policy.units.get(unit_index)).map(|unit| &unit.nodes);
    let own: BTreeMap<&str, &ValueRequirement> = own
        .into_iter()
        .flat_map(LabelSelector::requirements)
        .map(|requirement| (&*requirement.key, &requirement.of_value))
        .collect();
    let mut named: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for requirement in policy.units.iter().flat_map(|unit| unit.nodes.requirements()) {
        let named = named.entry(&requirement.key).or_default();
        match &requirement.of_value {
            ValueRequirement::In(values) | ValueRequirement::NotIn(values) => {
                named.extend(values.iter().map(|it| &**it));
            }
            ValueRequirement::Exists | ValueRequirement::DoesNotExist => {}
        }
    }
    // Only values that the unit itself requires can match the unit; any other label is best omitted.
    let keys = named.into_iter().map(|(key, named)| {
        let other = Some(OTHER).filter(|other| !named.contains(other));
        let named_values = named.iter().copied().chain(other).map(Some);
        let values: Vec<Option<&str>> = match own.get(key) {
            Some(ValueRequirement::In(values)) => values.iter().map(|it| Some(&**it)).collect(),
            Some(ValueRequirement::Exists) => named_values.rev().collect(),
            Some(ValueRequirement::DoesNotExist) => vec![None],
            Some(ValueRequirement::NotIn(_)) | None => {
                [None].into_iter().chain(named_values).collect()
            }
        };
        (key, values)
    });
    let keys: Vec<(&str, Vec<Option<&str>>)> = keys.collect();
    search(&keys, &mut Vec::new(), &mut 0, &|labels| policy.unit_of(labels) == unit_index)
}

/// Tries the values of each key, the last key changing fastest.
fn search<'k>(
    keys: &[(&'k str, Vec<Option<&'k str>>)],
    chosen: &mut Vec<(&'k str, &'k str)>,
    tried: &mut usize,
    fits: &impl Fn(&Labels) -> bool,
) -> Option<Labels> {
    let Some(((key, values), others)) = keys.split_first() else {
        *tried += 1;
        let labels = Labels::new(chosen.iter().copied());
        return fits(&labels).then_some(labels);
    };
    for value in values {
        if *tried >= TRIED {
            return None;
        }
        chosen.extend(value.map(|value| (*key, value)));
        let result = search(others, chosen, tried, fits);
        if result.is_some() {
            return result;
        }
        if value.is_some() {
            chosen.pop();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LabelRequirement;
    use crate::units::Unit;

    /// `a=x|y` is in, `a` exists, `!a` does not, `a!=x` is not in.
    fn selector(text: &str) -> LabelSelector {
        LabelSelector::new(text.split(',').map(|part| {
            let values = |text: &str| text.split('|').map(Arc::from).collect();
            let (key, of_value) = if let Some((key, text)) = part.split_once("!=") {
                (key, ValueRequirement::NotIn(values(text)))
            } else if let Some((key, text)) = part.split_once('=') {
                (key, ValueRequirement::In(values(text)))
            } else if let Some(key) = part.strip_prefix('!') {
                (key, ValueRequirement::DoesNotExist)
            } else {
                (part, ValueRequirement::Exists)
            };
            LabelRequirement { key: key.into(), of_value }
        }))
    }

    fn policy(units: &[(&str, i32)]) -> ResourcePolicy {
        let unit = |(nodes, priority): &(&str, i32)| Unit {
            name: (*nodes).into(),
            priority: *priority,
            max: None,
            nodes: selector(nodes),
        };
        ResourcePolicy { units: units.iter().map(unit).collect(), ..ResourcePolicy::default() }
    }

    #[test]
    fn every_unit_that_can_have_a_node_has_one_and_so_has_the_outside() {
        for units in [
            &[("a=x", 2), ("a=y", 1)][..],
            // The better unit selects some of the nodes of the other unit.
            &[("a=x", 2), ("a=x|y", 1)],
            &[("a=x,b=z", 2), ("a=x", 1), ("b=z", 1)],
            &[("a", 2), ("!a,b!=z", 1)],
            &[("a!=x", 2), ("b", 1)],
        ] {
            let policy = policy(units);
            for unit_index in (0..units.len()).map(Some) {
                let labels = labels_in(&policy, unit_index);
                assert_eq!(labels.map(|it| policy.unit_of(&it)), Some(unit_index), "{units:?}");
            }
            assert!(labels_in(&policy, None).is_some(), "{units:?}");
        }
    }

    #[test]
    fn a_unit_whose_nodes_all_belong_to_better_ones_has_no_stand_in() {
        assert_eq!(labels_in(&policy(&[("a", 2), ("a=x", 1)]), Some(1)), None);
        assert_eq!(labels_in(&policy(&[("a", 1), ("!a", 1)]), None), None);
    }
}
