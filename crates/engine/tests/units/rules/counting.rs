//! The pods that count, and their units.

use almanac_engine::units::{Pod, ResourcePolicy, Ungoverned, Verdict};

use crate::support::{
    Scene, grouped_by, on, pod, policy_name, prefer, required, second, selector, unit,
};

const ZONES: [(&str, &str); 3] = [("n-a", "zone=a"), ("n-b", "zone=b"), ("n-x", "")];

fn one_unit() -> ResourcePolicy {
    prefer([unit("only", 1, 10, "zone=a")])
}

#[test]
fn a_pod_counts_in_the_unit_of_highest_priority_and_of_these_in_the_first() {
    let units = [
        unit("low", 1, None, "zone=a"),
        unit("first", 5, None, "kind=spot"),
        unit("second", 5, None, "zone=a"),
    ];
    let nodes = [("both", "zone=a,kind=spot"), ("zone", "zone=a"), ("none", "zone=c")];
    let mut scene = Scene::new(prefer(units), &nodes);
    scene.set_pod("p1", &on("both", pod("app=a")));
    scene.set_pod("p2", &on("zone", pod("app=a")));
    scene.set_pod("p3", &on("none", pod("app=a")));
    assert_eq!(scene.counts("p"), (vec![0, 1, 1], 1));
}

#[test]
fn existing_pods_count_under_a_new_policy() {
    let mut scene = Scene::new(one_unit(), &ZONES);
    scene.remove_policy("p");
    scene.fill("n-a", 3, &pod("app=a"));
    scene.set_policy("p", one_unit());
    assert_eq!(scene.counts("p"), (vec![3], 0));
}

#[test]
fn pods_without_a_node_and_those_that_have_finished_do_not_count() {
    let mut scene = Scene::new(one_unit(), &ZONES);
    scene.set_pod("pending", &pod("app=a"));
    scene.set_pod("done", &on("n-a", Pod { is_finished: true, ..pod("app=a") }));
    assert_eq!(scene.counts("p"), (vec![], 0));
    scene.fill("n-a", 1, &pod("app=a"));
    scene.set_pod("n-a-0", &on("n-a", Pod { is_finished: true, ..pod("app=a") }));
    assert_eq!(scene.counts("p"), (vec![], 0), "it has finished since");
}

#[test]
fn a_pod_that_is_being_deleted_counts_unless_the_policy_ignores_it() {
    let terminating = on("n-a", Pod { deleted: Some(second(5)), ..pod("app=a") });
    let mut scene = Scene::new(one_unit(), &ZONES);
    scene.set_pod("going", &terminating);
    assert_eq!(scene.counts("p"), (vec![1], 0));
    scene.set_policy("p", ResourcePolicy { ignores_terminating: true, ..one_unit() });
    assert_eq!(scene.counts("p"), (vec![], 0));
}

#[test]
fn pods_of_a_daemon_set_and_mirror_pods_are_never_governed() {
    let everything = ResourcePolicy { pod_selector: selector(""), ..one_unit() };
    let mut scene = Scene::new(everything, &ZONES);
    for (name, why) in [
        ("daemon", Ungoverned::DaemonSet),
        ("mirror", Ungoverned::Mirror),
        ("exempt", Ungoverned::Exempt),
    ] {
        scene.set_pod(name, &on("n-a", Pod { ungoverned: Some(why), ..pod("app=a") }));
    }
    assert_eq!(scene.counts("p"), (vec![], 0));
    scene.set_pod("other", &on("n-a", pod("whatever=x")));
    assert_eq!(scene.counts("p"), (vec![1], 0), "an empty selector selects all others");
}

#[test]
fn a_pod_of_no_policy_may_go_anywhere() {
    let mut scene = Scene::new(required([unit("only", 1, 0, "zone=a")]), &ZONES);
    scene.set_pod("other", &pod("app=z"));
    assert_eq!(
        scene.verdicts_without_hold("other", &["n-a", "n-x"]).unwrap(),
        [Verdict::Chosen; 2]
    );
    assert_eq!(scene.bind("other", "n-x").1.bound, None);
}

#[test]
fn a_pod_of_two_policies_may_go_nowhere_and_both_are_named() {
    let mut scene = Scene::new(one_unit(), &ZONES);
    scene.set_policy("q", ResourcePolicy { pod_selector: selector(""), ..one_unit() });
    scene.fill("n-a", 1, &pod("app=a"));
    scene.set_pod("new", &pod("app=a"));
    let why = "2 ResourcePolicies select the pod (shop/p, shop/q), and only one may";
    assert_eq!(scene.verdicts_without_hold("new", &["n-a"]).unwrap_err(), why);
    assert_eq!(scene.reserve("new", "n-a").unwrap_err().to_string(), why);
    let report = scene.ledger.report(&policy_name("q")).unwrap();
    assert_eq!((report.conflicts.len(), report.conflicts[0].pods), (1, 2));
    scene.remove_policy("q");
    assert_eq!(scene.counts("p"), (vec![1], 0));
    assert_eq!(scene.verdicts_without_hold("new", &["n-a"]).unwrap(), [Verdict::Chosen]);
}

#[test]
fn pods_on_nodes_count_under_every_policy_that_selects_them() {
    let units = |max| prefer([unit("only", 1, max, "zone=a")]);
    let mut scene = Scene::new(units(2), &ZONES);
    scene.fill("n-a", 2, &pod("app=a,tier=web"));
    scene.set_policy("q", ResourcePolicy { pod_selector: selector("tier=web"), ..units(1) });
    assert_eq!((scene.counts("p"), scene.counts("q")), ((vec![2], 0), (vec![2], 0)));
    scene.set_pod("new", &pod("app=a"));
    assert_eq!(
        scene.verdicts_without_hold("new", &["n-a"]).unwrap(),
        [Verdict::Full],
        "p alone selects it"
    );
    assert!(scene.reserve("new", "n-a").is_err(), "a conflict frees no place");
    scene.remove_policy("p");
    assert_eq!(scene.counts("q"), (vec![2], 0));
}

#[test]
fn policies_of_other_namespaces_do_not_matter() {
    let mut scene = Scene::new(one_unit(), &ZONES);
    let elsewhere = almanac_engine::Identity::new("", "Pod", "cart", "new");
    scene.ledger.set_pod(&elsewhere, &on("n-a", pod("app=a")));
    assert_eq!(scene.counts("p"), (vec![], 0));
}

#[test]
fn two_revisions_are_counted_apart_during_a_rollout() {
    let policy = grouped_by(&["pod-template-hash"], required([unit("only", 1, 2, "zone=a")]));
    let mut scene = Scene::new(policy, &ZONES);
    scene.fill("n-a", 2, &pod("app=a,pod-template-hash=old"));
    scene.set_pod("new", &pod("app=a,pod-template-hash=new"));
    scene.set_pod("old", &pod("app=a,pod-template-hash=old"));
    assert_eq!(scene.verdicts_without_hold("new", &["n-a"]).unwrap(), [Verdict::Chosen]);
    assert_eq!(scene.verdicts_without_hold("old", &["n-a"]).unwrap(), [Verdict::Full]);
}

#[test]
fn a_missing_label_is_a_group_of_its_own_and_no_value_can_pass_for_another() {
    let policy = grouped_by(&["one", "two"], required([unit("only", 1, 1, "zone=a")]));
    let mut scene = Scene::new(policy, &ZONES);
    let all = [
        "app=a",
        "app=a,one=",
        "app=a,two=",
        "app=a,one=x,two=y",
        "app=a,one=xy,two=",
        "app=a,one=,two=xy",
        "app=a,one=x-y",
        "app=a,one=x",
        "app=a,two=x",
    ];
    for (number, labels) in all.iter().enumerate() {
        let name = format!("p{number}");
        scene.set_pod(&name, &pod(labels));
        assert_eq!(
            scene.verdicts_without_hold(&name, &["n-a"]).unwrap(),
            [Verdict::Chosen],
            "{labels}"
        );
        scene.set_pod(&name, &on("n-a", pod(labels)));
    }
    let report = scene.ledger.report(&policy_name("p")).unwrap();
    assert_eq!(report.groups.len(), all.len());
    assert!(report.groups.iter().all(|group| group.units[0].used == 1));
}
