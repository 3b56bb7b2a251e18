//! The requests of an explained field: every policy that sets it, their order, and the reason that each wins or loses.

use almanac_engine::cron_scaling::{
    Applied, CronRule, Execution, FiringOutcome, Memory, RuleMemory,
};
use almanac_engine::metric_scaling::Select;
use almanac_engine::{Exemptions, PolicyName, PolicyObject, RankedRequest, Workload, World};
use almanac_fixtures::autoscalers::{Autoscaler, at_once, scheduled};
use almanac_fixtures::names::horizontal_autoscaler;
use almanac_forecast::explain;

use crate::builders::*;

/// Each request for the only field as `name value since: reason`.
fn requests(world: &World, policy: &PolicyName, text: &str) -> Vec<String> {
    let explanation = explain(world, policy, at(text)).unwrap();
    let [(_, ranked)] = &explanation.requests[..] else { panic!("{explanation:?}") };
    let line = |it: &RankedRequest| {
        let RankedRequest { request, outcome } = it;
        let name = request.policy.identity.name();
        let value = request.value.as_ref().map_or("-".to_owned(), ToString::to_string);
        let since = request.since.map_or("-".to_owned(), |since| since.to_string());
        format!("{name} {value} {since} {}: {outcome}", outcome.name())
    };
    ranked.iter().map(line).collect()
}

/// Two objects of cron rules for one target, which both fire at eight in the evening.
fn day_and_night() -> World {
    let day = vec![rule("up", "0 8 * * *", 10), rule("evening", "0 20 * * *", 4)];
    let night = vec![rule("lunch", "0 12 * * *", 6), rule("down", "0 20 * * *", 2)];
    Building::default()
        .scaling("day", to_workload("shop"), day)
        .scaling("night", to_workload("shop"), night)
        .world()
}

#[test]
fn the_later_firing_wins_and_the_earlier_one_is_listed() {
    for policy in ["day", "night"] {
        assert_eq!(
            requests(&day_and_night(), &cron_policy(policy), "2026-03-02T13:00:00Z"),
            [
                "night 6 2026-03-02T12:00:00Z won: the field has its value",
                "day 10 2026-03-02T08:00:00Z lost: CronFederatedHPA.autoscaling.karmada.io default/night \
                 set the field later",
            ],
            "{policy}"
        );
    }
}

#[test]
fn at_one_instant_the_last_object_by_name_wins() {
    assert_eq!(
        requests(&day_and_night(), &cron_policy("day"), "2026-03-02T21:00:00Z"),
        [
            "night 2 2026-03-02T20:00:00Z won: the field has its value",
            "day 4 2026-03-02T20:00:00Z lost: CronFederatedHPA.autoscaling.karmada.io default/night has \
             its turn later at the same instant",
        ]
    );
}

#[test]
fn a_firing_that_was_applied_late_precedes_a_later_one() {
    let policy = |building: Building, name: &str, rule: CronRule, applied: &str, value| {
        let scheduled = rule.firings.previous(at(applied)).unwrap();
        let done = FiringOutcome::Done(Applied::Replicas(value));
        let execution = Execution::new(scheduled, at(applied), done);
        let memory = RuleMemory::beginning(&rule, scheduled).with_executions([execution]);
        let memory = Memory { rules: vec![memory] };
        building.scaling(name, to_workload("shop"), vec![rule]).with_status(
            name,
            None,
            Some(memory),
        )
    };
    let building = Building::default().workload("shop", 5);
    let nine = rule("nine", "0 9 * * *", 5);
    let building = policy(building, "a", nine, "2026-03-02T09:04:00Z", 5);
    let two_past = rule("two-past", "2 9 * * *", 3);
    let building = policy(building, "b", two_past, "2026-03-02T09:02:00Z", 3);
    let world = building.seen_at("2026-03-02T10:00:00Z").world();
    assert_eq!(
        requests(&world, &cron_policy("a"), "2026-03-02T10:00:00Z"),
        [
            "a 5 2026-03-02T09:00:00Z won: the field has its value",
            "b 3 2026-03-02T09:02:00Z lost: CronFederatedHPA.autoscaling.karmada.io default/a set \
             the field later",
        ]
    );
}

#[test]
fn a_firing_that_others_have_long_replaced_is_still_listed() {
    let yearly = vec![rule("sale", "0 0 1 1 *", 50)];
    let daily = vec![rule("up", "0 8 * * *", 10), rule("down", "0 20 * * *", 2)];
    let world = Building::default()
        .scaling("daily", to_workload("shop"), daily)
        .scaling("yearly", to_workload("shop"), yearly)
        .world();
    let listed = requests(&world, &cron_policy("daily"), "2026-03-02T13:00:00Z");
    assert!(listed[1].starts_with("yearly 50 2026-01-01T00:00:00Z lost: "), "{listed:?}");
}

#[test]
fn an_autoscaler_sets_its_value_again_after_a_firing() {
    let mut world = Building::default()
        .workload("shop", 2)
        .schedule("nodes", 5, Vec::new())
        .scaling("rules", to_workload("shop"), vec![rule("up", "0 8 * * *", 10)])
        .world();
    let follows =
        Autoscaler::for_deployment("shop", 1, 10).by(scheduled("nodes")).down(at_once(Select::Max));
    let autoscaler = horizontal_autoscaler("shop");
    let object = PolicyObject::new(follows.checked());
    world.metric_scaling.policies.insert(autoscaler.identity.clone(), object);
    let listed = requests(&world, &cron_policy("rules"), "2026-03-02T13:00:00Z");
    let [won, lost] = &listed[..] else { panic!("{listed:?}") };
    assert!(won.starts_with("shop 5 ") && won.ends_with(" won: the field has its value"), "{won}");
    assert!(lost.starts_with("rules 10 2026-03-02T08:00:00Z lost: "), "{lost}");
}

#[test]
fn a_policy_that_publishes_a_number_is_the_only_one_that_requests_it() {
    let world = Building::default().schedule("nodes", 1, vec![daily("9", "17", 5, 0)]).world();
    assert_eq!(
        requests(&world, &schedule("nodes"), "2026-03-02T10:00:00Z"),
        ["nodes 5 2026-03-02T09:00:00Z won: no other policy requests the field"]
    );
}

#[test]
fn an_exempt_policy_is_listed_last_and_requests_nothing() {
    let mut world = day_and_night();
    let mut exempt = Exemptions::default();
    exempt.mark(&cron_policy("night").identity, true);
    world.objects.exempt = exempt.into();
    assert_eq!(
        requests(&world, &cron_policy("day"), "2026-03-02T13:00:00Z"),
        [
            "day 10 2026-03-02T08:00:00Z won: the field has its value",
            "night - - exempt: the object is marked with almanac.dev/ignore",
        ]
    );
}

#[test]
fn every_policy_of_an_exempt_target_is_listed() {
    let mut world = day_and_night();
    let workload = Workload { replicas: Some(2), ..Workload::default() };
    world.objects.workloads.insert(deployment("shop"), workload);
    let mut exempt = Exemptions::default();
    exempt.mark(&deployment("shop"), true);
    world.objects.exempt = exempt.into();
    assert_eq!(
        requests(&world, &cron_policy("day"), "2026-03-02T13:00:00Z"),
        [
            "night - - exempt: the target is marked with almanac.dev/ignore",
            "day - - exempt: the target is marked with almanac.dev/ignore",
        ]
    );
}
