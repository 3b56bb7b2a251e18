//! A world with one object of cron rules in it, and the target it scales.

use almanac_calendar::{Cron, Zone};
use almanac_checker::{check_cron_scaling, check_cron_settled};
use almanac_engine::cron_scaling::{
    self, Applied, Because, Bounds, CronRule, CronScaling, Ending, Execution, Input, Memory,
    RuleMemory, Setting, Target, UnusableRule, decide, gather, next_firing, settle, wake_at,
};
use almanac_engine::{
    Action, Autoscaler, Decision, Fingerprint, Identity, Outcome, PolicyObject, Workload, World,
};
use jiff::Timestamp;

use super::engine_turn;

/// Decides, and checks what was decided.
pub(crate) fn decide_checked(input: &Input<'_>, now: Timestamp) -> Decision<Because, Memory> {
    let decision = decide(input, now);
    check_cron_scaling(input, now, &decision).stop();
    decision
}

/// A rule as a user writes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) cron: String,
    pub(crate) zone: String,
    pub(crate) suspended: bool,
    pub(crate) setting: Setting,
    pub(crate) delay: u32,
    pub(crate) keeps: (u8, u8),
}

/// A rule in UTC that sets replicas, may be 300 seconds late and keeps 3 executions of each kind.
pub(crate) fn rule(name: &str, cron: &str, replicas: u32) -> Rule {
    Rule {
        name: name.to_owned(),
        cron: cron.to_owned(),
        zone: "UTC".to_owned(),
        suspended: false,
        setting: Setting::Replicas(replicas),
        delay: 300,
        keeps: (3, 3),
    }
}

/// The same for bounds.
pub(crate) fn bounds(name: &str, cron: &str, min: Option<u32>, max: Option<u32>) -> Rule {
    let setting = Setting::Bounds(Bounds::new(min, max).unwrap());
    Rule { setting, ..rule(name, cron, 0) }
}

impl Rule {
    pub(crate) fn zone(self, zone: &str) -> Rule {
        Rule { zone: zone.to_owned(), ..self }
    }

    pub(crate) fn suspended(self) -> Rule {
        Rule { suspended: true, ..self }
    }

    pub(crate) fn delay(self, seconds: u32) -> Rule {
        Rule { delay: seconds, ..self }
    }

    pub(crate) fn keeps(self, successes: u8, failures: u8) -> Rule {
        Rule { keeps: (successes, failures), ..self }
    }

    /// The checked rule, as the API layer makes it.
    pub(crate) fn checked(&self, position: usize, target: &Target) -> CronRule {
        let suspended = self.suspended.to_string();
        let setting = format!("{:?}", self.setting);
        let target = target.identity().to_string();
        CronRule {
            name: self.name.as_str().into(),
            position: u32::try_from(position).unwrap(),
            firings: Cron::parse(&self.cron).unwrap().in_zone(Zone::named(&self.zone).unwrap()),
            suspended: self.suspended,
            setting: self.setting,
            max_delay_seconds: self.delay,
            successful_history_limit: self.keeps.0,
            failed_history_limit: self.keeps.1,
            fingerprint: Fingerprint::of([
                &*self.cron,
                &*self.zone,
                &*suspended,
                &*setting,
                &*target,
            ]),
        }
    }
}

pub(crate) fn workload(name: &str) -> Target {
    Target::Workload(Identity::new("apps", "Deployment", "default", name))
}

pub(crate) fn autoscaler(name: &str) -> Target {
    Target::Autoscaler(Identity::new("autoscaling.karmada.io", "FederatedHPA", "default", name))
}

/// An object of rules in a world of its own.
#[derive(Clone)]
pub(crate) struct Scaling {
    pub(crate) world: World,
    pub(crate) identity: Identity,
    /// What the actions of the last turn were.
    pub(crate) written: Vec<Action>,
    pub(crate) wake_at: Option<Timestamp>,
}

impl Scaling {
    /// Rules of a deployment that is there, with as many replicas.
    pub(crate) fn of_workload(replicas: u32, rules: &[Rule]) -> Scaling {
        let mut scaling = Scaling::of(workload("shop"), rules);
        scaling.set_replicas(replicas);
        scaling
    }

    /// Rules of an autoscaler that is there, with these bounds.
    pub(crate) fn of_autoscaler(min: u32, max: u32, rules: &[Rule]) -> Scaling {
        let mut scaling = Scaling::of(autoscaler("shop"), rules);
        scaling.set_bounds(Some(min), Some(max));
        scaling
    }

    /// Rules of a target that is not there.
    pub(crate) fn of(target: Target, rules: &[Rule]) -> Scaling {
        let identity =
            Identity::new("autoscaling.karmada.io", "CronFederatedHPA", "default", "shop");
        let mut world = World::default();
        let policy = checked(target, rules, &[]);
        let object = PolicyObject { policy, created: None, memory: None };
        world.cron_scalings.insert(identity.clone(), object);
        Scaling { world, identity, written: Vec::new(), wake_at: None }
    }

    pub(crate) fn created(mut self, at: Timestamp) -> Scaling {
        self.object().created = Some(at);
        self
    }

    pub(crate) fn object(&mut self) -> &mut PolicyObject<CronScaling, Memory> {
        self.world.cron_scalings.get_mut(&self.identity).unwrap()
    }

    pub(crate) fn policy(&self) -> &CronScaling {
        &self.world.cron_scalings[&self.identity].policy
    }

    pub(crate) fn target(&self) -> Target {
        self.policy().target.clone()
    }

    pub(crate) fn input(&self) -> Input<'_> {
        gather(&self.world, &self.identity).unwrap()
    }

    /// Somebody edits the rules.
    pub(crate) fn edit(&mut self, rules: &[Rule]) {
        self.edit_with_unusable(rules, &[]);
    }

    pub(crate) fn edit_with_unusable(&mut self, rules: &[Rule], unusable: &[&str]) {
        let target = self.target();
        self.object().policy = checked(target, rules, unusable);
    }

    /// Somebody points the rules at another target.
    pub(crate) fn retarget(&mut self, target: Target, rules: &[Rule]) {
        self.object().policy = checked(target, rules, &[]);
    }

    pub(crate) fn set_replicas(&mut self, replicas: u32) {
        let target = self.target().identity().clone();
        self.world.workloads.insert(target, Workload { replicas: Some(replicas) });
    }

    pub(crate) fn set_bounds(&mut self, min: Option<u32>, max: Option<u32>) {
        let target = self.target().identity().clone();
        let autoscaler = Autoscaler { min_replicas: min, max_replicas: max };
        self.world.autoscalers.insert(target, autoscaler);
    }

    pub(crate) fn replicas(&self) -> Option<u32> {
        self.world.workloads[self.target().identity()].replicas
    }

    pub(crate) fn live_bounds(&self) -> (Option<u32>, Option<u32>) {
        let autoscaler = self.world.autoscalers[self.target().identity()];
        (autoscaler.min_replicas, autoscaler.max_replicas)
    }

    /// The process ends and another one begins: what was being tried is forgotten.
    pub(crate) fn restart(&mut self) {
        if let Some(memory) = &mut self.object().memory {
            memory.rules.iter_mut().for_each(|rule| rule.pending = None);
        }
    }

    pub(crate) fn decide(&self, now: Timestamp) -> Decision<Because, Memory> {
        decide_checked(&self.input(), now)
    }

    /// One turn, checked, in which every write succeeds. Says whether anything was written.
    pub(crate) fn turn(&mut self, now: Timestamp) -> bool {
        self.turn_with(now, World::apply)
    }

    /// One turn, checked, whose writes have no effect and this outcome.
    pub(crate) fn turn_in_vain(&mut self, now: Timestamp, outcome: &Outcome) -> bool {
        self.turn_with(now, |_, _| outcome.clone())
    }

    pub(crate) fn turn_with(
        &mut self,
        now: Timestamp,
        mut apply: impl FnMut(&mut World, &Action) -> Outcome,
    ) -> bool {
        let decision = self.decide(now);
        let before = self.world.clone();
        let outcomes: Vec<Outcome> =
            decision.actions.iter().map(|action| apply(&mut self.world, action)).collect();
        let turn = engine_turn(&before, &self.identity, now, &outcomes);
        assert!(turn.done.iter().map(|(action, _)| action).eq(&decision.actions));
        let object = self.object();
        let memory = settle(&object.policy, decision.memory.clone(), &outcomes, now);
        check_cron_settled(&decision.memory, &outcomes, now, &memory).stop();
        let wake_at = wake_at(&object.policy, &memory, now);
        assert_eq!(turn.wake_at, wake_at);
        object.memory = Some(memory);
        self.wake_at = wake_at;
        self.written = decision.actions;
        !self.written.is_empty()
    }

    /// Takes the turns that are asked for, up to and including `to`, and returns when they were.
    pub(crate) fn run_until(&mut self, to: Timestamp) -> Vec<Timestamp> {
        let mut turns = Vec::new();
        while let Some(at) = self.wake_at.filter(|at| *at <= to) {
            self.turn(at);
            turns.push(at);
        }
        turns
    }

    pub(crate) fn memory(&self) -> Option<&Memory> {
        self.world.cron_scalings[&self.identity].memory.as_ref()
    }

    pub(crate) fn rule_memory(&self, name: &str) -> &RuleMemory {
        let rules = &self.memory().expect("a turn was taken").rules;
        rules.iter().find(|it| *it.name == *name).unwrap_or_else(|| panic!("no memory of {name}"))
    }

    /// A rule's history, newest first, a line an execution: `09:00:00 done replicas 5`.
    pub(crate) fn history(&self, name: &str) -> Vec<String> {
        self.rule_memory(name).executions.iter().map(line).collect()
    }

    pub(crate) fn next_of(&self, name: &str, now: Timestamp) -> Option<Timestamp> {
        let rule = self.policy().rules.iter().find(|it| *it.name == *name).unwrap();
        next_firing(rule, self.rule_memory(name), now)
    }

    /// The whole chain of reasons as a person reads it.
    pub(crate) fn explained(&self, now: Timestamp) -> Vec<String> {
        let reasons = cron_scaling::explain(&self.input(), now);
        reasons.iter().map(|reason| cron_scaling::render(self.policy(), reason)).collect()
    }
}

fn checked(target: Target, rules: &[Rule], unusable: &[&str]) -> CronScaling {
    let after = rules.len();
    let unusable_rules = (after..).zip(unusable);
    let unusable_rules = unusable_rules
        .map(|(position, name)| UnusableRule {
            name: Box::from(*name),
            position: u32::try_from(position).unwrap(),
        })
        .collect();
    let rules =
        rules.iter().enumerate().map(|(index, rule)| rule.checked(index, &target)).collect();
    CronScaling { target, rules, unusable_rules }
}

fn line(execution: &Execution) -> String {
    let at = execution.scheduled().strftime("%H:%M:%S");
    match &execution.ending {
        Ending::Done(applied) => format!("{at} done {}", applied_line(*applied)),
        Ending::Failed { attempts, message } => format!("{at} failed after {attempts}: {message}"),
        Ending::Missed => format!("{at} missed by {} s", execution.later().as_secs()),
        Ending::Superseded { by } => format!("{at} superseded by {by}"),
    }
}

fn applied_line(applied: Applied) -> String {
    let fields = [("replicas", applied.replicas()), ("min", applied.min()), ("max", applied.max())];
    let set = fields.iter().filter_map(|(name, value)| Some(format!("{name} {}", (*value)?)));
    let moved = applied.moved_other_bound().then(|| "moved".to_owned());
    set.chain(moved).collect::<Vec<_>>().join(" ")
}
