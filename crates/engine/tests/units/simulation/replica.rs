//! One process with a ledger, and a separate record of every received event in the simplest form, to compare the ledger
//! with.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::units::{
    BindOutcome, Confirmed, Elapsed, Ledger, LedgerState, Node, Pod, ReservationId, ReserveError,
    ResourcePolicy,
};
use almanac_engine::{Identity, Labels};

use super::api_server::{ApiServer, WatchEvent, with_given};
use super::faults::Fault;
use super::listing::List;
use crate::naive::ClusterView;
use crate::support::LONGEST_BIND;

/// A binding that is reserved, as the plain account has it.
#[derive(Clone)]
pub(super) struct HeldBinding {
    pub(super) id: ReservationId,
    pub(super) uid: Arc<str>,
    pub(super) node: Arc<str>,
    /// The version of the pod that is the precondition of the binding.
    pub(super) version: Option<u64>,
    /// The labels that the binding may give the pod.
    pub(super) to_come: Labels,
    pub(super) ends_by: Elapsed,
}

/// A binding that is reserved and not posted yet.
#[derive(Clone)]
pub(super) struct Task {
    pub(super) id: ReservationId,
    pub(super) pod: Identity,
    pub(super) uid: Arc<str>,
    pub(super) node: Arc<str>,
}

/// The unprocessed response to a read that settles a binding.
pub(super) struct Read {
    pub(super) id: ReservationId,
    pub(super) pod: Identity,
    pub(super) found: Option<Pod>,
    pub(super) begun_at: Elapsed,
}

pub(super) struct Replica {
    pub(super) ledger: Ledger,
    pub(super) fault: Option<Fault>,
    pub(super) seen: ClusterView,
    pub(super) pods_seen: u64,
    pub(super) nodes_seen: u64,
    pub(super) policies_seen: u64,
    pub(super) policy_versions: BTreeMap<Identity, u64>,
    pub(super) held: BTreeMap<Identity, HeldBinding>,
    pub(super) positions: [u64; 3],
    /// The list in progress. Its watches start at its end.
    pub(super) list: Option<List>,
    pub(super) has_listed: bool,
    /// The end of its leadership as it computes it, if it leads.
    pub(super) leads_until: Option<Elapsed>,
    pub(super) tasks: Vec<Task>,
    pub(super) reads: Vec<Read>,
    /// Distinguishes responses to an earlier process from those to this one.
    pub(super) life: u32,
    /// Whether anything has changed since the last comparison.
    pub(super) is_changed: bool,
}

impl Replica {
    pub(super) fn new(life: u32, fault: Option<Fault>) -> Replica {
        Replica {
            ledger: Ledger::new(),
            fault,
            seen: ClusterView::default(),
            pods_seen: 0,
            nodes_seen: 0,
            policies_seen: 0,
            policy_versions: BTreeMap::new(),
            held: BTreeMap::new(),
            positions: [0; 3],
            list: None,
            has_listed: false,
            leads_until: None,
            tasks: Vec::new(),
            reads: Vec::new(),
            life,
            is_changed: false,
        }
    }

    /// Its view, with the pods that are being bound on their nodes.
    pub(super) fn view(&self) -> ClusterView {
        let mut view = self.seen.clone();
        for (name, held) in &self.held {
            if let Some(pod) = view.pods.get_mut(name) {
                pod.node = Some(Arc::clone(&held.node));
                view.being_bound.insert(name.clone(), (held.id, held.to_come.clone()));
            }
        }
        view
    }

    pub(super) fn is_serving(&self) -> bool {
        matches!(self.ledger.standing(), LedgerState::Serving { .. })
    }

    /// Processes the watch events of one kind of object, at most `most` of them.
    pub(super) fn receive_events(&mut self, api: &ApiServer, kind: usize, most: usize) {
        for _ in 0..most {
            let Some(event) = api.feeds[kind].get(self.positions[kind]).cloned() else { return };
            self.positions[kind] += 1;
            self.is_changed = true;
            self.apply_event(event);
            self.drop_gone_nodes();
        }
    }

    /// Keeps deleted nodes as long as pods are bound to them.
    pub(super) fn drop_gone_nodes(&mut self) {
        let (pods, held) = (&self.seen.pods, &self.held);
        self.seen.gone_nodes.retain(|node, _| {
            let is_there = |pod: &Pod| pod.node.as_ref() == Some(node);
            pods.values().any(is_there) || held.values().any(|held| held.node == *node)
        });
    }

    pub(super) fn drop_node(&mut self, name: &Arc<str>) {
        if let Some(node) = self.seen.nodes.remove(name) {
            self.seen.gone_nodes.insert(Arc::clone(name), node.labels);
        }
    }

    fn apply_event(&mut self, event: WatchEvent) {
        match event {
            WatchEvent::Policy(name, Some(policy), version) => {
                self.set_policy_in_ledger(&name, &policy, version);
                self.policies_seen = self.policies_seen.max(version);
                self.note_policy(&name, policy, version);
            }
            WatchEvent::Policy(name, None, version) => {
                self.ledger.remove_policy(&name, Some(version));
                self.policies_seen = self.policies_seen.max(version);
                if self.policy_versions.get(&name).is_some_and(|known| *known < version) {
                    self.policy_versions.remove(&name);
                    self.seen.policies.remove(&name);
                }
            }
            WatchEvent::Node(name, Some(node), version) => {
                if self.fault != Some(Fault::IgnoresRelabeledNodes)
                    || self.ledger.node(&name).is_none()
                {
                    self.ledger.set_node(&name, &node);
                }
                self.nodes_seen = self.nodes_seen.max(version);
                self.note_node(name, node);
            }
            WatchEvent::Node(name, None, version) => {
                self.ledger.remove_node(&name, Some(version));
                self.nodes_seen = self.nodes_seen.max(version);
                if self.seen.nodes.get(&name).is_some_and(|it| it.version < Some(version)) {
                    self.drop_node(&name);
                }
            }
            WatchEvent::Pod(name, _, Some(pod), version) => {
                self.pods_seen = self.pods_seen.max(version);
                let reported = self.faulty_pod(&pod);
                if self.fault == Some(Fault::IgnoresPodsWithoutANode) && pod.node.is_none() {
                    self.drop_held(&name);
                }
                self.ledger.set_pod(&name, &reported);
                self.note_pod(&name, pod);
            }
            WatchEvent::Pod(name, uid, None, version) => {
                self.ledger.remove_pod(&name, Some(&uid), Some(version));
                self.pods_seen = self.pods_seen.max(version);
                let known = self.seen.pods.get(&name);
                if known
                    .is_some_and(|it| it.uid.as_ref() == Some(&uid) && it.version <= Some(version))
                {
                    self.seen.pods.remove(&name);
                    self.held.remove(&name);
                }
            }
        }
    }

    fn set_policy_in_ledger(&mut self, name: &Identity, policy: &ResourcePolicy, version: u64) {
        let version = Some(version);
        let is_edit = self.seen.policies.contains_key(name);
        match self.fault {
            Some(Fault::IgnoresEditedPolicies) if is_edit => {}
            Some(Fault::KeepsOnePolicy) if !is_edit && !self.seen.policies.is_empty() => {}
            _ => self.ledger.set_policy(name, self.faulty_policy(policy), version),
        }
    }

    pub(super) fn faulty_policy(&self, policy: &ResourcePolicy) -> ResourcePolicy {
        let mut reported = policy.clone();
        if self.fault == Some(Fault::IgnoresCaps) {
            reported.units.iter_mut().for_each(|unit| unit.max = unit.max.map(|_| 1000));
        }
        reported
    }

    /// A pod as passed to the ledger; some faults are injected here.
    pub(super) fn faulty_pod(&self, pod: &Pod) -> Pod {
        let mut reported = pod.clone();
        match self.fault {
            Some(Fault::CountsFinished) => reported.is_finished = false,
            Some(Fault::NeverSeesDeletion) => reported.deleted = None,
            Some(Fault::TakesTerminatingForFinished) => {
                reported.is_finished |= pod.deleted.is_some();
            }
            Some(Fault::AppliesOldEvents) => reported.version = None,
            Some(Fault::GovernsDaemonSets) => reported.ungoverned = None,
            Some(Fault::OverwritesCostsOfUsers)
                if matches!(reported.cost, almanac_engine::units::DeletionCost::Others(_)) =>
            {
                reported.cost = almanac_engine::units::DeletionCost::Unset;
            }
            Some(Fault::TakesMissingLabelsForEmptyOnes) => {
                let pairs = pod.labels.iter().chain([("hash", "")]);
                let mut all: BTreeMap<&str, &str> = BTreeMap::new();
                for (key, value) in pairs {
                    all.entry(key).or_insert(value);
                }
                reported.labels = almanac_engine::Labels::new(all);
            }
            _ => {}
        }
        reported
    }

    pub(super) fn note_policy(&mut self, name: &Identity, policy: ResourcePolicy, version: u64) {
        if self.policy_versions.get(name).is_none_or(|known| *known < version) {
            self.policy_versions.insert(name.clone(), version);
            self.seen.policies.insert(name.clone(), policy);
        }
    }

    fn note_node(&mut self, name: Arc<str>, node: Node) {
        if self.seen.nodes.get(&name).is_none_or(|known| known.version < node.version) {
            self.seen.gone_nodes.remove(&name);
            self.seen.nodes.insert(name, node);
        }
    }

    fn note_pod(&mut self, name: &Identity, pod: Pod) {
        if self.seen.pods.get(name).is_some_and(|known| known.version >= pod.version) {
            return;
        }
        // A pod without a node at a later version than the precondition was not bound.
        let is_settled = |held: &HeldBinding| {
            let is_other = Some(&held.uid) != pod.uid.as_ref();
            is_other || pod.node.is_some() || pod.version > held.version
        };
        if self.held.get(name).is_some_and(is_settled) {
            self.held.remove(name);
        }
        self.seen.pods.insert(name.clone(), pod);
    }

    pub(super) fn note_read_node(&mut self, name: &Arc<str>, node: &Node) {
        if self.seen.nodes.contains_key(name) || node.version > Some(self.nodes_seen) {
            self.note_node(Arc::clone(name), node.clone());
        }
    }

    pub(super) fn read_pod(&mut self, name: &Identity, pod: &Pod) {
        self.is_changed = true;
        let reported = self.faulty_pod(pod);
        self.ledger.read_pod(name, &reported);
        self.note_read_pod(name, pod);
        self.drop_gone_nodes();
    }

    pub(super) fn note_read_pod(&mut self, name: &Identity, pod: &Pod) {
        if self.seen.pods.contains_key(name) || pod.version > Some(self.pods_seen) {
            self.note_pod(name, pod.clone());
        }
    }

    pub(super) fn reserve(
        &mut self,
        (pod, read): (&Identity, &Pod),
        (node, found): (&Arc<str>, &Node),
        now: Elapsed,
    ) -> Result<ReservationId, ReserveError> {
        self.is_changed = true;
        let reported = self.faulty_pod(read);
        let by_watch = self.seen.nodes.get(node).cloned();
        let found = match by_watch.as_ref() {
            Some(known) if self.fault == Some(Fault::ReservesByTheWatch) => known,
            _ => found,
        };
        let reserved = self.ledger.reserve((pod, &reported), (node, found), now, LONGEST_BIND);
        // The replica reads these pods with or without free capacity, unless it does not lead.
        if reserved != Err(ReserveError::NotServing) {
            self.note_read_pod(pod, read);
            if reserved != Err(ReserveError::UnknownPod) {
                self.note_read_node(node, found);
            }
        }
        self.drop_gone_nodes();
        let id = reserved?;
        let uid = Arc::clone(read.uid.as_ref().unwrap());
        let version = self.seen.pods[pod].version;
        let of_node = &self.seen.nodes[node].labels;
        let to_come = with_given(&self.seen.pods[pod].labels, of_node);
        let ends_by = LONGEST_BIND.after(now);
        let held = HeldBinding { id, uid, node: Arc::clone(node), version, to_come, ends_by };
        self.held.insert(pod.clone(), held);
        Ok(id)
    }

    pub(super) fn confirm(&mut self, task: &Task, now: Elapsed) -> Result<Confirmed, ReserveError> {
        self.is_changed = true;
        let confirmed = self.ledger.confirm(task.id, now, LONGEST_BIND);
        let held = self.held.get_mut(&task.pod).filter(|held| held.id == task.id);
        match (&confirmed, held) {
            (Ok(confirmed), Some(held)) => held.ends_by = confirmed.ends_by,
            (Err(_), Some(_)) => {
                self.held.remove(&task.pod);
            }
            (_, None) => {}
        }
        confirmed
    }

    /// Discards all objects, because the API server has returned to earlier versions.
    pub(super) fn start_over(&mut self, now: Elapsed) {
        if self.fault != Some(Fault::KeepsVersionsOfARestoredServer) {
            self.ledger.start_over(now, LONGEST_BIND);
            (self.seen, self.pods_seen, self.nodes_seen) = (ClusterView::default(), 0, 0);
            (self.policies_seen, self.policy_versions) = (0, BTreeMap::new());
            self.held.clear();
            self.reads.clear();
        }
        self.tasks.clear();
        self.positions = [0; 3];
        (self.list, self.has_listed) = (None, false);
    }

    /// Releases reservations that will never be posted.
    pub(super) fn drop_tasks(&mut self) {
        for task in std::mem::take(&mut self.tasks) {
            self.settle(&task.pod, task.id, BindOutcome::Failed);
        }
    }

    pub(super) fn settle(&mut self, pod: &Identity, id: ReservationId, outcome: BindOutcome) {
        self.is_changed = true;
        let outcome = match (self.fault, outcome) {
            (Some(Fault::TakesTimeoutForFailure), BindOutcome::Unknown)
            | (Some(Fault::DropsPostedBindings), BindOutcome::Posted) => BindOutcome::Failed,
            _ => outcome,
        };
        self.ledger.settle(id, outcome);
        let is_held = self.held.get(pod).is_some_and(|held| held.id == id);
        if outcome == BindOutcome::Failed && is_held {
            self.held.remove(pod);
        }
    }

    /// Settles a hold that no condition requires.
    pub(super) fn drop_held(&mut self, pod: &Identity) {
        if let Some(held) = self.held.remove(pod) {
            self.ledger.settle(held.id, BindOutcome::Failed);
        }
    }

    pub(super) fn settle_by_read(&mut self, read: &Read) {
        self.is_changed = true;
        let is_hasty = self.fault == Some(Fault::SettlesByEarlyReads);
        let begun_at = if is_hasty { Elapsed::MAX } else { read.begun_at };
        let found = read.found.as_ref().map(|pod| self.faulty_pod(pod));
        self.ledger.settle_by_read(read.id, found.as_ref(), begun_at);
        let Some(held) = self.held.get(&read.pod).filter(|held| held.id == read.id).cloned() else {
            return;
        };
        match &read.found {
            None => {
                self.held.remove(&read.pod);
                self.seen.pods.remove(&read.pod);
            }
            Some(found) => {
                self.note_pod(&read.pod, found.clone());
                let is_held = self.held.contains_key(&read.pod);
                if is_held && begun_at >= held.ends_by && found.node.is_none() {
                    self.held.remove(&read.pod);
                }
            }
        }
        self.drop_gone_nodes();
    }
}
