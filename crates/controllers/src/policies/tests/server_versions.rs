//! The version of the API server, which a policy is checked for.

use almanac_api::kubernetes::KubernetesMinor;

use super::*;

#[test]
fn another_version_of_the_api_server_checks_known_policies_again() {
    let mut watched = Watched::new();
    let stored = || {
        let target = objects::target("autoscaling/v2", "HorizontalPodAutoscaler", "shop");
        let rule = json!({ "name": "a", "schedule": "0 9 * * *", "targetMinReplicas": 0 });
        let object = objects::cron_federated_hpa("shop", &target, &json!([rule]));
        to_dynamic(objects::stored(object, "1", 1, 1))
    };
    let rules = |watched: &Watched| {
        let state = watched.cluster.lock();
        let object = state.world.cron_scaling.policies.get(&identity("shop"));
        object.and_then(|it| it.policy.as_ref()).map_or(0, |policy| policy.rules.len())
    };
    watched.cluster.kubernetes.note(KubernetesMinor::OLDEST);
    watched.follower.upsert(stored());
    watched.follower.list_complete();
    assert_eq!((rules(&watched), watched.follower.needs_relist()), (0, false));
    // No check differs between these versions.
    watched.cluster.kubernetes.note(KubernetesMinor::TESTED[0]);
    assert!(!watched.follower.needs_relist());

    watched.cluster.kubernetes.note(KubernetesMinor::SCALES_TO_ZERO);
    assert!(watched.follower.needs_relist());
    watched.follower.begin_list();
    watched.follower.upsert(stored());
    watched.follower.list_complete();
    assert_eq!((rules(&watched), watched.follower.needs_relist()), (1, false));
    // Another replica of the API server is older.
    watched.cluster.kubernetes.note(KubernetesMinor::OLDEST);
    assert!(!watched.follower.needs_relist());
}
