//! A world with one object of cron rules, and its target.

use almanac_checker::{ClosedTurn, Violations, check_cron_scaling, check_cron_settled};
use almanac_engine::cron_scaling::{
    self, Applied, CronRules, CronScaling, Execution, FiringOutcome, Input, Memory, RuleMemory,
    gather, next_firing,
};
use almanac_engine::turn::{self, OpenTurn, Turn};
use almanac_engine::{
    Action, Autoscaler, Family, Identity, Outcome, PolicyName, PolicyObject, Reach, Target,
    Unreachable, Workload, World,
};
use almanac_fixtures::names;
use jiff::Timestamp;

use crate::support::{decision_of, monday};

pub(crate) use almanac_fixtures::names::{autoscaler, workload};
pub(crate) use almanac_fixtures::rules::{Rule, bounds, checked, rule};

/// Closes a turn in a world; returns its result, and the violations.
pub(crate) fn close(
    open: OpenTurn,
    world: &mut World,
    outcomes: &[Outcome],
    now: Timestamp,
    spoil: &dyn Fn(&mut Turn),
) -> (Turn, Violations) {
    let decided = open.decision().get::<CronRules>().expect("a turn of cron rules").clone();
    let (identity, opened_at) = (open.policy().identity.clone(), open.at());
    let mut turn = open.close(world, outcomes.to_vec(), now);
    spoil(&mut turn);
    let memory = world.cron_scaling.policies[&identity].memory.as_ref().unwrap();
    let violations = check_cron_settled(&ClosedTurn {
        policy: &decided.policy,
        opened_at,
        decision: &decided.decision,
        outcomes,
        closed_at: now,
        turn: &turn,
        memory,
        world,
    });
    (turn, violations)
}

/// An object of rules in a world of its own.
#[derive(Clone)]
pub(crate) struct Scaling {
    pub(crate) world: World,
    pub(crate) identity: Identity,
    /// The objects that could not be fetched before a turn.
    pub(crate) reach: Reach,
    /// The actions of the last turn.
    pub(crate) written: Vec<Action>,
    /// The last turn.
    pub(crate) last: Option<Turn>,
    pub(crate) wake_at: Option<Timestamp>,
}

/// The rule `r`, which sets five replicas at minute 3 of every hour, after a turn at 09:00 with one replica.
pub(crate) fn hourly() -> Scaling {
    Scaling::of_workload(1, &[rule("r", "3 * * * *", 5)]).turned("09:00")
}

impl Scaling {
    /// Rules of an existing Deployment with this number of replicas.
    pub(crate) fn of_workload(replicas: u32, rules: &[Rule]) -> Scaling {
        let mut scaling = Scaling::for_target(workload("shop"), rules);
        scaling.set_replicas(replicas);
        scaling
    }

    /// Rules of an existing autoscaler with these bounds.
    pub(crate) fn of_autoscaler(min: u32, max: u32, rules: &[Rule]) -> Scaling {
        let mut scaling = Scaling::for_target(autoscaler("shop"), rules);
        scaling.set_bounds(Some(min), Some(max));
        scaling
    }

    /// Rules of a missing target.
    pub(crate) fn for_target(target: Target, rules: &[Rule]) -> Scaling {
        let identity = names::cron_federated_hpa("shop").identity;
        let mut world = World::default();
        let object = PolicyObject::new(checked(target, rules, &[]));
        world.cron_scaling.policies.insert(identity.clone(), object);
        let reach = Reach::everything();
        Scaling { world, identity, reach, written: Vec::new(), last: None, wake_at: None }
    }

    pub(crate) fn created(mut self, at: Timestamp) -> Scaling {
        self.object().created = Some(at);
        self
    }

    /// Runs a checked turn at this time on Monday, in which every write succeeds.
    pub(crate) fn turned(mut self, at: &str) -> Scaling {
        self.turn(monday(at));
        self
    }

    pub(crate) fn object(&mut self) -> &mut PolicyObject<CronScaling, Memory> {
        self.world.cron_scaling.policies.get_mut(&self.identity).unwrap()
    }

    pub(crate) fn name(&self) -> PolicyName {
        PolicyName::new(Family::CronScaling, self.identity.clone())
    }

    pub(crate) fn policy(&self) -> &CronScaling {
        self.world.cron_scaling.policies[&self.identity].policy.as_ref().unwrap()
    }

    pub(crate) fn target(&self) -> Target {
        self.policy().target.clone()
    }

    pub(crate) fn input(&self) -> Input<'_> {
        gather(self.world.view(), &self.identity, &self.reach).unwrap()
    }

    /// A user edits the rules.
    pub(crate) fn edit(&mut self, rules: &[Rule]) {
        self.edit_with_unusable(rules, &[]);
    }

    pub(crate) fn edit_with_unusable(&mut self, rules: &[Rule], unusable: &[&str]) {
        let target = self.target();
        self.object().policy = Some(checked(target, rules, unusable).into());
    }

    /// A user sets another target for the rules.
    pub(crate) fn retarget(&mut self, target: Target, rules: &[Rule]) {
        self.object().policy = Some(checked(target, rules, &[]).into());
    }

    /// The target cannot be fetched until a test makes it available again.
    pub(crate) fn lose_sight(&mut self, why: &str) {
        let target = self.target().identity().clone();
        self.reach = Reach::without(target, Unreachable::Unknown(why.into()));
    }

    pub(crate) fn find_again(&mut self) {
        self.reach = Reach::everything();
    }

    pub(crate) fn set_replicas(&mut self, replicas: u32) {
        let target = self.target().identity().clone();
        self.world
            .objects
            .workloads
            .insert(target, Workload { replicas: Some(replicas), ..Workload::default() });
    }

    pub(crate) fn set_bounds(&mut self, min: Option<u32>, max: Option<u32>) {
        let target = self.target().identity().clone();
        let autoscaler = Autoscaler { min_replicas: min, max_replicas: max };
        self.world.objects.autoscalers.insert(target, autoscaler);
    }

    pub(crate) fn replicas(&self) -> Option<u32> {
        self.world.objects.workloads[self.target().identity()].replicas
    }

    pub(crate) fn live_bounds(&self) -> (Option<u32>, Option<u32>) {
        let autoscaler = self.world.objects.autoscalers[self.target().identity()];
        (autoscaler.min_replicas, autoscaler.max_replicas)
    }

    /// The process restarts: actions in progress are lost.
    pub(crate) fn restart(&mut self) {
        if let Some(memory) = &mut self.object().memory {
            memory.rules.iter_mut().for_each(|rule| rule.pending = None);
        }
    }

    /// Opens a turn, and checks the decision.
    pub(crate) fn open(&self, now: Timestamp) -> OpenTurn {
        let open = turn::open(&self.world, &self.name(), &self.reach, now).unwrap();
        check_cron_scaling(&self.input(), now, decision_of::<CronRules>(&open)).stop();
        open
    }

    /// Runs one checked turn in which every write succeeds. Returns whether anything was written.
    pub(crate) fn turn(&mut self, now: Timestamp) -> bool {
        self.turn_with(now, World::apply)
    }

    /// Runs one checked turn whose writes have no effect and this outcome.
    pub(crate) fn failed_turn(&mut self, now: Timestamp, outcome: &Outcome) -> bool {
        self.turn_with(now, |_, _| outcome.clone())
    }

    pub(crate) fn turn_with(
        &mut self,
        now: Timestamp,
        mut apply: impl FnMut(&mut World, &Action) -> Outcome,
    ) -> bool {
        let open = self.open(now);
        let outcomes: Vec<Outcome> =
            open.actions().iter().map(|action| apply(&mut self.world, action)).collect();
        self.written = open.actions().to_vec();
        let (turn, violations) = close(open, &mut self.world, &outcomes, now, &|_| {});
        violations.stop();
        self.wake_at = turn.wake_at;
        self.last = Some(turn);
        !self.written.is_empty()
    }

    /// Runs one turn that skips everything due until then.
    pub(crate) fn skip_stopped(&mut self, until: Timestamp, now: Timestamp) {
        let name = self.name();
        let turn = turn::skip_stopped(&mut self.world, &name, until, now).unwrap();
        self.wake_at = turn.wake_at;
        self.last = Some(turn);
    }

    /// Runs the due turns, up to and including `to`, and returns their instants.
    pub(crate) fn run_until(&mut self, to: Timestamp) -> Vec<Timestamp> {
        let mut turns = Vec::new();
        while let Some(at) = self.wake_at.filter(|at| *at <= to) {
            self.turn(at);
            turns.push(at);
        }
        turns
    }

    pub(crate) fn memory(&self) -> Option<&Memory> {
        self.world.cron_scaling.policies[&self.identity].memory.as_ref()
    }

    pub(crate) fn rule_memory(&self, name: &str) -> &RuleMemory {
        let rules = &self.memory().expect("a completed turn").rules;
        rules.iter().find(|it| *it.name == *name).unwrap_or_else(|| panic!("no memory of {name}"))
    }

    /// A rule's history, newest first, one line for each execution: `09:00:00 done replicas 5`.
    pub(crate) fn history(&self, name: &str) -> Vec<String> {
        self.rule_memory(name).executions.iter().map(line).collect()
    }

    pub(crate) fn next_of(&self, name: &str, now: Timestamp) -> Option<Timestamp> {
        let rule = self.policy().rules.iter().find(|it| *it.name == *name).unwrap();
        next_firing(rule, self.rule_memory(name), now)
    }

    /// The whole chain of reasons as lines for users.
    pub(crate) fn explained(&self, now: Timestamp) -> Vec<String> {
        let reasons = cron_scaling::explain(&self.input(), now);
        reasons.iter().map(|reason| cron_scaling::render(self.policy(), reason)).collect()
    }
}

fn line(execution: &Execution) -> String {
    let at = execution.scheduled().strftime("%H:%M:%S");
    match &execution.ending {
        FiringOutcome::Done(applied) => format!("{at} done {}", applied_line(*applied)),
        FiringOutcome::Failed { attempts, message } => {
            format!("{at} failed after {attempts}: {message}")
        }
        FiringOutcome::Missed => format!("{at} missed by {} s", execution.later().as_secs()),
        FiringOutcome::Superseded { by } => format!("{at} superseded by {by}"),
        FiringOutcome::Stopped => format!("{at} stopped"),
    }
}

fn applied_line(applied: Applied) -> String {
    let fields = [("replicas", applied.replicas()), ("min", applied.min()), ("max", applied.max())];
    let set = fields.iter().filter_map(|(name, value)| Some(format!("{name} {}", (*value)?)));
    let moved = applied.moved_other_bound().then(|| "moved".to_owned());
    set.chain(moved).collect::<Vec<_>>().join(" ")
}
