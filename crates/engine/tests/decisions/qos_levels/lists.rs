//! The list that a pod follows, and the effect of unusable lists.

use almanac_engine::qos_levels::{NodeLists, PolicyList, QosLevels, QosPolicy};
use almanac_fixtures::levels::{level_policy, levels, list, pod, with_nodes};

use crate::support::levels::{Cluster, FIRST};

fn policy(name: &str, target: i64) -> QosPolicy {
    level_policy(name, "09:00", "10:00", "a=b", target)
}

/// A pod on each of the nodes `plain`, `pool` (`pool=x`) and `both` (`pool=x,gpu=y`), and one pending pod.
fn cluster(of: QosLevels) -> Cluster {
    let mut cluster = Cluster::new([]);
    cluster.world.qos_levels.policies.clear();
    cluster.configure(FIRST, of);
    for (node, labels) in [("plain", ""), ("pool", "pool=x"), ("both", "pool=x,gpu=y")] {
        cluster.add_node(node, labels);
        cluster.add(
            node,
            almanac_engine::qos_levels::Pod { node: Some(node.into()), ..pod("a=b", None) },
        );
    }
    cluster.with("nowhere", "a=b", None)
}

/// The levels of these pods at half past nine.
fn levels_of(cluster: &mut Cluster) -> [String; 4] {
    cluster.turn("09:30");
    ["plain", "pool", "both", "nowhere"]
        .map(|name| cluster.pod(name).level().map_or("-".to_owned(), ToString::to_string))
}

#[test]
fn the_last_entry_that_selects_the_node_replaces_the_global_list() {
    let global = levels([policy("global", -1)]);
    let nodes =
        [(Some("pool=x"), list([policy("pool", 1)])), (Some("gpu=y"), list([policy("gpu", 2)]))];
    assert_eq!(levels_of(&mut cluster(with_nodes(global.clone(), &nodes))), ["-1", "1", "2", "-1"]);
    let empty = [nodes[0].clone(), (Some("gpu=y"), list([]))];
    let empty = with_nodes(global.clone(), &empty);
    assert_eq!(levels_of(&mut cluster(empty)), ["-1", "1", "-", "-1"], "an empty list is a list");
    let every = with_nodes(global, &[nodes[0].clone(), (Some(""), list([policy("all", 0)]))]);
    let expected = ["0", "0", "0", "-1"];
    assert_eq!(levels_of(&mut cluster(every)), expected, "without a node, none selects");
}

#[test]
fn an_unknown_node_implies_nothing_about_its_labels() {
    let global = levels([policy("global", -1)]);
    let on_unknown = |of: QosLevels| {
        let mut cluster = cluster(of);
        cluster.world.objects.nodes.clear();
        levels_of(&mut cluster)
    };
    assert_eq!(on_unknown(global.clone()), ["-1", "-1", "-1", "-1"]);
    let pool = with_nodes(global.clone(), &[(Some("pool=x"), list([policy("pool", 1)]))]);
    assert_eq!(on_unknown(pool), ["-", "-", "-", "-1"]);
    let every = with_nodes(global, &[(Some(""), list([policy("all", 0)]))]);
    assert_eq!(on_unknown(every), ["0", "0", "0", "-1"]);
}

#[test]
fn a_restart_with_a_list_that_cannot_be_used_touches_nothing() {
    let mut it = cluster(levels([policy("global", -1)]));
    levels_of(&mut it);
    it.restart(QosLevels::unusable());
    assert!(it.turn("09:30").done.is_empty(), "nothing is applied");
    assert!(it.turn("11:00").done.is_empty(), "and nothing is restored");
    it.set([]);
    assert_eq!(it.turn("11:00").done.len(), 4);
}

#[test]
fn an_unusable_list_keeps_its_last_good_form_and_the_others_apply() {
    let pool = |pool: PolicyList| [(Some("pool=x"), pool)];
    let before = with_nodes(levels([policy("global", -1)]), &pool(list([policy("pool", 1)])));
    let mut it = cluster(before.clone());
    assert_eq!(levels_of(&mut it), ["-1", "1", "1", "-1"]);
    it.configure(FIRST, with_nodes(levels([policy("global", 0)]), &pool(PolicyList::Unusable)));
    assert_eq!(levels_of(&mut it), ["0", "1", "1", "0"]);
    let bad_global = QosLevels {
        global: PolicyList::Unusable,
        ..with_nodes(levels([]), &pool(list([policy("pool", 2)])))
    };
    it.configure(FIRST, bad_global);
    assert_eq!(levels_of(&mut it), ["0", "2", "2", "0"]);
    it.configure(FIRST, QosLevels::unusable());
    assert_eq!(levels_of(&mut it), ["0", "2", "2", "0"], "again and again");
    it.configure(FIRST, before);
    assert_eq!(levels_of(&mut it), ["-1", "1", "1", "-1"]);
}

#[test]
fn an_unusable_node_selector_keeps_its_last_usable_form() {
    let global = levels([policy("global", -1)]);
    let pool = list([policy("pool", 1)]);
    let lost = with_nodes(global.clone(), &[(None, pool.clone())]);
    let mut it = cluster(lost.clone());
    assert_eq!(levels_of(&mut it), ["-", "-", "-", "-1"], "it might select any node");
    it.configure(FIRST, with_nodes(global.clone(), &[(Some("pool=x"), pool)]));
    assert_eq!(levels_of(&mut it), ["-1", "1", "1", "-1"]);
    it.configure(FIRST, lost);
    assert_eq!(levels_of(&mut it), ["-1", "1", "1", "-1"]);
    it.configure(FIRST, QosLevels { nodes: NodeLists::Unusable, ..global });
    assert_eq!(levels_of(&mut it), ["-1", "1", "1", "-1"]);
}

#[test]
fn a_list_whose_entry_has_moved_is_still_the_same_list() {
    let [one, other] = [("pool=x", "pool", 1), ("gpu=y", "gpu", 2)]
        .map(|(nodes, name, target)| (Some(nodes), list([policy(name, target)])));
    let mut it = cluster(with_nodes(levels([]), &[one.clone(), other.clone()]));
    assert_eq!(levels_of(&mut it), ["-", "1", "2", "-"]);
    let bad = (other.0, PolicyList::Unusable);
    it.configure(FIRST, with_nodes(levels([]), &[bad, one]));
    assert_eq!(levels_of(&mut it), ["-", "1", "1", "-"], "the later entry counts");
}
