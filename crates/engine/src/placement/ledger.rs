//! The clusters that placements have selected, and the number of selections of each cluster. Each change of a decision
//! updates the counts, so that no placement must count again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{GROUP, PlacementDecision};
use crate::Identity;

/// The clusters that placements have selected, and the number of selections of each cluster.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DecisionLedger {
    decisions: BTreeMap<Identity, PlacementDecision>,
    /// The decisions of each placement.
    of_placements: BTreeMap<Identity, BTreeSet<Identity>>,
    /// The number of selections of each cluster.
    counts: BTreeMap<Arc<str>, u32>,
    /// The number of clusters, by their number of selections.
    clusters_by_count: BTreeMap<u32, u32>,
}

impl DecisionLedger {
    /// All decisions, with their identities.
    pub fn iter(&self) -> impl Iterator<Item = (&Identity, &PlacementDecision)> {
        self.decisions.iter()
    }

    /// A decision by its identity.
    #[must_use]
    pub fn get(&self, decision: &Identity) -> Option<&PlacementDecision> {
        self.decisions.get(decision)
    }

    /// The decisions of a placement, and objects whose names match one of its decisions, in order.
    pub(super) fn for_placement<'a>(
        &'a self,
        placement: &Identity,
    ) -> BTreeMap<&'a Identity, &'a PlacementDecision> {
        let labeled = self.of_placements.get(placement).into_iter().flatten();
        let labeled = labeled.filter_map(|identity| self.decisions.get_key_value(identity));
        let prefix = format!("{}-decision-", placement.name());
        let first = decision_identity(placement.namespace(), &prefix);
        let named = self.decisions.range(first..).take_while(|(identity, _)| {
            identity.namespace() == placement.namespace() && identity.name().starts_with(&prefix)
        });
        let named = named
            .filter(|(identity, _)| decision_number(identity.name(), placement.name()).is_some());
        labeled.chain(named).collect()
    }

    /// The decisions of these placements alone, for placements that ignore the counts of others.
    pub(super) fn part<'p>(
        &self,
        placements: impl Iterator<Item = &'p Identity>,
    ) -> DecisionLedger {
        let mut part = DecisionLedger::default();
        for (identity, decision) in placements.flat_map(|it| self.for_placement(it)) {
            part.insert(identity.clone(), decision.clone());
        }
        part
    }

    /// The placements to which an object belongs as a decision, by its label or its name, among the given placements.
    pub(super) fn placements_of<'p, Object>(
        &self,
        decision: &Identity,
        placements: &'p BTreeMap<Identity, Object>,
    ) -> Vec<&'p Identity> {
        let named = |name: &str| Identity::new(GROUP, "Placement", decision.namespace(), name);
        let labeled = self.decisions.get(decision).and_then(|it| owner(decision, it));
        let numbered = decision.name().rsplit_once("-decision-").map(|(placement, _)| placement);
        let numbered = numbered.filter(|it| decision_number(decision.name(), it).is_some());
        let owners: BTreeSet<Identity> = labeled.into_iter().chain(numbered.map(named)).collect();
        owners.iter().filter_map(|owner| Some(placements.get_key_value(owner)?.0)).collect()
    }

    /// The number of selections of each cluster, by all placements together.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&Arc<str>, u32)> {
        self.counts.iter().map(|(cluster, count)| (cluster, *count))
    }

    /// The maximum number of selections of a cluster, after subtraction of the given numbers by cluster name.
    pub(super) fn busiest_without(&self, left_out: &BTreeMap<&str, u32>) -> u32 {
        let mut of_others = 0;
        let mut elsewhere: BTreeMap<u32, u32> = BTreeMap::new();
        for (cluster, own) in left_out {
            let all = self.counts.get(*cluster).copied().unwrap_or_default();
            of_others = of_others.max(all.saturating_sub(*own));
            *elsewhere.entry(all).or_default() += 1;
        }
        let untouched = self.clusters_by_count.iter().rev().find(|(count, clusters)| {
            **clusters > elsewhere.get(count).copied().unwrap_or_default()
        });
        untouched.map_or(0, |(count, _)| *count).max(of_others)
    }

    pub(crate) fn insert(&mut self, identity: Identity, decision: PlacementDecision) {
        for cluster in &decision.clusters {
            self.count(cluster, |count| count + 1);
        }
        let owner = owner(&identity, &decision);
        if let Some(before) = self.decisions.insert(identity.clone(), decision) {
            self.remove_from_index(&identity, &before);
        }
        if let Some(owner) = owner {
            self.of_placements.entry(owner).or_default().insert(identity);
        }
    }

    pub(crate) fn remove(&mut self, identity: &Identity) -> Option<PlacementDecision> {
        let before = self.decisions.remove(identity)?;
        self.remove_from_index(identity, &before);
        Some(before)
    }

    fn remove_from_index(&mut self, identity: &Identity, decision: &PlacementDecision) {
        if let Some(owner) = owner(identity, decision)
            && let Some(known) = self.of_placements.get_mut(&owner)
        {
            known.remove(identity);
            if known.is_empty() {
                self.of_placements.remove(&owner);
            }
        }
        for cluster in &decision.clusters {
            self.count(cluster, |count| count - 1);
        }
    }

    fn count(&mut self, cluster: &Arc<str>, change: fn(u32) -> u32) {
        let before = self.counts.get(cluster).copied().unwrap_or_default();
        let after = change(before);
        if after == 0 {
            self.counts.remove(cluster);
        } else {
            self.counts.insert(Arc::clone(cluster), after);
        }
        if before > 0
            && let Some(clusters) = self.clusters_by_count.get_mut(&before)
        {
            *clusters -= 1;
            if *clusters == 0 {
                self.clusters_by_count.remove(&before);
            }
        }
        if after > 0 {
            *self.clusters_by_count.entry(after).or_default() += 1;
        }
    }
}

/// The placement that a decision belongs to.
fn owner(identity: &Identity, decision: &PlacementDecision) -> Option<Identity> {
    let placement = decision.placement.as_deref()?;
    Some(Identity::new(GROUP, "Placement", identity.namespace(), placement))
}

/// The identity of the `PlacementDecision` of this name.
#[must_use]
pub(super) fn decision_identity(namespace: &str, name: &str) -> Identity {
    Identity::new(GROUP, "PlacementDecision", namespace, name)
}

/// The number in the name of a decision of this placement; `None` for other names.
pub(super) fn decision_number(name: &str, placement: &str) -> Option<u32> {
    let digits = name.strip_prefix(placement)?.strip_prefix("-decision-")?;
    let number: u32 = digits.parse().ok()?;
    // Without leading zeros or a sign.
    (number.to_string() == digits).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(clusters: &[&str]) -> PlacementDecision {
        let clusters = clusters.iter().map(|it| Arc::from(*it)).collect();
        PlacementDecision { clusters, ..PlacementDecision::default() }
    }

    fn counts(ledger: &DecisionLedger) -> String {
        let shown = ledger.counts().map(|(cluster, count)| format!("{cluster} {count}"));
        shown.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn the_selections_of_a_cluster_follow_added_and_removed_decisions() {
        let mut ledger = DecisionLedger::default();
        let [one, two] = ["one", "two"].map(|name| decision_identity("shop", name));
        ledger.insert(one.clone(), decision(&["east", "west"]));
        ledger.insert(two.clone(), decision(&["east"]));
        assert_eq!(counts(&ledger), "east 2, west 1");
        assert_eq!(ledger.busiest_without(&BTreeMap::new()), 2);
        assert_eq!(ledger.busiest_without(&BTreeMap::from([("east", 1)])), 1);
        ledger.insert(one.clone(), decision(&["west", "west", "north"]));
        assert_eq!(counts(&ledger), "east 1, north 1, west 2");
        assert_eq!(ledger.busiest_without(&BTreeMap::from([("west", 2), ("north", 1)])), 1);
        ledger.remove(&one);
        assert_eq!(counts(&ledger), "east 1");
        ledger.remove(&two);
        assert_eq!((ledger.counts().count(), ledger.clusters_by_count.len()), (0, 0));
    }

    #[test]
    fn the_number_of_a_decision_is_read_from_its_name() {
        for (name, number) in [
            ("web-decision-1", Some(1)),
            ("web-decision-12", Some(12)),
            ("web-decision-01", None),
            ("web-decision-+1", None),
            ("web-decision-", None),
            ("web-2-decision-1", None),
            ("web", None),
        ] {
            assert_eq!(decision_number(name, "web"), number, "{name}");
        }
    }
}
