//! What the replica that decides knows: the ledger, and beside it what is needed to feed it and to ask it.
//!
//! It is filled by watches and read by calls. It is one value behind one lock, which is never held while waiting.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use almanac_engine::units::{Elapsed, Ledger, LongestBind, NodeId};
use almanac_engine::{Exemptions, Identity};
use almanac_shell::monotonic::Monotonic;
use almanac_shell::writer::Writer;
use kube::Client;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, Semaphore};

use super::metrics::UpkeepMetrics;
use super::policies::PolicyEntry;

/// How long the answer to a binding is awaited, and how long the API server may take for one that has reached it: the
/// request says so.
pub(super) const BIND_TIME: Duration = Duration::from_secs(5);

/// How many bindings may be under way. Kube-scheduler asks for as many as it has pods; the API server answers only so
/// many requests of one client at a time.
pub(super) const BINDINGS_AT_ONCE: u32 = 32;

/// How long a request to bind may be under way.
pub(super) fn longest_bind() -> LongestBind {
    LongestBind::of(BIND_TIME, BIND_TIME)
}

/// What one term knows.
pub(super) struct Deciding {
    state: Mutex<DecidingState>,
    /// Told of each pod that has come to be known.
    arrived: Notify,
    /// Told of any news.
    changed: Notify,
    /// Told when nothing that is known can be relied on any more.
    pub(super) starts_over: Notify,
    /// Told when a binding is there to be settled.
    pub(super) unsettled: Notify,
    /// A permit for each binding that may be under way; at the end of a term all are waited for.
    pub(super) binding: Arc<Semaphore>,
    pub(super) client: Client,
    pub(super) writer: Writer,
    pub(super) metrics: UpkeepMetrics,
    clock: Monotonic,
}

/// The same, while locked.
pub(super) struct DecidingState {
    pub(super) ledger: Ledger,
    /// The numbers of nodes by their names. Kube-scheduler sends thousands of names with each call.
    nodes: HashMap<Arc<str>, NodeId>,
    /// How often the numbers had been given anew when these were noted.
    renumberings: u64,
    pub(super) policies: BTreeMap<Identity, PolicyEntry>,
    pub(super) exempt: Exemptions,
    /// Pods whose scheduler is to be told that they can be scheduled.
    pub(super) woken: BTreeSet<Identity>,
}

impl Deciding {
    pub(super) fn new(
        (client, writer): (Client, Writer),
        metrics: UpkeepMetrics,
        clock: Monotonic,
        exempt: Exemptions,
    ) -> Self {
        let state = DecidingState {
            ledger: Ledger::new(),
            nodes: HashMap::new(),
            renumberings: 0,
            policies: BTreeMap::new(),
            exempt,
            woken: BTreeSet::new(),
        };
        let state = Mutex::new(state);
        let [arrived, changed, unsettled, starts_over] = [(); 4].map(|()| Notify::new());
        let binding = Arc::new(Semaphore::new(BINDINGS_AT_ONCE as usize));
        Self {
            state,
            arrived,
            changed,
            starts_over,
            unsettled,
            binding,
            client,
            writer,
            metrics,
            clock,
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, DecidingState> {
        self.state.lock().unwrap_or_else(|poisoned| {
            // A panic may have left a count too low, so nothing is decided by it any more.
            self.starts_over.notify_one();
            let mut state = poisoned.into_inner();
            state.ledger.lose_lead();
            state
        })
    }

    /// The time by a clock that nobody can set.
    pub(super) fn elapsed(&self) -> Elapsed {
        Elapsed::new(self.clock.now())
    }

    /// Waits until a pod has come to be known after this was called.
    pub(super) fn arrival(&self) -> Notified<'_> {
        self.arrived.notified()
    }

    pub(super) fn tell_arrival(&self) {
        self.arrived.notify_waiters();
    }

    /// Waits until there is news. Supports one waiter at a time.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    pub(super) fn tell_change(&self) {
        self.changed.notify_one();
    }
}

impl DecidingState {
    /// The numbers of the nodes with these names; `None` for those that are not known.
    pub(super) fn candidates(&mut self, names: &[&str]) -> Vec<Option<NodeId>> {
        if self.renumberings != self.ledger.renumberings() {
            self.renumberings = self.ledger.renumberings();
            self.nodes.clear();
        }
        names.iter().map(|name| self.node(name)).collect()
    }

    fn node(&mut self, name: &str) -> Option<NodeId> {
        if let Some(known) = self.nodes.get(name) {
            return Some(*known);
        }
        let found = self.ledger.node(name)?;
        self.nodes.insert(name.into(), found);
        Some(found)
    }

    /// Has the ledger carry out a policy, unless it is exempt or has never been usable.
    pub(super) fn carry_out(&mut self, policy: &Identity) {
        let entry = self.policies.get(policy);
        let usable = entry.filter(|_| self.exempt.of(policy).is_none());
        match usable.and_then(|entry| entry.usable.as_deref()) {
            Some(usable) => self.ledger.set_policy(policy, usable.clone(), None),
            None => self.ledger.remove_policy(policy, None),
        }
    }
}
