//! What a term watches: whether upstream controllers run, which namespaces are exempt, and the policies. Turns
//! begin when all of that is known.

use std::sync::Arc;

use almanac_api::exempt;
use almanac_api::families::Controlled;
use almanac_api::kinds::Kind;
use almanac_engine::{Family, Identity, NamespaceMark, PolicyName};
use almanac_shell::following::{Follower, Need, follow, follow_selected};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Shared, Term, first_to_stop};
use crate::cluster::ClusterState;
use crate::exemptions::{self, Excluding, NamespaceFollower, READ_INTERVAL};
use crate::families::Watching;
use crate::list_progress::{FORBIDDEN_PATIENCE, ListProgress, Listings};
use crate::namespaces::Part;
use crate::policies::{PolicyFollower, WorkQueues};
use crate::scalable_node_group::NodeGroupFollower;
use crate::work_queue::WorkQueue;

impl Term {
    /// Starts all watches, and waits until everything is known. `false` if the term ends before that.
    pub(super) async fn watch_everything(
        &self,
        shared: &Shared,
        following: &mut JoinSet<()>,
        end: &CancellationToken,
    ) -> bool {
        let checked = self.look_for_upstreams(shared, following);
        let schemas = self.read_schemas(shared, following);
        let namespaces = self.follow_namespaces(shared, following);
        let mut listings = self.follow_policies(shared, following);
        listings.extend(self.follow_node_groups(shared, following));
        listings.extend(self.follow_what_is_read(shared, following));
        let patient_until = Instant::now() + FORBIDDEN_PATIENCE;
        for listings in listings {
            let listed = listings.wait(&self.health, patient_until);
            if !self.wait_for(listed, following, end).await {
                return false;
            }
        }
        self.health.set_waiting_for("all namespaces to be listed");
        let namespaces = until(namespaces, |progress| match progress {
            ListProgress::NotYet => false,
            // Without permission, no namespace is exempt by its mark.
            ListProgress::Failing(failure) => failure.is_absent || failure.is_forbidden,
            ListProgress::Whole => true,
        });
        if !self.wait_for(namespaces, following, end).await {
            return false;
        }
        self.health.set_waiting_for("the first check for upstream controllers");
        let checked = until(checked, |is_over| *is_over);
        if !self.wait_for(checked, following, end).await {
            return false;
        }
        self.health.set_waiting_for("the first look at the CRDs");
        let schemas = until(schemas, |is_over| *is_over);
        self.wait_for(schemas, following, end).await
    }

    /// Waits for something that a watch reports. `false` when one of the watches stops, or the process is to
    /// end.
    async fn wait_for(
        &self,
        awaited: impl Future<Output = ()>,
        following: &mut JoinSet<()>,
        end: &CancellationToken,
    ) -> bool {
        let mut followers = [("watching policies", following)];
        tokio::select! {
            () = awaited => true,
            who = first_to_stop(&mut followers) => {
                self.restart_term(who);
                false
            }
            () = end.cancelled() => false,
        }
    }

    /// Starts checking for upstream controllers. The receiver says whether the first check is done.
    fn look_for_upstreams(
        &self,
        shared: &Shared,
        following: &mut JoinSet<()>,
    ) -> watch::Receiver<bool> {
        let (first, looked) = watch::channel(false);
        let cluster = Arc::clone(&shared.cluster);
        let queues = shared.queues();
        let node_groups = Arc::clone(&shared.node_groups.queue);
        let changed = move |changed: Controlled| {
            let mut state = cluster.lock();
            if changed == Controlled::NodeGroups {
                state.node_groups.leave_to_nobody();
                state.node_groups.keys().for_each(|group| node_groups.wake(group));
            }
            let is_concerned = |policy: &PolicyName| Controlled::from(policy.family) == changed;
            for (policy, entry) in state.policies.iter_mut().filter(|(it, _)| is_concerned(it)) {
                entry.is_left_alone = false;
                queues.wake(policy);
                queues.statuses.wake(policy);
            }
        };
        let (client, clock) = (self.client.clone(), self.options.clock.clone());
        following.spawn(self.upstreams.clone().watch(client, clock, first, changed));
        looked
    }

    /// Starts reading the served schemas. The receiver says whether they have been read once.
    fn read_schemas(&self, shared: &Shared, following: &mut JoinSet<()>) -> watch::Receiver<bool> {
        let (first, read) = watch::channel(false);
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
        following.spawn(self.schemas.clone().watch(self.client.clone(), first, changed));
        read
    }

    /// Starts watching which namespaces are exempt.
    fn follow_namespaces(
        &self,
        shared: &Shared,
        following: &mut JoinSet<()>,
    ) -> watch::Receiver<ListProgress> {
        let (cluster, queues) = (Arc::clone(&shared.cluster), shared.queues());
        let node_groups = Arc::clone(&shared.node_groups.queue);
        let (mut follower, listed) = NamespaceFollower::new(move |name, mark| {
            wake_namespace(&mut cluster.lock(), name, mark, (&queues, &node_groups));
        });
        let client = self.client.clone();
        if let Some(names) = self.options.namespaces.limit() {
            let names = names.iter().cloned().collect();
            following.spawn(follower.ask(client, names, READ_INTERVAL));
            return listed;
        }
        let resource = exempt::namespaces();
        let watch_age = self.health.watch_ages().begin(&resource.plural, Need::Never);
        following.spawn(async move { follow(client, &resource, watch_age, &mut follower).await });
        listed
    }

    /// Starts watching the policies.
    fn follow_policies(&self, shared: &Shared, following: &mut JoinSet<()>) -> Vec<Listings> {
        let families = self.options.families.iter();
        let follow = |family: &Family| {
            let kind = Kind::of_family(*family);
            self.follow_parts(kind, following, |part| {
                let (follower, listed) = PolicyFollower::new(
                    *family,
                    self.options.clock.clone(),
                    self.unwritten.clone(),
                    Arc::clone(&shared.cluster),
                    shared.queues(),
                );
                (follower.of_part(part), listed)
            })
        };
        families.map(follow).collect()
    }

    /// Starts watching what else the policies read.
    fn follow_what_is_read(&self, shared: &Shared, following: &mut JoinSet<()>) -> Vec<Listings> {
        let (client, ages) = (&self.client, self.health.watch_ages());
        let with = Watching { client, ages, cluster: &shared.cluster, turns: &shared.turns };
        let families = self.options.families.iter().filter_map(|it| self.families.of(*it));
        families.flat_map(|it| it.follow(&with, following)).collect()
    }

    /// Starts watching groups of nodes, if they are carried out.
    fn follow_node_groups(&self, shared: &Shared, following: &mut JoinSet<()>) -> Option<Listings> {
        self.options.node_groups.as_ref()?;
        let listings = self.follow_parts(Kind::ScalableNodeGroup, following, |part| {
            let queue = Arc::clone(&shared.node_groups.queue);
            let (follower, listed) = NodeGroupFollower::new(Arc::clone(&shared.cluster), queue);
            (follower.of_part(part), listed)
        });
        Some(listings)
    }

    /// Starts watching a kind, with a follower for each part of it that is watched by itself, but for what a flag
    /// exempts.
    fn follow_parts<F: Follower + 'static>(
        &self,
        kind: Kind,
        following: &mut JoinSet<()>,
        follower: impl Fn(Part) -> (F, watch::Receiver<ListProgress>),
    ) -> Listings {
        let parts = self.options.namespaces.parts().into_iter().map(|part| {
            let (follower, listed) = follower(part.clone());
            let mut follower = Excluding::new(&self.options.exempt_namespaces, follower);
            let (client, resource, selection) =
                (self.client.clone(), kind.resource(), part.selection());
            let watch_age = self.health.watch_ages().begin(&resource.plural, part.need());
            following.spawn(async move {
                follow_selected(client, &resource, &selection, watch_age, &mut follower).await;
            });
            (part, listed)
        });
        Listings::new(kind.name(), parts.collect())
    }
}

/// Notes whether a namespace bears the mark, and wakes what is in it if that is news.
fn wake_namespace(
    state: &mut ClusterState,
    name: &str,
    mark: NamespaceMark,
    (queues, node_groups): (&WorkQueues, &WorkQueue<Identity>),
) {
    if !exemptions::change(&mut state.world, |exempt| exempt.mark_namespace(name, mark)) {
        return;
    }
    for policy in state.policies.keys().filter(|it| it.identity.namespace() == name) {
        queues.wake(policy);
        queues.statuses.wake(policy);
        state.world.readers_of(policy).for_each(|reader| queues.wake(&reader));
    }
    for group in state.node_groups.keys().filter(|group| group.namespace() == name) {
        node_groups.wake(group);
    }
}

/// Waits for a value that satisfies a condition.
async fn until<T>(mut values: watch::Receiver<T>, is_enough: impl FnMut(&T) -> bool) {
    if values.wait_for(is_enough).await.is_err() {
        // The watch has stopped, which ends the term.
        std::future::pending::<()>().await;
    }
}
