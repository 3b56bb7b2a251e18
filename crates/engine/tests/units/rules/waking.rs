//! Which pods are woken, and when.

use jiff::SignedDuration;

use crate::support::{LEASE, Scene, on, pod, policy_name, prefer, required, unit};

const ZONES: [(&str, &str); 2] = [("n-a", "zone=a"), ("n-b", "zone=b")];
const ALL: [&str; 2] = ["n-a", "n-b"];

fn refused(scene: &mut Scene, names: &[&str]) {
    for name in names {
        scene.set_pod(name, &pod("app=a"));
        scene.filter(name, &ALL).unwrap_or_default();
    }
    assert_eq!(scene.woken(), [""; 0]);
}

fn full_scene() -> Scene {
    let mut scene = Scene::new(required([unit("a", 1, 2, "zone=a")]), &ZONES);
    scene.fill("n-a", 2, &pod("app=a"));
    scene
}

#[test]
fn a_raised_cap_wakes_as_many_pods_as_there_is_room_for() {
    let mut scene = full_scene();
    refused(&mut scene, &["c", "a", "b"]);
    scene.set_policy("p", required([unit("a", 1, 4, "zone=a")]));
    assert_eq!(scene.woken(), ["a", "c"], "those that were refused first");
    assert_eq!(scene.woken(), [""; 0]);
    scene.set_policy("p", required([unit("a", 1, None, "zone=a")]));
    assert_eq!(scene.woken(), ["b"]);
}

#[test]
fn a_pod_that_goes_wakes_one_that_waits() {
    let mut scene = full_scene();
    refused(&mut scene, &["a", "b"]);
    scene.remove_pod("n-a-0");
    assert_eq!(scene.woken(), ["a"]);
}

#[test]
fn another_pod_is_woken_when_the_first_does_not_come_back() {
    let mut scene = full_scene();
    refused(&mut scene, &["a", "b"]);
    scene.remove_pod("n-a-0");
    assert_eq!(scene.woken(), ["a"]);
    let next = scene.ledger.next_wake().unwrap();
    assert_eq!(next, scene.now + SignedDuration::from_secs(30));
    scene.now = next;
    assert_eq!(scene.woken(), ["b"], "a is behind it now");
}

#[test]
fn a_lease_that_ends_unused_wakes_a_pod() {
    let mut scene = Scene::new(required([unit("a", 1, 1, "zone=a")]), &ZONES);
    scene.set_pod("leased", &pod("app=a"));
    scene.filter("leased", &ALL).unwrap();
    refused(&mut scene, &["waiting"]);
    scene.now += LEASE;
    assert_eq!(scene.woken(), ["waiting"]);
}

#[test]
fn pods_are_woken_when_their_policy_or_a_conflict_goes() {
    let mut scene = full_scene();
    refused(&mut scene, &["a", "b"]);
    scene.set_policy("q", prefer([unit("a", 1, None, "zone=a")]));
    assert_eq!(scene.woken(), [""; 0], "two policies are worse than one");
    scene.ledger.remove_policy(&policy_name("p"));
    assert_eq!(scene.woken(), ["a", "b"], "the other one has room");
    let mut scene = full_scene();
    refused(&mut scene, &["a", "b"]);
    scene.ledger.remove_policy(&policy_name("p"));
    assert_eq!(scene.woken(), ["a", "b"], "nothing governs them");
}

#[test]
fn a_strategy_edited_to_prefer_wakes_all_that_wait() {
    let mut scene = full_scene();
    refused(&mut scene, &["a", "b"]);
    scene.set_policy("p", prefer([unit("a", 1, 2, "zone=a")]));
    assert_eq!(scene.woken(), ["a", "b"]);
}

#[test]
fn pods_that_need_no_node_any_more_are_not_woken() {
    let mut scene = full_scene();
    refused(&mut scene, &["gone", "bound", "waiting"]);
    scene.remove_pod("gone");
    scene.set_pod("bound", &on("n-b", pod("app=a")));
    scene.set_policy("p", required([unit("a", 1, None, "zone=a")]));
    assert_eq!(scene.woken(), ["waiting"]);
}
