//! Bounds of autoscalers, which must stay in order.

use almanac_engine::Action;

use crate::support::cron::{Rule, Scaling, autoscaler, bounds};
use crate::support::monday;

/// An autoscaler with these bounds, after one rule at 09:03.
fn after(min: u32, max: u32, rule: Rule) -> Scaling {
    Scaling::of_autoscaler(min, max, &[rule]).turned("09:00").turned("09:03")
}

#[test]
fn a_lower_bound_above_the_live_upper_one_moves_it_and_records_that() {
    let scaling = after(1, 5, bounds("r", "3 * * * *", Some(8), None));
    assert_eq!(scaling.live_bounds(), (Some(8), Some(8)));
    assert_eq!(scaling.history("r"), ["09:03:00 done min 8 max 8 moved"]);
    let target = scaling.target().identity().clone();
    assert_eq!(scaling.written, [Action::SetBounds { target, min: Some(8), max: Some(8) }]);
}

#[test]
fn an_upper_bound_below_the_live_lower_one_moves_it_and_records_that() {
    let scaling = after(6, 9, bounds("r", "3 * * * *", None, Some(4)));
    assert_eq!(scaling.live_bounds(), (Some(4), Some(4)));
    assert_eq!(scaling.history("r"), ["09:03:00 done min 4 max 4 moved"]);
}

#[test]
fn a_bound_equal_to_the_other_moves_nothing() {
    let scaling = after(1, 5, bounds("r", "3 * * * *", Some(5), None));
    assert_eq!(scaling.live_bounds(), (Some(5), Some(5)));
    assert_eq!(scaling.history("r"), ["09:03:00 done min 5"]);
}

#[test]
fn a_rule_that_names_one_bound_leaves_the_other_alone() {
    let scaling = after(1, 5, bounds("r", "3 * * * *", Some(3), None));
    let target = scaling.target().identity().clone();
    assert_eq!(scaling.written, [Action::SetBounds { target, min: Some(3), max: None }]);
    assert_eq!(scaling.live_bounds(), (Some(3), Some(5)));
}

#[test]
fn both_bounds_are_one_write_of_what_differs() {
    let scaling = after(1, 5, bounds("r", "3 * * * *", Some(1), Some(7)));
    let target = scaling.target().identity().clone();
    assert_eq!(scaling.written, [Action::SetBounds { target, min: None, max: Some(7) }]);
    assert_eq!(scaling.history("r"), ["09:03:00 done min 1 max 7"]);
}

#[test]
fn a_lower_bound_of_zero_is_written_and_recorded() {
    let scaling = after(1, 5, bounds("r", "3 * * * *", Some(0), None));
    assert_eq!(scaling.live_bounds(), (Some(0), Some(5)));
    assert_eq!(scaling.history("r"), ["09:03:00 done min 0"]);
}

#[test]
fn an_autoscaler_written_without_a_lower_bound_has_1() {
    // The caller that fills the world sets the default of 1; the decision then moves it like any other value.
    let scaling = after(1, 5, bounds("r", "3 * * * *", Some(1), None));
    assert_eq!(scaling.written, []);
    assert_eq!(scaling.history("r"), ["09:03:00 done min 1"]);
}

#[test]
fn an_absent_bound_is_not_invented() {
    let mut scaling =
        Scaling::for_target(autoscaler("shop"), &[bounds("r", "3 * * * *", Some(8), None)]);
    scaling.set_bounds(None, None);
    scaling.turn(monday("09:00"));
    scaling.turn(monday("09:03"));
    assert_eq!(scaling.live_bounds(), (Some(8), None));
}

#[test]
fn two_due_rules_whose_bounds_cross_end_in_order() {
    let rules = |first: Rule, second: Rule| {
        let scaling = Scaling::of_autoscaler(1, 10, &[first, second]);
        let scaling = scaling.turned("09:00").turned("09:03");
        let histories = [scaling.history("lower"), scaling.history("upper")];
        (scaling.live_bounds(), histories.concat())
    };
    let lower = || bounds("lower", "3 * * * *", Some(8), None);
    let upper = || bounds("upper", "3 * * * *", None, Some(4));
    // The later rule keeps its own bound and moves the other one's bound.
    let (live, histories) = rules(lower(), upper());
    assert_eq!(live, (Some(4), Some(4)));
    assert_eq!(histories, ["09:03:00 superseded by upper", "09:03:00 done min 4 max 4 moved"]);
    let (live, histories) = rules(upper(), lower());
    assert_eq!(live, (Some(8), Some(8)));
    assert_eq!(histories, ["09:03:00 done min 8 max 8 moved", "09:03:00 superseded by lower"]);
}

#[test]
fn live_bounds_that_were_crossed_before_are_put_in_order_by_the_rule() {
    let scaling = after(9, 5, bounds("r", "3 * * * *", None, Some(6)));
    assert_eq!(scaling.live_bounds(), (Some(6), Some(6)));
}
