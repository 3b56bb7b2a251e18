//! The windows of policies: midnight, clock changes, restarts, edits inside of a window.

use almanac_fixtures::levels::{level_policy, level_policy_in};

use crate::support::levels::{Cluster, recorded};
use crate::support::{NANOSECOND, instant, monday};

fn night() -> Cluster {
    Cluster::new([level_policy("night", "22:00", "06:00", "app=batch", -1)]).with(
        "batch",
        "app=batch",
        Some("1"),
    )
}

#[test]
fn a_pod_has_the_level_of_a_policy_while_its_window_is_open_and_its_own_otherwise() {
    let mut cluster = night();
    for (time, shown) in
        [("21:59", "1 - - -"), ("22:00", "-1 1 night -1"), ("23:00", "-1 1 night -1")]
    {
        cluster.turn(time);
        assert_eq!(cluster.shows("batch"), shown, "{time}");
    }
    cluster.turn_at(instant("2026-03-03T05:59:59Z"));
    assert_eq!(cluster.shows("batch"), "-1 1 night -1", "the window spans midnight");
    cluster.turn_at(instant("2026-03-03T06:00:00Z"));
    assert_eq!(cluster.shows("batch"), "1 - - -");
}

#[test]
fn each_change_of_a_level_is_recorded_once_with_the_policy_and_the_levels() {
    let mut cluster = night();
    assert_eq!(recorded(&cluster.turn("22:00")), ["batch: - > night, 1 > -1"]);
    assert_eq!(recorded(&cluster.turn("22:30")), [""; 0]);
    let expected = ["batch: night > -, -1 > 1"];
    assert_eq!(recorded(&cluster.turn_at(instant("2026-03-03T06:00:00Z"))), expected);
}

#[test]
fn a_process_that_restarts_inside_or_after_a_window_does_what_it_would_have_done() {
    let mut cluster = night();
    cluster.turn("22:00");
    let written =
        cluster.world.qos_levels.policies.values().next().unwrap().policy.clone().unwrap();
    cluster.restart(written.as_ref().clone());
    assert!(cluster.turn("23:00").done.is_empty(), "inside, there is nothing to do");
    cluster.restart(written.as_ref().clone());
    cluster.turn_at(instant("2026-03-09T12:00:00Z"));
    assert_eq!(cluster.shows("batch"), "1 - - -", "long after, the level comes back");
}

#[test]
fn a_pod_that_is_created_inside_a_window_gets_the_level_at_the_next_turn() {
    let mut cluster = night();
    cluster.turn("22:00");
    cluster = cluster.with("late", "app=batch", None);
    assert_eq!(recorded(&cluster.turn("22:05")), ["late: - > night, - > -1"]);
    assert_eq!(cluster.shows("late"), "-1 '' night -1");
}

#[test]
fn an_edit_of_an_open_policy_takes_effect_immediately() {
    let policy = level_policy("night", "22:00", "06:00", "app=batch", -1);
    let mut disabled = policy.clone();
    disabled.is_enabled = false;
    for (edited, shown) in [
        (vec![], "1 - - -"),
        (vec![disabled], "1 - - -"),
        (vec![level_policy("night", "22:00", "06:00", "app=batch", 2)], "2 1 night 2"),
        (vec![level_policy("night", "23:00", "06:00", "app=batch", -1)], "1 - - -"),
        (vec![level_policy("night", "22:00", "06:00", "app=web", -1)], "1 - - -"),
        (vec![level_policy("other", "22:00", "06:00", "app=batch", -1)], "-1 1 other -1"),
    ] {
        let mut cluster = night();
        cluster.turn("22:00");
        cluster.set(edited);
        cluster.turn("22:30");
        assert_eq!(cluster.shows("batch"), shown);
    }
}

#[test]
fn a_window_follows_the_clocks_of_its_zone() {
    // In Berlin, 02:30 is skipped on 29 March, and occurs twice on 25 October.
    let policy =
        |start: &str, end: &str| level_policy_in("Europe/Berlin", "p", start, end, "a=b", 0);
    let levels = |policy: &almanac_engine::qos_levels::QosPolicy, at: &str| {
        let mut cluster = Cluster::new([policy.clone()]).with("pod", "a=b", None);
        cluster.turn_at(instant(at));
        cluster.shows("pod").starts_with('0')
    };
    let gap = policy("02:30", "04:00");
    let of_gap = ["00:59:59", "01:00:00", "01:59:59", "02:00:00"];
    let open = of_gap.map(|time| levels(&gap, &format!("2026-03-29T{time}Z")));
    assert_eq!(open, [false, true, true, false], "it opens where the gap ends");
    let fold = policy("02:30", "02:45");
    let of_fold = ["00:30:00", "00:44:59", "00:45:00", "01:30:00"];
    let open = of_fold.map(|time| levels(&fold, &format!("2026-10-25T{time}Z")));
    assert_eq!(open, [true, true, false, false], "the first time counts");
}

#[test]
fn the_next_wake_is_the_next_boundary_of_any_enabled_policy() {
    let mut disabled = level_policy("off", "09:00", "10:00", "app=batch", 1);
    disabled.is_enabled = false;
    let mut cluster = Cluster::new([
        level_policy("night", "22:00", "06:00", "app=batch", -1),
        level_policy("noon", "12:00", "13:00", "app=other", -1),
        disabled,
    ]);
    for (now, wakes) in [("08:00", "12:00"), ("12:00", "13:00"), ("13:00", "22:00")] {
        assert_eq!(cluster.turn(now).wake_at, Some(monday(wakes)));
        assert_eq!(cluster.turn_at(monday(wakes) - NANOSECOND).wake_at, Some(monday(wakes)));
    }
    cluster.set([level_policy("always", "00:00", "24:00", "app=batch", -1)]);
    assert_eq!(cluster.turn("08:00").wake_at, None, "a window that never closes has no boundary");
}
