//! The state of the replica that decides: the ledger, and the means to feed and query it.
//!
//! Watches fill the state, and requests read it. The state is one value behind one lock. No task waits while it holds
//! the lock.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use almanac_api::kinds::Kind;
use almanac_api::objects::MAX_POLICIES;
use almanac_engine::units::{
    Elapsed, LabelSnapshot, Ledger, LongestBind, NodeId, PreparedPolicy, ResourcePolicy,
};
use almanac_engine::{Exemptions, Identity};
use almanac_shell::monotonic::Monotonic;
use almanac_shell::writer::Writer;
use jiff::Timestamp;
use kube::Client;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, Semaphore};

use super::metrics::PodWriteMetrics;
use super::policies::PolicyEntry;
use crate::off_the_runtime::off_the_runtime;

/// The timeout of a binding, and the time limit that its request sets on the API server.
pub(super) const BIND_TIME: Duration = Duration::from_secs(5);

/// The maximum number of bindings in flight. Kube-scheduler sends one request for each pod; the API server limits the
/// concurrent requests of one client.
pub(super) const BINDINGS_AT_ONCE: u32 = 32;

/// The longest time that a bind request may be in flight.
pub(super) fn longest_bind() -> LongestBind {
    LongestBind::from_timeouts(BIND_TIME, BIND_TIME)
}

/// The state of one term.
pub(super) struct Leader {
    state: Mutex<LeaderState>,
    /// Notified of each new pod.
    arrived: Notify,
    /// Notified of each change.
    changed: Notify,
    /// Notified when the known state is no longer reliable.
    pub(super) starts_over: Notify,
    /// Notified when a binding must be resolved.
    pub(super) unsettled: Notify,
    /// A permit for each binding that may be in flight; the end of a term waits for all permits.
    pub(super) binding: Arc<Semaphore>,
    pub(super) client: Client,
    pub(super) writer: Writer,
    pub(super) metrics: PodWriteMetrics,
    clock: Monotonic,
}

/// The locked state of one term.
pub(super) struct LeaderState {
    pub(super) ledger: Ledger,
    /// The numbers of nodes by their names. Kube-scheduler sends thousands of names with each request.
    nodes: HashMap<Arc<str>, NodeId>,
    /// The number of renumberings at the time of this record.
    renumberings: u64,
    pub(super) policies: BTreeMap<Identity, PolicyEntry>,
    /// The policies of each namespace, the oldest first.
    by_age: BTreeMap<Box<str>, BTreeSet<(Option<Timestamp>, Identity)>>,
    pub(super) exempt: Exemptions,
    /// Pods whose scheduler must receive a notice that they can be scheduled.
    pub(super) woken: BTreeSet<Identity>,
}

impl Leader {
    pub(super) fn new(
        (client, writer): (Client, Writer),
        metrics: PodWriteMetrics,
        clock: Monotonic,
        exempt: Exemptions,
    ) -> Self {
        let state = Mutex::new(LeaderState::new(exempt));
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

    pub(super) fn lock(&self) -> MutexGuard<'_, LeaderState> {
        self.state.lock().unwrap_or_else(|poisoned| {
            // After a panic, a count may be too low. No decision may use the count.
            self.starts_over.notify_one();
            let mut state = poisoned.into_inner();
            state.ledger.lose_leadership();
            state
        })
    }

    /// Makes the ledger apply the current policies, or drop them. Schedulers receive responses while the selectors of
    /// the policies are evaluated. All policies are applied under one lock: with only some of the policies applied,
    /// pods that two policies select would be counted, and get deletion costs.
    pub(super) fn apply_policies(&self, policies: &[Identity]) {
        self.apply_policies_by(policies, Due::prepare);
    }

    fn apply_policies_by(&self, policies: &[Identity], prepare: impl Fn(Due) -> Prepared) {
        let due = self.lock().due(policies);
        let prepared = off_the_runtime(|| due.into_iter().map(prepare).collect());
        self.lock().apply_prepared(prepared);
        self.notify_change();
    }

    /// The reading of the monotonic clock.
    pub(super) fn elapsed(&self) -> Elapsed {
        Elapsed::new(self.clock.now())
    }

    /// Waits for the next new pod after this call.
    pub(super) fn arrival(&self) -> Notified<'_> {
        self.arrived.notified()
    }

    pub(super) fn notify_arrival(&self) {
        self.arrived.notify_waiters();
    }

    /// Waits for a change. Supports one waiter at a time.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    pub(super) fn notify_change(&self) {
        self.changed.notify_one();
    }
}

impl LeaderState {
    fn new(exempt: Exemptions) -> LeaderState {
        LeaderState {
            ledger: Ledger::new(),
            nodes: HashMap::new(),
            renumberings: 0,
            policies: BTreeMap::new(),
            by_age: BTreeMap::new(),
            exempt,
            woken: BTreeSet::new(),
        }
    }

    /// The numbers of the nodes with these names; `None` for unknown nodes.
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
        let id = self.ledger.node(name)?;
        self.nodes.insert(name.into(), id);
        Some(id)
    }

    /// Records the current version of a policy. Returns the policies to apply or drop. That includes a policy that
    /// became one of the oldest, or no longer is.
    #[must_use]
    pub(super) fn insert_policy(&mut self, policy: &Identity, entry: PolicyEntry) -> Vec<Identity> {
        let age = (entry.created, policy.clone());
        let previous = self.policies.insert(policy.clone(), entry);
        if previous.as_ref().is_some_and(|it| it.created == age.0) {
            return vec![policy.clone()];
        }
        let all = self.by_age.entry(policy.namespace().into()).or_default();
        if let Some(previous) = previous {
            all.remove(&(previous.created, policy.clone()));
        }
        all.insert(age);
        self.with_youngest(policy)
    }

    /// Removes a policy. Returns the policies to apply or drop: if it was one of the oldest, another policy is one now.
    #[must_use]
    pub(super) fn remove_policy(&mut self, policy: &Identity) -> Vec<Identity> {
        let Some(entry) = self.policies.remove(policy) else { return Vec::new() };
        if let Some(all) = self.by_age.get_mut(policy.namespace()) {
            all.remove(&(entry.created, policy.clone()));
            if all.is_empty() {
                self.by_age.remove(policy.namespace());
            }
        }
        self.with_youngest(policy)
    }

    /// The pods whose binding annotations name a deleted policy.
    pub(super) fn stale_binding_annotations(&mut self) -> Vec<Identity> {
        let Self { ledger, policies, .. } = self;
        ledger.stale_binding_annotations(|namespace, name| {
            policies.contains_key(&Kind::ResourcePolicy.identity(namespace, name))
        })
    }

    /// Whether the binding annotations of a pod name a deleted policy.
    pub(super) fn has_stale_binding_annotations(&self, pod: &Identity) -> bool {
        self.ledger.has_stale_binding_annotations(pod, |namespace, name| {
            self.policies.contains_key(&Kind::ResourcePolicy.identity(namespace, name))
        })
    }

    /// Whether a policy is among the oldest of its namespace. Only the oldest policies apply.
    pub(super) fn is_among_oldest(&self, policy: &Identity) -> bool {
        let all = self.by_age.get(policy.namespace());
        let oldest = all.into_iter().flatten().take(MAX_POLICIES);
        oldest.into_iter().any(|(_, known)| known == policy)
    }

    /// A policy, the youngest of its namespace that applies, and the oldest that does not.
    fn with_youngest(&self, policy: &Identity) -> Vec<Identity> {
        let all = self.by_age.get(policy.namespace());
        let youngest = all.into_iter().flatten().skip(MAX_POLICIES - 1).take(2);
        let youngest = youngest.map(|(_, youngest)| youngest.clone());
        std::iter::once(policy.clone()).chain(youngest.filter(|it| it != policy)).collect()
    }

    /// The inputs for preparing these policies. Policies of one namespace share the labels.
    fn due(&self, policies: &[Identity]) -> Vec<Due> {
        let mut snapshots: BTreeMap<&str, Arc<LabelSnapshot>> = BTreeMap::new();
        let due = policies.iter().map(|policy| {
            let usable = self.usable(policy).map(|usable| {
                let snapshot = || Arc::new(self.ledger.label_snapshot(policy.namespace()));
                let labels = snapshots.entry(policy.namespace()).or_insert_with(snapshot);
                (Arc::clone(usable), Arc::clone(labels))
            });
            Due { policy: policy.clone(), usable }
        });
        due.collect()
    }

    /// Applies the prepared policies. If a policy has changed since, the caller that changed it applies it.
    fn apply_prepared(&mut self, prepared: Vec<Prepared>) {
        for Prepared { policy, .. } in &prepared {
            if self.usable(policy).is_none() {
                self.ledger.remove_policy(policy, None);
            }
            if !self.policies.contains_key(policy) {
                self.ledger.recheck_binding_annotations_of(policy);
            }
        }
        for Prepared { policy, prepared } in prepared {
            let Some((source, prepared)) = prepared else { continue };
            if self.usable(&policy).is_some_and(|usable| Arc::ptr_eq(usable, &source)) {
                self.ledger.set_prepared_policy(&policy, &prepared, None);
            }
        }
    }

    /// A policy in its form to apply; `None` if it is exempt, has never been usable, or is not among the oldest.
    pub(super) fn usable(&self, policy: &Identity) -> Option<&Arc<ResourcePolicy>> {
        let usable = self.policies.get(policy)?.usable.as_ref()?;
        (self.exempt.get(policy).is_none() && self.is_among_oldest(policy)).then_some(usable)
    }
}

/// A policy to prepare.
struct Due {
    policy: Identity,
    /// The current form of the policy, if it must be applied, and the labels that its selectors match.
    usable: Option<(Arc<ResourcePolicy>, Arc<LabelSnapshot>)>,
}

/// A policy after its preparation. A policy without a prepared form is dropped.
struct Prepared {
    policy: Identity,
    prepared: Option<(Arc<ResourcePolicy>, PreparedPolicy)>,
}

impl Due {
    fn prepare(self) -> Prepared {
        let prepared = self.usable.map(|(usable, labels)| {
            let prepared = PreparedPolicy::new(Arc::clone(&usable), &labels);
            (usable, prepared)
        });
        Prepared { policy: self.policy, prepared }
    }
}

#[cfg(test)]
mod tests;
