//! Windows of one schedule, and the instant from which only their order decides.

use almanac_engine::PolicyObject;
use almanac_engine::scheduled_capacity::{Behavior, ScheduledCapacity};
use almanac_fixtures::schedules::{Schedule, behavior};
use almanac_fixtures::{at, names};

use super::*;

fn first_met(windows: &[(&str, &str, u32, i32)]) -> Vec<String> {
    let of = |(start, end, value, priority): &(&str, &str, u32, i32)| -> Behavior {
        behavior("UTC", start, end, *value, *priority)
    };
    let schedule = ScheduledCapacity {
        behaviors: windows.iter().map(of).collect(),
        ..Schedule::utc(1).checked()
    };
    let mut world = World::default();
    let policy = names::metrics_producer("shop");
    world.scheduled_capacity.policies.insert(policy.identity.clone(), PolicyObject::new(schedule));
    let findings = standing_findings(&world, &policy, at("2026-11-23T00:00:00Z"));
    let met = findings.into_iter().filter_map(|finding| match finding.problem {
        Problem::ListOrder { winner, from, .. } => Some(format!("{winner} from {from}")),
        _ => None,
    });
    met.collect()
}

#[test]
fn two_windows_of_one_priority_meet_when_the_later_one_opens() {
    let (day, lunch) = (("hours=8", "hours=18", 9, 0), ("hours=12", "hours=14", 20, 0));
    assert_eq!(first_met(&[day, lunch]), ["behaviors[0] from 2026-11-23T12:00:00Z"]);
    assert_eq!(first_met(&[lunch, day]), ["behaviors[0] from 2026-11-23T12:00:00Z"]);
}

#[test]
fn windows_that_touch_do_not_meet() {
    assert_eq!(
        first_met(&[("hours=8", "hours=12", 9, 0), ("hours=12", "hours=14", 20, 0)]),
        [""; 0]
    );
}

#[test]
fn the_one_day_of_a_rare_window_is_found_two_years_ahead() {
    let daily = ("weekdays=Mon,Tue,Wed,Thu,Fri; hours=8", "hours=20", 9, 0);
    let leap_day = ("days=29; months=Feb; hours=6", "hours=22", 40, 0);
    assert_eq!(first_met(&[daily, leap_day]), ["behaviors[0] from 2028-02-29T08:00:00Z"]);
}

#[test]
fn the_order_decides_nothing_while_a_third_window_does() {
    let (day, evening) = (("hours=8", "hours=13", 9, 0), ("hours=12", "hours=22", 20, 0));
    assert_eq!(first_met(&[day, evening, ("hours=12", "hours=13", 50, 5)]), [""; 0]);
    let half = ("hours=11; minutes=0", "hours=12; minutes=30", 50, 5);
    assert_eq!(first_met(&[day, evening, half]), ["behaviors[0] from 2026-11-23T12:30:00Z"]);
}
