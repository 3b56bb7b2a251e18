//! Proof that the checker and the model can fail: decisions with one fault each, and the check that
//! must catch each of them.

use almanac_checker::{Fault, prove};
use almanac_engine::metric_scaling::{Decision, Input, Recommendation, TargetState, decide};
use almanac_engine::{Action, Verdict};
use jiff::Timestamp;

use super::properties::{Life, cases};
use crate::support::property::failures;
use crate::support::{NANOSECOND, seconds};

type Spoil = fn(&Input<'_>, Timestamp, &mut Decision);

/// The replicas that are set, and whether every sample is known.
fn current_replicas(input: &Input<'_>) -> (u32, bool) {
    let TargetState::Workload(workload) = input.target else { return (0, false) };
    (workload.replicas.unwrap_or_default(), input.samples.iter().all(Result::is_ok))
}

fn set(input: &Input<'_>, decision: &mut Decision, replicas: u32) {
    let target = input.policy.target.identity().clone();
    decision.actions = vec![Action::SetReplicas { target, replicas }];
}

const FAULTS: [Fault<Spoil>; 22] = [
    ("scale without every sample", "without every sample", |input, _, it| {
        if !current_replicas(input).1 {
            set(input, it, input.policy.bounds.min());
        }
    }),
    ("scale twice", "several things at once", |_, _, it| {
        it.actions.extend(it.actions.first().cloned());
    }),
    ("publish a number", "does Publish", |_, _, it| {
        for action in &mut it.actions {
            *action = Action::Publish { schedule: action.target().clone(), value: 1 };
        }
    }),
    ("scale another workload", "changes Deployment", |_, _, it| {
        for action in &mut it.actions {
            if let Action::SetReplicas { target, .. } = action {
                *target = almanac_fixtures::names::deployment("other");
            }
        }
    }),
    ("exceed the upper bound", "which is outside", |input, _, it| {
        if !it.actions.is_empty() {
            set(input, it, input.policy.bounds.max() + 1);
        }
    }),
    ("go below the lower bound", "which is outside", |input, _, it| {
        if let Some(below) =
            input.policy.bounds.min().checked_sub(1).filter(|_| current_replicas(input).1)
        {
            set(input, it, below);
        }
    }),
    ("set what is set", "again", |input, _, it| {
        let (replicas, is_known) = current_replicas(input);
        if is_known {
            set(input, it, replicas);
        }
    }),
    ("scale up whatever is recommended", "which is in the window", |input, _, it| {
        let (replicas, is_known) = current_replicas(input);
        if is_known {
            set(input, it, replicas + 1);
        }
    }),
    ("scale down whatever is recommended", "which is in the window", |input, _, it| {
        let (replicas, is_known) = current_replicas(input);
        if let Some(fewer) = replicas.checked_sub(1).filter(|_| is_known) {
            set(input, it, fewer);
        }
    }),
    ("scale in a direction that is disabled", "is disabled", |input, _, it| {
        let (replicas, is_known) = current_replicas(input);
        if is_known {
            set(input, it, replicas + 1);
        }
    }),
    ("scale at once to what is recommended", "faster than", |input, _, it| {
        let bounds = input.policy.bounds;
        if let Some(Recommendation { replicas, .. }) = it.memory.recommendations.last()
            && !it.actions.is_empty()
        {
            set(input, it, (*replicas).clamp(bounds.min(), bounds.max()));
        }
    }),
    ("forget the order of recommendations", "the recommendations are not", |_, _, it| {
        it.memory.recommendations.reverse();
    }),
    ("forget the order of scale events", "the scale events are not", |_, _, it| {
        it.memory.scale_events.reverse();
    }),
    ("give every reason the verdict", "reasons have won", |_, _, it| {
        it.reasons.extend(it.reasons.clone());
        it.reasons.iter_mut().for_each(|reason| reason.verdict = Verdict::Won);
    }),
    ("give no reason", "no reason has won", |_, _, it| it.reasons.clear()),
    ("wake now", "which is over", |_, now, it| it.wake_at = Some(now)),
    ("wake a nanosecond late", "before it wakes", |_, _, it| {
        it.wake_at = it.wake_at.map(|at| at + NANOSECOND);
    }),
    ("never wake", "before it wakes", |_, _, it| it.wake_at = None),
    ("poll every second", "nothing changes at", |_, now, it| {
        let tick = now + seconds(1);
        it.wake_at = Some(it.wake_at.map_or(tick, |at| at.min(tick)));
    }),
    ("never scale", "the model sets others", |_, _, it| it.actions.clear()),
    ("forget the recommendations", "the model sets others", |_, _, it| {
        it.memory.recommendations.clear();
    }),
    ("forget the scale events", "the model sets others", |_, _, it| {
        it.memory.scale_events.clear();
    }),
];

#[test]
fn every_fault_is_caught_by_its_check() {
    prove(&["metric_scaling.rs"], &FAULTS, |spoil| {
        let spoil = *spoil;
        failures(300, cases(), move |case| {
            let spoiled = |input: &Input<'_>, now: Timestamp| {
                let mut decision = decide(input, now);
                spoil(input, now, &mut decision);
                decision
            };
            Life::live(&case, &spoiled)
        })
    });
    assert_eq!(failures(300, cases(), |case| Life::live(&case, &decide)).next(), None);
}
