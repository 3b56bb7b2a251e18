//! A world with one autoscaler, and its target of the same name.

use almanac_checker::check_metric_scaling;
use almanac_engine::metric_scaling::{
    Autoscalers, Decision, FiniteNumber, Memory, MetricScaling, Recorded, Sample, SampleProblem,
    gather,
};
use almanac_engine::turn::{self, OpenTurn, Turn};
use almanac_engine::{
    self as engine, Identity, Outcome, PolicyName, PolicyObject, Reach, Workload, World,
};
use almanac_fixtures::names;
use jiff::Timestamp;

use crate::support::{decision_of, monday};

pub(crate) use almanac_fixtures::autoscalers::{
    Autoscaler, at_once, count_in, external, percent_in, scheduled,
};

/// An autoscaler in a world of its own.
pub(crate) struct Scaling {
    pub(crate) world: World,
    pub(crate) name: PolicyName,
    pub(crate) target: Identity,
    /// The last turn.
    pub(crate) last: Option<Turn>,
}

/// Zero to a hundred replicas by the query `q`, which recommends one replica for each unit; the target has `replicas`
/// replicas.
pub(crate) fn by_one_query(replicas: u32) -> Scaling {
    Scaling::new(Autoscaler::for_deployment("shop", 0, 100).by(external("q")), replicas)
}

impl Scaling {
    /// An autoscaler of the Deployment `shop`, which has this number of replicas.
    pub(crate) fn new(policy: Autoscaler, replicas: u32) -> Scaling {
        Scaling::from_policy(policy.checked(), replicas)
    }

    pub(crate) fn from_policy(policy: MetricScaling, replicas: u32) -> Scaling {
        let (name, target) = (names::horizontal_autoscaler("shop"), names::deployment("shop"));
        let mut world = World::default();
        world.metric_scaling.policies.insert(name.identity.clone(), PolicyObject::new(policy));
        let mut scaling = Scaling { world, name, target, last: None };
        scaling.set(replicas);
        scaling
    }

    /// Another field manager sets the replicas, and the current replicas follow immediately.
    pub(crate) fn set(&mut self, replicas: u32) {
        let workload = Workload { replicas: Some(replicas), current: None };
        self.world.objects.workloads.insert(self.target.clone(), workload);
    }

    /// Sets the number of replicas that exist, regardless of the desired number.
    pub(crate) fn there_are(&mut self, current: u32) {
        self.world.objects.workloads.get_mut(&self.target).unwrap().current = Some(current);
    }

    /// Sets the sample of a query from now on.
    pub(crate) fn answer(&mut self, query: &str, answer: f64) {
        self.sample(query, Ok(FiniteNumber::new(answer).unwrap()));
    }

    /// Sets the sample of a query from the start.
    pub(crate) fn answered(mut self, query: &str, answer: f64) -> Scaling {
        self.answer(query, answer);
        self
    }

    /// Runs a turn at this time on Monday.
    pub(crate) fn turned(mut self, at: &str) -> Scaling {
        self.turn(monday(at));
        self
    }

    pub(crate) fn sample(&mut self, query: &str, value: Result<FiniteNumber, SampleProblem>) {
        let sample = Sample::assumed(query.into(), value);
        self.world.metric_scaling.extra.hold(&self.name.identity, sample);
    }

    pub(crate) fn replicas(&self) -> Option<u32> {
        self.world.objects.workloads[&self.target].replicas
    }

    pub(crate) fn memory(&self) -> Option<&Memory> {
        self.world.metric_scaling.policies[&self.name.identity].memory.as_ref()
    }

    pub(crate) fn set_memory(&mut self, memory: Option<Memory>) {
        self.world.metric_scaling.policies.get_mut(&self.name.identity).unwrap().memory = memory;
    }

    /// Opens a turn, and checks the decision.
    pub(crate) fn open(&self, now: Timestamp) -> OpenTurn {
        let reach = Reach::everything();
        let open = turn::open(&self.world, &self.name, &reach, now).unwrap();
        let input = gather(self.world.view(), &self.name.identity, &reach, now).unwrap();
        check_metric_scaling(&input, now, decision_of::<Autoscalers>(&open)).stop();
        open
    }

    pub(crate) fn decide(&self, now: Timestamp) -> Decision {
        decision_of::<Autoscalers>(&self.open(now)).clone()
    }

    /// Runs one turn; returns the resulting replicas.
    pub(crate) fn turn(&mut self, now: Timestamp) -> u32 {
        let open = self.open(now);
        let outcomes: Vec<Outcome> =
            open.actions().iter().map(|action| self.world.apply(action)).collect();
        self.last = Some(open.close(&mut self.world, outcomes, now));
        self.replicas().unwrap()
    }

    /// Runs one turn whose write has this outcome.
    pub(crate) fn turn_that_ends(&mut self, now: Timestamp, outcome: &Outcome) {
        let open = self.open(now);
        let outcomes = open.actions().iter().map(|_| outcome.clone()).collect();
        self.last = Some(open.close(&mut self.world, outcomes, now));
    }

    pub(crate) fn wake_at(&self) -> Option<Timestamp> {
        self.last.as_ref().unwrap().wake_at
    }

    pub(crate) fn recorded(&self) -> Vec<Recorded> {
        let recorded = self.last.as_ref().unwrap().recorded.iter();
        let recorded = recorded.map(|it| match it {
            engine::Recorded::MetricScaling(recorded) => recorded.clone(),
            other => panic!("{other:?} is of another family"),
        });
        recorded.collect()
    }

    /// Every reason as a line for users.
    pub(crate) fn explained(&self, now: Timestamp) -> Vec<String> {
        self.world.explain(&self.name, now).into_iter().map(|it| it.message).collect()
    }

    /// Runs the turns from one instant to another, at their wakes; returns each change of the replicas with its
    /// instant.
    pub(crate) fn run(&mut self, from: Timestamp, to: Timestamp) -> Vec<(String, u32)> {
        let (mut now, mut changes) = (from, Vec::new());
        while now < to {
            let before = self.replicas();
            let replicas = self.turn(now);
            if before != Some(replicas) {
                changes.push((now.strftime("%H:%M:%S").to_string(), replicas));
            }
            let Some(wake_at) = self.wake_at() else { break };
            assert!(wake_at > now, "it wakes at {wake_at}, which is over at {now}");
            now = wake_at;
        }
        changes
    }
}
