//! The reasons for an autoscaler's value: every limit that makes a difference.

use almanac_engine::metric_scaling::{Memory, Recommendation, ScalingRules, Select, TargetType};

use crate::support::monday;
use crate::support::scaling::{Autoscaler, Scaling, at_once, count_in, external};

fn explained(policy: Autoscaler, replicas: u32, answers: &[(&str, f64)]) -> Vec<String> {
    let mut scaling = Scaling::new(policy, replicas);
    for (query, answer) in answers {
        scaling.answer(query, *answer);
    }
    scaling.explained(monday("09:00"))
}

#[test]
fn a_recommendation_is_explained_with_its_sample_and_its_target() {
    let policy = Autoscaler::for_deployment("shop", 0, 100)
        .with(external("queue"), TargetType::AverageValue, 50_000)
        .with(external("busy"), TargetType::Utilization, 60_000);
    assert_eq!(
        explained(policy, 1, &[("queue", 304.0), ("busy", 0.5)]),
        ["queue is 304, AverageValue 50: 7 replicas", "busy is 0.5, Utilization 60%: 1 replica",]
    );
}

#[test]
fn every_effective_limit_is_explained() {
    let slow = ScalingRules { policies: [count_in(1, 60)].into(), ..at_once(Select::Max) };
    let by = |max| Autoscaler::for_deployment("shop", 0, max).by(external("q"));
    let expected = ["q is 9, AverageValue 1: 9 replicas; 6 by the scaleUp policies (1 in 60 s)"];
    assert_eq!(explained(by(100).up(slow.clone()), 5, &[("q", 9.0)]), expected);
    let expected = ["q is 9, AverageValue 1: 9 replicas; 7 by maxReplicas"];
    assert_eq!(explained(by(7), 5, &[("q", 9.0)]), expected);
    let expected = ["q is 3, AverageValue 1: 3 replicas; 5, because scaleDown is Disabled"];
    assert_eq!(explained(by(9).down(at_once(Select::Disabled)), 5, &[("q", 3.0)]), expected);
    let mut scaling = Scaling::new(by(9), 5);
    let since = monday("08:00");
    let recommendations = vec![Recommendation { since, replicas: 8 }];
    scaling.set_memory(Some(Memory { recommendations, ..Memory::default() }));
    scaling.answer("q", 3.0);
    let expected = ["q is 3, AverageValue 1: 3 replicas; 5 by the scaleDown window of 300 s"];
    assert_eq!(scaling.explained(monday("09:00")), expected);
}

#[test]
fn an_unusable_sample_has_a_reason() {
    let policy = Autoscaler::for_deployment("shop", 0, 100).by(external("queue"));
    assert_eq!(
        explained(policy, 1, &[]),
        ["queue cannot be answered without a Prometheus, because Almanac does not publish it; \
         nothing is scaled"]
    );
}
