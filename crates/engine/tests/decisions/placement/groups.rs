//! The division of selected clusters into groups and decisions.

use almanac_engine::placement::{DecisionGroup, GroupSize, Placement};
use almanac_fixtures::placements::{cluster, cluster_selector};

use crate::support::monday;
use crate::support::placements::Fleet;

fn decided(mut fleet: Fleet) -> Vec<String> {
    fleet.turn(monday("12:00"));
    fleet.decisions()
}

fn group(name: &str, selector: &str) -> DecisionGroup {
    DecisionGroup { name: name.into(), selector: cluster_selector(selector, "") }
}

#[test]
fn a_decision_has_a_hundred_clusters_at_most() {
    let names: Vec<String> = (1..=101).map(|number| format!("c{number:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let decisions = decided(Fleet::new(&names, Placement::default()));
    let first = format!("web-decision-1 0 : {}", names[..100].join(" "));
    assert_eq!(decisions, [first, "web-decision-2 0 : c101".to_owned()]);
}

#[test]
fn a_quarter_of_three_clusters_is_one_so_there_are_three_groups() {
    let quarter = Placement { group_size: GroupSize::Percent(25), ..Placement::default() };
    let expected = ["web-decision-1 0 : a", "web-decision-2 1 : b", "web-decision-3 2 : c"];
    assert_eq!(decided(Fleet::new(&["a", "b", "c"], quarter)), expected);
}

#[test]
fn groups_by_selectors_come_first_and_every_cluster_is_in_one_group() {
    let placement = Placement {
        group_size: GroupSize::Clusters(2),
        groups: [group("canary", "stage=canary"), group("all-of-eu", "region=eu")].into(),
        ..Placement::default()
    };
    let fleet = Fleet::new(&["z"], placement)
        .with("a", cluster("region=eu"))
        .with("b", cluster("stage=canary,region=eu"))
        .with("c", cluster("region=eu"))
        .with("d", cluster("region=eu"))
        .with("e", cluster("region=us"));
    let decision = fleet.decide(monday("12:00"));
    let decisions: Vec<_> = decision.groups.iter().flat_map(|it| &it.decisions).collect();
    assert_eq!(decisions.len(), 4);
    let expected = [
        "web-decision-1 0 canary: b",
        "web-decision-2 1 all-of-eu: a c",
        "web-decision-3 2 all-of-eu: d",
        "web-decision-4 3 : e z",
    ];
    assert_eq!(decided(fleet), expected);
}

#[test]
fn without_clusters_there_is_one_empty_decision() {
    let placement =
        Placement { groups: [group("canary", "stage=canary")].into(), ..Placement::default() };
    assert_eq!(decided(Fleet::new(&[], placement)), ["web-decision-1 0 : "]);
}
