//! Nothing is lost: a month at random, in which policies come, go and change, pods come, go, and are edited by
//! their users, the agent is killed, and writes fail, are lost, or arrive late.
//!
//! At every quiet moment each pod shows exactly what its list says; and when all policies are gone, every pod
//! has what its user wrote last.
//!
//! `ALMANAC_ENGINE_STEPS` is the number of steps of the run.

mod agent;
mod cluster;

use almanac_engine::qos_levels::{Decision, Input, QosAnnotations, QosLevels, decide};
use almanac_engine::{Action, Identity};
use almanac_fixtures::trials;
use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};

use self::agent::{Agent, Logic};
use self::cluster::{Cluster, Fails};
use crate::support::{NANOSECOND, instant, seconds};

/// A cluster, its agent, and the time.
struct Month<'a> {
    rng: Rng,
    cluster: Cluster,
    agent: Agent<'a>,
    now: Timestamp,
}

impl<'a> Month<'a> {
    fn new(seed: u64, logic: &'a Logic<'a>) -> Month<'a> {
        let mut rng = Rng::with_seed(seed);
        // Clocks change in each of them.
        let begin = if rng.bool() { "2026-03-01T00:00:00Z" } else { "2026-10-10T00:00:00Z" };
        let cluster = Cluster::new(&mut rng);
        Month { rng, cluster, agent: Agent::new(logic), now: instant(begin) }
    }

    /// So many steps, then the end of all policies. The first thing that is wrong.
    fn live(&mut self, steps: u64) -> Result<(), String> {
        for step in 0..steps {
            self.step().map_err(|why| format!("in step {step}, at {}: {why}", self.now))?;
        }
        self.end().map_err(|why| format!("at the end: {why}"))
    }

    fn step(&mut self) -> Result<(), String> {
        match self.rng.u8(..100) {
            0..55 => self.cluster.change(&mut self.rng),
            55..60 => self.agent.kill(),
            60..66 => self.cluster.land_late_writes(&mut self.rng),
            66..70 => return self.quiet(),
            _ => {
                let minutes = if self.rng.u8(..10) == 0 { 600 } else { 20 };
                let length = self.rng.i64(1..minutes * 60);
                return self.pass(seconds(length));
            }
        }
        Ok(())
    }

    /// Time passes. The agent takes its turns where it wants them, and now and then in between.
    fn pass(&mut self, length: SignedDuration) -> Result<(), String> {
        let end = self.now + length;
        let is_up = self.rng.u8(..8) != 0;
        while let Some(wake_at) = self.wake(is_up)?.filter(|at| *at < end) {
            if wake_at <= self.now {
                return Err("it wakes in the past".to_owned());
            }
            self.now = wake_at;
        }
        self.now = end;
        Ok(())
    }

    /// A turn of the agent, if it is up; when it wants the next one.
    fn wake(&mut self, is_up: bool) -> Result<Option<Timestamp>, String> {
        let fails = Fails::at_random(&mut self.rng);
        // What the agent sees may be a little older than what is there.
        let sees = self.rng.u8(..6) != 0;
        if !is_up {
            return Ok(None);
        }
        self.agent.turn(&mut self.cluster, self.now, sees, fails, &mut self.rng)
    }

    /// Everything arrives, the agent sees all there is, and its writes succeed.
    fn quiet(&mut self) -> Result<(), String> {
        self.cluster.late.clear();
        for _ in 0..3 {
            self.agent.turn(&mut self.cluster, self.now, true, Fails::Never, &mut self.rng)?;
        }
        let levels = self.agent.levels();
        self.cluster.check(&levels, self.now)?;
        // Nothing changes until it wakes, if it ever does.
        let wake_at =
            self.agent.turn(&mut self.cluster, self.now, true, Fails::Never, &mut self.rng)?;
        let asleep = (1..48).map(|hours| self.now + seconds(hours * 3600));
        let last = wake_at.map(|at| at - NANOSECOND);
        for at in asleep.filter(|at| last.is_none_or(|last| *at < last)).chain(last) {
            self.cluster.check(&levels, at)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        self.agent.kill();
        self.cluster.remove_all_policies();
        self.quiet()?;
        self.cluster.check_words()
    }
}

fn steps() -> u64 {
    trials::size("ALMANAC_ENGINE_STEPS", 10_000, 100_000)
}

#[test]
fn nothing_is_lost_in_a_month_of_edits_failures_and_restarts() {
    let seed = trials::seed("a month of levels");
    let logic = Logic::sound();
    if let Err(why) = Month::new(seed, &logic).live(steps()) {
        panic!("{why}\nrun it again with ALMANAC_SEED={seed} cargo test -p almanac-engine month");
    }
}

/// A fault in what was decided.
type Fault = fn(&Input<'_>, Timestamp, &mut Decision);

/// Changes what is wanted of each pod that is to be written.
fn spoil(decision: &mut Decision, spoil: impl Fn(&mut QosAnnotations)) {
    for action in &mut decision.actions {
        if let Action::Annotate { annotations, .. } = action {
            spoil(annotations);
        }
    }
}

fn drop_actions(decision: &mut Decision, is_dropped: impl Fn(&Identity, bool) -> bool) {
    let written: Vec<Identity> =
        decision.pods.iter().filter(|it| it.policy.is_some()).map(|it| it.pod.clone()).collect();
    decision.actions.retain(|it| !is_dropped(it.target(), written.contains(it.target())));
}

const FAULTS: [(&str, Fault); 14] = [
    ("never applies a policy", |_, _, it| drop_actions(it, |_, is_applied| is_applied)),
    ("never restores a level", |_, _, it| drop_actions(it, |_, is_applied| !is_applied)),
    ("never writes the last pod", |input, _, it| {
        let last = input.pods.last().map(|it| it.identity.clone());
        drop_actions(it, |pod, _| Some(pod) == last.as_ref());
    }),
    ("saves no original", |_, _, it| spoil(it, |annotations| annotations.original = None)),
    ("saves the original as none", |_, _, it| {
        spoil(it, |it| it.original = it.original.as_ref().map(|_| "".into()));
    }),
    ("saves what it has set itself as the original", |input, _, it| {
        for action in &mut it.actions {
            let Action::Annotate { pod, annotations } = action else { continue };
            let found = input.pods.iter().find(|it| it.identity == pod);
            let level = found.and_then(|it| it.pod.level().cloned());
            if annotations.original.is_some() {
                annotations.original = Some(level.unwrap_or_default());
            }
        }
    }),
    ("restores by removing the level", |_, _, it| {
        spoil(it, |it| {
            if it.policy.is_none() {
                it.level = None;
            }
        });
    }),
    ("leaves its marks behind", |_, _, it| {
        spoil(it, |it| it.policy = it.policy.take().or_else(|| Some("old".into())));
    }),
    ("does not say what it has set", |_, _, it| spoil(it, |it| it.applied = None)),
    ("says that it has set something else", |_, _, it| {
        spoil(it, |it| it.applied = it.applied.as_ref().map(|_| "9".into()));
    }),
    ("sets another level", |_, _, it| {
        spoil(it, |it| {
            if it.policy.is_some() {
                it.level = Some("7".into());
            }
        });
    }),
    ("wakes a nanosecond late", |_, _, it| it.wake_at = it.wake_at.map(|at| at + NANOSECOND)),
    ("never wakes", |_, _, it| it.wake_at = None),
    ("wakes in the past", |_, now, it| it.wake_at = it.wake_at.map(|_| now)),
];

/// Faults in which policies are taken to be in force, and in what becomes of lists that cannot be used.
fn faulty_logics() -> Vec<(&'static str, Logic<'static>)> {
    let with_levels = |change: fn(&mut QosLevels)| {
        let decide_with = move |input: &Input<'_>, now: Timestamp| {
            let mut policy = input.policy.clone();
            change(&mut policy);
            decide(&Input { policy: &policy, ..agent::refollowed(input, &policy) }, now)
        };
        Logic { decide: Box::new(decide_with), ..Logic::sound() }
    };
    let decide_empty =
        |input: &Input<'_>, now: Timestamp| decide(&agent::taken_for_empty(input), now);
    let taking_for_empty = Logic { decide: Box::new(decide_empty), ..Logic::sound() };
    vec![
        (
            "takes the last open policy instead of the first",
            with_levels(|it| cluster::of_each_list(it, |all| all.reverse())),
        ),
        (
            "carries out disabled policies",
            with_levels(|it| {
                cluster::of_each_list(it, |all| all.iter_mut().for_each(|it| it.is_enabled = true));
            }),
        ),
        ("takes a list that cannot be used for an empty one", taking_for_empty),
        ("forgets lists when they cannot be used", Logic { keeps_lists: false, ..Logic::sound() }),
        ("writes over edits that it has not seen", Logic { is_guarded: false, ..Logic::sound() }),
    ]
}

fn is_caught(logic: &Logic<'_>) -> bool {
    (0..4).any(|seed| Month::new(seed, logic).live(600).is_err())
}

#[test]
fn every_fault_in_a_decision_about_levels_is_caught() {
    for (fault, spoil) in FAULTS {
        let spoilt = move |input: &Input<'_>, now: Timestamp| {
            let mut decision = decide(input, now);
            spoil(input, now, &mut decision);
            decision
        };
        let logic = Logic { decide: Box::new(spoilt), is_checked: false, ..Logic::sound() };
        assert!(is_caught(&logic), "nobody notices a decision that {fault}");
    }
    for (fault, logic) in faulty_logics() {
        let logic = Logic { is_checked: false, ..logic };
        assert!(is_caught(&logic), "nobody notices a decision that {fault}");
    }
    let sound = Logic { is_checked: false, ..Logic::sound() };
    assert!(!is_caught(&sound), "without a fault nothing is caught");
}

#[test]
fn the_checker_notices_faults_by_itself() {
    let mut unnoticed = Vec::new();
    for (fault, spoil) in FAULTS {
        let spoilt = move |input: &Input<'_>, now: Timestamp| {
            let mut decision = decide(input, now);
            spoil(input, now, &mut decision);
            decision
        };
        let logic = Logic { decide: Box::new(spoilt), ..Logic::sound() };
        let found = (0..4).find_map(|seed| Month::new(seed, &logic).live(300).err());
        if !found.is_some_and(|why| why.contains("the decision breaks a rule")) {
            unnoticed.push(fault);
        }
    }
    assert_eq!(unnoticed, [""; 0]);
}
