//! Proof that the checker and the properties can fail: decisions with one fault each, and what
//! must notice them.

use almanac_engine::cron_scaling::{
    Because, CronScaling, Ending, Input, Memory, Setting, TargetState, decide,
};
use almanac_engine::{Action, Autoscaler, Decision, Workload};
use jiff::Timestamp;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::properties::{Decide, Life};
use super::random::cases;
use crate::support::{NANOSECOND, seconds};

/// Whether random lives of a way to decide show a fault.
fn is_caught(decide: Decide<'_>, use_checker: bool, edits: bool) -> bool {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let config =
        Config { cases: 300, failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
    let life = |case: super::random::Case| {
        let mut life = Life::new(&case, decide);
        life.use_checker = use_checker;
        life.live(&case.steps)?;
        if edits { Ok(()) } else { life.end() }
    };
    TestRunner::new_with_rng(config, rng).run(&cases(edits), life).is_err()
}

type Decided = Decision<Because, Memory>;

/// A fault in what was decided.
type Spoil = fn(&mut Decided, Timestamp);

const SPOILT_DECISIONS: [(&str, Spoil); 13] = [
    ("writes twice", |it, _| it.actions.extend(it.actions.first().cloned())),
    ("never writes", |it, _| it.actions.clear()),
    ("writes one replica too many", |it, _| {
        for action in &mut it.actions {
            if let Action::SetReplicas { replicas, .. } = action {
                *replicas += 1;
            }
        }
    }),
    ("leaves a bound where it would cross the other", |it, _| {
        for action in &mut it.actions {
            if let Action::SetBounds { min: Some(_), max, .. } = action {
                *max = None;
            }
        }
    }),
    ("forgets that a firing was superseded", |it, now| {
        for rule in &mut it.memory.rules {
            let is_kept = |it: &&almanac_engine::cron_scaling::Execution| {
                !matches!(it.ending, Ending::Superseded { .. }) || it.executed < now
            };
            rule.executions = rule.executions.iter().filter(is_kept).cloned().collect();
        }
    }),
    ("forgets its history", |it, _| {
        it.memory.rules.iter_mut().for_each(|rule| rule.executions = [].into());
    }),
    ("forgets what was handled", |it, _| {
        it.memory.rules.iter_mut().for_each(|rule| rule.handled -= seconds(60));
    }),
    ("takes everything until now for handled", |it, now| {
        it.memory.rules.iter_mut().for_each(|rule| rule.handled = rule.handled.max(now));
    }),
    ("forgets what it is trying", |it, _| {
        it.memory.rules.iter_mut().for_each(|rule| rule.pending = None);
    }),
    ("wakes a nanosecond late", |it, _| it.wake_at = it.wake_at.map(|at| at + NANOSECOND)),
    ("wakes a nanosecond early", |it, _| it.wake_at = it.wake_at.map(|at| at - NANOSECOND)),
    ("polls every fifteen seconds", |it, now| {
        let tick = now + seconds(15);
        it.wake_at = Some(it.wake_at.map_or(tick, |at| at.min(tick)));
    }),
    ("mixes up its rules", |it, _| it.memory.rules.reverse()),
];

/// A fault in how the policy is read.
type Misread = fn(&mut CronScaling);

const MISREAD_POLICIES: [(&str, Misread); 5] = [
    ("allows a second too much delay", |it| {
        it.rules.iter_mut().for_each(|rule| rule.max_delay_seconds += 1);
    }),
    ("allows no delay", |it| it.rules.iter_mut().for_each(|rule| rule.max_delay_seconds = 0)),
    ("fires suspended rules", |it| it.rules.iter_mut().for_each(|rule| rule.suspended = false)),
    ("keeps one execution too many", |it| {
        it.rules.iter_mut().for_each(|rule| rule.successful_history_limit += 1);
    }),
    ("applies the setting of another rule", |it| {
        if let [first, .., last] = &mut *it.rules {
            std::mem::swap(&mut first.setting, &mut last.setting);
        }
    }),
];

#[test]
fn every_fault_in_a_decision_is_caught() {
    for (fault, spoil) in SPOILT_DECISIONS {
        let spoilt = |input: &Input<'_>, now: Timestamp| {
            let mut decision = decide(input, now);
            spoil(&mut decision, now);
            decision
        };
        assert!(is_caught(&spoilt, true, false), "nobody notices a decision that {fault}");
    }
}

#[test]
fn every_way_to_misread_a_policy_is_caught() {
    for (fault, misread) in MISREAD_POLICIES {
        let misreading = |input: &Input<'_>, now: Timestamp| {
            let mut policy = input.policy.clone();
            misread(&mut policy);
            decide(&Input { policy: &policy, ..*input }, now)
        };
        assert!(is_caught(&misreading, true, true), "nobody notices a decision that {fault}");
    }
}

#[test]
fn a_decision_that_does_not_look_at_the_target_is_caught() {
    let blind = |input: &Input<'_>, now: Timestamp| {
        let target = match input.target {
            TargetState::Missing => TargetState::Missing,
            TargetState::Workload(_) => TargetState::Workload(Workload::default()),
            TargetState::Autoscaler(_) => TargetState::Autoscaler(Autoscaler::default()),
        };
        decide(&Input { target, ..*input }, now)
    };
    assert!(is_caught(&blind, true, false));
}

#[test]
fn a_decision_that_gives_the_word_to_the_first_rule_due_is_caught() {
    let backwards = |input: &Input<'_>, now: Timestamp| {
        let mut decision = decide(input, now);
        let settings = input.policy.rules.iter().map(|rule| rule.setting);
        let first = settings.zip(&decision.memory.rules).find_map(|(setting, memory)| {
            let superseded = |it: &&almanac_engine::cron_scaling::Execution| {
                it.executed == now && matches!(it.ending, Ending::Superseded { .. })
            };
            memory.executions.iter().find(superseded).map(|_| setting)
        });
        if let (Some(Setting::Replicas(value)), Some(Action::SetReplicas { replicas, .. })) =
            (first, decision.actions.first_mut())
        {
            *replicas = value;
        }
        decision
    };
    assert!(is_caught(&backwards, true, false));
}

#[test]
fn the_books_alone_catch_a_decision_that_carries_firings_out_again_after_a_restart() {
    // It takes what was done in the last minute for not done, as if it had not been remembered.
    let forgetful = |input: &Input<'_>, now: Timestamp| {
        let mut memory = input.memory.cloned();
        if input.target != TargetState::Missing && now.as_second() % 2 == 1 {
            memory.iter_mut().flat_map(|it| &mut it.rules).for_each(|rule| {
                rule.handled = rule.handled.min(now - seconds(60));
            });
        }
        decide(&Input { memory: memory.as_ref(), ..*input }, now)
    };
    assert!(is_caught(&forgetful, false, false));
}

#[test]
fn without_a_fault_nothing_is_caught() {
    assert!(!is_caught(&decide, true, false));
    assert!(!is_caught(&decide, true, true));
    assert!(!is_caught(&decide, false, false));
}
