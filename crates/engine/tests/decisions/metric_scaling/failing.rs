//! Unknown values and failed writes scale nothing.

use std::sync::Arc;

use almanac_engine::metric_scaling::{Query, Recorded, Sample, SampleProblem, Selects, TargetType};
use almanac_engine::{
    Exemptions, Identity, NamespaceMark, Outcome, PolicyObject, Reach, Unreachable, Workload, turn,
};
use almanac_fixtures::names;

use crate::support::scaling::{Autoscaler, Scaling, by_one_query, external, scheduled};
use crate::support::schedule::Schedule;
use crate::support::{monday, seconds};

fn problems() -> [SampleProblem; 7] {
    [
        SampleProblem::NoSample,
        SampleProblem::SeveralSamples { count: 2 },
        SampleProblem::NotFinite,
        SampleProblem::NoAnswer { kind: "timeout", why: Arc::from("no answer within 10 s") },
        SampleProblem::NotAsked,
        SampleProblem::External(Arc::from("Almanac does not publish it")),
        SampleProblem::Stale { at: monday("08:00") },
    ]
}

#[test]
fn with_one_sample_that_cannot_be_used_nothing_is_scaled_by_the_others() {
    for problem in problems() {
        let policy = Autoscaler::for_deployment("shop", 2, 100).by(external("a")).by(external("b"));
        let mut scaling = Scaling::new(policy, 1).answered("a", 8.0);
        scaling.sample("b", Err(problem.clone()));
        assert_eq!(scaling.turn(monday("09:00")), 1, "{problem:?}");
        scaling.answer("b", 1.0);
        assert_eq!(scaling.turn(monday("09:01")), 8, "{problem:?}");
    }
}

#[test]
fn a_sample_of_exactly_the_maximum_age_is_too_old() {
    let mut scaling = by_one_query(5);
    scaling.world.metric_scaling.extra.settings.oldest = Some(seconds(30));
    let answer = scaling.world.metric_scaling.extra.settings;
    assert_eq!(answer.oldest, Some(seconds(30)));
    let value = Ok(almanac_engine::metric_scaling::FiniteNumber::new(5.0).unwrap());
    let sample = Sample::requested(Arc::from("q"), monday("09:00"), value);
    scaling.world.metric_scaling.extra.hold(&scaling.name.identity.clone(), sample);
    scaling.turn(monday("09:00"));
    assert_eq!(scaling.wake_at(), Some(monday("09:00:30")));
    let explained = scaling.explained(monday("09:00:30"));
    assert_eq!(explained, ["q was answered last at 2026-03-02T09:00:00Z; nothing is scaled"]);
}

#[test]
fn a_missing_or_unreadable_target_is_unchanged() {
    let mut scaling = by_one_query(5).answered("q", 8.0);
    let why = Unreachable::Unknown(Arc::from("no answer"));
    let reach = Reach::without(scaling.target.clone(), why);
    let open = turn::open(&scaling.world, &scaling.name, &reach, monday("09:00")).unwrap();
    assert_eq!(open.actions(), []);
    scaling.world.objects.workloads.clear();
    assert_eq!(scaling.decide(monday("09:00")).actions, []);
}

#[test]
fn an_exempt_autoscaler_has_no_turn_and_an_exempt_schedule_no_number() {
    let mut scaling =
        Scaling::new(Autoscaler::for_deployment("shop", 0, 100).by(scheduled("shop")), 5);
    let schedule = names::metrics_producer("shop").identity;
    let object = PolicyObject::new(Schedule::utc(8).checked());
    scaling.world.scheduled_capacity.policies.insert(schedule.clone(), object);
    let mut exempt = Exemptions::default();
    exempt.mark(&schedule, true);
    scaling.world.objects.exempt = Arc::new(exempt);
    assert_eq!(scaling.turn(monday("09:00")), 5);
    let mut exempt = Exemptions::default();
    exempt.mark(&scaling.target, true);
    scaling.world.objects.exempt = Arc::new(exempt);
    let reach = Reach::everything();
    assert!(turn::open(&scaling.world, &scaling.name, &reach, monday("09:01")).is_none());
    assert_eq!(scaling.world.footprint(&scaling.name).writes, []);
    scaling.world.objects.exempt = Arc::default();
    assert_eq!(scaling.turn(monday("09:02")), 8);
}

#[test]
fn with_unknown_replicas_only_values_independent_of_them_are_set() {
    for (target_type, expected) in [(TargetType::AverageValue, Some(8)), (TargetType::Value, None)]
    {
        let policy =
            Autoscaler::for_deployment("shop", 0, 100).with(external("q"), target_type, 1_000);
        let mut scaling = Scaling::new(policy, 5);
        scaling.world.objects.workloads.insert(scaling.target.clone(), Workload::default());
        scaling.answer("q", 8.0);
        let decision = scaling.decide(monday("09:00"));
        assert_eq!(decision.actions.is_empty(), expected.is_none());
        if expected.is_some() {
            assert_eq!(Some(scaling.turn(monday("09:00"))), expected);
        }
    }
}

#[test]
fn a_failed_write_is_repeated_after_a_query_period() {
    let outcomes = [
        Outcome::Conflict,
        Outcome::Refused(Arc::from("denied")),
        Outcome::Unknown(Arc::from("lost")),
    ];
    for outcome in outcomes {
        let mut scaling = by_one_query(5).answered("q", 8.0);
        scaling.turn_that_ends(monday("09:00"), &outcome);
        // A conflict with a faster field manager is not a failure.
        let is_failure = outcome != Outcome::Conflict;
        let is_recorded = matches!(scaling.recorded()[..], [Recorded::Failed { to: 8, .. }]);
        assert_eq!(is_recorded, is_failure);
        assert_eq!(scaling.memory().unwrap().failure.is_some(), is_failure);
        assert_eq!(scaling.memory().unwrap().scale_events, []);
        assert_eq!(scaling.wake_at(), Some(monday("09:00:10")));
        assert_eq!(scaling.turn(monday("09:00:10")), 8);
    }
}

#[test]
fn prometheus_has_no_number_of_a_schedule_in_an_unreadable_namespace() {
    let in_default = names::metrics_producer("hours").identity;
    let schedule =
        Identity::new(in_default.group(), in_default.kind(), "harbour", in_default.name());
    let text = "max(hours or vector(0))";
    let names = Box::from([Selects::One(schedule.clone())]);
    let query = Query { names, ..external(text) };
    let mut scaling = Scaling::new(Autoscaler::for_deployment("shop", 0, 100).by(query), 5);
    let object = PolicyObject::new(Schedule::utc(8).checked());
    scaling.world.scheduled_capacity.policies.insert(schedule, object);
    // The default of the query, since its schedule publishes nothing.
    scaling.answer(text, 0.0);
    Arc::make_mut(&mut scaling.world.objects.exempt)
        .mark_namespace("harbour", NamespaceMark::Unread);
    assert_eq!(scaling.turn(monday("09:00")), 5);
    let [explained] = scaling.explained(monday("09:00")).try_into().unwrap();
    assert!(
        explained.contains("the namespace harbour of a schedule cannot be read"),
        "{explained}"
    );
    Arc::make_mut(&mut scaling.world.objects.exempt)
        .mark_namespace("harbour", NamespaceMark::Absent);
    assert_eq!(scaling.turn(monday("09:01")), 0);
}
