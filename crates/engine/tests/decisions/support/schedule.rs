//! A world with one schedule.

use almanac_checker::{
    ClosedSchedule, Violations, check_schedule_settled, check_scheduled_capacity,
};
use almanac_engine::scheduled_capacity::{
    self, Cause, Change, Decision, Input, PublishedNumber, ScheduledCapacity, Schedules, explain,
    gather,
};
use almanac_engine::turn::{self, OpenTurn, Turn};
use almanac_engine::{
    Action, Family, Identity, Outcome, PolicyName, PolicyObject, Reach, Reason, World,
};
use almanac_fixtures::names;
use jiff::Timestamp;

use super::{decision_of, instant};

pub(crate) use almanac_fixtures::schedules::{Schedule, pattern};

/// A schedule that is published in a world of its own.
pub(crate) trait Publish {
    fn published(self) -> Producer;
}

impl Publish for Schedule {
    fn published(self) -> Producer {
        Producer::new(self.checked())
    }
}

/// Handles a turn, and the world, after the engine has closed it.
pub(crate) type Close<'a> = &'a dyn Fn(&mut Turn, &mut World);

/// Closes a turn in a world; returns its result, and the violations.
pub(crate) fn close(
    open: OpenTurn,
    world: &mut World,
    outcomes: &[Outcome],
    spoil: Close<'_>,
) -> (Turn, Violations) {
    let decided = open.decision().get::<Schedules>().expect("a turn of a schedule").clone();
    let (identity, opened_at) = (open.policy().identity.clone(), open.at());
    let before = world.scheduled_capacity.policies[&identity].memory;
    let mut turn = open.close(world, outcomes.to_vec(), opened_at);
    spoil(&mut turn, world);
    let violations = check_schedule_settled(&ClosedSchedule {
        identity: &identity,
        policy: &decided.policy,
        opened_at,
        before,
        decision: &decided.decision,
        outcomes,
        turn: &turn,
        world,
    });
    (turn, violations)
}

/// A schedule in a world of its own.
pub(crate) struct Producer {
    pub(crate) world: World,
    pub(crate) identity: Identity,
    /// The last turn.
    pub(crate) last: Option<Turn>,
}

impl Producer {
    pub(crate) fn new(policy: ScheduledCapacity) -> Producer {
        let identity = names::metrics_producer("shop").identity;
        let mut world = World::default();
        world.scheduled_capacity.policies.insert(identity.clone(), PolicyObject::new(policy));
        Producer { world, identity, last: None }
    }

    pub(crate) fn input(&self) -> Input<'_> {
        gather(self.world.view(), &self.identity).unwrap()
    }

    pub(crate) fn name(&self) -> PolicyName {
        PolicyName::new(Family::ScheduledCapacity, self.identity.clone())
    }

    /// Opens a turn, and checks the decision.
    pub(crate) fn open(&self, now: Timestamp) -> OpenTurn {
        let open = turn::open(&self.world, &self.name(), &Reach::everything(), now).unwrap();
        check_scheduled_capacity(&self.input(), now, decision_of::<Schedules>(&open)).stop();
        open
    }

    pub(crate) fn decide(&self, now: Timestamp) -> Decision {
        decision_of::<Schedules>(&self.open(now)).clone()
    }

    /// The value at an instant in RFC 3339.
    pub(crate) fn value(&self, now: &str) -> u32 {
        self.decide(instant(now)).memory.value
    }

    /// The next different value after an instant in RFC 3339.
    pub(crate) fn next(&self, now: &str) -> Option<Change> {
        self.decide(instant(now)).memory.next
    }

    pub(crate) fn explain(&self, now: &str) -> Vec<Reason<Cause>> {
        explain(&self.input(), instant(now))
    }

    /// The reasons as lines for users.
    pub(crate) fn explained(&self, now: &str) -> Vec<String> {
        let policy = self.input().policy;
        let reasons = self.explain(now);
        reasons.iter().map(|reason| scheduled_capacity::render(policy, reason)).collect()
    }

    pub(crate) fn memory(&self) -> Option<PublishedNumber> {
        self.world.scheduled_capacity.policies[&self.identity].memory
    }

    /// Runs one checked turn; returns its actions and its wake.
    pub(crate) fn turn(&mut self, now: Timestamp) -> (Vec<Action>, Option<Timestamp>) {
        self.turn_with(now, World::apply)
    }

    pub(crate) fn turn_with(
        &mut self,
        now: Timestamp,
        mut apply: impl FnMut(&mut World, &Action) -> Outcome,
    ) -> (Vec<Action>, Option<Timestamp>) {
        let open = self.open(now);
        let actions = open.actions().to_vec();
        let outcomes: Vec<Outcome> =
            actions.iter().map(|action| apply(&mut self.world, action)).collect();
        let (turn, violations) = close(open, &mut self.world, &outcomes, &|_, _| {});
        violations.stop();
        let wake_at = turn.wake_at;
        self.last = Some(turn);
        (actions, wake_at)
    }

    /// The values from `from` on in one line: `Mon 1 Feb 00:00 1, Mon 1 Feb 09:00 3`.
    pub(crate) fn timeline(&mut self, from: &str, to: &str) -> String {
        let changes = self.changes(from, to);
        changes.iter().map(|(at, value)| format!("{at} {value}")).collect::<Vec<_>>().join(", ")
    }

    /// The values from `from` on, each with the instant from which it holds, by turns at their wake times.
    pub(crate) fn changes(&mut self, from: &str, to: &str) -> Vec<(String, u32)> {
        let (mut now, to) = (instant(from), instant(to));
        let mut values: Vec<(String, u32)> = Vec::new();
        while now < to {
            let announced = self.memory().and_then(|before| before.next);
            let (_, wake_at) = self.turn(now);
            let published = self.memory().unwrap();
            if values.last().is_none_or(|last| last.1 != published.value) {
                if !values.is_empty() {
                    let change = Change { at: now, value: published.value };
                    assert_eq!(announced, Some(change), "the change was not announced");
                }
                values.push((self.wall_clock(now), published.value));
            }
            let Some(wake_at) = wake_at else { break };
            now = wake_at;
        }
        values
    }

    /// `Mon 1 Feb 09:00`, in the schedule's zone.
    fn wall_clock(&self, at: Timestamp) -> String {
        let zone = self.input().policy.zone;
        zone.civil(at).strftime("%a %-d %b %H:%M").to_string()
    }
}
