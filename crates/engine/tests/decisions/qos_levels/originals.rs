//! The original of a pod: it is kept once, through every policy, and is restored.

use almanac_engine::qos_levels::LevelFormat;
use almanac_fixtures::levels::level_policy;

use crate::support::instant;
use crate::support::levels::Cluster;

fn after() -> jiff::Timestamp {
    instant("2026-03-03T12:00:00Z")
}

#[test]
fn a_pod_without_a_level_comes_back_without_one() {
    let mut cluster = Cluster::new([level_policy("p", "09:00", "10:00", "a=b", -1)])
        .with("bare", "a=b", None)
        .with("own", "a=b", Some("HLS"));
    cluster.turn("09:00");
    assert_eq!([cluster.shows("bare"), cluster.shows("own")], ["-1 '' p -1", "-1 HLS p -1"]);
    cluster.turn("10:00");
    assert_eq!([cluster.shows("bare"), cluster.shows("own")], ["- - - -", "HLS - - -"]);
    assert!(cluster.pod("bare").annotations.is_none());
}

#[test]
fn the_original_survives_when_one_policy_hands_over_to_another() {
    let both = [
        level_policy("long", "09:00", "12:00", "a=b", -1),
        level_policy("short", "10:00", "11:00", "a=b", 2),
    ];
    // The first policy in the list wins: the second applies only where it is first.
    for (policies, at_ten) in
        [(both.clone(), "-1 1 long -1"), ([both[1].clone(), both[0].clone()], "2 1 short 2")]
    {
        let mut cluster = Cluster::new(policies).with("pod", "a=b", Some("1"));
        for (time, shown) in [
            ("09:00", "-1 1 long -1"),
            ("10:00", at_ten),
            ("11:00", "-1 1 long -1"),
            ("12:00", "1 - - -"),
        ] {
            cluster.turn(time);
            assert_eq!(cluster.shows("pod"), shown, "{time}");
        }
    }
}

#[test]
fn an_edit_inside_the_window_becomes_the_original_and_the_target_is_imposed_again() {
    let mut cluster = Cluster::new([level_policy("p", "09:00", "10:00", "a=b", -1)])
        .with("edited", "a=b", Some("1"))
        .with("deleted", "a=b", Some("1"));
    cluster.turn("09:00");
    cluster.edit("edited", Some("2"));
    cluster.edit("deleted", None);
    let turn = cluster.turn("09:30");
    assert_eq!(turn.done.len(), 2);
    assert_eq!(cluster.shows("edited"), "-1 2 p -1");
    assert_eq!(cluster.shows("deleted"), "-1 '' p -1");
    cluster.turn("10:00");
    assert_eq!([cluster.shows("edited"), cluster.shows("deleted")], ["2 - - -", "- - - -"]);
}

#[test]
fn an_edit_that_is_observed_after_the_window_stays() {
    let mut cluster = Cluster::new([level_policy("p", "09:00", "10:00", "a=b", -1)])
        .with("edited", "a=b", Some("1"))
        .with("deleted", "a=b", Some("1"));
    cluster.turn("09:00");
    cluster.edit("edited", Some("2"));
    cluster.edit("deleted", None);
    cluster.turn_at(after());
    assert_eq!([cluster.shows("edited"), cluster.shows("deleted")], ["2 - - -", "- - - -"]);
}

#[test]
fn a_target_changed_between_turns_is_not_an_edit_of_the_user() {
    let mut cluster = Cluster::new([level_policy("p", "09:00", "10:00", "a=b", -1)]).with(
        "pod",
        "a=b",
        Some("1"),
    );
    cluster.turn("09:00");
    cluster.set([level_policy("q", "09:00", "10:00", "a=b", 0)]);
    cluster.turn("09:30");
    assert_eq!(cluster.shows("pod"), "0 1 q 0");
    cluster.format(LevelFormat::Name);
    cluster.turn("09:40");
    assert_eq!(cluster.shows("pod"), "- 1 q ''", "nor is another way to write it");
    cluster.turn("10:00");
    assert_eq!(cluster.shows("pod"), "1 - - -");
}

#[test]
fn with_names_a_level_is_the_name_that_volcano_reads() {
    for (target, shown) in [(2, "LC 0 p LC"), (1, "LS 0 p LS"), (0, "- 0 p ''"), (-1, "BE 0 p BE")]
    {
        let mut cluster = Cluster::new([level_policy("p", "09:00", "10:00", "a=b", target)]).with(
            "pod",
            "a=b",
            Some("0"),
        );
        cluster.format(LevelFormat::Name);
        cluster.turn("09:00");
        assert_eq!(cluster.shows("pod"), shown);
        cluster.turn("10:00");
        assert_eq!(cluster.shows("pod"), "0 - - -");
    }
}

#[test]
fn invalid_annotations_are_used_as_written() {
    let mut cluster = Cluster::new([]).with("pod", "a=b", Some("many words \u{1f600}"));
    cluster.set([level_policy("p", "09:00", "10:00", "a=b", -1)]);
    cluster.turn("09:00");
    assert_eq!(cluster.pod("pod").annotations().original.as_deref(), Some("many words \u{1f600}"));
    // A user has removed the annotation with the applied level: the original is still valid.
    let mut annotations = cluster.pod("pod").annotations();
    (annotations.applied, annotations.policy) = (None, None);
    cluster.pod("pod").annotate(&annotations);
    cluster.turn_at(after());
    assert_eq!(cluster.shows("pod"), "many words \u{1f600} - - -");
    // Without the original, the applied level is not treated as the user's.
    cluster.turn("09:00");
    annotations = cluster.pod("pod").annotations();
    annotations.original = None;
    cluster.pod("pod").annotate(&annotations);
    cluster.turn_at(after());
    assert_eq!(cluster.shows("pod"), "- - - -");
}
