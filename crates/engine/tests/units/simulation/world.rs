//! A cluster: its users, its schedulers, three replicas of which one leads, and the network between them.
//!
//! In a calm cluster only we bind pods, and policies, nodes and labels are not edited, so no cap may ever be
//! exceeded. In a wild one that may happen, but never by our bindings: a replica that reserves must have seen
//! everything that we bound.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use almanac_engine::Identity;
use almanac_engine::units::{CostChange, DeletionCost, Elapsed};
use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};

use super::api_server::ApiServer;
use super::binding::Flight;
use super::faults::{Check, Fault, Violation, wrong};
use super::replica::{Read, Replica};
use crate::support::{LONGEST_BIND, at, second};

/// The duration of a Lease, and the time for which its holder relies on it.
const LEAD: Duration = Duration::from_secs(15);
const RELIES: Duration = Duration::from_secs(10);

/// A patch of a cost, as decided when the pod had a different cost.
pub(super) struct Patch {
    change: CostChange,
    before: DeletionCost,
}

pub(super) struct World {
    pub(super) rng: Rng,
    pub(super) now: Elapsed,
    /// The offset of the wall clock from that.
    skew: SignedDuration,
    pub(super) api: ApiServer,
    pub(super) replicas: Vec<Replica>,
    pub(super) is_calm: bool,
    pub(super) fault: Option<Fault>,
    pub(super) holder: Option<usize>,
    pub(super) held_until: Elapsed,
    pub(super) generation: u64,
    /// The replica that cannot renew its Lease, and the instant at which it can again.
    pub(super) cut_off: Option<(usize, Elapsed)>,
    pub(super) flights: Vec<Flight>,
    /// The decisions of schedulers without a bind request yet.
    pub(super) decided: Vec<(Identity, Arc<str>, Arc<str>)>,
    pub(super) patches: Vec<Patch>,
    /// Pods whose cost could not be written as decided.
    unwritten: BTreeSet<Identity>,
    pub(super) next_uid: u64,
    /// Refused pods. Their schedulers observe no changes, and wait until these are requeued.
    pub(super) refused: BTreeSet<Identity>,
    /// Pods that were not bound, each with the instant of its scheduler's retry.
    pub(super) backing_off: BTreeMap<Identity, Elapsed>,
    /// Whether all faults have ended, and only schedulers and replicas act.
    pub(super) is_quiet: bool,
    backup: ApiServer,
    /// The only check to run; `None` for all checks.
    only: Option<Check>,
    /// The number of pods that were bound by us, so that a run without events is noticed.
    pub(super) bound: u64,
}

impl World {
    pub(super) fn new(
        seed: u64,
        is_calm: bool,
        fault: Option<Fault>,
        only: Option<Check>,
    ) -> World {
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
            backing_off: BTreeMap::new(),
            is_quiet: false,
            backup: ApiServer::default(),
            only,
            bound: 0,
        };
        world.api.gives_labels = world.rng.bool();
        world.furnish();
        world.backup = world.api.clone();
        world
    }

    /// The wall clock, which can be set forward and backward.
    pub(super) fn wall(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(at(0).until(self.now)).unwrap();
        second(0) + elapsed + self.skew
    }

    /// Runs one random event; returns the failure after it.
    pub(super) fn step(&mut self) -> Result<(), Violation> {
        let length = if self.rng.u8(..200) == 0 { 20_000 } else { 300 };
        self.now = self.now + Duration::from_millis(self.rng.u64(0..length));
        // Requests that have landed by now are visible to all reads from now on.
        self.fly()?;
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
        if !self.is_calm && self.rng.u16(..1_500) == 0 {
            self.restore();
        }
        match self.rng.u8(..100) {
            0..20 => self.change(),
            20..40 => {
                let (kind, most) = (self.rng.usize(..3), self.rng.usize(1..8));
                self.receive_events(replica, kind, most);
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
        self.discard_old_events();
        self.compare()
    }

    /// Returns the failure, if its check is being tested.
    pub(super) fn heed(&self, found: Result<(), Violation>) -> Result<(), Violation> {
        found.or_else(
            |it| if self.only.is_none_or(|only| only == it.check) { Err(it) } else { Ok(()) },
        )
    }

    /// Restores the API server from a backup, and all replicas notice: watches end, and versions return to earlier
    /// ones.
    fn restore(&mut self) {
        if self.rng.bool() {
            self.backup = self.api.clone();
            return;
        }
        self.api.restore(&self.backup);
        let now = self.now;
        for replica in &mut self.replicas {
            replica.start_over(now);
        }
        self.decided.clear();
        self.patches.clear();
        self.refused.clear();
        self.backing_off.clear();
    }

    pub(super) fn receive_events(&mut self, replica: usize, kind: usize, most: usize) {
        let replica = &mut self.replicas[replica];
        if replica.has_listed {
            replica.receive_events(&self.api, kind, most);
        }
    }

    fn discard_old_events(&mut self) {
        for kind in 0..3 {
            let needed = self.replicas.iter().map(|it| it.needs_events_from(kind));
            let end = self.api.feeds[kind].end();
            let needed = needed.min().unwrap_or(end).min(end);
            self.api.feeds[kind].discard_before(needed);
        }
    }

    /// Whether a replica leads by its own clock, with the current time.
    pub(super) fn is_leading(&mut self, index: usize) -> bool {
        let (now, ignores_time) = (self.now, self.fault == Some(Fault::IgnoresLossOfLeadership));
        let replica = &mut self.replicas[index];
        if replica.leads_until.is_some_and(|until| now >= until) && !ignores_time {
            replica.leads_until = None;
            replica.ledger.lose_leadership();
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
            replica.ledger.acquire_leadership(self.generation, self.now, LONGEST_BIND);
            if self.fault == Some(Fault::ServesWithoutAList) {
                let _ = replica.ledger.serve(Elapsed::MAX);
            }
        }
    }

    /// Lists one more kind, or applies the finished list.
    pub(super) fn list(&mut self, index: usize) {
        let replica = &mut self.replicas[index];
        if replica.has_all_listed() {
            return replica.take_list(&mut self.rng);
        }
        let needs_one = !replica.has_listed || !replica.is_serving() || replica.list.is_some();
        if needs_one || self.rng.u8(..8) == 0 {
            replica.list_more(&self.api, self.now);
        }
    }

    fn crash(&mut self, index: usize) {
        let life = self.replicas[index].life + 1;
        self.replicas[index] = Replica::new(life, self.fault);
    }

    /// Reads the pods whose bindings should have ended, or processes the result.
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

    /// Decides costs, or writes the decided ones.
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

    /// Writes a cost, unless another field manager has written one since. In that case the cost is decided again.
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

    /// Requeues pods at their schedulers, by a write to each, which may fail.
    pub(super) fn wake(&mut self, index: usize) {
        if !self.is_leading(index) || self.fault == Some(Fault::NeverWakes) {
            return;
        }
        for pod in self.replicas[index].ledger.wake(self.now) {
            if !self.is_quiet && self.rng.u8(..8) == 0 {
                self.replicas[index].ledger.wake_again(&pod);
            } else if self.api.held.pods.contains_key(&pod) {
                self.api.edit_pod(&pod, |_| {});
                self.refused.remove(&pod);
            }
        }
    }

    /// A pod of this name is a different pod.
    pub(super) fn note_recreated(&mut self, pod: &Identity) {
        self.refused.remove(pod);
        self.backing_off.remove(pod);
    }

    /// Checks that every changed ledger counts as the plain count and a newly built ledger do.
    pub(super) fn compare(&mut self) -> Result<(), Violation> {
        if self.only.is_some_and(|only| !super::comparison::CHECKS.contains(&only)) {
            return Ok(());
        }
        for index in 0..self.replicas.len() {
            if std::mem::take(&mut self.replicas[index].is_changed) {
                let replica = &self.replicas[index];
                let why = super::comparison::compare(replica, &mut self.rng);
                let why = why.map_err(|it| wrong(it.check, format!("replica {index}: {}", it.why)));
                self.heed(why)?;
            }
        }
        Ok(())
    }
}
