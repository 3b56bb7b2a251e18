//! Where a pod may go: which of the candidate nodes, in the order of the units, and why not the others.
//!
//! Which nodes fit it otherwise is up to the scheduler, which asks with those only.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};

use super::binds::{conflict_message, short};
use super::book::{Book, Group, UnitPlace};
use super::{Governing, Ledger, PodSlot, Standing};
use crate::Identity;
use crate::units::slots::{GroupId, NodeId, PodId, PolicyId, SlotId as _};
use crate::units::{Strategy, Unit};

/// The highest score of a node.
const HIGHEST_SCORE: i64 = 10;

/// Where a pod may go.
#[derive(Debug)]
pub enum Ruling<'l> {
    /// This ledger does not have the lead, or is not complete yet.
    NotServing,
    /// The pod is not known: it has to be read first, and then may be gone.
    UnknownPod,
    /// To all nodes, since no policy governs it.
    Untouched,
    /// To none: several policies select it.
    Conflict(Box<[Identity]>),
    /// To none: it is on a node, or being bound to one, or needs none any more.
    NotPending,
    /// It depends on the node.
    ByNode(Verdicts<'l>),
}

/// Whether a pod may go to a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// It may.
    Chosen,
    /// Other candidates are in better units with room.
    Lower,
    /// The unit of the node takes no more pods of the group.
    Full,
    /// The unit of the node takes none at all.
    Closed,
    /// The node is in no unit, and the policy requires one.
    Outside,
    /// The node is not known yet.
    UnknownNode,
}

/// The verdicts on the candidate nodes of a pod.
#[derive(Debug)]
pub struct Verdicts<'l> {
    book: &'l Book,
    group: &'l Group,
    /// For each unit.
    of_units: Box<[Verdict]>,
    of_outside: Verdict,
    /// The units that were chosen; empty if none was.
    chosen: Vec<usize>,
}

/// Whether evicting pods from a node may make room for another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Preemption {
    /// It may.
    Keep,
    /// It does not help, and why.
    Drop(String),
}

impl Verdict {
    /// Whether nothing that a scheduler could evict would change it.
    #[must_use]
    pub fn is_unresolvable(self) -> bool {
        match self {
            Verdict::Full | Verdict::Closed | Verdict::Outside => true,
            Verdict::Chosen | Verdict::Lower | Verdict::UnknownNode => false,
        }
    }
}

impl Ledger {
    /// The verdicts on the candidates; nothing changes by asking. A pod whose binding is not settled is not asked about.
    #[must_use]
    pub fn verdicts(&self, pod: &Identity, candidates: &[NodeId]) -> Ruling<'_> {
        let Some(id) = self.pod_ids.get(pod).copied() else { return Ruling::UnknownPod };
        let slot = &self.pods[id];
        if !self.is_pending(id) {
            return Ruling::NotPending;
        }
        match self.governing(slot) {
            Governing::None => Ruling::Untouched,
            Governing::Several => Ruling::Conflict(self.conflict_of(slot.shape)),
            Governing::One(policy, group) => {
                Ruling::ByNode(self.verdicts_under(id, policy, group, candidates))
            }
        }
    }

    /// The same as a scheduler asks: what is chosen is leased for a while, and a pod that is refused waits to be woken.
    pub fn filter(
        &mut self,
        pod: &Identity,
        candidates: &[NodeId],
        now: Timestamp,
        lease: SignedDuration,
    ) -> Ruling<'_> {
        if !matches!(self.standing, Standing::Serving { .. }) {
            return Ruling::NotServing;
        }
        self.end_leases(now);
        if let Some(id) = self.pod_ids.get(pod).copied()
            && self.is_pending(id)
        {
            self.keep_place(id, candidates, now.saturating_add(lease).unwrap_or(Timestamp::MAX));
        }
        self.verdicts(pod, candidates)
    }

    /// Leases the place that is chosen for a pod, or lets it wait.
    fn keep_place(&mut self, id: PodId, candidates: &[NodeId], until: Timestamp) {
        match self.governing(&self.pods[id]) {
            Governing::None => {}
            Governing::Several => self.wait(id),
            Governing::One(policy, group) => {
                let verdicts = self.verdicts_under(id, policy, group, candidates);
                let is_chosen =
                    verdicts.of_outside == Verdict::Chosen || !verdicts.chosen.is_empty();
                let place = verdicts.place_to_lease();
                if !is_chosen {
                    return self.wait(id);
                }
                self.stop_waiting(id);
                self.end_waking(id);
                match place {
                    Some(place) => self.lease(id, policy, group, place, until),
                    None => self.end_lease(id),
                }
            }
        }
    }

    fn verdicts_under(
        &self,
        pod: PodId,
        policy: PolicyId,
        group: GroupId,
        candidates: &[NodeId],
    ) -> Verdicts<'_> {
        let book = &self.books[policy];
        let group = &book.groups[group];
        // Small, and in one piece: this is run over for every candidate.
        let mut is_candidate = vec![false; book.policy.units.len()];
        let units_of_nodes = book.units_of_nodes();
        for node in candidates {
            let place = units_of_nodes.get(node.index()).copied().unwrap_or(UnitPlace::OUTSIDE);
            if let Some(is_candidate) = place.index().and_then(|place| is_candidate.get_mut(place))
            {
                *is_candidate = true;
            }
        }
        let of_unit = |(index, unit): (usize, &Unit)| {
            let place = UnitPlace::new(Some(index));
            let cell = &group.cells[index];
            let own = u32::from(self.has_lease(pod, policy, place));
            let taken = cell.used.saturating_add(cell.leased.saturating_sub(own));
            match unit.max {
                Some(0) => Verdict::Closed,
                Some(max) if taken >= max => Verdict::Full,
                // Until the best one is known.
                Some(_) | None => Verdict::Lower,
            }
        };
        let mut of_units: Box<[Verdict]> =
            book.policy.units.iter().enumerate().map(of_unit).collect();
        let has_room = |(index, _): &(usize, &Unit)| {
            is_candidate[*index] && of_units[*index] == Verdict::Lower
        };
        let with_room = book.policy.units.iter().enumerate().filter(has_room);
        let best = with_room.clone().map(|(_, unit)| unit.priority).max();
        let chosen: Vec<usize> = with_room
            .filter(|(_, unit)| Some(unit.priority) == best)
            .map(|(index, _)| index)
            .collect();
        for index in &chosen {
            of_units[*index] = Verdict::Chosen;
        }
        let of_outside = match (book.policy.strategy, best) {
            (Strategy::Required, _) => Verdict::Outside,
            (Strategy::Prefer, Some(_)) => Verdict::Lower,
            (Strategy::Prefer, None) => Verdict::Chosen,
        };
        Verdicts { book, group, of_units, of_outside, chosen }
    }

    /// The scores of the candidates of a pod, in their order: by the priority of their units, the best 10. Without a
    /// policy all are 0.
    #[must_use]
    pub fn scores(&self, pod: &Identity, candidates: &[NodeId]) -> Vec<u8> {
        let governing = self.pod_ids.get(pod).map(|id| self.governing(&self.pods[*id]));
        let Some(Governing::One(policy, _)) = governing else {
            return vec![0; candidates.len()];
        };
        let book = &self.books[policy];
        let units: Vec<Option<&Unit>> =
            candidates.iter().map(|node| book.unit(book.unit_of(*node))).collect();
        let raw = |unit: &Unit| i64::from(unit.priority) * 20;
        let highest = units.iter().flatten().map(|unit| raw(unit)).max().unwrap_or(0);
        let least = i64::from(book.policy.strategy == Strategy::Prefer);
        let score = |unit: Option<&Unit>| {
            let Some(unit) = unit else { return 0 };
            let normalised = (raw(unit) * HIGHEST_SCORE).checked_div(highest).unwrap_or(0);
            u8::try_from(normalised.clamp(least, HIGHEST_SCORE)).unwrap_or(0)
        };
        units.into_iter().map(score).collect()
    }

    /// Whether evicting these pods, by their UIDs, from a node that lacks resources makes room for a pod. A cap never
    /// makes a victim: a full unit takes the pod only if enough of the victims are counted there, in the same group.
    #[must_use]
    pub fn preempt<Uid: AsRef<str>>(
        &self,
        pod: &Identity,
        node: NodeId,
        victims: &[Uid],
    ) -> Preemption {
        let Some(id) = self.pod_ids.get(pod).copied() else {
            return Preemption::Drop("the pod is not known".to_owned());
        };
        let slot = &self.pods[id];
        let (policy, group) = match self.governing(slot) {
            Governing::None => return Preemption::Keep,
            Governing::Several => {
                return Preemption::Drop(conflict_message(&self.conflict_of(slot.shape)));
            }
            Governing::One(policy, group) => (policy, group),
        };
        // With this node alone as a candidate, only its own unit matters.
        let verdicts = self.verdicts_under(id, policy, group, &[node]);
        let place = verdicts.book.unit_of(node);
        let verdict = verdicts.of(Some(node));
        let counted_victims = || {
            let on_node = self.nodes.get(node).map(|node| node.pods.iter());
            let on_node = on_node.into_iter().flatten().map(|pod| &self.pods[*pod]);
            let is_victim = |pod: &&PodSlot| {
                let uid = pod.uid.as_deref();
                uid.is_some_and(|uid| victims.iter().any(|victim| victim.as_ref() == uid))
            };
            let is_counted = |pod: &&PodSlot| {
                pod.seat.is_some_and(|seat| {
                    (seat.policy, seat.group, seat.place) == (policy, group, place)
                })
            };
            on_node.filter(is_victim).filter(is_counted).count()
        };
        // Of a unit over its cap, as many have to go as it is over, and one more.
        let has_room_then = || {
            let cell = verdicts.group.cell(place);
            let used = cell.map_or(0, |cell| cell.used as usize);
            let max = verdicts.book.unit(place).and_then(|unit| unit.max).unwrap_or(u32::MAX);
            let victims = counted_victims();
            victims > 0 && used.saturating_sub(victims) < max as usize
        };
        let is_kept = match verdict {
            Verdict::Chosen | Verdict::Lower => true,
            Verdict::Full => has_room_then(),
            Verdict::Closed | Verdict::Outside | Verdict::UnknownNode => false,
        };
        if is_kept { Preemption::Keep } else { Preemption::Drop(verdicts.why(Some(node))) }
    }
}

impl Ruling<'_> {
    /// Why all candidates are refused, if they are whatever node they are.
    #[must_use]
    pub fn why_refused(&self) -> Option<String> {
        match self {
            Ruling::NotServing => Some("this replica does not decide at the moment".to_owned()),
            Ruling::UnknownPod => Some("the pod is not known, or is gone".to_owned()),
            Ruling::NotPending => Some("the pod is on a node or being bound to one".to_owned()),
            Ruling::Conflict(policies) => Some(conflict_message(policies)),
            Ruling::Untouched | Ruling::ByNode(_) => None,
        }
    }
}

impl Verdicts<'_> {
    /// The verdict on a candidate; `None` stands for a node that is not known.
    #[must_use]
    pub fn of(&self, node: Option<NodeId>) -> Verdict {
        let Some(node) = node else { return Verdict::UnknownNode };
        match self.book.unit_of(node).index() {
            Some(unit) => self.of_units.get(unit).copied().unwrap_or(self.of_outside),
            None => self.of_outside,
        }
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &Identity {
        &self.book.identity
    }

    /// The verdict on the nodes of each unit, in the order of the policy, as if they all were candidates; last, on those
    /// outside all units.
    pub fn by_unit(&self) -> impl Iterator<Item = (Option<&Unit>, Verdict, String)> {
        let units = self.book.policy.units.iter().enumerate();
        let of_units = units
            .map(|(index, unit)| (Some(unit), self.of_units[index], self.why_unit(Some(index))));
        of_units.chain([(None, self.of_outside, self.why_unit(None))])
    }

    /// Why that is the verdict on a node, as a line for a person. The same for all nodes of a unit.
    #[must_use]
    pub fn why(&self, node: Option<NodeId>) -> String {
        match node {
            Some(node) => self.why_unit(self.book.unit_of(node).index()),
            None => "the node is not known yet".to_owned(),
        }
    }

    /// The number of the reason of a node: nodes with the same number have the same one.
    #[must_use]
    pub fn reason_of(&self, node: NodeId) -> usize {
        self.book.unit_of(node).index().unwrap_or(self.of_units.len())
    }

    fn why_unit(&self, index: Option<usize>) -> String {
        let policy = short(&self.book.identity);
        let Some((index, unit)) =
            index.and_then(|index| Some((index, self.book.policy.units.get(index)?)))
        else {
            return match self.of_outside {
                Verdict::Outside => format!(
                    "the node is in no unit of ResourcePolicy {policy}, whose strategy is required"
                ),
                Verdict::Chosen => {
                    format!("no unit of ResourcePolicy {policy} among the candidates has room")
                }
                _ => format!(
                    "the node is in no unit of ResourcePolicy {policy}, and {} has room",
                    self.chosen_units()
                ),
            };
        };
        let unit_name = format!("unit \"{}\" of ResourcePolicy {policy}", unit.name);
        match self.of_units[index] {
            Verdict::Closed => format!("{unit_name} is closed: its maxCount is 0"),
            Verdict::Full => format!("{unit_name} is full: {}", self.count_of(index)),
            Verdict::Chosen => format!("{unit_name} has room: {}", self.count_of(index)),
            Verdict::Lower if self.chosen.is_empty() => {
                format!("{unit_name} has room, and none of its nodes is a candidate")
            }
            _ => format!("{unit_name} comes after {}, which has room", self.chosen_units()),
        }
    }

    fn chosen_units(&self) -> String {
        let name = |index: &usize| format!("\"{}\"", self.book.policy.units[*index].name);
        let names: Vec<String> = self.chosen.iter().map(name).collect();
        match names.len() {
            1 => format!("unit {}", names[0]),
            _ => format!("one of the units {}", names.join(", ")),
        }
    }

    /// `7 of 10 pods with pod-template-hash=abc, and 1 place promised`.
    fn count_of(&self, index: usize) -> String {
        let cell = &self.group.cells[index];
        let mut text = match self.book.policy.units[index].max {
            Some(max) => format!("{} of {max} pods", cell.used),
            None => format!("{} pods", cell.used),
        };
        text.push_str(&self.book.describe(&self.group.key));
        if cell.leased > 0 {
            let _ = write!(text, ", and {} on the way", cell.leased);
        }
        text
    }

    /// The unit to keep a place in: of those chosen that have a cap, the one with the most room, unless one has none.
    fn place_to_lease(&self) -> Option<UnitPlace> {
        let unit = |index: usize| &self.book.policy.units[index];
        if self.chosen.iter().any(|index| unit(*index).max.is_none()) {
            return None;
        }
        let room = |index: &usize| {
            let cell = &self.group.cells[*index];
            unit(*index).max.unwrap_or(0).saturating_sub(cell.used.saturating_add(cell.leased))
        };
        let index = self.chosen.iter().copied().rev().max_by_key(room)?;
        Some(UnitPlace::new(Some(index)))
    }
}
