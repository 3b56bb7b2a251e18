//! A cluster: its users, its schedulers, three replicas of which one leads, and the network between them.
//!
//! In a calm cluster nobody but us binds pods and nobody edits policies, nodes or labels, so no cap may ever be exceeded.
//! In a wild one that may happen, but never by what we bind: whoever reserves has to know of everything that we bound.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use almanac_engine::Identity;
use almanac_engine::units::{
    CostChange, DeletionCost, Elapsed, Ledger, NodeId, Pod, Ruling, Verdict,
};
use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};

use super::api_server::ApiServer;
use super::binding::Flight;
use super::faults::Fault;
use super::replica::{List, Read, Replica};
use crate::support::{LEASE, LONGEST_BIND, at, second};

/// How long a lease of the lead lasts, and how long its holder relies on it.
const LEAD: Duration = Duration::from_secs(15);
const RELIES: Duration = Duration::from_secs(10);

/// A patch of a cost, as decided when the pod had another one.
pub(super) struct Patch {
    change: CostChange,
    before: DeletionCost,
}

pub(super) struct World {
    pub(super) rng: Rng,
    pub(super) now: Elapsed,
    /// How far the clock on the wall is from that.
    skew: SignedDuration,
    pub(super) api: ApiServer,
    pub(super) replicas: Vec<Replica>,
    pub(super) is_calm: bool,
    pub(super) fault: Option<Fault>,
    pub(super) holder: Option<usize>,
    pub(super) held_until: Elapsed,
    pub(super) generation: u64,
    /// Which replica cannot renew its lease, and until when.
    pub(super) cut_off: Option<(usize, Elapsed)>,
    pub(super) flights: Vec<Flight>,
    /// What schedulers have decided and not asked to be bound yet.
    pub(super) decided: Vec<(Identity, Arc<str>, Arc<str>)>,
    pub(super) patches: Vec<Patch>,
    /// Pods whose cost could not be written as decided.
    unwritten: BTreeSet<Identity>,
    pub(super) next_uid: u64,
    /// Pods that were refused with all nodes as candidates, and have not been woken.
    pub(super) refused: BTreeSet<Identity>,
    /// How often pods were bound by us, so that a run in which nothing happens is noticed.
    pub(super) bound: u64,
}

impl World {
    pub(super) fn new(seed: u64, is_calm: bool, fault: Option<Fault>) -> World {
        let mut world = World {
            rng: Rng::with_seed(seed),
            now: at(0),
            skew: SignedDuration::ZERO,
            api: ApiServer::default(),
            replicas: (0..3).map(|_| Replica::new(0, fault)).collect(),
            is_calm,
            fault,
            holder: None,
            held_until: at(0),
            generation: 0,
            cut_off: None,
            flights: Vec::new(),
            decided: Vec::new(),
            patches: Vec::new(),
            unwritten: BTreeSet::new(),
            next_uid: 0,
            refused: BTreeSet::new(),
            bound: 0,
        };
        world.furnish();
        world
    }

    /// What the clock on the wall says, which is set forwards and backwards.
    pub(super) fn wall(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(at(0).until(self.now)).unwrap();
        second(0) + elapsed + self.skew
    }

    /// One thing happens; what is wrong after it.
    pub(super) fn step(&mut self) -> Result<(), String> {
        let length = if self.rng.u8(..200) == 0 { 20_000 } else { 300 };
        self.now = self.now + Duration::from_millis(self.rng.u64(0..length));
        if self.rng.u8(..200) == 0 {
            self.skew = SignedDuration::from_secs(self.rng.i64(-7_200..7_200));
        }
        let mut replica = self.rng.usize(..self.replicas.len());
        if let Some(holder) = self.holder {
            if self.rng.u8(..4) > 0 {
                replica = holder;
            }
            if self.rng.u8(..8) == 0 {
                self.lead(holder);
            }
            if self.rng.u16(..500) == 0 {
                self.cut_off = Some((holder, self.now + Duration::from_secs(30)));
            }
        }
        match self.rng.u8(..100) {
            0..20 => self.change(),
            20..40 => {
                let (kind, most) = (self.rng.usize(..3), self.rng.usize(1..8));
                self.hear(replica, kind, most);
            }
            40..56 => self.schedule(replica)?,
            56..68 => self.ask_to_bind(replica)?,
            68..78 => self.post(replica)?,
            78..84 => self.lead(replica),
            84..90 => self.list(replica),
            90..95 => self.read(replica),
            95..97 => self.price(replica),
            97 if self.rng.u8(..6) == 0 => self.crash(replica),
            _ => self.wake(replica),
        }
        self.fly()?;
        self.forget_old_news();
        self.compare()
    }

    pub(super) fn hear(&mut self, replica: usize, kind: usize, most: usize) {
        let replica = &mut self.replicas[replica];
        // While it lists, it watches nothing.
        if replica.has_listed && replica.list.is_none() {
            let before = replica.positions[1];
            replica.hear(&self.api, kind, most);
            if replica.positions[1] != before {
                self.try_all_again();
            }
        }
    }

    fn forget_old_news(&mut self) {
        for kind in 0..3 {
            let needed = self.replicas.iter().map(|it| {
                it.list
                    .as_ref()
                    .map_or(u64::MAX, |list| list.positions[kind])
                    .min(if it.has_listed { it.positions[kind] } else { u64::MAX })
            });
            let end = self.api.feeds[kind].end();
            let needed = needed.min().unwrap_or(end).min(end);
            self.api.feeds[kind].forget_before(needed);
        }
    }

    /// Whether a replica believes that it leads, having looked at the time.
    pub(super) fn is_leading(&mut self, index: usize) -> bool {
        let (now, ignores_time) = (self.now, self.fault == Some(Fault::BelievesItStillLeads));
        let replica = &mut self.replicas[index];
        if replica.leads_until.is_some_and(|until| now >= until) && !ignores_time {
            replica.leads_until = None;
            replica.ledger.lose_lead();
        }
        replica.leads_until.is_some()
    }

    pub(super) fn lead(&mut self, index: usize) {
        let is_leading = self.is_leading(index);
        let is_mine = self.holder == Some(index);
        let is_cut_off =
            self.cut_off.is_some_and(|(cut_off, until)| cut_off == index && self.now < until);
        if is_cut_off || (!is_mine && self.now < self.held_until) {
            return;
        }
        self.holder = Some(index);
        self.held_until = self.now + LEAD;
        let replica = &mut self.replicas[index];
        replica.leads_until = Some(self.now + RELIES);
        if !is_leading {
            self.generation += 1;
            replica.ledger.take_lead(self.generation, self.now, LONGEST_BIND);
            if self.fault == Some(Fault::ServesWithoutAList) {
                let _ = replica.ledger.serve(Elapsed::MAX);
            }
        }
    }

    /// Asks for a list, or looks at the one that it has asked for.
    pub(super) fn list(&mut self, index: usize) {
        let replica = &mut self.replicas[index];
        if replica.list.is_some() {
            return replica.take_list(&mut self.rng);
        }
        let needs_one = !replica.has_listed || !replica.is_serving();
        if needs_one || self.rng.u8(..8) == 0 {
            let ends = [0, 1, 2].map(|kind| self.api.feeds[kind].end());
            let (seen, version) = (self.api.held.clone(), self.api.version);
            let policy_versions = self.api.policy_versions.clone();
            let (positions, begun_at) = (ends, self.now);
            replica.list = Some(List { seen, policy_versions, version, positions, begun_at });
        }
    }

    fn crash(&mut self, index: usize) {
        let life = self.replicas[index].life + 1;
        self.replicas[index] = Replica::new(life, self.fault);
    }

    /// Some scheduler asks where a pod may go.
    fn schedule(&mut self, index: usize) -> Result<(), String> {
        let pending: Vec<Identity> = self
            .api
            .held
            .pods
            .iter()
            .filter(|(_, pod)| pod.node.is_none() && pod.deleted.is_none() && !pod.is_finished)
            .map(|(name, _)| name.clone())
            // A scheduler that has decided on a pod waits for what becomes of it.
            .filter(|name| self.decided.iter().all(|(decided, _, _)| decided != name))
            .collect();
        let Some(pod) = self.rng.choice(pending) else { return Ok(()) };
        self.filter(index, &pod)
    }

    fn filter(&mut self, index: usize, pod: &Identity) -> Result<(), String> {
        if !self.is_leading(index) {
            return Ok(());
        }
        let known = self.replicas[index].seen.nodes.keys().cloned();
        let sent = self.api.held.pods[pod].clone();
        let names: Vec<Arc<str>> = known.filter(|node| fits(&sent, node)).collect();
        let replica = &mut self.replicas[index];
        replica.read_pod(pod, &sent);
        let candidates: Vec<NodeId> =
            names.iter().filter_map(|name| replica.ledger.node(name)).collect();
        if candidates.len() != names.len() {
            return Err("a node that it was told of is not known".to_owned());
        }
        let leased = leases(&replica.ledger);
        let chosen: Vec<usize> =
            match replica.ledger.filter(pod, sent.uid.as_deref(), &candidates, self.now, LEASE) {
                Ruling::Untouched => (0..names.len()).collect(),
                Ruling::ByNode(verdicts) => (0..names.len())
                    .filter(|place| {
                        let verdict = verdicts.of(Some(candidates[*place]));
                        let is_let_through = match self.fault {
                            Some(Fault::AllowsLowerUnits) => verdict == Verdict::Lower,
                            Some(Fault::AllowsFullUnits) => verdict == Verdict::Full,
                            _ => false,
                        };
                        verdict == Verdict::Chosen || is_let_through
                    })
                    .collect(),
                _ => return Ok(()),
            };
        self.check_order(index, pod, &names, &chosen, leased)?;
        let uid = Arc::clone(sent.uid.as_ref().unwrap());
        if let Some(place) = self.rng.choice(chosen) {
            self.refused.remove(pod);
            self.decided.push((pod.clone(), uid, Arc::clone(&names[place])));
        } else {
            self.refused.insert(pod.clone());
            if !sent.is_refused {
                self.api.edit_pod(pod, |pod| pod.is_refused = true);
            }
        }
        Ok(())
    }

    /// What is chosen is what the plain account would choose, or less, while places are leased.
    fn check_order(
        &self,
        index: usize,
        pod: &Identity,
        names: &[Arc<str>],
        chosen: &[usize],
        leased: u32,
    ) -> Result<(), String> {
        let replica = &self.replicas[index];
        let view = replica.view();
        let Some(expected) = view.verdicts(pod, names) else { return Ok(()) };
        let mut unleased = replica.ledger.clone();
        unleased.lose_lead();
        let candidates: Vec<NodeId> = names.iter().filter_map(|name| unleased.node(name)).collect();
        let uid = view.pods[pod].uid.as_deref();
        let Ruling::ByNode(verdicts) = unleased.verdicts(pod, uid, &candidates) else {
            return Err(format!("{pod} is ruled on as a whole"));
        };
        let found: Vec<Verdict> = candidates.iter().map(|node| verdicts.of(Some(*node))).collect();
        if found != expected {
            return Err(format!("verdicts on {pod}: {found:?}, expected {expected:?}"));
        }
        let expected: Vec<usize> =
            (0..names.len()).filter(|place| expected[*place] == Verdict::Chosen).collect();
        if leased == 0 && chosen != expected {
            return Err(format!("{pod} is sent to {chosen:?}, expected {expected:?}"));
        }
        let is_allowed = |place: &usize| found[*place] == Verdict::Chosen;
        if !chosen.iter().all(is_allowed) || chosen.is_empty() != expected.is_empty() {
            return Err(format!("{pod} is sent to {chosen:?}, not among {expected:?}"));
        }
        Ok(())
    }

    /// Reads the pods whose bindings should have ended, or looks at what was read.
    pub(super) fn read(&mut self, index: usize) {
        let replica = &mut self.replicas[index];
        let is_early = self.fault == Some(Fault::SettlesByEarlyReads);
        let until = if is_early { Elapsed::MAX } else { self.now };
        if replica.reads.is_empty() || self.rng.bool() {
            for unsettled in replica.ledger.unsettled(until) {
                let found = self.api.held.pods.get(&unsettled.pod).cloned();
                let (id, pod) = (unsettled.id, unsettled.pod);
                replica.reads.push(Read { id, pod, found, begun_at: self.now });
            }
            return;
        }
        for read in std::mem::take(&mut replica.reads) {
            replica.settle_by_read(&read);
        }
    }

    /// Decides costs, or writes what was decided.
    pub(super) fn price(&mut self, index: usize) {
        if !self.patches.is_empty() && self.rng.bool() {
            for patch in std::mem::take(&mut self.patches) {
                self.write_cost(&patch);
            }
            return;
        }
        if !self.is_leading(index) || !self.replicas[index].is_serving() {
            return;
        }
        let mut changes = self.replicas[index].ledger.cost_changes();
        let unwritten = std::mem::take(&mut self.unwritten).into_iter();
        changes.extend(unwritten.filter_map(|pod| self.replicas[index].ledger.cost_change(&pod)));
        for change in changes {
            let before = self.replicas[index].seen.pods.get(&change.pod).map(|pod| pod.cost);
            if let Some(before) = before
                && self.fault != Some(Fault::NeverWritesCosts)
            {
                self.patches.push(Patch { change, before });
            }
        }
    }

    /// Writes a cost, unless somebody has written another one since: then it is decided again.
    pub(super) fn write_cost(&mut self, patch: &Patch) {
        let CostChange { pod, uid, cost } = &patch.change;
        let Some(known) = self.api.held.pods.get(pod) else { return };
        if known.uid == *uid && known.cost == patch.before {
            let cost = cost.map_or(DeletionCost::Unset, DeletionCost::Ours);
            self.api.edit_pod(pod, |pod| pod.cost = cost);
        } else {
            self.unwritten.insert(pod.clone());
        }
    }

    pub(super) fn wake(&mut self, index: usize) {
        if self.is_leading(index) && self.fault != Some(Fault::NeverWakes) {
            for pod in self.replicas[index].ledger.wake(self.now) {
                self.refused.remove(&pod);
            }
        }
    }

    /// A pod of this name, if there is one, has not been refused.
    pub(super) fn is_tried_anew(&mut self, pod: &Identity) {
        self.refused.remove(pod);
    }

    /// Nodes and labels are seen by schedulers as well, which try all pods again.
    pub(super) fn try_all_again(&mut self) {
        self.refused.clear();
    }

    /// Every ledger that has changed counts as the plain account does, and as a ledger does that is made anew.
    pub(super) fn compare(&mut self) -> Result<(), String> {
        for index in 0..self.replicas.len() {
            if std::mem::take(&mut self.replicas[index].is_changed) {
                let replica = &self.replicas[index];
                let why = super::comparison::compare(replica, &mut self.rng);
                why.map_err(|why| format!("replica {index}: {why}"))?;
            }
        }
        Ok(())
    }
}

/// Whether a pod would fit on a node if there were no policies.
pub(super) fn fits(pod: &Pod, node: &str) -> bool {
    let bytes = pod.uid.iter().flat_map(|uid| uid.bytes()).chain(node.bytes());
    bytes.fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % 8 < 5
}

/// How many places are leased.
fn leases(ledger: &Ledger) -> u32 {
    let reports = ledger.policies().filter_map(|policy| ledger.report(policy));
    let groups = reports.flat_map(|report| report.groups);
    groups.flat_map(|group| group.units).map(|unit| unit.leased).sum()
}
