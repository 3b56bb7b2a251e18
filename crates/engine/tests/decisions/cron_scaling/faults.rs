//! Proof that the checker and the properties can fail: decisions with one fault each, and what
//! must notice them.

use almanac_engine::cron_scaling::{
    Applied, CronScaling, Decision, DesiredScale, Execution, FiringOutcome, Input, Recorded,
    TargetState, decide,
};
use almanac_engine::turn::Turn;
use almanac_engine::{Action, Autoscaler, Value, Workload};
use jiff::Timestamp;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::properties::{Close, Decide, Life};
use super::random::cases;
use crate::support::{NANOSECOND, seconds};

/// Runs random lives with the given functions to decide and to close turns; returns the first violation.
fn live(
    decide: Decide<'_>,
    close: Close<'_>,
    use_checker: bool,
    edits: bool,
) -> Result<(), String> {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let config =
        Config { cases: 300, failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
    let life = |case: super::random::Case| {
        let mut life = Life::new(&case, decide);
        (life.use_checker, life.close) = (use_checker, close);
        life.live(&case.steps)?;
        if edits { Ok(()) } else { life.end() }
    };
    let lives = TestRunner::new_with_rng(config, rng).run(&cases(edits), life);
    lives.map_err(|fault| fault.to_string())
}

fn is_caught(decide: Decide<'_>, use_checker: bool, edits: bool) -> bool {
    live(decide, &|_| {}, use_checker, edits).is_err()
}

/// A fault in a decision.
type Spoil = fn(&mut Decision, Timestamp);

const FAULTY_DECISIONS: [(&str, Spoil); 17] = [
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
            let is_kept = |it: &&Execution| {
                !matches!(it.ending, FiringOutcome::Superseded { .. }) || it.executed() < now
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
    ("forgets to record what has ended", |it, _| it.recorded.clear()),
    ("records what has ended twice", |it, _| it.recorded.extend(it.recorded.first().cloned())),
    ("records in the wrong order", |it, _| it.recorded.reverse()),
    ("forgets to record that an attempt failed", |it, _| {
        it.recorded.retain(|it| !matches!(it, Recorded::AttemptFailed { .. }));
    }),
];

/// A fault in the result of a turn.
type SpoilTurn = fn(&mut Turn);

const FAULTY_TURNS: [(&str, SpoilTurn); 9] = [
    ("forgets to record what was done", |it| drop(it.recorded.pop())),
    ("records what was done twice", |it| it.recorded.extend(it.recorded.last().cloned())),
    ("records in the wrong order", |it| it.recorded.reverse()),
    ("forgets what it has set", |it| it.effects.clear()),
    ("sets what it has set twice", |it| it.effects.extend(it.effects.first().cloned())),
    ("has set another value", |it| {
        it.effects.iter_mut().for_each(|effect| effect.value = Value::Number(77));
    }),
    ("wakes a nanosecond late", |it| it.wake_at = it.wake_at.map(|at| at + NANOSECOND)),
    ("never wakes again", |it| it.wake_at = None),
    ("has done something else", |it| drop(it.done.pop())),
];

#[test]
fn every_fault_in_the_result_of_a_turn_is_caught() {
    for (fault, spoil) in FAULTY_TURNS {
        assert!(
            live(&decide, &spoil, true, false).is_err(),
            "no check notices a turn that {fault}"
        );
    }
}

/// A fault in the reading of the policy.
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
    ("applies what another rule sets", |it| {
        if let [first, .., last] = &mut *it.rules {
            std::mem::swap(&mut first.desired, &mut last.desired);
        }
    }),
];

#[test]
fn every_fault_in_a_decision_is_caught() {
    for (fault, spoil) in FAULTY_DECISIONS {
        let faulty = |input: &Input<'_>, now: Timestamp| {
            let mut decision = decide(input, now);
            spoil(&mut decision, now);
            decision
        };
        assert!(is_caught(&faulty, true, false), "no check notices a decision that {fault}");
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
        assert!(is_caught(&misreading, true, true), "no check notices a decision that {fault}");
    }
}

#[test]
fn a_decision_that_ignores_the_target_is_caught() {
    let blind = |input: &Input<'_>, now: Timestamp| {
        let target = match input.target {
            TargetState::Missing | TargetState::Unreachable(_) => input.target,
            TargetState::Workload(_) => TargetState::Workload(Workload::default()),
            TargetState::Autoscaler(_) => TargetState::Autoscaler(Autoscaler::default()),
        };
        decide(&Input { target, ..*input }, now)
    };
    assert!(is_caught(&blind, true, false));
}

#[test]
fn a_decision_in_which_the_first_due_rule_wins_is_caught() {
    let backwards = |input: &Input<'_>, now: Timestamp| {
        let mut decision = decide(input, now);
        let settings = input.policy.rules.iter().map(|rule| rule.desired);
        let first = settings.zip(&decision.memory.rules).find_map(|(desired, memory)| {
            let superseded = |it: &&Execution| {
                it.executed() == now && matches!(it.ending, FiringOutcome::Superseded { .. })
            };
            memory.executions.iter().find(superseded).map(|_| desired)
        });
        if let (Some(DesiredScale::Replicas(value)), Some(Action::SetReplicas { replicas, .. })) =
            (first, decision.actions.first_mut())
        {
            *replicas = value;
        }
        decision
    };
    assert!(is_caught(&backwards, true, false));
}

#[test]
fn a_decision_that_writes_an_unreachable_target_is_caught() {
    let reckless = |input: &Input<'_>, now: Timestamp| {
        let target = match input.target {
            TargetState::Unreachable(_) => TargetState::Workload(Workload::default()),
            other => other,
        };
        decide(&Input { target, ..*input }, now)
    };
    assert!(is_caught(&reckless, true, false));
}

#[test]
fn a_decision_that_treats_an_unreachable_target_as_missing_is_caught() {
    let hasty = |input: &Input<'_>, now: Timestamp| {
        let target = match input.target {
            TargetState::Unreachable(_) => TargetState::Missing,
            other => other,
        };
        decide(&Input { target, ..*input }, now)
    };
    assert!(is_caught(&hasty, true, false));
}

#[test]
fn a_decision_that_trusts_a_clock_that_was_ahead_is_caught() {
    let believing = |input: &Input<'_>, now: Timestamp| {
        let mut decision = decide(input, now);
        let known = input.memory.map_or(&[][..], |memory| &memory.rules);
        for rule in &mut decision.memory.rules {
            let before = known.iter().find(|it| it.name == rule.name);
            rule.handled = rule.handled.max(before.map_or(now, |it| it.handled));
        }
        decision.recorded.retain(|it| !matches!(it, Recorded::ClockWasAhead { .. }));
        decision
    };
    assert!(is_caught(&believing, true, true));
}

/// The lower bound of a rule that is superseded at `now`, if it is above the current upper bound.
fn pushing_bound(input: &Input<'_>, decision: &Decision, now: Timestamp) -> Option<u32> {
    let TargetState::Autoscaler(live) = input.target else { return None };
    decision.recorded.iter().find_map(|it| {
        let Recorded::Ended { rule, execution } = it else { return None };
        let is_superseded =
            matches!(&execution.ending, FiringOutcome::Superseded { by } if by != rule);
        let rule = input.policy.rules.iter().find(|it| it.name == *rule);
        let desired = rule.filter(|_| is_superseded && execution.executed() == now)?.desired;
        let DesiredScale::Bounds(bounds) = desired else { return None };
        bounds.min().filter(|min| live.max_replicas.is_some_and(|max| *min > max))
    })
}

#[test]
fn a_superseded_firing_that_still_moves_the_other_bound_is_caught() {
    let pushy = |input: &Input<'_>, now: Timestamp| {
        let mut decision = decide(input, now);
        let Some(bound) = pushing_bound(input, &decision, now) else { return decision };
        if let [Action::SetBounds { max: max @ None, .. }] = &mut decision.actions[..] {
            *max = Some(bound);
            let pending = decision.memory.rules.iter_mut().filter_map(|it| it.pending.as_mut());
            for applying in pending.filter_map(|it| it.applying.as_mut()) {
                *applying = Applied::bounds(applying.min(), Some(bound), true);
            }
        }
        decision
    };
    assert!(is_caught(&pushy, true, false));
}

#[test]
fn a_superseded_firing_reported_as_having_set_its_field_is_caught() {
    let boastful = |input: &Input<'_>, now: Timestamp| {
        let mut decision = decide(input, now);
        for (rule, memory) in input.policy.rules.iter().zip(&mut decision.memory.rules) {
            let own = match rule.desired {
                DesiredScale::Replicas(replicas) => Applied::Replicas(replicas),
                DesiredScale::Bounds(bounds) => Applied::bounds(bounds.min(), bounds.max(), false),
            };
            let boast = |it: &mut Execution| {
                if it.executed() == now && matches!(it.ending, FiringOutcome::Superseded { .. }) {
                    it.ending = FiringOutcome::Done(own);
                }
            };
            let mut executions = memory.executions.to_vec();
            executions.iter_mut().for_each(boast);
            memory.executions = executions.into();
            for one in &mut decision.recorded {
                if let Recorded::Ended { rule: name, execution } = one
                    && *name == rule.name
                {
                    boast(execution);
                }
            }
        }
        decision
    };
    assert!(is_caught(&boastful, true, false));
}

#[test]
fn the_ledger_alone_catches_firings_applied_again_after_a_restart() {
    // The fault treats the firings of the last minute as not applied, as if they had not been recorded.
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
    for (use_checker, edits) in [(true, false), (true, true), (false, false)] {
        live(&decide, &|_| {}, use_checker, edits).unwrap();
    }
}
