//! One process with a ledger, and beside it everything it was told, in the plainest form, to compare the ledger with.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::Identity;
use almanac_engine::units::{
    BindOutcome, Ledger, Node, Pod, ReservationId, Reserved, Standing, Unreserved,
};
use fastrand::Rng;
use jiff::Timestamp;

use super::api_server::{ApiServer, News};
use super::faults::Fault;
use crate::naive::Seen;
use crate::support::LONGEST_BIND;

/// A binding that is reserved, as the plain account has it.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) id: ReservationId,
    pub(super) uid: Arc<str>,
    pub(super) node: Arc<str>,
    pub(super) made: Timestamp,
    pub(super) ends_by: Timestamp,
}

/// All objects as they were at one version.
pub(super) struct List {
    pub(super) seen: Seen,
    pub(super) version: u64,
    pub(super) positions: [u64; 3],
    pub(super) begun_at: Timestamp,
}

/// A binding that is reserved and not posted yet.
#[derive(Clone)]
pub(super) struct Task {
    pub(super) reserved: Reserved,
    pub(super) pod: Identity,
    pub(super) uid: Arc<str>,
    pub(super) node: Arc<str>,
}

/// The answer to a read that settles a binding, not looked at yet.
pub(super) struct Read {
    pub(super) id: ReservationId,
    pub(super) pod: Identity,
    pub(super) found: Option<Pod>,
    pub(super) begun_at: Timestamp,
}

pub(super) struct Replica {
    pub(super) ledger: Ledger,
    pub(super) fault: Option<Fault>,
    pub(super) seen: Seen,
    pods_seen: u64,
    nodes_seen: u64,
    pub(super) held: BTreeMap<Identity, Held>,
    pub(super) positions: [u64; 3],
    /// The list it has asked for. Its watches begin where that ends.
    pub(super) list: Option<List>,
    pub(super) has_listed: bool,
    /// Until when it may believe that it leads, if it does.
    pub(super) leads_until: Option<Timestamp>,
    pub(super) tasks: Vec<Task>,
    pub(super) reads: Vec<Read>,
    /// Tells answers to an earlier life of the process from those to this one.
    pub(super) life: u32,
    /// Whether anything has changed since it was last compared.
    pub(super) is_changed: bool,
}

impl Replica {
    pub(super) fn new(life: u32, fault: Option<Fault>) -> Replica {
        Replica {
            ledger: Ledger::new(),
            fault,
            seen: Seen::default(),
            pods_seen: 0,
            nodes_seen: 0,
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

    /// What it knows, with the pods that are being bound on their nodes.
    pub(super) fn view(&self) -> Seen {
        let mut view = self.seen.clone();
        for (name, held) in &self.held {
            if let Some(pod) = view.pods.get_mut(name) {
                pod.node = Some(Arc::clone(&held.node));
                pod.bound = pod.bound.or(Some(held.made));
            }
        }
        view
    }

    pub(super) fn is_serving(&self) -> bool {
        matches!(self.ledger.standing(), Standing::Serving { .. })
    }

    /// Hears what has happened to one kind of object, up to so many changes.
    pub(super) fn hear(&mut self, api: &ApiServer, kind: usize, most: usize) {
        for _ in 0..most {
            let Some(news) = api.feeds[kind].get(self.positions[kind]).cloned() else { return };
            self.positions[kind] += 1;
            self.is_changed = true;
            self.hear_one(news);
        }
    }

    fn hear_one(&mut self, news: News) {
        match news {
            News::Policy(name, Some(policy)) => {
                self.tell_policy(&name, &policy);
                self.seen.policies.insert(name, policy);
            }
            News::Policy(name, None) => {
                self.ledger.remove_policy(&name);
                self.seen.policies.remove(&name);
            }
            News::Node(name, Some(node), version) => {
                if self.fault != Some(Fault::IgnoresRelabelledNodes)
                    || self.ledger.node(&name).is_none()
                {
                    self.ledger.set_node(&name, &node);
                }
                self.nodes_seen = self.nodes_seen.max(version);
                self.note_node(name, node);
            }
            News::Node(name, None, version) => {
                self.ledger.remove_node(&name, Some(version));
                self.nodes_seen = self.nodes_seen.max(version);
                if self.seen.nodes.get(&name).is_some_and(|it| it.version < Some(version)) {
                    self.seen.nodes.remove(&name);
                }
            }
            News::Pod(name, _, Some(pod), version) => {
                self.pods_seen = self.pods_seen.max(version);
                let told = self.as_told(&pod);
                if self.fault == Some(Fault::TakesNoNodeForNews) && pod.node.is_none() {
                    self.forget_held(&name);
                }
                self.ledger.set_pod(&name, &told);
                self.note_pod(&name, pod);
            }
            News::Pod(name, uid, None, version) => {
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

    fn tell_policy(&mut self, name: &Identity, policy: &almanac_engine::units::ResourcePolicy) {
        let is_edit = self.seen.policies.contains_key(name);
        match self.fault {
            Some(Fault::IgnoresEditedPolicies) if is_edit => {}
            Some(Fault::KnowsOnePolicy) if !is_edit && !self.seen.policies.is_empty() => {}
            Some(Fault::IgnoresCaps) => {
                let mut policy = policy.clone();
                policy.units.iter_mut().for_each(|unit| unit.max = unit.max.map(|_| 1000));
                self.ledger.set_policy(name, policy);
            }
            _ => self.ledger.set_policy(name, policy.clone()),
        }
    }

    /// A pod as the ledger is told of it, which is where some faults are.
    fn as_told(&self, pod: &Pod) -> Pod {
        let mut told = pod.clone();
        match self.fault {
            Some(Fault::CountsFinished) => told.is_finished = false,
            Some(Fault::NeverSeesDeletion) => told.deleted = None,
            Some(Fault::TakesTerminatingForFinished) => told.is_finished |= pod.deleted.is_some(),
            Some(Fault::BelievesOldNews) => told.version = None,
            Some(Fault::GovernsDaemonSets) => told.ungoverned = None,
            Some(Fault::OverwritesCostsOfUsers)
                if told.cost == almanac_engine::units::DeletionCost::Others =>
            {
                told.cost = almanac_engine::units::DeletionCost::Unset;
            }
            Some(Fault::TakesMissingLabelsForEmptyOnes) => {
                let pairs = pod.labels.iter().chain([("hash", "")]);
                let mut all: BTreeMap<&str, &str> = BTreeMap::new();
                for (key, value) in pairs {
                    all.entry(key).or_insert(value);
                }
                told.labels = almanac_engine::Labels::new(all);
            }
            _ => {}
        }
        told
    }

    fn note_node(&mut self, name: Arc<str>, node: Node) {
        if self.seen.nodes.get(&name).is_none_or(|known| known.version < node.version) {
            self.seen.nodes.insert(name, node);
        }
    }

    fn note_pod(&mut self, name: &Identity, pod: Pod) {
        if self.seen.pods.get(name).is_some_and(|known| known.version >= pod.version) {
            return;
        }
        let held = self.held.get(name);
        if pod.node.is_some() || held.is_some_and(|held| Some(&held.uid) != pod.uid.as_ref()) {
            self.held.remove(name);
        }
        self.seen.pods.insert(name.clone(), pod);
    }

    pub(super) fn read_node(&mut self, name: &Arc<str>, node: &Node) {
        self.is_changed = true;
        self.ledger.read_node(name, node);
        if self.seen.nodes.contains_key(name) || node.version > Some(self.nodes_seen) {
            self.note_node(Arc::clone(name), node.clone());
        }
    }

    pub(super) fn read_pod(&mut self, name: &Identity, pod: &Pod) {
        self.is_changed = true;
        let told = self.as_told(pod);
        self.ledger.read_pod(name, &told);
        if self.seen.pods.contains_key(name) || pod.version > Some(self.pods_seen) {
            self.note_pod(name, pod.clone());
        }
    }

    pub(super) fn reserve(
        &mut self,
        pod: &Identity,
        uid: &Arc<str>,
        node: &Arc<str>,
        now: Timestamp,
    ) -> Result<Reserved, Unreserved> {
        self.is_changed = true;
        let reserved = self.ledger.reserve(pod, Some(uid), node, now, LONGEST_BIND)?;
        let held = Held {
            id: reserved.id,
            uid: Arc::clone(uid),
            node: Arc::clone(node),
            made: now,
            ends_by: reserved.ends_by,
        };
        self.held.insert(pod.clone(), held);
        Ok(reserved)
    }

    pub(super) fn settle(&mut self, pod: &Identity, id: ReservationId, outcome: BindOutcome) {
        self.is_changed = true;
        let outcome = match (self.fault, outcome) {
            (Some(Fault::TakesTimeoutForFailure), BindOutcome::Unknown)
            | (Some(Fault::ForgetsWhatItPosted), BindOutcome::Posted) => BindOutcome::Failed,
            _ => outcome,
        };
        self.ledger.settle(id, outcome);
        let is_held = self.held.get(pod).is_some_and(|held| held.id == id);
        if outcome == BindOutcome::Failed && is_held {
            self.held.remove(pod);
        }
    }

    /// Settles what is held for a pod though nothing says that it may be.
    fn forget_held(&mut self, pod: &Identity) {
        if let Some(held) = self.held.remove(pod) {
            self.ledger.settle(held.id, BindOutcome::Failed);
        }
    }

    pub(super) fn settle_by_read(&mut self, read: &Read) {
        self.is_changed = true;
        let is_hasty = self.fault == Some(Fault::SettlesByEarlyReads);
        let begun_at = if is_hasty { Timestamp::MAX } else { read.begun_at };
        let found = read.found.as_ref().map(|pod| self.as_told(pod));
        self.ledger.settle_by_read(read.id, found.as_ref(), begun_at);
        let Some(held) = self.held.get(&read.pod).filter(|held| held.id == read.id).cloned() else {
            return;
        };
        let Some(found) = &read.found else {
            self.held.remove(&read.pod);
            self.seen.pods.remove(&read.pod);
            return;
        };
        self.note_pod(&read.pod, found.clone());
        let is_held = self.held.contains_key(&read.pod);
        if is_held && begun_at >= held.ends_by && found.node.is_none() {
            self.held.remove(&read.pod);
        }
    }

    /// Looks at the list it has asked for, and serves if it leads.
    pub(super) fn take_list(&mut self, rng: &mut Rng) {
        let Some(list) = self.list.take() else { return };
        self.is_changed = true;
        if self.fault == Some(Fault::ForgetsReservationsInALongList) && self.is_serving() {
            let pods: Vec<Identity> = self.held.keys().cloned().collect();
            for pod in &pods {
                self.forget_held(pod);
            }
        }
        let version = Some(list.version);
        let mut pods: Vec<(&Identity, Pod)> =
            list.seen.pods.iter().map(|(name, pod)| (name, self.as_told(pod))).collect();
        rng.shuffle(&mut pods);
        self.ledger.replace_policies(list.seen.policies.clone());
        self.ledger.replace_nodes(list.seen.nodes.iter().map(|(name, it)| (&**name, it)), version);
        self.ledger.replace_pods(pods.iter().map(|(name, pod)| (*name, pod)), version);
        self.positions = list.positions;
        self.has_listed = true;
        self.seen.policies = list.seen.policies;
        self.seen.nodes.retain(|name, node| {
            list.seen.nodes.contains_key(name) || node.version > Some(list.version)
        });
        for (name, node) in list.seen.nodes {
            self.note_node(name, node);
        }
        let listed = &list.seen.pods;
        self.seen
            .pods
            .retain(|name, pod| listed.contains_key(name) || pod.version > Some(list.version));
        for (name, pod) in list.seen.pods {
            self.note_pod(&name, pod);
        }
        let known = &self.seen.pods;
        self.held.retain(|name, _| known.contains_key(name));
        self.pods_seen = self.pods_seen.max(list.version);
        self.nodes_seen = self.nodes_seen.max(list.version);
        let is_hasty = self.fault == Some(Fault::ServesAtOnce);
        let begun_at = if is_hasty { Timestamp::MAX } else { list.begun_at };
        let was_waiting = !self.is_serving();
        if self.leads_until.is_some() && self.ledger.serve(begun_at).is_ok() && was_waiting {
            self.held.retain(|_, held| held.ends_by > begun_at);
        }
    }
}
