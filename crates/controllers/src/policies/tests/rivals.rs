//! Policies by their target: those of one target name each other in their statuses.

use std::collections::{BTreeMap, BTreeSet};

use almanac_api::exempt::MARK;
use almanac_engine::PolicyName;
use almanac_fixtures::names;
use almanac_shell::following::Follower as _;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Watched, object, to_dynamic};
use crate::families::Families;
use crate::policies::PolicyFollower;

/// An object whose status shows that it has had a turn.
fn with_history(name: &str, version: u64, replicas: u32) -> Value {
    let mut object = object(name, name, version, replicas);
    object["status"] = json!({ "executionHistories": [{
        "ruleName": "a", "fingerprint": "0123456789abcdef",
        "lastHandledTime": "2026-11-20T09:00:00Z",
    }] });
    object
}

/// The statuses that the policies should have.
fn statuses(watched: &Watched) -> BTreeMap<PolicyName, Value> {
    let (families, state) = (Families::default(), watched.cluster.lock());
    let status = |policy: &PolicyName| {
        let family = families.get(policy.family).expect("the family has a controller");
        let entry = &state.policies[policy];
        let composed = family.compose(&state, &policy.identity, entry, Timestamp::UNIX_EPOCH);
        composed.expect("the policy has had a turn").status
    };
    state.policies.keys().map(|policy| (policy.clone(), status(policy))).collect()
}

/// The number of statuses of other policies that change with an event. These are woken, and then at most one more.
fn changed_by(watched: &mut Watched, name: &str, event: impl FnOnce(&mut PolicyFollower)) -> usize {
    watched.statuses.take_waiting();
    let (own, before) = (names::cron_federated_hpa(name), statuses(watched));
    event(&mut watched.follower);
    let mut woken = watched.statuses.take_waiting();
    woken.remove(&own);
    let others = statuses(watched).into_iter().filter(|(it, _)| *it != own);
    let changed = others.filter(|(it, status)| before.get(it) != Some(status));
    let changed: BTreeSet<PolicyName> = changed.map(|(it, _)| it).collect();
    assert!(changed.is_subset(&woken), "{changed:?}, {woken:?}");
    let spare = usize::from(!changed.is_empty());
    assert!(woken.len() <= changed.len() + spare, "{changed:?}, {woken:?}");
    changed.len()
}

#[test]
fn one_of_a_thousand_policies_on_a_target_changes_three_statuses_of_others() {
    let mut watched = Watched::new();
    watched.follower.list_complete();
    let all: Vec<String> = (0..1_000).map(|number| format!("shop-{number:03}")).collect();
    for name in &all {
        watched.follower.upsert(to_dynamic(with_history(name, 1, 5)));
        assert!(watched.statuses.take_waiting().len() <= 4);
    }
    let name = "shop-500-more";
    let upserted = |watched: &mut Watched, object: Value| {
        changed_by(watched, name, |follower| follower.upsert(to_dynamic(object)))
    };
    assert_eq!(upserted(&mut watched, with_history(name, 1, 5)), 3);
    let mut edited = with_history(name, 2, 6);
    edited["spec"]["rules"][0]["schedule"] = json!("0 10 * * *");
    assert_eq!(upserted(&mut watched, edited), 0, "the edited policy sets the same target");
    let mut suspended = with_history(name, 3, 7);
    suspended["spec"]["rules"][0]["suspend"] = json!(true);
    assert_eq!(upserted(&mut watched, suspended), 3);
    let mut exempt = with_history(name, 4, 8);
    exempt["metadata"]["annotations"] = json!({ MARK: "true" });
    assert_eq!(upserted(&mut watched, exempt), 0);
    assert_eq!(upserted(&mut watched, with_history(name, 5, 8)), 3);
    let mut moved = with_history(name, 6, 9);
    moved["spec"]["scaleTargetRef"]["name"] = json!("other");
    assert_eq!(upserted(&mut watched, moved), 3);
    let first = to_dynamic(with_history(&all[0], 2, 5));
    assert_eq!(changed_by(&mut watched, &all[0], |follower| follower.delete(first)), 3);
    for name in &all {
        watched.follower.delete(to_dynamic(with_history(name, 2, 5)));
        assert!(watched.statuses.take_waiting().len() <= 4);
    }
}

#[test]
fn a_suspended_or_exempt_policy_neither_names_others_nor_is_named() {
    let is_named = |watched: &Watched| {
        let names_rivals = |status: Value| status.to_string().contains("also set by");
        statuses(watched).into_values().map(names_rivals).collect::<Vec<_>>()
    };
    let mut watched = Watched::new();
    for name in ["one", "two"] {
        watched.follower.upsert(to_dynamic(with_history(name, 1, 5)));
    }
    assert_eq!(is_named(&watched), [true, true]);
    let mut suspended = with_history("two", 2, 6);
    suspended["spec"]["rules"][0]["suspend"] = json!(true);
    watched.follower.upsert(to_dynamic(suspended));
    assert_eq!(is_named(&watched), [false, false]);
    let mut exempt = with_history("two", 3, 7);
    exempt["metadata"]["annotations"] = json!({ MARK: "true" });
    watched.follower.upsert(to_dynamic(exempt));
    assert_eq!(is_named(&watched), [false, false]);
    watched.follower.upsert(to_dynamic(with_history("two", 4, 7)));
    assert_eq!(is_named(&watched), [true, true]);
}

#[test]
fn a_new_or_removed_rival_wakes_the_statuses_of_the_others() {
    let [shop, other] = ["shop", "other"].map(|name| object(name, name, 1, 5));
    let mut comes = Watched::new();
    comes.follower.upsert(to_dynamic(shop.clone()));
    comes.follower.list_complete();
    assert!(comes.statuses.is_quiet());
    comes.follower.upsert(to_dynamic(other.clone()));
    assert!(!comes.statuses.is_quiet());

    let mut goes = Watched::new();
    goes.follower.upsert(to_dynamic(shop));
    goes.follower.upsert(to_dynamic(other.clone()));
    goes.follower.list_complete();
    assert!(goes.statuses.is_quiet());
    goes.follower.delete(to_dynamic(other));
    assert!(!goes.statuses.is_quiet());
}

#[test]
fn policies_are_found_by_their_target() {
    let mut watched = Watched::new();
    watched.follower.upsert(to_dynamic(object("one", "1", 1, 5)));
    watched.follower.upsert(to_dynamic(object("two", "2", 2, 5)));
    let target = names::deployment("shop");
    let aimed = |watched: &Watched| {
        let state = watched.cluster.lock();
        let policies = state.targets.policies_targeting(&target);
        policies.map(|it| it.identity.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(aimed(&watched), ["one", "two"]);
    let mut moved = object("one", "1", 3, 6);
    moved["spec"]["scaleTargetRef"]["name"] = json!("other");
    watched.follower.upsert(to_dynamic(moved));
    assert_eq!(aimed(&watched), ["two"]);
    watched.follower.delete(to_dynamic(object("two", "2", 4, 5)));
    assert!(aimed(&watched).is_empty());
}
