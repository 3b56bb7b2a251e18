//! Taints, and the tolerations that end.

use almanac_engine::placement::{Cluster, Placement, TaintEffect, Toleration};
use almanac_fixtures::placements::{
    add_cluster, add_decision, add_scores, cluster, cluster_selector, decision, placement, scores,
    taint, toleration,
};

use crate::support::placements::Fleet;
use crate::support::{NANOSECOND, monday};

fn tainted(taints: &[&str], added: Option<&str>) -> Cluster {
    let taints = taints.iter().map(|it| taint(it, added.map(monday))).collect();
    Cluster { taints, ..cluster("") }
}

fn tolerating(tolerations: &[Toleration]) -> Placement {
    Placement { tolerations: tolerations.into(), ..Placement::default() }
}

#[test]
fn a_cluster_with_a_taint_is_selected_only_where_all_its_taints_are_tolerated() {
    let any = Toleration::default();
    let key = toleration("gpu", None);
    let value = |value: &str| Toleration { value: Some(value.into()), ..key.clone() };
    let effect = |effect| Toleration { effect: Some(effect), ..key.clone() };
    for (tolerations, selected) in [
        (vec![], "plain"),
        (vec![any], "both gpu plain"),
        (vec![key.clone()], "gpu plain"),
        (vec![value("yes")], "gpu plain"),
        (vec![value("no")], "plain"),
        (vec![effect(TaintEffect::NoSelect)], "gpu plain"),
        (vec![effect(TaintEffect::NoSelectIfNew)], "plain"),
        (vec![value("no"), key.clone(), toleration("old", None)], "both gpu plain"),
    ] {
        let fleet = Fleet::new(&["plain"], tolerating(&tolerations))
            .with("gpu", tainted(&["gpu=yes:NoSelect"], None))
            .with("both", tainted(&["gpu=yes:NoSelect", "old:NoSelect"], None));
        assert_eq!(fleet.selects(), selected, "{tolerations:?}");
    }
}

#[test]
fn a_cluster_that_is_selected_already_stays_where_new_ones_would_not_be() {
    let mut fleet = Fleet::new(&["a", "b"], Placement::default());
    fleet.turn(monday("11:00"));
    for name in ["a", "c"] {
        add_cluster(&mut fleet.world, name, tainted(&["full:NoSelectIfNew"], None));
    }
    assert_eq!(fleet.selects(), "a b");
    let only_b = Placement { number_of_clusters: Some(0), ..Placement::default() };
    fleet.set(only_b);
    fleet.turn(monday("11:30"));
    fleet.set(Placement::default());
    assert_eq!(fleet.selects(), "b", "a removed cluster returns as a new one");
}

#[test]
fn a_toleration_ends_its_seconds_after_the_taint_was_added() {
    let mut fleet = Fleet::new(&["a"], tolerating(&[toleration("down", Some(300))]))
        .with("b", tainted(&["down:NoSelect"], Some("12:00")));
    let end = monday("12:05");
    let turn = fleet.turn(monday("12:00"));
    let expected = (vec!["web-decision-1 0 : a b".to_owned()], Some(end));
    assert_eq!((fleet.decisions(), turn.wake_at), expected);
    let before = fleet.decide(end - NANOSECOND);
    assert_eq!((before.clusters.len(), before.wake_at), (2, Some(end)));
    let turn = fleet.turn(end);
    assert_eq!((fleet.decisions(), turn.wake_at), (vec!["web-decision-1 0 : a".to_owned()], None));
    let expected = "b Excluded: down:NoSelect was tolerated until 2026-03-02T12:05:00Z";
    assert_eq!(fleet.explained(end)[1], expected);
}

#[test]
fn the_toleration_that_lasts_longest_counts() {
    let of = |seconds: &[Option<i64>]| {
        let all: Vec<_> = seconds.iter().map(|it| toleration("down", *it)).collect();
        let fleet =
            Fleet::new(&[], tolerating(&all)).with("b", tainted(&["down:NoSelect"], Some("12:00")));
        fleet.decide(monday("12:01")).wake_at
    };
    assert_eq!(of(&[Some(300), Some(600), Some(10)]), Some(monday("12:10")));
    assert_eq!(of(&[Some(300), None]), None);
    assert_eq!(of(&[Some(i64::MAX)]), None, "longer than time itself is forever");
    assert_eq!(of(&[Some(-1), Some(i64::MIN)]), None, "the toleration ended before its start");
}

#[test]
fn an_undated_taint_is_tolerated_forever_and_listed() {
    let fleet = Fleet::new(&["a"], tolerating(&[toleration("down", Some(1))]))
        .with("b", tainted(&["down:NoSelect"], None))
        .with("c", tainted(&["full:NoSelectIfNew"], None));
    let decision = fleet.decide(monday("12:00"));
    assert_eq!(fleet.selects(), "a b");
    assert_eq!((decision.wake_at, &*decision.undated), (None, &["b".into()][..]));
}

#[test]
fn an_undated_taint_without_effect_is_not_listed() {
    let ends = toleration("down", Some(1));
    let undated = |tolerations: &[Toleration]| {
        let fleet = Fleet::new(&[], tolerating(tolerations))
            .with("a", tainted(&["down:NoSelect"], None))
            .with("full", tainted(&["full:NoSelect", "down:NoSelect"], None))
            .with("gone", Cluster { is_terminating: true, ..tainted(&["down:NoSelect"], None) });
        fleet.decide(monday("12:00")).undated.join(" ")
    };
    assert_eq!(undated(std::slice::from_ref(&ends)), "a full");
    assert_eq!(undated(&[ends.clone(), toleration("down", None)]), "");
    let mut elsewhere = tolerating(&[ends]);
    elsewhere.predicates = [cluster_selector("region=eu", "")].into();
    let fleet = Fleet::new(&[], elsewhere).with("a", tainted(&["down:NoSelect"], None));
    assert_eq!(fleet.decide(monday("12:00")).undated, []);
}

#[test]
fn a_removed_cluster_that_may_not_return_wakes_no_placement() {
    let listed = [("default/cpuratio", 1)];
    let exact = |clusters| {
        let mode = almanac_engine::placement::PrioritizerMode::Exact;
        Placement {
            tolerations: [toleration("down", Some(60))].into(),
            ..placement(Some(clusters), mode, &listed)
        }
    };
    let full = tainted(&["full:NoSelectIfNew", "down:NoSelect"], Some("12:00"));
    let mut fleet = Fleet::new(&["a"], exact(2)).with("b", full);
    add_decision(&mut fleet.world, "web-decision-1", decision("web", &["a", "b"]));
    let ratio = scores(&[("cpuratio", 0)], Some(monday("12:00:30")));
    add_scores(&mut fleet.world, "b", "default", ratio);
    assert_eq!(fleet.decide(monday("12:00")).wake_at, Some(monday("12:00:30")));
    fleet.set(exact(1));
    let turn = fleet.turn(monday("12:00"));
    assert_eq!((fleet.decisions(), turn.wake_at), (vec!["web-decision-1 0 : a".to_owned()], None));
}

#[test]
fn seconds_do_not_matter_to_a_taint_that_is_only_for_new_clusters() {
    let fleet = Fleet::new(&[], tolerating(&[toleration("full", Some(1))]))
        .with("a", tainted(&["full:NoSelectIfNew"], Some("09:00")));
    assert_eq!(fleet.selects(), "a");
    assert_eq!(fleet.decide(monday("12:00")).wake_at, None);
}

#[test]
fn a_cluster_that_others_are_preferred_to_comes_after_them_at_the_same_total() {
    let one = |tolerations: &[Toleration]| Placement {
        number_of_clusters: Some(1),
        tolerations: tolerations.into(),
        ..Placement::default()
    };
    let mut fleet =
        Fleet::new(&["b"], one(&[])).with("a", tainted(&["busy:PreferNoSelect"], Some("12:00")));
    assert_eq!(fleet.selects(), "b");
    assert_eq!(
        fleet.explained(monday("12:00"))[1],
        "a Lost: rank 2 of 2, 1 wanted: total 0; b has as much; busy:PreferNoSelect \
         puts it behind others with the same total"
    );
    fleet.set(one(&[toleration("busy", None)]));
    assert_eq!(fleet.selects(), "a", "what is tolerated costs nothing");
    fleet.set(one(&[toleration("busy", Some(60))]));
    let at = monday("12:01");
    assert_eq!(fleet.decide(at - NANOSECOND).wake_at, Some(at));
    let decision = fleet.decide(at);
    assert_eq!((&*decision.clusters, decision.wake_at), (&["b".into()][..], None));
    fleet = fleet.scored("a", "cpuratio", 1);
    let mut scored = placement(
        Some(1),
        almanac_engine::placement::PrioritizerMode::Exact,
        &[("default/cpuratio", 1)],
    );
    scored.tolerations = [].into();
    fleet.set(scored);
    assert_eq!(fleet.selects(), "a", "a higher total comes first all the same");
}
