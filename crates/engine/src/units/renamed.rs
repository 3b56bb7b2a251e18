//! Policies that differ between two worlds only in their names, or in the names of their units.
//!
//! Pods and nodes are unchanged, so counts under the old names can be displayed under the new ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::policy::OUTSIDE;
use super::{ResourcePolicy, Unit, Units};
use crate::seam::FamilyState;
use crate::{Identity, Value};

/// The renamed policies, by their old name.
#[derive(Clone, Debug, Default)]
pub struct Renamed(BTreeMap<Identity, Names>);

#[derive(Clone, Debug)]
struct Names {
    new: Identity,
    /// The old and the new name of each unit.
    units: Vec<(Arc<str>, Arc<str>)>,
}

impl Renamed {
    /// The policies that differ only in names between the two worlds.
    #[must_use]
    pub fn between(old: &FamilyState<Units>, new: &FamilyState<Units>) -> Renamed {
        let mut renamed = BTreeMap::new();
        let mut matched_policies: BTreeSet<&Identity> = BTreeSet::new();
        for (identity, policy) in policies(old) {
            let counterpart = if let Some(object) = new.policies.get(identity) {
                let same = object.policy.as_deref();
                same.and_then(|same| Some((identity, units_renamed(policy, same)?)))
            } else {
                let is_free = |other: &Identity| {
                    other.namespace() == identity.namespace()
                        && !old.policies.contains_key(other)
                        && !matched_policies.contains(other)
                };
                policies(new)
                    .filter(|(other, _)| is_free(other))
                    .find_map(|(other, same)| Some((other, units_renamed(policy, same)?)))
            };
            let Some((new, units)) = counterpart else { continue };
            matched_policies.insert(new);
            if new != identity || units.iter().any(|(old, new)| old != new) {
                renamed.insert(identity.clone(), Names { new: new.clone(), units });
            }
        }
        Renamed(renamed)
    }

    /// Whether the name of an object, or of one of its units, has changed.
    #[must_use]
    pub fn concerns(&self, object: &Identity) -> bool {
        self.0.contains_key(object)
    }

    /// The current name of an object.
    #[must_use]
    pub fn new_name<'a>(&'a self, object: &'a Identity) -> &'a Identity {
        self.0.get(object).map_or(object, |names| &names.new)
    }

    /// The counts of an object, under the current names of its units.
    #[must_use]
    pub fn value(&self, object: &Identity, value: &Value) -> Value {
        match (self.0.get(object), value) {
            (Some(names), Value::Numbers(numbers)) => {
                let renamed =
                    numbers.iter().map(|(name, number)| (names.new_name_of(name), *number));
                Value::Numbers(Arc::new(renamed.collect()))
            }
            _ => value.clone(),
        }
    }
}

impl Names {
    /// The new name of a unit; `full_name` may end with the name of its group.
    fn new_name_of(&self, full_name: &Arc<str>) -> Arc<str> {
        let group = |name: &str| {
            let rest = full_name.strip_prefix(name)?;
            let is_group = rest.is_empty() || rest.starts_with(" with");
            is_group.then_some(rest)
        };
        if group(OUTSIDE).is_some() {
            return Arc::clone(full_name);
        }
        let fitting = self.units.iter().filter_map(|(old, new)| Some((old, new, group(old)?)));
        let longest = fitting.max_by_key(|(old, ..)| old.len());
        longest
            .map_or_else(|| Arc::clone(full_name), |(_, new, group)| format!("{new}{group}").into())
    }
}

fn policies(state: &FamilyState<Units>) -> impl Iterator<Item = (&Identity, &ResourcePolicy)> {
    let all = state.policies.iter();
    all.filter_map(|(identity, object)| Some((identity, object.policy.as_deref()?)))
}

/// The old and the new names of the units; `None` if the policies differ in more than names.
fn units_renamed(old: &ResourcePolicy, new: &ResourcePolicy) -> Option<Vec<(Arc<str>, Arc<str>)>> {
    let unnamed = |policy: &ResourcePolicy| ResourcePolicy {
        units: policy.units.iter().map(|it| Unit { name: Arc::from(""), ..it.clone() }).collect(),
        ..policy.clone()
    };
    let names = old.units.iter().zip(&new.units);
    let names = names.map(|(old, new)| (Arc::clone(&old.name), Arc::clone(&new.name)));
    (unnamed(old) == unnamed(new)).then(|| names.collect())
}
