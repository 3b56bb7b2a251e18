//! Properties over random rules, worlds, outcomes and clocks: deterministic, total, exact about waking, stable; each
//! firing is applied at most once and recorded exactly once.
//!
//! Two cases are excluded. If the response to a write, or its record, was lost, only the target shows whether it was
//! applied. While such a write is unresolved, the clock is not set back over it, and no second write is lost.
//! Otherwise an older firing could be applied again over a newer one that is not recorded and is too late. Nor is the
//! clock set back so far that handled firings are dropped, where each firing must be recorded once.

use almanac_checker::check_cron_scaling;
use almanac_engine::cron_scaling::{
    CronRules, Decision, Input, Memory, RuleMemory, TargetState, decide,
};
use almanac_engine::turn::{self, Turn};
use almanac_engine::{Autoscaler, Outcome, Reach, Workload};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::ledger::Ledger;
use super::random::{Case, Fate, Step, cases};
use crate::support::cron::{Rule, Scaling, autoscaler, close, workload};
use crate::support::property::{fail, holds};
use crate::support::{NANOSECOND, seconds};

pub(super) type Decide<'a> = &'a dyn Fn(&Input<'_>, Timestamp) -> Decision;
pub(super) type Close<'a> = &'a dyn Fn(&mut Turn);

/// The life of one object, turn by turn.
pub(super) struct Life<'a> {
    /// Decides in place of the engine.
    decide: Decide<'a>,
    /// Handles a turn after the engine has closed it.
    pub(super) close: Close<'a>,
    pub(super) use_checker: bool,
    scaling: Scaling,
    rules: Vec<Rule>,
    broken: Option<usize>,
    hidden: Option<TargetState<'static>>,
    ledger: Ledger,
    now: Timestamp,
    /// The instant of an applied write whose response or record was lost, until its firing is recorded.
    unknown_since: Option<Timestamp>,
}

impl<'a> Life<'a> {
    pub(super) fn new(case: &Case, decide: Decide<'a>) -> Life<'a> {
        let target = if case.scales_bounds { autoscaler("shop") } else { workload("shop") };
        let mut scaling = Scaling::for_target(target, &case.rules);
        if case.scales_bounds {
            scaling.set_bounds(Some(2), Some(4));
        } else {
            scaling.set_replicas(1);
        }
        Life {
            decide,
            close: &|_| {},
            use_checker: true,
            scaling,
            rules: case.rules.clone(),
            broken: None,
            hidden: None,
            ledger: Ledger::default(),
            now: case.start,
            unknown_since: None,
        }
    }

    pub(super) fn live(&mut self, steps: &[Step]) -> TestCaseResult {
        self.turn(Fate::Done)?;
        for step in steps {
            self.step(step)?;
        }
        Ok(())
    }

    /// Lets everything finish, and balances the ledger.
    pub(super) fn end(&mut self) -> TestCaseResult {
        if self.hidden.is_some() {
            self.hide_or_show();
        }
        self.scaling.find_again();
        self.now = self.now.max(self.ledger.latest.unwrap_or(self.now)) + seconds(61);
        for _ in 0..100 {
            self.turn(Fate::Done)?;
            let rules = self.scaling.memory().map_or(&[][..], |memory| &memory.rules);
            if rules.iter().all(|rule| rule.pending.is_none()) {
                return self.ledger.balance(self.scaling.policy()).map_err(fail);
            }
            self.now += seconds(61);
        }
        Err(fail("there is always something being tried"))
    }

    fn step(&mut self, step: &Step) -> TestCaseResult {
        match step {
            Step::Wake(fate) => {
                // After the clock was set back, or without a wake time, an hour passes.
                self.now = self.scaling.wake_at.unwrap_or(self.now + seconds(3600)).max(self.now);
                self.turn(*fate)
            }
            Step::After(length, nanosecond, fate) => {
                self.now += seconds(*length);
                self.now = Timestamp::new(self.now.as_second(), *nanosecond).expect("within range");
                self.turn(*fate)
            }
            Step::Again(fate) => self.turn(*fate),
            Step::Back(length, fate) => {
                let latest = self.ledger.latest.unwrap_or(self.now);
                let back = (self.now - seconds(*length)).max(latest - seconds(300)).min(self.now);
                self.now = self.unknown_since.map_or(back, |limit| back.max(limit.min(self.now)));
                self.turn(*fate)
            }
            Step::PutRight(length, fate) => {
                self.now -= seconds(*length);
                self.turn(*fate)
            }
            Step::Restart => {
                self.scaling.restart();
                Ok(())
            }
            Step::HideOrShowTarget => {
                self.hide_or_show();
                Ok(())
            }
            Step::LoseOrFindTarget => {
                if self.scaling.reach == Reach::everything() {
                    self.scaling.lose_sight("the API server does not answer");
                } else {
                    self.scaling.find_again();
                }
                Ok(())
            }
            Step::Meddle(value) => {
                match self.scaling.input().target {
                    TargetState::Missing | TargetState::Unreachable(_) => {}
                    TargetState::Workload(_) => self.scaling.set_replicas(*value),
                    TargetState::Autoscaler(_) => {
                        self.scaling.set_bounds(Some(*value), Some(value + 1));
                    }
                }
                Ok(())
            }
            Step::Edit(index, rule) => {
                if let Some(place) = self.rules.get_mut(*index) {
                    *place = Rule { name: place.name.clone(), ..rule.clone() };
                }
                self.rewrite();
                Ok(())
            }
            Step::Reverse => {
                self.rules.reverse();
                self.rewrite();
                Ok(())
            }
            Step::BreakOrFix(index) => {
                let broken = self.broken.take().is_none();
                self.broken = broken.then_some(*index).filter(|it| *it < self.rules.len());
                self.rewrite();
                Ok(())
            }
            Step::LoseState => {
                self.scaling.object().memory = Some(Memory::default());
                Ok(())
            }
        }
    }

    fn rewrite(&mut self) {
        let mut rules = self.rules.clone();
        let unusable = self.broken.map(|index| rules.remove(index).name);
        let unusable: Vec<&str> = unusable.iter().map(|name| &**name).collect();
        self.scaling.edit_with_unusable(&rules, &unusable);
    }

    fn hide_or_show(&mut self) {
        let target = self.scaling.target().identity().clone();
        let world = &mut self.scaling.world;
        match self.hidden.take() {
            Some(TargetState::Workload(it)) => drop(world.objects.workloads.insert(target, it)),
            Some(TargetState::Autoscaler(it)) => drop(world.objects.autoscalers.insert(target, it)),
            _ => {
                let workload = world.objects.workloads.remove(&target).map(TargetState::Workload);
                let autoscaler =
                    world.objects.autoscalers.remove(&target).map(TargetState::Autoscaler);
                self.hidden = workload.or(autoscaler);
            }
        }
    }

    fn turn(&mut self, fate: Fate) -> TestCaseResult {
        let now = self.now;
        let fate = match fate {
            Fate::CrashWithEffect if self.unknown_since.is_some() => Fate::CrashWithoutEffect,
            _ => fate,
        };
        let input = self.scaling.input();
        let decision = (self.decide)(&input, now);
        if self.use_checker {
            let violations = check_cron_scaling(&input, now, &decision);
            prop_assert!(violations.is_empty(), "at {now}: {violations}");
        }
        prop_assert_eq!(&(self.decide)(&input, now), &decision, "it is not deterministic");

        let name = self.scaling.name();
        let mut open = turn::open(&self.scaling.world, &name, &self.scaling.reach, now)
            .ok_or_else(|| fail("it has no turn"))?;
        if let Some(opened) = open.decision_mut().get_mut::<CronRules>() {
            opened.decision = decision.clone();
        }
        let before = self.scaling.memory().cloned();
        let outcomes = self.carry_out(&decision, fate);
        // A crash keeps only the writes of a turn.
        let mut world = self.scaling.world.clone();
        let (turn, violations) = close(open, &mut world, &outcomes, now, self.close);
        if self.use_checker {
            prop_assert!(violations.is_empty(), "at {now}: {violations}");
        }
        if matches!(fate, Fate::CrashWithEffect | Fate::CrashWithoutEffect) {
            self.scaling.restart();
            return Ok(());
        }
        self.scaling.world = world;
        self.scaling.wake_at = turn.wake_at;
        let Some(memory) = self.scaling.memory() else { return Err(fail("it remembers nothing")) };
        self.ledger.turn(before.as_ref(), memory, now);
        let is_tried = |it: &RuleMemory| it.pending.is_some();
        let is_recorded = !memory.rules.iter().any(is_tried);
        self.unknown_since.take_if(|since| is_recorded && *since <= now);
        self.check_stable_until(turn.wake_at)
    }

    fn carry_out(&mut self, decision: &Decision, fate: Fate) -> Vec<Outcome> {
        let Some(action) = decision.actions.first() else { return Vec::new() };
        let is_effective = !matches!(
            fate,
            Fate::Conflict
                | Fate::Refused
                | Fate::Withdrawn
                | Fate::UnknownWithoutEffect
                | Fate::CrashWithoutEffect
        );
        let before = live(&self.scaling);
        if is_effective {
            let outcome = self.scaling.world.apply(action);
            assert_eq!(outcome, Outcome::Done, "what is decided changes something");
        }
        if is_effective && fate != Fate::Unchanged {
            let changed = changed_fields(before, live(&self.scaling));
            self.ledger.write(&decision.memory, &changed);
        }
        if matches!(fate, Fate::UnknownWithEffect | Fate::CrashWithEffect) {
            self.unknown_since = self.unknown_since.max(Some(self.now));
        }
        vec![match fate {
            Fate::Done | Fate::CrashWithEffect => Outcome::Done,
            Fate::Unchanged => Outcome::Unchanged,
            Fate::Conflict => Outcome::Conflict,
            Fate::Withdrawn => Outcome::Withdrawn,
            Fate::Refused | Fate::CrashWithoutEffect => Outcome::Refused("forbidden".into()),
            Fate::UnknownWithEffect | Fate::UnknownWithoutEffect => {
                Outcome::Unknown("the answer was lost".into())
            }
        }]
    }

    /// Checks that a policy has no actions and no records until its wake, and a record at its wake.
    fn check_stable_until(&self, wake_at: Option<Timestamp>) -> TestCaseResult {
        let (now, input) = (self.now, self.scaling.input());
        let again = (self.decide)(&input, now);
        prop_assert_eq!(&again.actions, &[], "it is not stable at {}", now);
        prop_assert_eq!(Some(&again.memory), input.memory, "it is not stable at {}", now);
        prop_assert_eq!(again.wake_at, wake_at, "it wakes at another time");
        let until = wake_at.unwrap_or(now + SignedDuration::from_hours(24 * 400));
        for at in between(now, until) {
            let during_write = (self.decide)(&input, at);
            let is_same = during_write.actions == again.actions
                && during_write.memory == again.memory
                && during_write.reasons == again.reasons;
            prop_assert!(is_same, "something changes at {at}, before it wakes at {wake_at:?}");
        }
        if let Some(wake_at) = wake_at {
            let then = (self.decide)(&input, wake_at);
            let is_same = then.actions == again.actions
                && then.memory == again.memory
                && then.reasons == again.reasons;
            prop_assert!(!is_same, "nothing changes at {wake_at}");
        }
        Ok(())
    }
}

/// Instants after `from` and before `to`, including the last possible one.
fn between(from: Timestamp, to: Timestamp) -> impl Iterator<Item = Timestamp> {
    let length = from.duration_until(to);
    let parts = (1..4).map(move |quarters| from + length / 4 * quarters);
    let edges = [from + NANOSECOND, from + seconds(1), to - NANOSECOND];
    parts.chain(edges).filter(move |at| from < *at && *at < to)
}

/// The replicas of the target, and its bounds.
fn live(scaling: &Scaling) -> [Option<u32>; 3] {
    match scaling.input().target {
        TargetState::Missing | TargetState::Unreachable(_) => [None; 3],
        TargetState::Workload(Workload { replicas, .. }) => [replicas, None, None],
        TargetState::Autoscaler(Autoscaler { min_replicas, max_replicas }) => {
            [None, min_replicas, max_replicas]
        }
    }
}

fn changed_fields(before: [Option<u32>; 3], after: [Option<u32>; 3]) -> Vec<&'static str> {
    let named = ["replicas", "min", "max"].into_iter().zip(before.into_iter().zip(after));
    named.filter(|(_, (before, after))| before != after).map(|(name, _)| name).collect()
}

#[test]
fn each_firing_is_applied_at_most_once_and_recorded_exactly_once() {
    let name = "each_firing_is_applied_at_most_once_and_recorded_exactly_once";
    holds(name, 400, cases(false), |case| {
        let mut life = Life::new(&case, &decide);
        life.live(&case.steps)?;
        life.end()
    });
}

#[test]
fn every_decision_is_valid_after_edits_faults_and_losses() {
    let name = "every_decision_is_valid_after_edits_faults_and_losses";
    holds(name, 400, cases(true), |case| Life::new(&case, &decide).live(&case.steps));
}
