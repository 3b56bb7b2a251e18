//! Several rules of one object, one target, one write.

use almanac_engine::cron_scaling::DesiredScale;
use almanac_engine::{Action, Outcome};

use crate::support::cron::{Rule, Scaling, bounds, rule};
use crate::support::{instant, monday};

#[test]
fn two_rules_in_two_zones_due_in_one_minute_make_one_write() {
    let rules =
        [rule("berlin", "0 10 * * *", 5).zone("Europe/Berlin"), rule("utc", "0 9 * * *", 7)];
    let mut scaling = Scaling::of_workload(1, &rules).turned("08:00");
    assert!(scaling.turn(monday("09:00")));
    assert_eq!(scaling.written.len(), 1);
    assert_eq!(scaling.replicas(), Some(7), "the same instant: the later in the spec wins");
    assert_eq!(scaling.history("berlin"), ["09:00:00 superseded by utc"]);
    assert_eq!(scaling.history("utc"), ["09:00:00 done replicas 7"]);
}

#[test]
fn due_firings_are_applied_in_order_of_time_before_that_of_the_spec() {
    let rules = [rule("later", "4 * * * *", 5), rule("earlier", "3 * * * *", 7)];
    let scaling = Scaling::of_workload(1, &rules).turned("09:00").turned("09:05");
    assert_eq!(scaling.replicas(), Some(5));
    assert_eq!(scaling.history("earlier"), ["09:03:00 superseded by later"]);
}

#[test]
fn a_firing_names_the_last_one_that_superseded_it() {
    let rules = [
        rule("first", "1 * * * *", 5),
        rule("second", "2 * * * *", 6),
        rule("third", "3 * * * *", 7),
    ];
    let scaling = Scaling::of_workload(1, &rules).turned("09:00").turned("09:04");
    assert_eq!(scaling.history("first"), ["09:01:00 superseded by third"]);
    assert_eq!(scaling.history("second"), ["09:02:00 superseded by third"]);
}

#[test]
fn the_last_firing_of_each_field_wins() {
    let rules = [
        bounds("both", "1 * * * *", Some(2), Some(9)),
        bounds("lower", "2 * * * *", Some(4), None),
        bounds("upper", "3 * * * *", None, Some(6)),
    ];
    let mut scaling = Scaling::of_autoscaler(1, 10, &rules).turned("09:00");
    assert!(scaling.turn(monday("09:04")));
    let target = scaling.target().identity().clone();
    assert_eq!(scaling.written, [Action::SetBounds { target, min: Some(4), max: Some(6) }]);
    assert_eq!(scaling.history("both"), ["09:01:00 superseded by upper"]);
    assert_eq!(scaling.history("lower"), ["09:02:00 done min 4"]);
    assert_eq!(scaling.history("upper"), ["09:03:00 done max 6"]);
}

#[test]
fn a_partly_superseded_firing_applies_the_rest() {
    let rules = [
        bounds("both", "1 * * * *", Some(2), Some(9)),
        bounds("upper", "3 * * * *", None, Some(6)),
    ];
    let scaling = Scaling::of_autoscaler(1, 10, &rules).turned("09:00").turned("09:04");
    assert_eq!(scaling.history("both"), ["09:01:00 done min 2"]);
}

#[test]
fn a_firing_whose_values_are_already_set_succeeds_despite_a_failed_write() {
    let rules =
        [bounds("lower", "1 * * * *", Some(2), None), bounds("upper", "1 * * * *", None, Some(6))];
    let mut scaling = Scaling::of_autoscaler(2, 10, &rules).turned("09:00");
    assert!(scaling.failed_turn(monday("09:01"), &Outcome::Conflict));
    assert_eq!(scaling.history("lower"), ["09:01:00 done min 2"]);
    assert_eq!(scaling.history("upper"), [""; 0]);
}

#[test]
fn catching_up_leaves_the_target_as_if_only_the_last_to_name_each_bound_had_fired() {
    let rules = [
        bounds("a", "1 * * * *", Some(7), None),
        bounds("b", "2 * * * *", Some(2), None),
        bounds("c", "3 * * * *", None, Some(1)),
        bounds("d", "4 * * * *", Some(3), Some(8)),
        bounds("e", "5 * * * *", None, Some(2)),
    ];
    let (b, c, d, e) = (1, 2, 3, 4);
    let cases: [(&str, &[usize], (u32, u32)); 4] = [
        ("09:02", &[b], (2, 5)),
        ("09:03", &[b, c], (1, 1)),
        ("09:04", &[d], (3, 8)),
        ("09:05", &[d, e], (2, 2)),
    ];
    for (until, left, (min, max)) in cases {
        let left: Vec<Rule> = left.iter().map(|index| rules[*index].clone()).collect();
        let mut awake = Scaling::of_autoscaler(1, 5, &left).turned("09:00");
        awake.run_until(monday(until));
        let mut asleep = Scaling::of_autoscaler(1, 5, &rules).turned("09:00");
        asleep.turn(monday(until));
        assert_eq!(asleep.live_bounds(), (Some(min), Some(max)), "until {until}");
        assert_eq!(asleep.live_bounds(), awake.live_bounds(), "until {until}");
    }
}

#[test]
fn a_superseded_firing_moves_no_bound_even_if_it_would_have_on_time() {
    let rules =
        [bounds("high", "1 * * * *", Some(7), None), bounds("low", "2 * * * *", Some(2), None)];
    let mut awake = Scaling::of_autoscaler(1, 5, &rules).turned("09:00");
    let mut asleep = awake.clone();
    awake.run_until(monday("09:02"));
    assert_eq!(awake.live_bounds(), (Some(2), Some(7)));
    asleep.turn(monday("09:02"));
    assert_eq!(asleep.live_bounds(), (Some(2), Some(5)));
    assert_eq!(asleep.history("high"), ["09:01:00 superseded by low"]);
    assert_eq!(asleep.history("low"), ["09:02:00 done min 2"]);
}

#[test]
fn turns_taken_twice_do_nothing_the_second_time() {
    let rules = [rule("a", "3 * * * *", 5), rule("b", "3 * * * *", 7)];
    let mut scaling = Scaling::of_workload(1, &rules).turned("09:00");
    assert!(scaling.turn(monday("09:03")));
    let before = scaling.memory().cloned();
    assert!(!scaling.turn(monday("09:03")));
    assert_eq!(scaling.memory().cloned(), before);
}

#[test]
fn rules_of_different_days_do_not_coincide() {
    let rules = [rule("monday", "0 9 * * mon", 5), rule("tuesday", "0 9 * * tue", 7)];
    let mut scaling = Scaling::of_workload(1, &rules).turned("08:00");
    let turns = scaling.run_until(instant("2026-03-04T00:00:00Z"));
    assert_eq!(turns, [monday("09:00"), instant("2026-03-03T09:00:00Z")]);
    assert_eq!(scaling.replicas(), Some(7));
}

#[test]
fn a_setting_that_does_not_fit_the_target_is_never_written() {
    // The API layer makes no such rule, but the decision is still defined.
    let misfit = bounds("misfit", "3 * * * *", Some(2), None);
    assert!(matches!(misfit.desired, DesiredScale::Bounds(_)));
    let scaling = Scaling::of_workload(1, &[misfit]).turned("09:00");
    let decision = almanac_engine::cron_scaling::decide(&scaling.input(), monday("09:03"));
    assert_eq!(decision.actions, []);
}
