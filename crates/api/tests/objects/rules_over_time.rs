//! Cron rules on the calendar: the shortest time between firings, and coinciding rules.

use crate::written::{
    check_one, cron_for_autoscaler, cron_for_workload, cron_rules_of, fails, fails_only, now,
    only_message, passes,
};
use almanac_api::checking::{CheckContext, check as check_object};
use almanac_api::reading::{Reading, Source, read_objects};
use jiff::SignedDuration;

#[test]
fn a_delay_is_shorter_than_the_time_between_two_firings() {
    let delayed = |cron: &str, delay: &str| {
        cron_for_workload(&format!(
            "  - {{name: up, schedule: '{cron}', targetReplicas: 1, maxDelaySeconds: {delay}}}\n"
        ))
    };
    passes(&delayed("*/5 * * * *", "299"));
    passes(&delayed("0 0 29 2 *", "126230399"));
    fails_only(
        &delayed("0 0 29 2 *", "126230400"),
        "max-delay spec.rules[0].maxDelaySeconds: Invalid value: 126230400: must be smaller than 126230400, the shortest time between two firings of this rule",
    );
    fails_only(
        &delayed("*/5 * * * *", "300"),
        "max-delay spec.rules[0].maxDelaySeconds: Invalid value: 300: must be smaller than 300, the shortest time between two firings of this rule",
    );
    fails_only(
        &delayed("0 8 * * *", "0"),
        "out-of-range spec.rules[0].maxDelaySeconds: Invalid value: 0: must be greater than or equal to 1",
    );
}

/// Schedules whose firings are closer to each other in some years than in others.
const UNEVEN: &[(&str, &str, &str)] = &[
    // Two days in leap years, one in others.
    ("0 0 28,29 2 *", "UTC", ", maxDelaySeconds: 86400"),
    // On consecutive days if New Year is a Sunday or a Tuesday.
    ("0 0 1 1 1", "UTC", ", maxDelaySeconds: 86400"),
    ("0 0 29 2 *", "UTC", ", maxDelaySeconds: 2147483647"),
    // Half an hour where the clock is set forward on that day.
    ("30 2,3 25 3 *", "Europe/Berlin", ", maxDelaySeconds: 1800"),
    // The clock change also shortens the usual delay.
    ("57 2,3 25 3 *", "Europe/Berlin", ""),
    ("58 1 25 3 *", "Europe/Berlin", ", maxDelaySeconds: 31532400"),
    ("*/20 2 * * 0", "America/New_York", ", maxDelaySeconds: 1199"),
];

#[test]
fn validity_does_not_depend_on_the_current_date() {
    for (schedule, zone, delay) in UNEVEN {
        let text = cron_for_workload(&format!(
            "  - {{name: up, schedule: '{schedule}', timeZone: {zone}, targetReplicas: 1{delay}}}\n"
        ));
        let mut reading = Reading::default();
        read_objects(&mut reading, Source::new("test.yaml", text));
        let checked_in = |year: i64| {
            let now = now() + SignedDuration::from_hours(year * 8_765 + 7 * (year % 24));
            let checked = check_object(&reading.objects[0], CheckContext::new("default", now));
            format!("{checked:#?}")
        };
        let today = checked_in(0);
        for year in -25..25 {
            assert_eq!(checked_in(year), today, "{schedule} in {year} years");
        }
    }
}

#[test]
fn the_default_delay_is_shorter_than_the_time_between_firings_in_any_year() {
    // In 2029 the clock is set forward at two on 25 March, so that both fire within three minutes.
    let rule =
        "  - {name: up, schedule: '57 1,2 25 3 *', timeZone: Europe/Berlin, targetReplicas: 1}\n";
    let object = check_one(&cron_for_workload(rule));
    let policy = cron_rules_of(&object).expect("a valid policy");
    assert_eq!(policy.rules[0].max_delay_seconds, 179);
}

#[test]
fn coinciding_rules_with_different_values_are_a_warning() {
    let rules = |first: &str, second: &str, other: u32| {
        cron_for_workload(&format!(
            "  - {{name: a, schedule: '{first}', targetReplicas: 1}}\n  - {{name: b, schedule: '{second}', targetReplicas: {other}}}\n"
        ))
    };
    passes(&rules("0 8 * * *", "0 9 * * *", 2));
    passes(&rules("0 8 * * *", "0 8 * * 1", 1));
    fails(
        &rules("0 8 * * *", "0 8 * * 3", 2),
        &["same-minute spec.rules[1].schedule: fires in the same minute as rule \"a\" but sets \
             a different value, first at 2026-01-07T08:00:00Z; this rule wins because it is later \
             in the list"],
    );
}

#[test]
fn rules_that_coincide_at_this_very_instant_are_a_warning() {
    let rules = "  - {name: a, schedule: '0 0 5 1 *', targetReplicas: 1}\n  \
                 - {name: b, schedule: '0 0 5 1 *', targetReplicas: 2}\n";
    let first = "first at 2026-01-05T00:00:00Z";
    let message = only_message(&cron_for_workload(rules));
    assert!(message.contains(first), "{message}");
}

#[test]
fn bounds_that_would_cross_when_rules_coincide_are_a_warning() {
    let rules = |first: &str, second: &str| {
        cron_for_autoscaler(&format!(
            "  - {{name: a, schedule: '0 8 * * *', {first}}}\n  - {{name: b, schedule: '0 8 * * *', {second}}}\n"
        ))
    };
    passes(&rules("targetMinReplicas: 3", "targetMaxReplicas: 3"));
    passes(&rules("targetMinReplicas: 3, targetMaxReplicas: 5", "targetMaxReplicas: 5"));
    let warned = |how: &str| {
        format!(
            "same-minute spec.rules[1].schedule: fires in the same minute as rule \"a\" but \
             {how}, first at 2026-01-05T08:00:00Z; this rule wins because it is later in the list"
        )
    };
    let crossed = warned("sets a bound that contradicts the other rule's");
    let different = warned("sets a different value");
    for (first, second, expected) in [
        ("targetMinReplicas: 4", "targetMaxReplicas: 3", &crossed),
        ("targetMaxReplicas: 3", "targetMinReplicas: 4", &crossed),
        ("targetMinReplicas: 4, targetMaxReplicas: 6", "targetMaxReplicas: 3", &different),
        ("targetMaxReplicas: 3", "targetMinReplicas: 4, targetMaxReplicas: 6", &different),
    ] {
        fails(&rules(first, second), &[expected]);
    }
}
