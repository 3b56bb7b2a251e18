//! The reasons that a cluster is selected or not, and the records of a change.

use almanac_engine::placement::{Cluster, Placement, PrioritizerMode, gather};
use almanac_engine::{Occurrence, Verdict};
use almanac_fixtures::placements::{
    add_cluster, add_placement, add_scores, cluster, object, placement, scores, taint, toleration,
};

use crate::support::monday;
use crate::support::placements::Fleet;

fn tainted(text: &str, added: &str) -> Cluster {
    Cluster { taints: [taint(text, Some(monday(added)))].into(), ..cluster("") }
}

#[test]
fn every_candidate_has_its_rank_and_total_or_the_reason_for_its_exclusion() {
    let mut two = placement(
        Some(2),
        PrioritizerMode::Additive,
        &[("ResourceAllocatableMemory", 2), ("default/cpuratio", -1)],
    );
    two.tolerations = [toleration("down", Some(60))].into();
    let fleet = Fleet::new(&["a", "b", "c"], two)
        .scored("a", "cpuratio", 40)
        .scored("b", "cpuratio", 40)
        .scored("c", "cpuratio", -10)
        .with("d", tainted("gone=really:NoSelect", "11:00"))
        .with("e", tainted("down:NoSelect", "12:00"));
    let expected = [
        "c Won: rank 1 of 4, 2 wanted: total 110 (Balance 100 x 1, Steady 0 x 1, \
     ResourceAllocatableMemory 0 x 2, AddOn/default/cpuratio -10 x -1); \
     ResourceAllocatableMemory counts 0: the cluster lacks the allocatable amount or the capacity",
        "e Won: rank 2 of 4, 2 wanted: total 100 (Balance 100 x 1, Steady 0 x 1, \
     ResourceAllocatableMemory 0 x 2, AddOn/default/cpuratio 0 x -1); \
     ResourceAllocatableMemory counts 0: the cluster lacks the allocatable amount or the capacity; \
     AddOn/default/cpuratio counts 0: there is no AddOnPlacementScore e/default",
        "a Lost: rank 3 of 4, 2 wanted: total 60 (Balance 100 x 1, Steady 0 x 1, \
     ResourceAllocatableMemory 0 x 2, AddOn/default/cpuratio 40 x -1); e has 100; \
     ResourceAllocatableMemory counts 0: the cluster lacks the allocatable amount or the capacity",
        "b Lost: rank 4 of 4, 2 wanted: total 60 (Balance 100 x 1, Steady 0 x 1, \
     ResourceAllocatableMemory 0 x 2, AddOn/default/cpuratio 40 x -1); e has 100; \
     ResourceAllocatableMemory counts 0: the cluster lacks the allocatable amount or the capacity",
        "d Excluded: gone=really:NoSelect is not tolerated",
    ];
    assert_eq!(fleet.explained(monday("12:00")), expected);
    let reasons = fleet.world.explain(&Fleet::name(), monday("12:00"));
    assert_eq!(reasons[1].until, Some(monday("12:01")));
    let scored = reasons[0].scored.as_ref().unwrap();
    let parts: Vec<_> = scored.scores.iter().map(|it| (&*it.of, it.raw, it.weight)).collect();
    assert_eq!(parts[3], ("AddOn/default/cpuratio", -10, -1));
    assert_eq!(reasons[4].scored, None);
}

#[test]
fn without_candidates_the_explanation_names_the_cause() {
    let mut fleet = Fleet::new(&[], Placement::default());
    let line = |fleet: &Fleet| fleet.explained(monday("12:00")).join("|");
    assert_eq!(line(&fleet), " Excluded: there is no cluster in its sets: fleet");
    fleet.set(Placement { cluster_sets: ["edge".into()].into(), ..Placement::default() });
    assert_eq!(line(&fleet), " Excluded: none of its sets is bound to the namespace default: edge");
    fleet.world.remove(&object("ManagedClusterSetBinding", "default", "fleet"));
    assert_eq!(line(&fleet), " Excluded: no ManagedClusterSet is bound to the namespace default");
}

/// The record of the only change in a turn: the event, its rule and its reason.
fn recorded_reason(fleet: &mut Fleet, time: &str) -> (Option<String>, String) {
    let turn = fleet.turn(monday(time));
    let [recorded] = &turn.recorded[..] else { panic!("{:?}", turn.recorded) };
    let placement = Fleet::name();
    let (what, rule) = recorded.occurrence(&fleet.world, &placement.identity).unwrap();
    assert_eq!(what, Occurrence::Selects);
    let effect = &turn.effects[0];
    let (of_effect, why) = effect.reason.render(&fleet.world, &placement.identity).unwrap();
    assert_eq!(of_effect, rule);
    (rule.map(|it| it.to_string()), why)
}

#[test]
fn a_change_names_the_score_or_the_taint_that_time_has_ended() {
    let scored = [("default/cpuratio", 1)];
    let mut one = placement(Some(1), PrioritizerMode::Exact, &scored);
    one.tolerations = [toleration("down", Some(3600))].into();
    let mut fleet = Fleet::new(&["b", "c"], one).with("a", tainted("down:NoSelect", "12:00"));
    let until = |time| Some(monday(time));
    for (name, score, end) in [("a", 90, None), ("b", 80, until("14:00")), ("c", 70, None)] {
        add_scores(&mut fleet.world, name, "default", scores(&[("cpuratio", score)], end));
    }
    let first = recorded_reason(&mut fleet, "12:30");
    let by_score = "1 of 3 matching clusters selected by AddOn/default/cpuratio 1";
    assert_eq!(first, (None, by_score.to_owned()));
    let expected = (
        Some("down:NoSelect".to_owned()),
        "the toleration of down:NoSelect on a has ended".to_owned(),
    );
    assert_eq!(recorded_reason(&mut fleet, "13:00"), expected);
    let quiet = fleet.turn(monday("13:30"));
    let (rule, _) = quiet.effects[0].reason.render(&fleet.world, &Fleet::name().identity).unwrap();
    assert_eq!(rule.as_deref(), Some("down:NoSelect"), "what it follows from stays the same");
    let expected = (
        Some("AddOn/default/cpuratio".to_owned()),
        "AddOn/default/cpuratio of b has expired".to_owned(),
    );
    assert_eq!(recorded_reason(&mut fleet, "14:00"), expected);
    add_cluster(&mut fleet.world, "c", tainted("gone:NoSelect", "09:00"));
    let edited = recorded_reason(&mut fleet, "14:30");
    assert_eq!(edited.0, None, "what somebody has edited is no score and no taint that has ended");
}

#[test]
fn among_scores_that_expire_together_one_of_a_changed_cluster_is_named() {
    let scored = [("default/cpuratio", 1)];
    let one = placement(Some(1), PrioritizerMode::Exact, &scored);
    let mut fleet = Fleet::new(&["a", "b", "c"], one);
    for (name, score, end) in [("a", -5, "13:00"), ("b", 90, "13:00"), ("c", 50, "15:00")] {
        let values = scores(&[("cpuratio", score)], Some(monday(end)));
        add_scores(&mut fleet.world, name, "default", values);
    }
    recorded_reason(&mut fleet, "12:00");
    assert_eq!(recorded_reason(&mut fleet, "13:00").1, "AddOn/default/cpuratio of b has expired");
}

#[test]
fn a_toleration_whose_end_ranks_a_cluster_after_others_is_named() {
    let mut one = placement(Some(1), PrioritizerMode::Exact, &[]);
    one.tolerations = [toleration("old", Some(3600))].into();
    let mut fleet = Fleet::new(&["b"], one).with("a", tainted("old:PreferNoSelect", "12:00"));
    recorded_reason(&mut fleet, "12:30");
    let expected = (
        Some("old:PreferNoSelect".to_owned()),
        "the toleration of old:PreferNoSelect on a has ended".to_owned(),
    );
    assert_eq!(recorded_reason(&mut fleet, "13:00"), expected);
}

#[test]
fn a_reason_lasts_until_its_cluster_leaves_or_the_placement_is_edited() {
    let scored = [("default/cpuratio", 1)];
    let one = placement(Some(1), PrioritizerMode::Exact, &scored);
    let mut fleet = Fleet::new(&["b", "c"], one.clone());
    for (name, score, end) in [("b", 90, Some(monday("13:00"))), ("c", 50, None)] {
        add_scores(&mut fleet.world, name, "default", scores(&[("cpuratio", score)], end));
    }
    recorded_reason(&mut fleet, "12:00");
    recorded_reason(&mut fleet, "13:00");
    let why = |fleet: &mut Fleet| {
        let turn = fleet.turn(monday("13:30"));
        turn.effects[0].reason.render(&fleet.world, &Fleet::name().identity).unwrap().1
    };
    let of_b = "AddOn/default/cpuratio of b has expired";
    assert_eq!(why(&mut fleet), of_b);
    add_cluster(&mut fleet.world, "a", cluster(""));
    assert_eq!(why(&mut fleet), of_b, "it is in another position now");
    let ranked =
        |of: u32| format!("1 of {of} matching clusters selected by AddOn/default/cpuratio 1");
    let mut edited = fleet.world.clone();
    std::mem::swap(&mut edited, &mut fleet.world);
    fleet.set(Placement { tolerations: [toleration("x", None)].into(), ..one });
    assert_eq!(why(&mut fleet), ranked(3));
    fleet.world = edited;
    fleet.world.remove(&object("ManagedCluster", "", "b"));
    assert_eq!(why(&mut fleet), ranked(2));
}

#[test]
fn the_name_breaks_a_tie_and_the_reason_states_it() {
    let one = placement(Some(1), PrioritizerMode::Exact, &[]);
    let fleet = Fleet::new(&["a", "b"], one);
    let lines = fleet.explained(monday("12:00"));
    let behind =
        "b Lost: rank 2 of 2, 1 wanted: total 0; a has as much, and comes before it by name";
    assert_eq!(lines[1], behind);
    let verdicts = fleet.world.explain(&Fleet::name(), monday("12:00"));
    assert_eq!(verdicts[0].verdict, Verdict::Won);
}

#[test]
fn the_reason_names_the_same_taint_even_if_others_precede_it() {
    let mut two = placement(Some(2), PrioritizerMode::Additive, &[]);
    two.tolerations = [toleration("down", Some(60))].into();
    let mut fleet = Fleet::new(&["a"], two).with("b", tainted("down:NoSelect", "12:00"));
    let why = |fleet: &mut Fleet, time: &str| {
        let turn = fleet.turn(monday(time));
        turn.effects[0].reason.render(&fleet.world, &Fleet::name().identity).unwrap().1
    };
    let _turn = fleet.turn(monday("12:00"));
    let ended = "the toleration of down:NoSelect on b has ended";
    assert_eq!(why(&mut fleet, "12:01"), ended);
    let taints = ["gone:NoSelect", "down:NoSelect"].map(|it| taint(it, Some(monday("12:00"))));
    let more = Cluster { taints: taints.into(), ..cluster("") };
    add_cluster(&mut fleet.world, "b", more);
    assert_eq!(why(&mut fleet, "12:02"), ended);
    add_cluster(&mut fleet.world, "b", tainted("gone:NoSelect", "12:00"));
    assert_eq!(why(&mut fleet, "12:03"), "all matching clusters selected: 1");
}

#[test]
fn a_turn_during_which_the_placement_is_edited_leaves_no_state() {
    let mut fleet = Fleet::new(&["a", "b"], placement(Some(1), PrioritizerMode::Exact, &[]));
    let edited = placement(Some(2), PrioritizerMode::Exact, &[]);
    let _turn = fleet.turn_with(monday("12:00"), |world, action| {
        add_placement(world, "web", edited.clone());
        world.apply(action)
    });
    assert_eq!(gather(fleet.world.view(), &Fleet::name().identity).unwrap().memory, None);
    let _turn = fleet.turn(monday("12:01"));
    assert!(gather(fleet.world.view(), &Fleet::name().identity).unwrap().memory.is_some());
}
