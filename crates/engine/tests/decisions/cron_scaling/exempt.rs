//! Rules that are not carried out, because their object or its target is exempt.

use std::sync::Arc;

use almanac_engine::{Exemptions, Outcome};

use crate::support::cron::{Scaling, rule};
use crate::support::monday;

/// A rule of every hour, which has had its first turn.
fn hourly() -> Scaling {
    let mut scaling = Scaling::of_workload(1, &[rule("r", "3 * * * *", 5)]);
    scaling.turn(monday("09:00"));
    scaling
}

fn mark_target(scaling: &mut Scaling, is_marked: bool) {
    let target = scaling.target().identity().clone();
    Arc::make_mut(&mut scaling.world.exempt).mark(&target, is_marked);
}

#[test]
fn an_exempt_target_is_not_changed_and_no_firing_is_missed() {
    let mut scaling = hourly();
    mark_target(&mut scaling, true);
    scaling.run_until(monday("12:30"));
    assert_eq!(scaling.replicas(), Some(1));
    assert_eq!(scaling.history("r"), Vec::<String>::new());
    let [explained] = scaling.explained(monday("12:30")).try_into().unwrap();
    let why = "not carried out; the target is marked with almanac.dev/ignore";
    assert!(explained.ends_with(why), "{explained}");
    assert_eq!(scaling.world.footprint(&scaling.name()).writes, []);
}

#[test]
fn what_fell_due_while_it_was_exempt_is_not_made_up_for() {
    let mut scaling = hourly();
    mark_target(&mut scaling, true);
    scaling.run_until(monday("12:30"));
    mark_target(&mut scaling, false);
    assert!(!scaling.turn(monday("12:31")));
    assert_eq!(scaling.run_until(monday("13:30")), [monday("13:03")]);
    assert_eq!(scaling.history("r"), ["13:03:00 done replicas 5"]);
}

#[test]
fn a_firing_that_is_being_tried_is_dropped_as_soon_as_it_is_exempt() {
    let mut scaling = hourly();
    scaling.failed_turn(monday("09:03"), &Outcome::Conflict);
    mark_target(&mut scaling, true);
    assert!(!scaling.turn(monday("09:03:01")));
    mark_target(&mut scaling, false);
    assert!(!scaling.turn(monday("09:03:02")));
    assert_eq!(scaling.history("r"), Vec::<String>::new());
}

#[test]
fn everything_in_an_exempt_namespace_is_left_alone() {
    let mut scaling = hourly();
    scaling.world.exempt = Arc::new(Exemptions::of_namespaces(["default"]));
    scaling.run_until(monday("09:30"));
    assert_eq!(scaling.replicas(), Some(1));
    let [explained] = scaling.explained(monday("09:30")).try_into().unwrap();
    assert!(explained.ends_with("the namespace of the object is exempt"), "{explained}");
    scaling.skip_stopped(monday("10:30"), monday("10:30"));
    assert_eq!(
        scaling.history("r"),
        Vec::<String>::new(),
        "it would not have been carried out anyway"
    );
}
