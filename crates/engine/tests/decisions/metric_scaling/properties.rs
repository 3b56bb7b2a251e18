//! Properties over random autoscalers, samples, other writers and clocks: deterministic, total, exact about waking;
//! and equal to an independent model that keeps its whole history.

use almanac_checker::check_metric_scaling;
use almanac_engine::metric_scaling::{
    Amount, Autoscalers, Decision, Input, RatePolicy, ScalingRules, Select, decide, gather,
};
use almanac_engine::{Action, Outcome, Reach, World, turn};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::support::property::{fail, holds};
use crate::support::scaling::{Autoscaler, Scaling, external};
use crate::support::{NANOSECOND, monday, seconds};

#[derive(Clone, Debug)]
pub(super) struct Case {
    bounds: (u32, u32),
    up: ScalingRules,
    down: ScalingRules,
    replicas: u32,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
enum Step {
    /// A number of seconds pass, with turns at the wakes of the autoscaler.
    Wait(u32),
    /// A query has a sample from now on.
    Answer(bool, u32),
    /// Another field manager sets the replicas.
    Set(u32),
    /// A query has no sample.
    Fail(bool),
}

fn rules() -> impl Strategy<Value = ScalingRules> {
    let amount = prop_oneof![
        (1..6_u32).prop_map(Amount::Replicas),
        prop_oneof![Just(10), Just(50), Just(100), 1..150_u32].prop_map(Amount::Percent),
    ];
    let policy = (amount, prop_oneof![Just(15), Just(60), 1..120_u32]);
    let policy = policy.prop_map(|(amount, period_seconds)| RatePolicy { amount, period_seconds });
    let select =
        prop_oneof![4 => Just(Select::Max), 2 => Just(Select::Min), 1 => Just(Select::Disabled)];
    let window = prop_oneof![2 => Just(0_u32), 1 => Just(60), 1 => 0..400_u32];
    (window, select, prop::collection::vec(policy, 0..3)).prop_map(
        |(window_seconds, select, policies)| ScalingRules {
            window_seconds,
            select,
            policies: policies.into(),
        },
    )
}

pub(super) fn cases() -> impl Strategy<Value = Case> {
    let step = prop_oneof![
        4 => prop_oneof![Just(10_u32), Just(60), 1..400_u32].prop_map(Step::Wait),
        4 => (any::<bool>(), 0..30_u32).prop_map(|(query, answer)| Step::Answer(query, answer)),
        1 => (0..30_u32).prop_map(Step::Set),
        1 => any::<bool>().prop_map(Step::Fail),
    ];
    let bounds = (0..6_u32, 0..30_u32).prop_map(|(min, more)| (min, min + more));
    let steps = prop::collection::vec(step, 1..30);
    (bounds, rules(), rules(), 0..30_u32, steps)
        .prop_map(|(bounds, up, down, replicas, steps)| Case { bounds, up, down, replicas, steps })
}

pub(super) type Decide<'a> = &'a dyn Fn(&Input<'_>, Timestamp) -> Decision;

/// All recommendations and changes so far.
#[derive(Default)]
struct Model {
    recommended: Vec<(Timestamp, u32)>,
    scaled: Vec<(Timestamp, i64)>,
}

impl Model {
    /// The desired replicas, as the documentation defines them.
    fn wanted(&mut self, case: &Case, answers: [u32; 2], from: u32, now: Timestamp) -> u32 {
        let (largest, smallest) = (answers[0].max(answers[1]), answers[0].min(answers[1]));
        let rules = if largest > from { &case.up } else { &case.down };
        let recommended = if rules.select == Select::Min { smallest } else { largest };
        self.recommended.push((now, recommended));
        let all = &self.recommended;
        let held = |window: u32| {
            let begin = now - seconds(window.into());
            let holds = |index: usize| all.get(index + 1).is_none_or(|(until, _)| *until > begin);
            let held = all.iter().enumerate().filter(|(index, _)| holds(*index));
            held.map(|(_, (_, replicas))| *replicas).collect::<Vec<_>>()
        };
        let least = held(case.up.window_seconds).into_iter().min().unwrap_or(recommended);
        let most = held(case.down.window_seconds).into_iter().max().unwrap_or(recommended);
        let stable = if from < least { least } else { from.min(most) };
        let limited = self.limited(case, from, stable, now);
        limited.clamp(case.bounds.0, case.bounds.1)
    }

    fn limited(&self, case: &Case, from: u32, stable: u32, now: Timestamp) -> u32 {
        let is_up = stable > from;
        let rules = if is_up { &case.up } else { &case.down };
        if stable == from || rules.select == Select::Disabled {
            return from;
        }
        let allowed = |to: u32| {
            let mut all = rules.policies.iter().map(|policy| {
                let begin = now - seconds(policy.period_seconds.into());
                let since = self.scaled.iter().filter(|(at, _)| *at > begin);
                let start = i64::from(from) - since.map(|(_, change)| change).sum::<i64>();
                let change = if is_up { i64::from(to) - start } else { start - i64::from(to) };
                match policy.amount {
                    Amount::Replicas(count) => change <= i64::from(count),
                    // Less than one replica more than this percentage.
                    Amount::Percent(percent) => {
                        change * 100 < start.max(0) * i64::from(percent) + 100
                    }
                }
            });
            let all: Vec<bool> = all.by_ref().collect();
            let is_most = rules.select == Select::Max;
            all.is_empty() || if is_most { all.contains(&true) } else { !all.contains(&false) }
        };
        let steps: Vec<u32> =
            if is_up { (from..=stable).rev().collect() } else { (stable..=from).collect() };
        steps.into_iter().find(|to| allowed(*to)).unwrap_or(from)
    }
}

pub(super) struct Life<'a> {
    case: &'a Case,
    decide: Decide<'a>,
    scaling: Scaling,
    model: Model,
    is_fed_back: bool,
    is_put_off: bool,
    answers: [Option<u32>; 2],
    now: Timestamp,
    last: Option<WrittenReplicas>,
}

/// The last set value, its instant, and the number of consecutive replacements of the previous one.
#[derive(Clone, Copy)]
struct WrittenReplicas {
    at: Timestamp,
    replicas: u32,
    again: u32,
}

impl WrittenReplicas {
    /// The time for which nothing is set against another writer, beyond a query period.
    fn pause(self) -> i64 {
        if self.again < 3 { 0 } else { (60 << (self.again - 3).min(10)).min(1200) }
    }

    fn puts_off(self, from: u32, expected: u32, now: Timestamp) -> bool {
        let is_same = self.replicas == expected;
        let is_contested = self.again >= 3 && self.replicas != from;
        from != expected
            && (is_same || is_contested)
            && now < self.at + seconds(self.pause().max(10))
    }

    fn then(
        before: Option<WrittenReplicas>,
        from: u32,
        replicas: u32,
        now: Timestamp,
    ) -> WrittenReplicas {
        let again = before.map_or(0, |before| {
            let is_over = now > before.at + seconds(2 * before.pause() + 600);
            let replaced = u32::from(before.replicas != from);
            if is_over { replaced } else { before.again + replaced }
        });
        WrittenReplicas { at: now, replicas, again }
    }
}

impl Life<'_> {
    pub(super) fn live(case: &Case, decide: Decide<'_>) -> TestCaseResult {
        let (min, max) = case.bounds;
        let policy =
            Autoscaler::for_deployment("shop", min, max).by(external("a")).by(external("b"));
        let policy = policy.up(case.up.clone()).down(case.down.clone());
        // Which of two recommendations counts may depend on what is set, so that scaling feeds back. That is a
        // rule of its own; here both then say the same.
        let is_fed_back = [&case.up, &case.down].iter().any(|it| it.select == Select::Min);
        let scaling = Scaling::new(policy, case.replicas);
        let (model, now) = (Model::default(), monday("09:00"));
        let mut life = Life {
            case,
            decide,
            scaling,
            model,
            is_fed_back,
            is_put_off: false,
            answers: [None; 2],
            now,
            last: None,
        };
        for step in &case.steps {
            life.step(step)?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> TestCaseResult {
        let name = |query: bool| if query { "b" } else { "a" };
        match step {
            Step::Answer(query, answer) => {
                for query in [*query, if self.is_fed_back { !*query } else { *query }] {
                    self.answers[usize::from(query)] = Some(*answer);
                    self.scaling.answer(name(query), (*answer).into());
                }
            }
            Step::Fail(query) => {
                self.answers[usize::from(*query)] = None;
                let problem = almanac_engine::metric_scaling::SampleProblem::NoSample;
                self.scaling.sample(name(*query), Err(problem));
            }
            Step::Set(replicas) => self.scaling.set(*replicas),
            Step::Wait(wait) => {
                let end = self.now + SignedDuration::from_secs((*wait).into());
                for _ in 0..1_000 {
                    let wake_at = self.turn()?;
                    let until = wake_at.filter(|at| *at < end).unwrap_or(end);
                    self.nothing_changes_before(until)?;
                    self.now = until;
                    if until == end {
                        return Ok(());
                    }
                    // A delayed change may no longer be desired by then, and a change desired by then may be delayed.
                    let then = self.decision(self.now)?;
                    let before = self.scaling.memory().and_then(|memory| memory.contest.clone());
                    let is_contested = self.is_put_off
                        || then.memory.contest.is_some()
                        || then.memory.contest != before;
                    let is_due = is_contested || !then.actions.is_empty();
                    prop_assert!(is_due, "nothing changes at {}, when it wakes", self.now);
                }
                return Err(fail("it never rests"));
            }
        }
        self.turn().map(drop)
    }

    fn decision(&self, now: Timestamp) -> Result<Decision, TestCaseError> {
        let reach = Reach::everything();
        let input = gather(self.scaling.world.view(), &self.scaling.name.identity, &reach, now)
            .ok_or_else(|| fail("it cannot be gathered"))?;
        let decision = (self.decide)(&input, now);
        let violations = check_metric_scaling(&input, now, &decision);
        prop_assert!(violations.is_empty(), "at {now}: {violations}");
        prop_assert_eq!(&(self.decide)(&input, now), &decision, "it is not deterministic");
        Ok(decision)
    }

    fn nothing_changes_before(&self, until: Timestamp) -> TestCaseResult {
        let length = self.now.duration_until(until);
        let between = (1..8).map(|eighths| self.now + length / 8 * eighths);
        for at in between.chain([until - NANOSECOND]).filter(|at| *at > self.now) {
            let actions = self.decision(at)?.actions;
            prop_assert!(actions.is_empty(), "{actions:?} at {at}, before it wakes at {until}");
        }
        Ok(())
    }

    /// One turn, compared with the model; when it wants to be woken.
    fn turn(&mut self) -> Result<Option<Timestamp>, TestCaseError> {
        let now = self.now;
        let from = self.scaling.replicas().unwrap();
        let decision = self.decision(now)?;
        let reach = Reach::everything();
        let mut open = turn::open(&self.scaling.world, &self.scaling.name, &reach, now)
            .ok_or_else(|| fail("it has no turn"))?;
        if let Some(opened) = open.decision_mut().get_mut::<Autoscalers>() {
            opened.decision = decision;
        }
        let expected = match self.answers {
            [Some(a), Some(b)] => self.model.wanted(self.case, [a, b], from, now),
            _ => from,
        };
        let is_put_off = self.last.is_some_and(|last| last.puts_off(from, expected, now));
        self.is_put_off = is_put_off;
        let expected = if is_put_off { from } else { expected };
        let set = open.actions().iter().find_map(|action| match action {
            Action::SetReplicas { replicas, .. } => Some(*replicas),
            _ => None,
        });
        let found = set.unwrap_or(from);
        prop_assert_eq!(found, expected, "the model sets others at {} from {}", now, from);
        if found != from {
            self.model.scaled.push((now, i64::from(found) - i64::from(from)));
            self.last = Some(WrittenReplicas::then(self.last, from, found, now));
        }
        let world: &mut World = &mut self.scaling.world;
        let outcomes: Vec<Outcome> = open.actions().iter().map(|it| world.apply(it)).collect();
        let turn = open.close(world, outcomes, now);
        Ok(turn.wake_at)
    }
}

#[test]
fn every_autoscaler_scales_exactly_like_a_model_with_the_full_history() {
    let name = "every_autoscaler_scales_exactly_like_a_model_with_the_full_history";
    holds(name, 300, cases(), |case| Life::live(&case, &decide));
}
