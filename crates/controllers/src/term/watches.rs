//! The watches of a term: the upstream controllers, the exempt namespaces, and the policies. Turns start when all of
//! these are known.

use std::sync::Arc;

use almanac_api::families::Controlled;
use almanac_api::kinds::Kind;
use almanac_engine::{Family, Identity, NamespaceMark, PolicyName};
use almanac_shell::following::Selection;

use super::{Term, TermState};
use crate::cluster::ClusterState;
use crate::exemptions::{self, Excluding, READ_INTERVAL};
use crate::list_progress::{ListNeed, ListReport};
use crate::policies::{PolicyFollower, WorkQueues};
use crate::runtime::{RunningTerm, WATCHES};
use crate::scalable_node_group::NodeGroupFollower;
use crate::work_queue::WorkQueue;

impl Term<'_> {
    /// Starts all watches.
    pub(super) fn watch_everything(&self, shared: &TermState, running: &mut RunningTerm) {
        let families = &self.process.options.families;
        for family in families {
            self.follow_policies(*family, shared, running);
        }
        self.follow_node_groups(shared, running);
        for family in families.iter().filter_map(|it| self.process.families.get(*it)) {
            family.follow(&shared.cluster, &shared.turns, running);
        }
        self.follow_namespaces(shared, running);
        self.look_for_upstreams(shared, running);
        self.read_schemas(shared, running);
    }

    /// Starts reading the version of the API server. The term waits for the first attempt.
    pub(super) fn read_version(&self, running: &mut RunningTerm) {
        let (first, read) = ListReport::new();
        let client = self.process.runtime.client.clone();
        running.spawn(WATCHES, self.process.kubernetes.clone().watch(client, first));
        running.await_list("the version of the API server", read, ListNeed::Always);
    }

    /// Starts checking for upstream controllers. The term waits for the first check.
    fn look_for_upstreams(&self, shared: &TermState, running: &mut RunningTerm) {
        let (first, checked) = ListReport::new();
        let cluster = Arc::clone(&shared.cluster);
        let queues = shared.queues();
        let node_groups = Arc::clone(&shared.node_groups.queue);
        let changed = move |changed: Controlled| {
            let mut state = cluster.lock();
            if changed == Controlled::NodeGroups {
                state.node_groups.clear_left_alone();
                state.node_groups.keys().for_each(|group| node_groups.wake(group));
            }
            let is_concerned = |policy: &PolicyName| Controlled::from(policy.family) == changed;
            for (policy, entry) in state.policies.iter_mut().filter(|(it, _)| is_concerned(it)) {
                entry.is_left_alone = false;
                queues.wake(policy);
                queues.statuses.wake(policy);
            }
        };
        let (runtime, upstreams) = (&self.process.runtime, self.process.upstreams.clone());
        let (client, clock) = (runtime.client.clone(), runtime.options.clock.clone());
        running.spawn(WATCHES, upstreams.watch(client, clock, first, changed));
        running.await_list("upstream controllers", checked, ListNeed::Always);
    }

    /// Starts reading the served schemas. The term waits until they have been read once.
    fn read_schemas(&self, shared: &TermState, running: &mut RunningTerm) {
        let (first, progress) = ListReport::new();
        let (cluster, statuses) = (Arc::clone(&shared.cluster), Arc::clone(&shared.statuses));
        let node_groups = Arc::clone(&shared.node_groups.queue);
        let changed = move |changed: Controlled| {
            let state = cluster.lock();
            if changed == Controlled::NodeGroups {
                state.node_groups.keys().for_each(|group| node_groups.wake(group));
            }
            let is_concerned = |policy: &&PolicyName| Controlled::from(policy.family) == changed;
            let concerned = state.policies.keys().filter(is_concerned);
            concerned.for_each(|policy| statuses.wake(policy));
        };
        let (schemas, client) = (self.process.schemas.clone(), self.process.runtime.client.clone());
        running.spawn(WATCHES, schemas.watch(client, first, changed));
        running.await_list("the schemas of the CRDs", progress, ListNeed::Always);
    }

    /// Starts watching which namespaces are exempt.
    fn follow_namespaces(&self, shared: &TermState, running: &mut RunningTerm) {
        let (cluster, queues) = (Arc::clone(&shared.cluster), shared.queues());
        let node_groups = Arc::clone(&shared.node_groups.queue);
        let on_change = move |name: &str, mark| {
            wake_namespace(&mut cluster.lock(), name, mark, (&queues, &node_groups));
        };
        let how = (Selection::default(), READ_INTERVAL);
        running.watch_namespaces(&self.process.options.namespaces, how, on_change);
    }

    /// Starts watching the policies of a family, except in namespaces that a flag exempts.
    fn follow_policies(&self, family: Family, shared: &TermState, running: &mut RunningTerm) {
        let options = &self.process.options;
        running.watch_kind(Kind::for_family(family), &options.namespaces, |part| {
            let (follower, listed) = PolicyFollower::new(
                family,
                options.process.clock.clone(),
                self.process.unwritten.clone(),
                Arc::clone(&shared.cluster),
                shared.queues(),
            );
            let follower = follower.with_part(part);
            (Excluding::new(&options.process.exempt_namespaces, follower), listed)
        });
    }

    /// Starts watching node groups in the same way, if they are reconciled.
    fn follow_node_groups(&self, shared: &TermState, running: &mut RunningTerm) {
        let options = &self.process.options;
        if options.node_groups.is_none() {
            return;
        }
        running.watch_kind(Kind::ScalableNodeGroup, &options.namespaces, |part| {
            let queue = Arc::clone(&shared.node_groups.queue);
            let (follower, listed) = NodeGroupFollower::new(Arc::clone(&shared.cluster), queue);
            let follower = follower.with_part(part);
            (Excluding::new(&options.process.exempt_namespaces, follower), listed)
        });
    }
}

/// Records whether a namespace has the ignore annotation, and wakes its objects if that has changed.
fn wake_namespace(
    state: &mut ClusterState,
    name: &str,
    mark: NamespaceMark,
    (queues, node_groups): (&WorkQueues, &WorkQueue<Identity>),
) {
    if !exemptions::change(&mut state.world, |exempt| exempt.mark_namespace(name, mark)) {
        return;
    }
    let policies = state.policies.keys().filter(|it| it.identity.namespace() == name);
    let policies: Vec<PolicyName> = policies.cloned().collect();
    for policy in &policies {
        queues.wake(policy);
        queues.statuses.wake(policy);
        state.note_exemption(policy).iter().for_each(|rival| queues.statuses.wake(rival));
        state.world.readers_of(policy).for_each(|reader| queues.wake(&reader));
    }
    for group in state.node_groups.keys().filter(|group| group.namespace() == name) {
        node_groups.wake(group);
    }
}
