//! The existing pods and nodes at the start of a run.

use almanac_engine::units::{Pod, Ungoverned, presumed};

use super::shop::{Shop, node, owner, pod, workload};
use crate::support::{grouped_by, policy_name, prefer, required, second, unit};

/// A pod of a revision of the Deployment `web`.
fn of_web(revision: &str, node: Option<&str>, created: i64) -> Pod {
    Pod {
        node: node.map(Into::into),
        owner: Some(owner("ReplicaSet", &format!("web-{revision}"))),
        created: Some(second(created)),
        ..pod(&format!("app=a,pod-template-hash={revision}"))
    }
}

fn shop() -> Shop {
    Shop::new(required([unit("a", 2, 2, "pool=a"), unit("b", 1, 9, "pool=b")]))
        .node("a1", node("pool=a"))
        .node("b1", node("pool=b"))
}

#[test]
fn existing_pods_count_as_replicas_and_only_the_rest_is_synthetic() {
    let shop = shop()
        .pod("web-7d9-x", of_web("7d9", Some("b1"), -10))
        .pod("web-7d9-y", of_web("7d9", None, -5))
        .workload("web", "app=a", 4)
        .begun();
    assert_eq!(shop.filled("web"), "a 2, b 2; 0");
    assert_eq!(shop.nodes("web-7d9"), "b1 a1", "what is on a node stays there");
    assert_eq!(shop.nodes("Deployment/"), "a1 b1");
}

#[test]
fn pods_beyond_the_replicas_are_deleted_at_the_start() {
    let shop = shop()
        .pod("web-7d9-x", of_web("7d9", Some("a1"), -10))
        .pod("web-7d9-y", of_web("7d9", Some("b1"), -20))
        .pod("web-7d9-z", of_web("7d9", None, -30))
        .workload("web", "app=a", 1)
        .begun();
    assert_eq!(shop.nodes("web-"), "a1", "the one that costs most to delete");
}

#[test]
fn the_newest_of_pods_with_equal_cost_is_deleted_first() {
    let shop = shop()
        .pod("web-7d9-x", of_web("7d9", Some("b1"), -20))
        .pod("web-7d9-y", of_web("7d9", Some("b1"), -10))
        .pod("web-7d9-z", of_web("7d9", Some("b1"), -30))
        .workload("web", "app=a", 1)
        .begun();
    let left: Vec<&str> = shop
        .world
        .units
        .extra
        .scheduling
        .as_ref()
        .unwrap()
        .pods()
        .map(|(pod, _)| pod.name())
        .collect();
    assert_eq!(left, ["web-7d9-z"]);
}

#[test]
fn a_pod_without_a_known_workload_is_unchanged() {
    let stray = Pod { node: Some("a1".into()), ..pod("app=a") };
    let shop = shop().pod("stray", stray).workload("web", "app=a", 0).begun();
    assert_eq!(shop.filled("web"), "a 1, b 0; 0");
}

#[test]
fn synthetic_pods_have_the_newest_revision() {
    let policy = grouped_by(&["pod-template-hash"], required([unit("a", 1, 2, "pool=a")]));
    let shop = Shop::new(policy)
        .node("a1", node("pool=a"))
        .pod("web-7d9-x", of_web("7d9", Some("a1"), -10))
        .pod("web-5c4-x", of_web("5c4", Some("a1"), -20))
        .workload("web", "app=a", 5)
        .begun();
    assert_eq!(
        shop.filled("web"),
        "a with pod-template-hash=5c4 1, a with pod-template-hash=7d9 2; with pod-template-hash=5c4 0, with \
         pod-template-hash=7d9 2"
    );
}

#[test]
fn without_a_known_revision_all_pods_are_assumed_to_be_of_one() {
    let policy = grouped_by(&["pod-template-hash"], required([unit("a", 1, 2, "pool=a")]));
    let shop = Shop::new(policy).workload("web", "app=a", 3).begun();
    assert_eq!(shop.filled("web"), "a 2; 1");
    let policy = shop.world.policies().next().unwrap();
    let said = shop.world.presumptions(&policy);
    assert!(said.contains(&presumed::one_revision(&policy_name("web"))), "{said:?}");
}

#[test]
fn terminating_pods_count_until_their_deletion_unless_ignored() {
    let leaving = Pod { deleted: Some(second(30)), ..of_web("7d9", Some("a1"), -10) };
    let fill = |ignores_terminating| {
        let mut policy = required([unit("a", 1, 1, "pool=a")]);
        policy.ignores_terminating = ignores_terminating;
        Shop::new(policy)
            .node("a1", node("pool=a"))
            .pod("web-7d9-x", leaving.clone())
            .workload("web", "app=a", 1)
            .begun()
    };
    assert_eq!(fill(true).filled("web"), "a 1; 0");
    let mut shop = fill(false);
    assert_eq!(shop.filled("web"), "a 1; 1", "it is no replica any more, and still counts");
    assert_eq!(shop.turns(1).pop().unwrap().wake_at, Some(second(30)));
    shop.turns(30);
    assert_eq!(shop.filled("web"), "a 1; 0");
}

#[test]
fn pods_that_have_finished_or_are_never_governed_do_not_count() {
    let finished = Pod { is_finished: true, ..of_web("7d9", Some("a1"), -10) };
    let mut shop = shop().pod("web-7d9-x", finished);
    for (name, why) in [
        ("daemon", Ungoverned::DaemonSet),
        ("mirror", Ungoverned::Mirror),
        ("x", Ungoverned::Exempt),
    ] {
        let pod = Pod { ungoverned: Some(why), node: Some("a1".into()), ..pod("app=a") };
        shop = shop.pod(name, pod);
    }
    assert_eq!(shop.workload("web", "app=a", 1).begun().filled("web"), "a 1, b 0; 0");
}

#[test]
fn a_cordoned_node_keeps_its_pods() {
    let closed = almanac_engine::units::Node { is_unschedulable: true, ..node("pool=a") };
    let shop = Shop::new(prefer([unit("a", 1, 9, "pool=a")]))
        .node("a1", closed)
        .node("z1", node("pool=z"))
        .pod("web-7d9-x", of_web("7d9", Some("a1"), -10))
        .workload("web", "app=a", 3)
        .begun();
    assert_eq!(shop.filled("web"), "a 1, outside all units 2; 0");
}

#[test]
fn without_nodes_every_unit_has_some_and_with_nodes_only_those_there_are() {
    let policy = || required([unit("a", 2, 2, "pool=a"), unit("b", 1, 9, "pool=b")]);
    let shop = Shop::new(policy()).workload("web", "app=a", 3).begun();
    assert_eq!(shop.filled("web"), "a 2, b 1; 0");
    let name = shop.world.policies().next().unwrap();
    let enough = presumed::nodes_enough(&policy_name("web"), false);
    assert!(shop.world.presumptions(&name).contains(&enough));
    let with_one = Shop::new(policy()).node("a1", node("pool=a")).workload("web", "app=a", 3);
    assert!(!with_one.world.presumptions(&name).contains(&enough));
    assert_eq!(with_one.begun().filled("web"), "a 2, b 0; 1");
}

#[test]
fn a_workload_of_unknown_size_is_assumed_to_keep_its_pods() {
    let mut shop = shop().pod("web-7d9-x", of_web("7d9", Some("a1"), -10));
    shop = shop.workload("web", "app=a", 1);
    shop.world.remove(&workload("web"));
    let name = shop.world.policies().next().unwrap();
    assert!(shop.world.presumptions(&name).contains(&presumed::unknown_number(&workload("web"))));
    assert_eq!(shop.begun().filled("web"), "a 1, b 0; 0");
}
