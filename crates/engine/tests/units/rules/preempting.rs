//! The nodes on which evictions help a pod, and the number of pods that they help.

use almanac_engine::units::{Pod, Verdict};

use crate::support::{LEASE, Scene, at, grouped_by, on, pod, prefer, required, second, unit};

const NODES: [(&str, &str); 4] =
    [("a-1", "zone=a"), ("a-2", "zone=a"), ("b-1", "zone=b"), ("x-1", "")];

/// A pod without a policy on each node.
fn full(policy: almanac_engine::units::ResourcePolicy, nodes: &[(&str, &str)]) -> Scene {
    let mut scene = Scene::new(policy, nodes);
    for (name, _) in nodes {
        scene.fill(name, 1, &pod("app=z"));
    }
    scene
}

fn nominated(node: &str) -> Pod {
    Pod { nominated: Some(node.into()), ..pod("app=a") }
}

/// The nodes on which evictions help the first pod.
fn preempt(scene: &mut Scene, pod: &str, nodes: &[&str]) -> Vec<String> {
    let victims: Vec<String> = nodes.iter().map(|node| format!("{node}-0")).collect();
    let of_nodes: Vec<(&str, Vec<&str>)> =
        nodes.iter().zip(&victims).map(|(node, victim)| (*node, vec![&**victim])).collect();
    scene.preempt(pod, &of_nodes)
}

#[test]
fn five_pods_evict_others_for_one_place_once() {
    let names = ["n-1", "n-2", "n-3", "n-4", "n-5"];
    let nodes = names.map(|name| (name, "zone=a"));
    let mut scene = full(required([unit("only", 1, 1, "zone=a")]), &nodes);
    let mut kept = 0;
    for name in ["a", "b", "c", "d", "e"] {
        scene.set_pod(name, &pod("app=a"));
        kept += usize::from(!preempt(&mut scene, name, &names).is_empty());
    }
    assert_eq!(kept, 1, "pods that evict others for one place");
}

#[test]
fn a_hundred_pods_evict_others_for_five_places_five_times() {
    let names: Vec<String> = (0..20).map(|number| format!("n-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let nodes: Vec<(&str, &str)> = names.iter().map(|name| (*name, "zone=a")).collect();
    let mut scene = full(required([unit("only", 1, 5, "zone=a")]), &nodes);
    let mut kept = 0;
    for number in 0..100 {
        let name = format!("pod-{number}");
        scene.set_pod(&name, &pod("app=a"));
        kept += usize::from(!preempt(&mut scene, &name, &names).is_empty());
    }
    assert_eq!(kept, 5, "pods that evict others for five places");
}

#[test]
fn only_nodes_of_the_best_unit_with_free_capacity_are_kept() {
    let units = [unit("low", 1, None, "zone=b"), unit("high", 5, 1, "zone=a")];
    let all = ["a-1", "a-2", "b-1", "x-1"];
    let mut scene = full(prefer(units.clone()), &NODES);
    scene.set_pods(&["one", "two"], &pod("app=a"));
    assert_eq!(preempt(&mut scene, "one", &all), ["a-1", "a-2"]);
    assert_eq!(preempt(&mut scene, "two", &all), ["b-1"], "the place is kept for the first");
    assert_eq!(preempt(&mut scene, "two", &["x-1"]), ["x-1"]);
    let mut scene = full(required(units), &NODES);
    scene.set_pod("one", &pod("app=a"));
    assert!(preempt(&mut scene, "one", &["x-1"]).is_empty(), "outside is never");
}

#[test]
fn a_kept_place_is_taken_by_no_other_pod_until_it_is_given_up() {
    let mut scene = full(required([unit("only", 1, 1, "zone=a")]), &NODES);
    scene.set_pods(&["one", "two"], &pod("app=a"));
    assert_eq!(preempt(&mut scene, "one", &["a-1"]), ["a-1"]);
    assert_eq!(scene.filter("two", &["a-2"]).unwrap(), [Verdict::Full]);
    let why = scene.reason("two", &["a-2"], "a-2");
    let expected = "unit \"only\" of ResourcePolicy shop/p is full: 0 of 1 pod, and 1 place is kept for a pod that \
                    evicts others";
    assert_eq!(why, expected);
    assert_eq!(scene.reserve("two", "a-2").unwrap_err().to_string(), expected);
    assert_eq!(scene.filter("one", &["a-1"]).unwrap(), [Verdict::Chosen], "its own place");
    scene.set_pod("one", &nominated("a-1"));
    scene.now = at(3_600);
    assert_eq!(scene.filter("two", &["a-2"]).unwrap(), [Verdict::Full], "as long as nominated");
    scene.set_pod("one", &pod("app=a"));
    assert_eq!(scene.woken(), ["two"]);
    assert_eq!(scene.filter("two", &["a-2"]).unwrap(), [Verdict::Chosen]);
}

#[test]
fn capacity_is_kept_until_the_pod_is_bound_deleted_or_late() {
    for end in ["bound", "gone", "late"] {
        let mut scene = full(required([unit("only", 1, 1, "zone=a")]), &NODES);
        scene.set_pods(&["one", "two"], &pod("app=a"));
        assert_eq!(preempt(&mut scene, "one", &["a-1"]), ["a-1"]);
        assert!(preempt(&mut scene, "two", &["a-2"]).is_empty());
        match end {
            "bound" => drop(scene.bind("one", "a-1")),
            "gone" => scene.remove_pod("one"),
            _ => scene.now = scene.ledger.next_wake().unwrap(),
        }
        let is_free = end != "bound";
        assert_eq!(scene.woken().is_empty(), !is_free, "{end}");
        assert_eq!(!preempt(&mut scene, "two", &["a-2"]).is_empty(), is_free, "{end}");
        assert_eq!(scene.counts("p").0, if is_free { vec![0] } else { vec![1] }, "{end}");
    }
}

#[test]
fn a_victim_of_the_same_unit_frees_capacity_for_one_pod() {
    let policy = required([unit("only", 1, 1, "zone=a")]);
    let mut scene = Scene::new(policy, &NODES);
    scene.fill("a-1", 1, &pod("app=a"));
    scene.set_pods(&["one", "two"], &pod("app=a"));
    assert_eq!(preempt(&mut scene, "one", &["a-1"]), ["a-1"]);
    assert!(preempt(&mut scene, "two", &["a-1"]).is_empty(), "the victim makes room for another");
    scene.set_pod("one", &nominated("a-1"));
    assert!(scene.stale().is_empty(), "its victim has yet to go");
    scene.remove_pod("a-1-0");
    assert_eq!(scene.filter("two", &["a-2"]).unwrap(), [Verdict::Full]);
    assert_eq!(scene.filter("one", &["a-1"]).unwrap(), [Verdict::Chosen]);
}

#[test]
fn a_full_unit_is_preempted_only_by_evicting_a_pod_that_is_counted_there() {
    let policy = grouped_by(&["hash"], required([unit("only", 1, 1, "zone=a")]));
    let mut scene = Scene::new(policy, &NODES);
    scene.fill("a-1", 1, &pod("app=a,hash=1"));
    scene.set_pod("other-group", &on("a-1", pod("app=a,hash=2")));
    scene.set_pod("no-policy", &on("a-1", pod("app=z")));
    scene.set_pod("new", &pod("app=a,hash=1"));
    let mut kept = |node: &str, victims: &[&str]| {
        let kept = !scene.preempt("new", &[(node, victims.to_vec())]).is_empty();
        scene.set_pod("new", &pod("app=a,hash=1"));
        kept
    };
    assert!(!kept("a-1", &["other-group"]));
    assert!(!kept("a-1", &["no-policy"]));
    assert!(!kept("a-1", &[]), "a cap never preempts");
    assert!(!kept("x-1", &["a-1-0"]), "outside is never");
    assert!(kept("a-1", &["a-1-0"]));
    scene.remove_pod("a-1-0");
    assert_eq!(scene.preempt("new", &[("a-1", vec!["no-policy"])]), ["a-1"], "there is room");
}

#[test]
fn enough_pods_of_a_unit_over_its_cap_must_be_evicted() {
    let mut scene = Scene::new(required([unit("only", 1, 1, "zone=a")]), &NODES);
    scene.fill("a-1", 2, &pod("app=a"));
    scene.set_pod("new", &pod("app=a"));
    assert!(scene.preempt("new", &[("a-1", vec!["a-1-0"])]).is_empty(), "it would be in vain");
    assert_eq!(scene.preempt("new", &[("a-1", vec!["a-1-0", "a-1-1"])]), ["a-1"]);
}

#[test]
fn a_nomination_is_stale_once_the_unit_accepts_no_more_pods() {
    let mut scene = full(required([unit("only", 1, 2, "zone=a")]), &NODES);
    scene.set_pod("first", &nominated("a-1"));
    scene.set_pod("second", &nominated("a-2"));
    scene.set_pod("outside", &nominated("x-1"));
    scene.set_pod("free", &Pod { nominated: Some("x-1".into()), ..pod("app=z") });
    assert!(scene.stale().is_empty(), "no request has named their scheduler yet");
    scene.filter("free", &["x-1"]).unwrap();
    let of_another = Pod { scheduler: Some("another".into()), ..nominated("x-1") };
    scene.set_pod("of-another", &of_another);
    assert_eq!(scene.stale(), ["outside"], "another scheduler does not ask");
    scene.filter("of-another", &["x-1"]).unwrap();
    assert_eq!(scene.stale(), ["of-another", "outside"]);
    scene.remove_pod("of-another");
    scene.set_policy("p", required([unit("only", 1, 1, "zone=a")]));
    assert_eq!(scene.stale(), ["outside", "second"], "the first that was nominated stays");
    scene.set_pod("outside", &pod("app=a"));
    scene.set_pod("second", &pod("app=a"));
    assert!(scene.stale().is_empty());
    scene.set_node("a-1", "zone=elsewhere");
    assert_eq!(scene.stale(), ["first"], "its node is in no unit any more");
    scene.set_policy("q", required([unit("only", 1, 2, "zone=a")]));
    scene.set_node("a-1", "zone=a");
    assert_eq!(scene.stale(), ["first"], "two policies select the pod");
}

#[test]
fn each_call_checks_some_of_many_nominated_pods() {
    let mut scene = Scene::new(required([unit("only", 1, 1, "zone=a")]), &NODES);
    for number in 0..600 {
        scene.set_pod(&format!("p-{number:03}"), &nominated("x-1"));
    }
    scene.filter("p-000", &["x-1"]).unwrap();
    let parts: Vec<_> = (0..4).map(|_| scene.ledger.stale_nominations()).collect();
    let counts = parts.iter().map(|it| (it.pods.len(), it.has_more)).collect::<Vec<_>>();
    assert_eq!(counts, [(256, true), (256, true), (88, false), (256, true)]);
    let mut seen: Vec<_> = parts[..3].iter().flat_map(|it| &it.pods).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 600);
}

#[test]
fn a_nominated_pod_that_no_eviction_helps_any_more_keeps_no_place() {
    let mut scene = Scene::new(required([unit("only", 1, 1, "zone=a")]), &NODES);
    scene.set_pod("stuck", &nominated("a-1"));
    scene.set_pod("other", &pod("app=a"));
    assert_ne!(scene.filter("other", &["a-2"]).unwrap(), [Verdict::Chosen]);
    // The node is cordoned, so that evictions help on no node.
    assert!(scene.preempt("stuck", &[]).is_empty());
    assert_eq!(scene.stale(), ["stuck"]);
    assert_eq!(scene.filter("other", &["a-2"]).unwrap(), [Verdict::Chosen]);
}

#[test]
fn a_nomination_is_not_stale_while_a_pod_on_its_node_ends() {
    let mut scene = Scene::new(required([unit("only", 1, 1, "zone=a")]), &NODES);
    scene.set_pod("victim", &on("a-1", pod("app=a")));
    scene.set_pod("new", &nominated("a-1"));
    scene.filter("new", &["a-1"]).unwrap();
    assert_eq!(scene.stale(), ["new"]);
    scene.set_pod("victim", &on("a-1", Pod { deleted: Some(second(30)), ..pod("app=a") }));
    assert!(scene.stale().is_empty(), "it may be the victim");
}

#[test]
fn a_pod_that_is_on_the_way_is_not_overtaken_by_one_that_evicts_others() {
    let mut scene = full(required([unit("only", 1, 1, "zone=a")]), &NODES);
    scene.set_node("a-3", "zone=a");
    scene.set_pods(&["one", "two"], &pod("app=a"));
    assert_eq!(scene.filter("one", &["a-3"]).unwrap(), [Verdict::Chosen]);
    assert!(preempt(&mut scene, "two", &["a-1"]).is_empty());
    scene.now = scene.now + LEASE;
    assert_eq!(scene.woken(), ["two"], "the first may never come");
    assert_eq!(preempt(&mut scene, "two", &["a-1"]), ["a-1"]);
}
