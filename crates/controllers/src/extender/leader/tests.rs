//! The policies that the ledger applies, and the responses while they are prepared.

use std::sync::mpsc;

use almanac_api::kinds::Kind;
use almanac_engine::units::Pod;
use almanac_shell::budget::{WriteBudget, WriteLimits};
use almanac_shell::lease::Fence;
use almanac_shell::writer::WriteMetrics;
use almanac_stub::Stub;
use http::StatusCode;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::json;

use super::*;
use crate::cluster::StatusSnapshot;
use crate::extender::filtering::filter;
use crate::extender::gauges::Gauges;
use crate::extender::watches::pod_identity;
use crate::leadership::Leadership;

fn named(namespace: &str, number: usize) -> Identity {
    Kind::ResourcePolicy.identity(namespace, &format!("p-{number:03}"))
}

fn entry(created: i64) -> PolicyEntry {
    PolicyEntry {
        created: Timestamp::from_second(created).ok(),
        uid: "".into(),
        version: "".into(),
        generation: None,
        usable: Some(Arc::default()),
        findings: Vec::new(),
        recorded: StatusSnapshot::from_status(&serde_json::Value::Null),
        failure: None,
    }
}

fn apply(state: &mut LeaderState, policies: &[Identity]) {
    let prepared = state.due(policies).into_iter().map(Due::prepare).collect();
    state.apply_prepared(prepared);
}

fn insert(state: &mut LeaderState, policy: &Identity, created: i64) {
    let changed = state.insert_policy(policy, entry(created));
    apply(state, &changed);
}

#[test]
fn the_oldest_policies_of_a_namespace_apply_and_the_next_policy_after_a_deletion() {
    let mut state = LeaderState::new(Exemptions::default());
    // The last names are the oldest policies.
    for number in 0..MAX_POLICIES + 10 {
        let created = 1_000 - i64::try_from(number).expect("the number is small");
        insert(&mut state, &named("shop", number), created);
    }
    insert(&mut state, &named("other", 0), 5_000);
    let applied = |state: &LeaderState| -> Vec<Identity> {
        state.ledger.policies().filter(|it| it.namespace() == "shop").cloned().collect()
    };
    let oldest = |from: usize| (from..MAX_POLICIES + 10).map(|number| named("shop", number));
    assert_eq!(applied(&state), oldest(10).collect::<Vec<_>>());
    assert!(!state.is_among_oldest(&named("shop", 9)) && state.is_among_oldest(&named("other", 0)));
    let changed = state.remove_policy(&named("shop", 20));
    apply(&mut state, &changed);
    let expected: Vec<Identity> = oldest(9).filter(|it| *it != named("shop", 20)).collect();
    assert_eq!(applied(&state), expected);
    // A policy that was deleted and created again is the youngest.
    insert(&mut state, &named("shop", 73), 2_000);
    assert!(!state.is_among_oldest(&named("shop", 73)) && state.is_among_oldest(&named("shop", 8)));
    assert_eq!(applied(&state).len(), MAX_POLICIES);
    assert_eq!(state.ledger.policies().count(), MAX_POLICIES + 1);
}

#[test]
fn a_policy_that_changes_while_it_is_prepared_is_not_applied() {
    let mut state = LeaderState::new(Exemptions::default());
    let [changed, deleted, marked] = [0, 1, 2].map(|number| named("shop", number));
    let all = [&changed, &deleted, &marked];
    let policies_due = all.map(|policy| state.insert_policy(policy, entry(1))).concat();
    let prepared: Vec<Prepared> = state.due(&policies_due).into_iter().map(Due::prepare).collect();
    let again = state.insert_policy(&changed, entry(1));
    drop(state.remove_policy(&deleted));
    state.exempt.mark(&marked, true);
    state.apply_prepared(prepared);
    assert_eq!(state.ledger.policies().count(), 0);
    apply(&mut state, &again);
    assert_eq!(state.ledger.policies().collect::<Vec<_>>(), [&changed]);
}

/// The state of a term that serves.
fn serving() -> Leader {
    let client = Stub::new().client();
    let budget = WriteBudget::new(WriteLimits::default());
    let writer = Writer::new(client.clone(), Fence::open(), budget, WriteMetrics::default());
    let (metrics, exempt) = (PodWriteMetrics::default(), Exemptions::default());
    let leader = Leader::new((client, writer), metrics, Monotonic::system(), exempt);
    let now = leader.elapsed();
    let at_once = LongestBind::from_timeouts(Duration::ZERO, Duration::ZERO);
    leader.lock().ledger.acquire_leadership(1, now, at_once);
    leader.lock().ledger.serve(at_once.after(now)).expect("no request is in flight");
    leader
}

#[tokio::test]
async fn requests_and_scrapes_have_responses_while_a_policy_is_prepared() {
    let leader = Arc::new(serving());
    let (policy, pod) = (named("shop", 0), pod_identity("shop", "web"));
    let web = Pod { uid: Some("1".into()), ..Pod::default() };
    leader.lock().ledger.set_pod(&pod, &web);
    let changed = leader.lock().insert_policy(&policy, entry(1));
    let (started, starts) = mpsc::channel();
    let (go_on, goes_on) = mpsc::channel();
    let preparing = {
        let leader = Arc::clone(&leader);
        std::thread::spawn(move || {
            leader.apply_policies_by(&changed, |due| {
                started.send(()).unwrap();
                goes_on.recv().unwrap();
                due.prepare()
            });
        })
    };
    starts.recv().unwrap();
    // If the preparation held the lock, these calls would wait for it, and it waits for these calls.
    let metadata = json!({ "namespace": "shop", "name": "web", "uid": "1" });
    let request = json!({ "Pod": { "metadata": metadata }, "NodeNames": ["n-a"] });
    let response = filter(&leader, request.to_string().as_bytes()).await;
    assert_eq!(response.status, StatusCode::OK);
    let leading = Leadership::default();
    leading.start(Fence::open(), Arc::clone(&leader));
    let (mut registry, mut scraped) = (Registry::default(), String::new());
    registry.register_collector(Box::new(Gauges { leading }));
    encode(&mut scraped, &registry).unwrap();
    assert!(scraped.contains("almanac_units_policies 1"), "{scraped}");
    assert_eq!(leader.lock().ledger.policies().count(), 0, "the policy is still being prepared");
    go_on.send(()).unwrap();
    preparing.join().unwrap();
    assert_eq!(leader.lock().ledger.policies().collect::<Vec<_>>(), [&policy]);
}

#[tokio::test]
async fn the_policies_of_a_namespace_are_applied_together() {
    let leader = serving();
    let policies = [0, 1, 2, 3, 4].map(|number| named("shop", number));
    for policy in &policies {
        let _applied_below = leader.lock().insert_policy(policy, entry(1));
    }
    leader.apply_policies_by(&policies, |due| {
        assert_eq!(leader.lock().ledger.policies().count(), 0);
        due.prepare()
    });
    assert_eq!(leader.lock().ledger.policies().count(), policies.len());
}
