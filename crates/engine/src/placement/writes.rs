//! The order in which the decisions of a placement are written. A cluster that stays selected is always in a decision:
//! it is added to its new decision before it is removed from the old one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::decide::{CLUSTERS_PER_DECISION, content, object};
use super::ledger::decision_number;
use super::{Input, PlacementDecision};
use crate::{Action, Identity};

/// The desired content of one decision.
pub(super) struct WantedDecision<'a> {
    pub(super) name: &'a Arc<str>,
    pub(super) group: &'a Arc<str>,
    pub(super) index: u32,
    pub(super) clusters: &'a [Arc<str>],
}

/// The writes that lead from the current decisions to the desired ones.
pub(super) fn writes(input: &Input<'_>, wanted: &[WantedDecision<'_>]) -> Vec<Action> {
    let mut pending: BTreeMap<Identity, Option<PlacementDecision>> = BTreeMap::new();
    let mut kept: BTreeSet<Identity> = BTreeSet::new();
    for it in wanted {
        let object = object(input, it.name);
        if !input.decisions.get(&object).is_some_and(|found| is_as_wanted(input, found, it)) {
            pending.insert(object.clone(), Some(content(input, it)));
        }
        kept.insert(object);
    }
    let placement = input.identity.name();
    let is_own = |it: &PlacementDecision| it.placement.as_deref() == Some(placement);
    // An unneeded object that only has the name of a decision belongs to another field manager.
    let surplus =
        input.decisions.iter().filter(|(object, it)| is_own(it) && !kept.contains(**object));
    pending.extend(surplus.map(|(object, _)| ((*object).clone(), None)));
    if pending.is_empty() {
        return Vec::new();
    }
    let mut update = Update {
        is_selected: wanted.iter().flat_map(|it| it.clusters).cloned().collect(),
        places: BTreeMap::new(),
        state: BTreeMap::new(),
        changes: Changes::default(),
        spare: free_number(input, wanted),
        actions: Vec::new(),
    };
    for (object, found) in input.decisions.iter().filter(|(_, it)| is_own(it)) {
        update.hold((*object).clone(), &found.clusters);
    }
    update.expect(pending);
    update.run(input);
    update.actions
}

fn is_as_wanted(input: &Input<'_>, found: &PlacementDecision, wanted: &WantedDecision<'_>) -> bool {
    found.placement.as_deref() == Some(input.identity.name())
        && found.group == *wanted.group
        && found.group_index == Some(wanted.index)
        && *found.clusters == *wanted.clusters
}

/// A number above the numbers of all current and desired decisions of the placement.
fn free_number(input: &Input<'_>, wanted: &[WantedDecision<'_>]) -> u32 {
    let name = input.identity.name();
    let numbers = input.decisions.keys().filter_map(|it| decision_number(it.name(), name));
    let count = u32::try_from(wanted.len()).unwrap_or(u32::MAX);
    numbers.max().unwrap_or_default().max(count).saturating_add(1)
}

/// The decisions of a placement while they are written.
struct Update {
    is_selected: BTreeSet<Arc<str>>,
    /// The number of decisions that contain each cluster now.
    places: BTreeMap<Arc<str>, u32>,
    state: BTreeMap<Identity, BTreeSet<Arc<str>>>,
    changes: Changes,
    spare: u32,
    actions: Vec<Action>,
}

/// The change of one decision.
struct Change {
    object: Identity,
    /// The desired content; `None` to remove the decision.
    content: Option<PlacementDecision>,
    /// The number of clusters that would be in no decision if this change were applied now.
    blocked_by: usize,
}

/// The remaining changes. A placement may have ten thousand, so the set of possible next changes is kept up to date,
/// not searched.
#[derive(Default)]
struct Changes {
    /// Writes precede removals, and later decisions precede earlier ones: most changes move clusters toward the end.
    in_order: Vec<Change>,
    left: BTreeSet<usize>,
    free: BTreeSet<usize>,
    /// The changes that remove a cluster that stays selected from a decision, by cluster.
    losing: BTreeMap<Arc<str>, Vec<usize>>,
}

impl Changes {
    /// Records whether a different decision contains the cluster, too.
    fn note(&mut self, cluster: &str, is_elsewhere: bool) {
        for index in self.losing.get(cluster).into_iter().flatten() {
            let Some(change) = self.in_order.get_mut(*index) else { continue };
            if is_elsewhere {
                change.blocked_by = change.blocked_by.saturating_sub(1);
            } else {
                change.blocked_by += 1;
            }
            if change.blocked_by > 0 {
                self.free.remove(index);
            } else if self.left.contains(index) {
                self.free.insert(*index);
            }
        }
    }
}

impl Update {
    fn hold(&mut self, object: Identity, clusters: &[Arc<str>]) {
        let clusters: BTreeSet<Arc<str>> = clusters.iter().cloned().collect();
        for cluster in &clusters {
            let places = self.places.entry(Arc::clone(cluster)).or_default();
            *places += 1;
            if *places == 2 {
                self.changes.note(cluster, true);
            }
        }
        let before = self.state.insert(object, clusters);
        self.leave(before);
    }

    fn leave(&mut self, clusters: Option<BTreeSet<Arc<str>>>) {
        for cluster in clusters.into_iter().flatten() {
            let Some(places) = self.places.get_mut(&cluster) else { continue };
            *places = places.saturating_sub(1);
            if *places == 1 {
                self.changes.note(&cluster, false);
            }
        }
    }

    /// The clusters that stay selected and that a decision loses with this content.
    fn lost(&self, object: &Identity, content: Option<&PlacementDecision>) -> Vec<Arc<str>> {
        let kept_clusters: BTreeSet<&Arc<str>> =
            content.into_iter().flat_map(|it| &it.clusters).collect();
        let current_clusters = self.state.get(object).into_iter().flatten();
        let lost = current_clusters
            .filter(|it| self.is_selected.contains(*it) && !kept_clusters.contains(it));
        lost.cloned().collect()
    }

    fn is_in_no_other_decision(&self, cluster: &Arc<str>) -> bool {
        self.places.get(cluster).is_some_and(|places| *places < 2)
    }

    /// Records the required changes, once the current decisions are known.
    fn expect(&mut self, pending: BTreeMap<Identity, Option<PlacementDecision>>) {
        let (written, removed): (Vec<_>, Vec<_>) =
            pending.into_iter().rev().partition(|(_, content)| content.is_some());
        for (index, (object, content)) in written.into_iter().chain(removed).enumerate() {
            let lost = self.lost(&object, content.as_ref());
            let blocked_by = lost.iter().filter(|it| self.is_in_no_other_decision(it)).count();
            for cluster in lost {
                self.changes.losing.entry(cluster).or_default().push(index);
            }
            self.changes.left.insert(index);
            if blocked_by == 0 {
                self.changes.free.insert(index);
            }
            self.changes.in_order.push(Change { object, content, blocked_by });
        }
    }

    fn write(&mut self, decision: Identity, content: PlacementDecision) {
        self.hold(decision.clone(), &content.clusters);
        self.actions.push(Action::WriteDecision { decision, content: Box::new(content) });
    }

    fn remove(&mut self, decision: Identity) {
        let before = self.state.remove(&decision);
        self.leave(before);
        self.actions.push(Action::RemoveDecision { decision });
    }

    fn run(&mut self, input: &Input<'_>) {
        let mut spares = Vec::new();
        while let Some(next) = self.changes.free.first().or(self.changes.left.first()).copied() {
            let is_free = self.changes.free.remove(&next);
            self.changes.left.remove(&next);
            let Some(change) = self.changes.in_order.get_mut(next) else { break };
            let (object, content) = (change.object.clone(), change.content.take());
            if !is_free {
                spares.append(&mut self.keep_elsewhere(input, &object, content.as_ref()));
            }
            match content {
                Some(content) => self.write(object, content),
                None => self.remove(object),
            }
        }
        for spare in spares {
            self.remove(spare);
        }
    }

    /// Breaks a cycle of exchanged clusters: a different decision contains the clusters of one change until the cycle
    /// is complete.
    fn keep_elsewhere(
        &mut self,
        input: &Input<'_>,
        object: &Identity,
        content: Option<&PlacementDecision>,
    ) -> Vec<Identity> {
        let mut lost = self.lost(object, content);
        lost.retain(|cluster| self.is_in_no_other_decision(cluster));
        let mut spares = Vec::new();
        for clusters in lost.chunks(CLUSTERS_PER_DECISION) {
            let name = format!("{}-decision-{}", input.identity.name(), self.spare);
            self.spare = self.spare.saturating_add(1);
            let spare = super::decide::object(input, &name);
            let placement = Some(input.identity.name().into());
            let like = content.cloned().unwrap_or_default();
            let held = PlacementDecision { placement, clusters: clusters.into(), ..like };
            self.write(spare.clone(), held);
            spares.push(spare);
        }
        spares
    }
}
