//! The unit of a policy that contains a node, by one lookup for each label of the node: a policy may contain thousands
//! of requirements, and a cluster thousands of nodes.
//!
//! Each unit is a bit, and the best unit is the lowest bit. For each key and value, the units that accept it are
//! recorded. A node is in the lowest of the units that accept all of its labels, and the absence of all other keys.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::usage::UnitIndex;
use crate::units::Unit;
use crate::{Labels, ValueRequirement};

/// A set of units, one bit each; a policy has at most 64 units.
type Units = u64;

/// The units of a policy, by their requirements.
#[derive(Clone, Debug, Default)]
pub(super) struct UnitSelection {
    /// For each bit, the index of the unit.
    unit_indexes: Vec<UnitIndex>,
    /// Each key with a requirement of any unit, and its index.
    keys: BTreeMap<Arc<str>, usize>,
    /// For each key, the units that accept a node without the key.
    without: Vec<Units>,
    /// For each key, the units that accept a value.
    values: Vec<OfValues>,
}

/// The units that accept a value of one key.
#[derive(Clone, Debug, Default)]
struct OfValues {
    named: BTreeMap<Arc<str>, Units>,
    other: Units,
}

impl UnitSelection {
    /// The first 64 units: a policy has no more.
    pub(super) fn new(units: &[Unit]) -> UnitSelection {
        let mut order: Vec<usize> = (0..units.len().min(Units::BITS as usize)).collect();
        order.sort_by_key(|index| std::cmp::Reverse(units[*index].priority));
        let mut selection = UnitSelection::default();
        let all = Units::MAX;
        for unit in order.iter().map(|index| &units[*index]) {
            for requirement in unit.nodes.requirements() {
                let next = selection.keys.len();
                let key = *selection.keys.entry(Arc::clone(&requirement.key)).or_insert(next);
                if key == next {
                    selection.without.push(all);
                    selection.values.push(OfValues { named: BTreeMap::new(), other: all });
                }
                if let ValueRequirement::In(values) | ValueRequirement::NotIn(values) =
                    &requirement.of_value
                {
                    let named = &mut selection.values[key].named;
                    named.extend(values.iter().map(|value| (Arc::clone(value), all)));
                }
            }
        }
        for (bit, index) in order.iter().enumerate() {
            selection.require(1 << bit, &units[*index]);
        }
        selection.unit_indexes =
            order.into_iter().map(|index| UnitIndex::new(Some(index))).collect();
        selection
    }

    /// Clears the bit of a unit for each value, and for each absence of a key, that the unit does not accept.
    fn require(&mut self, unit: Units, of: &Unit) {
        // The values that all requirements of a key accept, if they name certain values.
        let mut only: BTreeMap<usize, BTreeSet<&Arc<str>>> = BTreeMap::new();
        for requirement in of.nodes.requirements() {
            let Some(key) = self.keys.get(&requirement.key).copied() else { continue };
            let values = &mut self.values[key];
            match &requirement.of_value {
                ValueRequirement::In(accepted) => {
                    self.without[key] &= !unit;
                    values.other &= !unit;
                    let accepted: BTreeSet<&Arc<str>> = accepted.iter().collect();
                    let common_values = only.entry(key).or_insert_with(|| accepted.clone());
                    common_values.retain(|value| accepted.contains(value));
                }
                ValueRequirement::NotIn(refused) => {
                    for value in refused {
                        values.refuse(value, unit);
                    }
                }
                ValueRequirement::Exists => self.without[key] &= !unit,
                ValueRequirement::DoesNotExist => {
                    only.insert(key, BTreeSet::new());
                    values.other &= !unit;
                }
            }
        }
        for (key, accepted) in only {
            let named = self.values[key].named.iter_mut();
            let refused = named.filter(|(value, _)| !accepted.contains(value));
            refused.for_each(|(_, units)| *units &= !unit);
        }
    }

    /// The unit of a node with these labels.
    pub(super) fn unit_of(&self, labels: &Labels) -> UnitIndex {
        let mut units = Units::MAX;
        let mut lacks_from = 0;
        let mut present: Vec<usize> = Vec::new();
        for (key, value) in labels.iter() {
            if let Some(key) = self.keys.get(key).copied() {
                units &= self.values[key].accepting(value);
                present.push(key);
            }
        }
        present.sort_unstable();
        for key in present.into_iter().chain([self.without.len()]) {
            let lacking = self.without.get(lacks_from..key).unwrap_or_default();
            units = lacking.iter().fold(units, |units, without| units & without);
            lacks_from = key + 1;
        }
        let best = self.unit_indexes.get(units.trailing_zeros() as usize);
        best.copied().unwrap_or(UnitIndex::OUTSIDE)
    }
}

impl OfValues {
    fn accepting(&self, value: &str) -> Units {
        self.named.get(value).copied().unwrap_or(self.other)
    }

    fn refuse(&mut self, value: &str, unit: Units) {
        if let Some(units) = self.named.get_mut(value) {
            *units &= !unit;
        }
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::units::ResourcePolicy;
    use crate::{LabelRequirement, LabelSelector};

    fn requirement(rng: &mut Rng) -> LabelRequirement {
        let count = rng.usize(1..=2);
        let values = (0..count).map(|_| Arc::from(["x", "y", "z"][rng.usize(..3)])).collect();
        let of_value = match rng.u8(..6) {
            0 | 1 => ValueRequirement::In(values),
            2 | 3 => ValueRequirement::NotIn(values),
            4 => ValueRequirement::Exists,
            _ => ValueRequirement::DoesNotExist,
        };
        LabelRequirement { key: ["a", "b", "c"][rng.usize(..3)].into(), of_value }
    }

    #[test]
    fn the_selectors_of_units_determine_the_unit_of_a_node() {
        let (mut inside, mut outside) = (0, 0);
        for seed in 0..1_000 {
            let mut rng = Rng::with_seed(seed);
            let unit = |rng: &mut Rng| Unit {
                name: "".into(),
                priority: rng.i32(0..3),
                max: None,
                nodes: LabelSelector::new((0..rng.usize(1..=3)).map(|_| requirement(rng))),
            };
            let units: Vec<Unit> = (0..rng.usize(1..=5)).map(|_| unit(&mut rng)).collect();
            let selection = UnitSelection::new(&units);
            let policy = ResourcePolicy { units: units.into(), ..ResourcePolicy::default() };
            for labels in 0..256 {
                let of = |key: usize| ["", "x", "y", "w"].get(labels >> (2 * key) & 3).copied();
                let pairs = (0..4).filter_map(|key| Some((["a", "b", "c", "d"][key], of(key)?)));
                let labels = Labels::new(pairs.filter(|(_, value)| !value.is_empty()));
                let expected = UnitIndex::new(policy.unit_of(&labels));
                assert_eq!(selection.unit_of(&labels), expected, "seed {seed}: {labels}");
                let count = if expected.index().is_some() { &mut inside } else { &mut outside };
                *count += 1;
            }
        }
        assert!(inside > 10_000 && outside > 10_000, "{inside} inside, {outside} outside");
    }

    #[test]
    fn sixty_four_units_have_a_bit_each() {
        let requirement = |value: usize| LabelRequirement {
            key: "unit".into(),
            of_value: ValueRequirement::In([Arc::from(value.to_string())].into()),
        };
        let unit = |index: usize| Unit {
            name: "".into(),
            priority: 0,
            max: None,
            nodes: LabelSelector::new([requirement(index)]),
        };
        let selection = UnitSelection::new(&(0..64).map(unit).collect::<Vec<_>>());
        for index in [0, 1, 62, 63] {
            let labels = Labels::new([("unit", index.to_string())]);
            assert_eq!(selection.unit_of(&labels).index(), Some(index));
        }
        assert_eq!(selection.unit_of(&Labels::default()), UnitIndex::OUTSIDE);
        let everywhere = UnitSelection::new(&[]);
        assert_eq!(everywhere.unit_of(&Labels::default()), UnitIndex::OUTSIDE);
    }
}
