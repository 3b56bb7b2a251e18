//! The pods that policies select.

use std::sync::Arc;

use almanac_engine::Exemptions;
use almanac_engine::qos_levels::{LeftAlone, Pod};
use almanac_fixtures::levels::{config_map, labels, level_policy, pod};

use crate::support::levels::{Cluster, FIRST};

fn cluster() -> Cluster {
    Cluster::new([level_policy("p", "09:00", "10:00", "a=b", -1)]).with("pod", "a=b", Some("1"))
}

#[test]
fn a_pod_that_leaves_the_selector_gets_its_level_back() {
    let mut cluster = cluster();
    cluster.turn("09:00");
    cluster.pod("pod").labels = labels("a=c");
    cluster.turn("09:30");
    assert_eq!(cluster.shows("pod"), "1 - - -");
    cluster.pod("pod").labels = labels("a=b");
    cluster.turn("09:40");
    assert_eq!(cluster.shows("pod"), "-1 1 p -1");
}

#[test]
fn pods_that_have_ended_are_being_deleted_or_are_mirrors_stay_as_they_are() {
    for why in [LeftAlone::Finished, LeftAlone::Terminating, LeftAlone::Mirror] {
        let mut cluster = cluster();
        cluster.add("other", Pod { left_alone: Some(why), ..pod("a=b", None) });
        cluster.turn("09:00");
        assert_eq!(cluster.shows("other"), "- - - -", "{why:?}");
        cluster.pod("pod").left_alone = Some(why);
        cluster.turn("10:00");
        assert_eq!(cluster.shows("pod"), "-1 1 p -1", "{why:?}");
    }
}

#[test]
fn pods_that_are_exempt_are_neither_changed_nor_restored() {
    let mut cluster = cluster();
    cluster.turn("09:00");
    cluster.world.objects.exempt = Arc::new(Exemptions::for_namespaces(["default"]));
    let turn = cluster.turn("10:00");
    assert!(turn.done.is_empty() && turn.effects.is_empty());
    let footprint = cluster.world.footprint(&config_map(FIRST));
    assert!(footprint.writes.is_empty(), "{footprint:?}");
}

#[test]
fn policies_concern_the_pods_they_select_and_those_they_have_annotated() {
    let mut cluster = cluster().with("other", "a=c", None);
    cluster.turn("09:00");
    cluster.pod("pod").labels = labels("a=c");
    let footprint = cluster.world.footprint(&config_map(FIRST));
    let written: Vec<&str> = footprint.writes.iter().map(|(pod, _)| pod.name()).collect();
    assert_eq!(written, ["pod"], "it is to be restored");
    cluster.turn("09:30");
    assert!(cluster.world.footprint(&config_map(FIRST)).writes.is_empty());
}
