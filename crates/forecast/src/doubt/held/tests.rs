//! What shows of a field, write by write.

use almanac_fixtures::{at, names};

use super::*;

/// `"berlin.opens 2026-11-23T08:00:00Z 20"`: the clock and the rule, when, and what. All clocks show UTC, and a third
/// part before the clock is a policy of its own: `"other/berlin.opens …"`.
fn write(text: &str) -> Write {
    let parts: Vec<&str> = text.split(' ').collect();
    let [by, when, value] = parts[..] else { panic!("{text}") };
    let (policy, by) = by.split_once('/').unwrap_or(("shop", by));
    let (clock, rule) = by.split_once('.').unwrap();
    let policy = names::cron_federated_hpa(policy);
    let rule = (rule != "default").then(|| Arc::from(rule));
    let writer = Some(Writer { policy: policy.clone(), rule });
    Write {
        at: at(when),
        value: Some(Value::Number(value.parse().unwrap())),
        origin: Arc::new(Origin { writer, reason: "".into(), moves_other_bound: false }),
        group: Some((policy, Some(clock.len()))),
        offset: Offset::UTC,
    }
}

/// All that shows of these writes.
fn shown(writes: &[&str]) -> Vec<Shown> {
    let (first, others) = writes.split_first().unwrap();
    let mut held = Held::begin(write(first));
    let mut shown: Vec<Shown> = others.iter().map(|text| held.set(write(text))).collect();
    shown.push(held.end());
    shown
}

/// The cuts, as `from → to at …, own end …`.
fn cuts(writes: &[&str]) -> Vec<String> {
    let cuts = shown(writes).into_iter().flat_map(|it| it.cuts);
    let tell = |cut: Cut| {
        let end = cut.own_end.map_or(String::new(), |end| format!(", own end {end}"));
        format!("{} to {} at {}{end}", cut.values.0, cut.values.1, cut.by.at)
    };
    cuts.map(tell).collect()
}

#[test]
fn what_one_clock_raises_and_lowers_is_not_cut_short() {
    let writes = [
        "utc.closes 2026-11-22T20:00:00Z 2",
        "utc.opens 2026-11-23T08:00:00Z 20",
        "utc.lunch 2026-11-23T12:00:00Z 10",
        "utc.closes 2026-11-23T20:00:00Z 2",
    ];
    assert_eq!(cuts(&writes), [""; 0]);
}

#[test]
fn what_would_have_been_lowered_later_was_cut_short() {
    let writes = [
        "utc.closes 2026-11-22T20:00:00Z 2",
        "utc.opens 2026-11-23T08:00:00Z 20",
        "berlin.saves 2026-11-23T12:00:00Z 3",
        "utc.closes 2026-11-23T20:00:00Z 2",
    ];
    let cut = "20 to 3 at 2026-11-23T12:00:00Z, own end 2026-11-23T20:00:00Z";
    assert_eq!(cuts(&writes), [cut]);
}

#[test]
fn a_peak_after_it_makes_it_no_less_cut_short() {
    let writes = [
        "utc.opens 2026-11-23T08:00:00Z 20",
        "berlin.saves 2026-11-23T12:00:00Z 3",
        "utc.peak 2026-11-23T14:00:00Z 30",
        "utc.closes 2026-11-23T20:00:00Z 2",
    ];
    let cut = "20 to 3 at 2026-11-23T12:00:00Z, own end 2026-11-23T20:00:00Z";
    assert_eq!(cuts(&writes), [cut]);
}

#[test]
fn what_the_same_rule_sets_again_that_day_was_cut_short() {
    let writes = [
        "utc.hold 2026-11-23T10:00:00Z 20",
        "berlin.saves 2026-11-23T10:30:00Z 2",
        "utc.hold 2026-11-23T11:00:00Z 20",
    ];
    assert_eq!(cuts(&writes), ["20 to 2 at 2026-11-23T10:30:00Z"]);
}

#[test]
fn what_is_raised_again_the_next_day_was_over() {
    let writes = [
        "utc.opens 2026-11-23T08:00:00Z 20",
        "utc.peak 2026-11-23T14:00:00Z 30",
        "berlin.closes 2026-11-23T20:00:00Z 2",
        "utc.opens 2026-11-24T08:00:00Z 20",
        "utc.peak 2026-11-24T14:00:00Z 30",
    ];
    assert_eq!(cuts(&writes), [""; 0]);
}

#[test]
fn whoever_ends_its_own_day_cuts_short_what_another_raised_meanwhile() {
    let writes = [
        "utc.closes 2026-11-22T20:00:00Z 2",
        "berlin.opens 2026-11-23T07:00:00Z 20",
        "utc.opens 2026-11-23T16:00:00Z 20",
        "berlin.closes 2026-11-23T18:00:00Z 2",
    ];
    assert_eq!(cuts(&writes), ["20 to 2 at 2026-11-23T18:00:00Z"]);
}

#[test]
fn what_was_lowered_already_is_not_cut_short() {
    let writes = [
        "berlin.sunday 2026-11-22T20:00:00Z 5",
        "utc.opens 2026-11-27T08:00:00Z 20",
        "utc.closes 2026-11-27T20:00:00Z 5",
        "berlin.saturday 2026-11-28T00:00:00Z 2",
    ];
    assert_eq!(cuts(&writes), [""; 0]);
}

#[test]
fn what_is_set_again_at_the_same_instant_has_not_lasted() {
    let writes = [
        "utc.opens 2026-11-23T08:00:00Z 20",
        "berlin.saves 2026-11-23T12:00:00Z 3",
        "utc.lunch 2026-11-23T12:00:00Z 20",
        "utc.closes 2026-11-23T20:00:00Z 2",
    ];
    assert_eq!(cuts(&writes), [""; 0]);
}

#[test]
fn what_another_policy_changes_is_in_force_until_it_is_lowered() {
    let in_force = |writes: &[&str]| {
        let changes = shown(writes).into_iter().filter_map(|it| it.change);
        changes.filter_map(|it| it.in_force).count()
    };
    let raised = "utc.opens 2026-11-23T08:00:00Z 20";
    let lowered = "utc.closes 2026-11-23T20:00:00Z 5";
    let another = "other/utc.night 2026-11-24T00:00:00Z 2";
    let before = "utc.closes 2026-11-22T20:00:00Z 5";
    assert_eq!(in_force(&[before, raised, another]), 1);
    assert_eq!(in_force(&[before, raised, lowered, another]), 0);
}

#[test]
fn a_gap_is_short_and_between_two_other_rules() {
    let gaps = |within: &str, next: &str| {
        let before = ["utc.a 2026-11-23T08:00:00Z 20", "utc.a 2026-11-23T09:00:00Z 20"];
        let writes = [before[0], before[1], within, next];
        shown(&writes).into_iter().filter(|it| it.gap.is_some()).count()
    };
    let (ends, begins) = ("utc.default 2026-11-23T12:00:00Z 2", "utc.b 2026-11-23T12:05:00Z 9");
    assert_eq!(gaps(ends, begins), 1);
    assert_eq!(gaps("utc.beneath 2026-11-23T12:00:00Z 5", begins), 1);
    assert_eq!(gaps(ends, "utc.b 2026-11-23T12:06:00Z 9"), 0);
    assert_eq!(gaps("utc.b 2026-11-23T12:00:00Z 2", begins), 0);
}
