//! The rules of watching policies. The test calls the follower as a watch would.

use std::sync::Arc;

use almanac_api::finding::Finding;
use almanac_api::kinds::Kind;
use almanac_api::policy_clock::PolicyClock;
use almanac_api::status::TargetProblem;
use almanac_engine::cron_scaling::{DesiredScale, Memory, RuleMemory};
use almanac_engine::metric_scaling::{PatternBudget, PatternPool};
use almanac_engine::{Family, Identity, PolicyName};
use almanac_fixtures::{names, objects};
use almanac_shell::clock::Clock;
use almanac_shell::following::Follower as _;
use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::{PolicyFollower, UnwrittenStatuses, WorkQueues};
use crate::cluster::{Cluster, OLDEST_VERSION};
use crate::namespaces::Part;
use crate::work_queue::WorkQueue;

mod rivals;
mod server_versions;

/// A watch of `CronFederatedHPA`s, and what it fills.
struct Watched {
    follower: PolicyFollower,
    cluster: Arc<Cluster>,
    turns: Arc<WorkQueue>,
    statuses: Arc<WorkQueue>,
}

impl Watched {
    fn new() -> Self {
        Self::going_on_from(UnwrittenStatuses::default())
    }

    /// The state at the start of another term.
    fn going_on_from(unwritten: UnwrittenStatuses) -> Self {
        Self::for_family(Family::CronScaling, unwritten, Cluster::default())
    }

    fn for_family(family: Family, unwritten: UnwrittenStatuses, cluster: Cluster) -> Self {
        let clock = Clock::system(PolicyClock::REAL);
        let cluster = Arc::new(cluster);
        let [turns, statuses] = [(); 2].map(|()| Arc::new(WorkQueue::new(clock.clone())));
        let queues = WorkQueues {
            turns: Arc::clone(&turns),
            statuses: Arc::clone(&statuses),
            samples: None,
        };
        let (mut follower, _) =
            PolicyFollower::new(family, clock, unwritten, Arc::clone(&cluster), queues);
        follower.begin_list();
        Self { follower, cluster, turns, statuses }
    }

    /// The replicas the first rule sets, if the object is in the world.
    fn replicas(&self, name: &str) -> Option<u32> {
        let state = self.cluster.lock();
        let object = state.world.cron_scaling.policies.get(&identity(name))?;
        match object.policy.as_ref()?.rules.first()?.desired {
            DesiredScale::Replicas(replicas) => Some(replicas),
            DesiredScale::Bounds(_) => None,
        }
    }

    fn handled(&self, name: &str) -> Option<Timestamp> {
        let state = self.cluster.lock();
        let memory = state.world.cron_scaling.policies.get(&identity(name))?.memory.as_ref()?;
        Some(memory.rules.first()?.handled)
    }
}

fn identity(name: &str) -> Identity {
    names::cron_federated_hpa(name).identity
}

/// An object from the API server, whose generation is the replicas that its rule sets.
fn object(name: &str, uid: &str, version: u64, replicas: u32) -> Value {
    let rules = json!([objects::rule("a", "0 9 * * *", replicas)]);
    let target = objects::target("apps/v1", "Deployment", "shop");
    let object = objects::cron_federated_hpa(name, &target, &rules);
    objects::stored(object, uid, version, replicas.into())
}

fn to_dynamic(object: Value) -> DynamicObject {
    serde_json::from_value(object).expect("the object is valid")
}

#[test]
fn an_object_older_than_the_known_version_is_ignored() {
    let mut watched = Watched::new();
    watched.follower.upsert(to_dynamic(object("shop", "1", 20, 5)));
    watched.follower.upsert(to_dynamic(object("shop", "1", 10, 3)));
    assert_eq!(watched.replicas("shop"), Some(5));
    watched.follower.upsert(to_dynamic(object("shop", "1", 30, 7)));
    assert_eq!(watched.replicas("shop"), Some(7));
}

#[test]
fn an_object_missing_from_a_list_is_removed() {
    let mut watched = Watched::new();
    for name in ["stays", "goes"] {
        watched.follower.upsert(to_dynamic(object(name, name, 1, 5)));
    }
    watched.follower.list_complete();
    watched.follower.begin_list();
    watched.follower.upsert(to_dynamic(object("stays", "stays", 1, 5)));
    assert_eq!(watched.replicas("goes"), Some(5), "not before the listing is complete");
    watched.follower.list_complete();
    assert_eq!((watched.replicas("stays"), watched.replicas("goes")), (Some(5), None));
}

#[test]
fn listing_one_family_does_not_affect_the_others() {
    let mut watched = Watched::new();
    watched.follower.upsert(to_dynamic(object("stays", "stays", 1, 5)));
    let queues = WorkQueues {
        turns: Arc::clone(&watched.turns),
        statuses: Arc::clone(&watched.statuses),
        samples: None,
    };
    let (family, cluster) = (Family::ScheduledCapacity, Arc::clone(&watched.cluster));
    let clock = Clock::system(PolicyClock::REAL);
    let (mut other, _) =
        PolicyFollower::new(family, clock, UnwrittenStatuses::default(), cluster, queues);
    for _ in 0..2 {
        other.begin_list();
        other.list_complete();
    }
    assert_eq!(watched.replicas("stays"), Some(5));
}

#[test]
fn listing_one_namespace_keeps_the_objects_of_the_others() {
    let watched = Watched::new();
    let follow = |namespace: &str| {
        let queues = WorkQueues {
            turns: Arc::clone(&watched.turns),
            statuses: Arc::clone(&watched.statuses),
            samples: None,
        };
        let (clock, cluster) = (Clock::system(PolicyClock::REAL), Arc::clone(&watched.cluster));
        let unwritten = UnwrittenStatuses::default();
        let (follower, _) =
            PolicyFollower::new(Family::CronScaling, clock, unwritten, cluster, queues);
        follower.with_part(Part::Namespace(namespace.into()))
    };
    let [mut east, mut west] = ["east", "west"].map(follow);
    for (namespace, follower) in [("east", &mut east), ("west", &mut west)] {
        follower.begin_list();
        let mut object = object("shop", namespace, 20, 5);
        object["metadata"]["namespace"] = json!(namespace);
        follower.upsert(to_dynamic(object));
        follower.list_complete();
    }
    let versions = || {
        let state = watched.cluster.lock();
        let versions = state.policies.iter();
        let versions =
            versions.map(|(it, entry)| format!("{} {}", it.identity.namespace(), entry.version));
        versions.collect::<Vec<_>>()
    };
    assert_eq!(versions(), ["east 20", "west 20"]);
    east.versions_went_back();
    assert_eq!(versions(), [&format!("east {OLDEST_VERSION}"), "west 20"]);
    // Often enough for the numbers of their lists to differ.
    for _ in 0..2 {
        east.begin_list();
        east.list_complete();
        assert_eq!(versions(), ["west 20"]);
    }
}

#[test]
fn an_edit_clears_the_problem_of_the_target() {
    let mut watched = Watched::new();
    watched.follower.upsert(to_dynamic(object("shop", "1", 1, 5)));
    let policy = PolicyName::new(Family::CronScaling, identity("shop"));
    let problem = || watched.cluster.lock().policies[&policy].problem.clone();
    if let Some(entry) = watched.cluster.lock().policies.get_mut(&policy) {
        entry.note_problem(Some(TargetProblem::NotScalable), false);
    }
    let mut labeled = object("shop", "1", 2, 5);
    labeled["metadata"]["labels"] = json!({ "team": "harbour" });
    watched.follower.upsert(to_dynamic(labeled));
    assert!(problem().is_some(), "the spec is the same");
    watched.follower.upsert(to_dynamic(object("shop", "1", 3, 6)));
    assert!(problem().is_none());
}

#[test]
fn an_object_being_deleted_is_treated_as_deleted() {
    let mut watched = Watched::new();
    watched.follower.upsert(to_dynamic(object("shop", "1", 1, 5)));
    let mut deleted = object("shop", "1", 2, 5);
    deleted["metadata"]["deletionTimestamp"] = json!("2026-11-20T09:00:00Z");
    watched.follower.upsert(to_dynamic(deleted));
    assert_eq!(watched.replicas("shop"), None);
    assert!(watched.turns.is_quiet());
}

#[test]
fn a_new_object_with_an_old_name_inherits_nothing() {
    let mut watched = Watched::new();
    let mut old = object("shop", "1", 1, 5);
    old["status"] = json!({ "executionHistories": [{
        "ruleName": "a", "fingerprint": "0123456789abcdef",
        "lastHandledTime": "2026-11-20T09:00:00Z",
    }] });
    watched.follower.upsert(to_dynamic(old));
    assert!(watched.handled("shop").is_some());
    watched.follower.upsert(to_dynamic(object("shop", "2", 2, 5)));
    assert_eq!(watched.handled("shop"), None);
}

#[test]
fn memory_outweighs_a_later_status() {
    let mut watched = Watched::new();
    let status = |handled: &str| {
        json!({ "executionHistories": [{
            "ruleName": "a", "fingerprint": "0123456789abcdef", "lastHandledTime": handled,
        }] })
    };
    let mut first = object("shop", "1", 1, 5);
    first["status"] = status("2026-11-20T09:00:00Z");
    watched.follower.upsert(to_dynamic(first));
    let before = watched.handled("shop");
    let mut edited = object("shop", "1", 2, 6);
    edited["status"] = status("2001-01-01T00:00:00Z");
    watched.follower.upsert(to_dynamic(edited));
    assert_eq!((watched.handled("shop"), watched.replicas("shop")), (before, Some(6)));
    assert!(!watched.statuses.is_quiet(), "and the status is corrected");
}

#[test]
fn an_invalid_object_keeps_its_history_and_drops_its_rules() {
    let mut watched = Watched::new();
    let mut good = object("shop", "1", 1, 5);
    good["status"] = json!({ "executionHistories": [{
        "ruleName": "a", "fingerprint": "0123456789abcdef",
        "lastHandledTime": "2026-11-20T09:00:00Z",
    }] });
    watched.follower.upsert(to_dynamic(good));
    let handled = watched.handled("shop");
    let mut broken = object("shop", "1", 2, 6);
    broken["spec"]["scaleTargetRef"]["kind"] = json!("");
    watched.follower.upsert(to_dynamic(broken));
    assert_eq!(watched.replicas("shop"), None);
    watched.follower.upsert(to_dynamic(object("shop", "1", 3, 7)));
    assert_eq!(watched.handled("shop"), handled);
    let state = watched.cluster.lock();
    let memory = state.world.cron_scaling.policies[&identity("shop")].memory.clone();
    let fingerprint = memory.expect("the policy state is stored").rules[0].fingerprint;
    assert_eq!(fingerprint, almanac_engine::Fingerprint::empty());
}

#[test]
fn unwritten_statuses_survive_two_terms_in_a_row_without_a_turn() {
    let unwritten = UnwrittenStatuses::default();
    let mut first = Watched::going_on_from(unwritten.clone());
    first.follower.upsert(to_dynamic(object("shop", "1", 1, 5)));
    let rule = {
        let mut state = first.cluster.lock();
        let object = state
            .world
            .cron_scaling
            .policies
            .get_mut(&identity("shop"))
            .expect("the object exists");
        let policy = object.policy.as_ref().expect("the policy is usable");
        let rule = RuleMemory::beginning(&policy.rules[0], Timestamp::UNIX_EPOCH);
        object.memory = Some(Memory { rules: vec![rule.clone()] });
        rule
    };
    unwritten.keep(&first.cluster);
    for _ in 0..2 {
        let mut next = Watched::going_on_from(unwritten.clone());
        next.follower.upsert(to_dynamic(object("shop", "1", 1, 5)));
        assert_eq!(next.handled("shop"), Some(rule.handled));
        unwritten.keep(&next.cluster);
    }
}

#[test]
fn unwritten_statuses_are_kept_until_a_term_has_them_or_their_objects_are_deleted() {
    let unwritten = UnwrittenStatuses::default();
    let mut first = Watched::going_on_from(unwritten.clone());
    for name in ["shop", "gone"] {
        first.follower.upsert(to_dynamic(object(name, name, 1, 5)));
    }
    unwritten.keep(&first.cluster);
    // A term that ends before it has listed everything keeps nothing.
    let mut short = Watched::going_on_from(unwritten.clone());
    short.follower.upsert(to_dynamic(object("shop", "shop", 1, 5)));
    drop(short);
    assert_eq!(unwritten.len(), 2);
    let mut next = Watched::going_on_from(unwritten.clone());
    next.follower.upsert(to_dynamic(object("shop", "shop", 1, 5)));
    next.follower.list_complete();
    assert_eq!(unwritten.len(), 1, "the other policy is deleted");
    unwritten.hand_over(&next.cluster);
    assert_eq!(unwritten.len(), 0);
    unwritten.keep(&next.cluster);
    assert_eq!(unwritten.len(), 1);
}

#[test]
fn a_malformed_spec_does_not_affect_other_objects() {
    let mut watched = Watched::new();
    let mut odd = object("odd", "1", 1, 5);
    odd["spec"] = json!({ "rules": 7 });
    watched.follower.upsert(to_dynamic(odd));
    watched.follower.upsert(to_dynamic(object("shop", "2", 2, 5)));
    assert_eq!((watched.replicas("odd"), watched.replicas("shop")), (None, Some(5)));
    let state = watched.cluster.lock();
    let odd = PolicyName::new(Family::CronScaling, identity("odd"));
    assert!(!state.policies[&odd].findings.is_empty());
}

#[test]
fn after_versions_went_back_even_older_objects_count() {
    let mut watched = Watched::new();
    watched.follower.upsert(to_dynamic(object("shop", "1", 2_000, 5)));
    watched.follower.list_complete();
    watched.follower.versions_went_back();
    watched.follower.begin_list();
    // The user's edit after the backup is lost; the next edit has the same generation but different
    // content.
    let mut restored = object("shop", "1", 1_000, 3);
    restored["metadata"]["generation"] = json!(5);
    watched.follower.upsert(to_dynamic(restored));
    watched.follower.list_complete();
    assert_eq!(watched.replicas("shop"), Some(3));
    let policy = PolicyName::new(Family::CronScaling, identity("shop"));
    assert_eq!(&*watched.cluster.lock().policies[&policy].version, "1000");
    watched.follower.upsert(to_dynamic(object("shop", "1", 1_001, 7)));
    assert_eq!(watched.replicas("shop"), Some(7), "and edits of users take effect again");
}

/// An autoscaler whose query has a pattern.
fn autoscaler(name: &str, version: u64, pattern: &str) -> Value {
    let target = objects::target("apps/v1", "Deployment", name);
    let query = format!("max(karpenter_scheduled_capacity{{name=~\"{pattern}\"}})");
    objects::stored(objects::horizontal_autoscaler(name, &target, &query), name, version, 1)
}

#[test]
fn patterns_over_the_budget_make_an_autoscaler_unusable_until_capacity_is_free() {
    let pool = PatternPool::default();
    let kept = PatternBudget::new(Some(&pool), "default").keep("[a-z]{250}");
    // A namespace may use a quarter.
    let cluster = Cluster::with_patterns(PatternPool::with_max_bytes(pool.bytes() * 6));
    drop(kept);
    let mut watched =
        Watched::for_family(Family::MetricScaling, UnwrittenStatuses::default(), cluster);
    let is_usable = |watched: &Watched, name: &str| {
        let state = watched.cluster.lock();
        let identity = Kind::HorizontalAutoscaler.identity("default", name);
        let object =
            state.world.metric_scaling.policies.get(&identity).expect("the policy is in the world");
        let policy = PolicyName::new(Family::MetricScaling, identity);
        let reported: Vec<String> =
            state.policies[&policy].findings.iter().map(Finding::sentence).collect();
        assert_eq!(object.policy.is_some(), reported.is_empty(), "{reported:?}");
        object.policy.is_some()
    };
    watched.follower.upsert(to_dynamic(autoscaler("large", 1, "[a-z]{250}")));
    watched.follower.upsert(to_dynamic(autoscaler("late", 2, "[a-y]{250}")));
    watched.follower.upsert(to_dynamic(autoscaler("same", 3, "[a-z]{250}")));
    watched.follower.upsert(to_dynamic(autoscaler("small", 4, "a|b")));
    watched.follower.list_complete();
    let usable = ["large", "late", "same", "small"].map(|name| is_usable(&watched, name));
    assert_eq!(usable, [true, false, true, true]);
    for name in ["large", "same"] {
        watched.follower.delete(to_dynamic(autoscaler(name, 5, "a")));
    }
    assert!(watched.follower.needs_relist());
    watched.follower.begin_list();
    watched.follower.upsert(to_dynamic(autoscaler("late", 2, "[a-y]{250}")));
    watched.follower.upsert(to_dynamic(autoscaler("small", 4, "a|b")));
    watched.follower.list_complete();
    assert!(is_usable(&watched, "late") && is_usable(&watched, "small"));
    assert!(!watched.follower.needs_relist());
}
