//! Decisions that may take long. Each is made from a snapshot, without the cluster's lock. The engine determines which
//! decisions are costly. The reconciler checks whether the policy is still the same when its turn opens.

use almanac_engine::{PolicyName, World};
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};

use crate::cluster::Cluster;

/// Limits costly decisions to one at a time: the other processors stay free for everything else.
pub(crate) struct CostlyDecisions(Semaphore);

impl Default for CostlyDecisions {
    fn default() -> Self {
        Self(Semaphore::new(1))
    }
}

impl CostlyDecisions {
    /// Waits until no other costly decision is made. Dropping the permit admits the next one. An error means that the
    /// term ends.
    pub(super) async fn wait(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.0.acquire().await
    }

    /// Ends waiting turns without a decision: a term that ends has other things to finish.
    pub(crate) fn close(&self) {
        self.0.close();
    }
}

/// Decides about a policy without the lock. `None` if its decision is not costly, or not any more. A change in the
/// meantime gives the policy another turn.
pub(super) fn decide<Decision>(
    cluster: &Cluster,
    policy: &PolicyName,
    decide: impl FnOnce(&World) -> Decision,
) -> Option<Decision> {
    Some(decide(&snapshot(cluster, policy)?))
}

/// The inputs of a costly decision about a policy. The snapshot shares most of them with the world.
fn snapshot(cluster: &Cluster, policy: &PolicyName) -> Option<World> {
    let world = &cluster.lock().world;
    world.is_costly(policy).then(|| world.part(std::slice::from_ref(policy)))
}

#[cfg(test)]
mod tests {
    use almanac_engine::placement::PrioritizerMode;
    use almanac_fixtures::placements::{
        add_cluster, add_placement, cluster, hub, placement, placement_name,
    };

    use super::*;

    #[tokio::test]
    async fn a_wait_for_a_costly_decision_ends_with_the_term() {
        let decisions = CostlyDecisions::default();
        let permit = decisions.wait().await.unwrap();
        let waiting = decisions.wait();
        decisions.close();
        assert!(waiting.await.is_err());
        drop(permit);
        assert!(decisions.wait().await.is_err());
    }

    #[test]
    fn a_decision_without_expressions_about_few_clusters_needs_no_snapshot() {
        let mut world = hub();
        add_cluster(&mut world, "east", cluster(""));
        add_placement(&mut world, "web", placement(Some(1), PrioritizerMode::Exact, &[]));
        let known = Cluster::default();
        known.lock().world = world;
        assert_eq!(decide(&known, &placement_name("web"), |_| ()), None);
    }
}
