//! Nothing is lost in a random month. Policies are created, deleted and changed; pods are created, deleted, and edited
//! by their users; the agent is killed; and writes fail, are lost, or arrive late.
//!
//! At every quiet instant, each pod has exactly the level that its list defines. After the deletion of all policies,
//! every pod has the level that its user wrote last.
//!
//! `ALMANAC_ENGINE_STEPS` is the number of steps of the run.

mod agent;
mod cluster;

use almanac_fixtures::trials;
use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};

use self::agent::Agent;
pub(super) use self::agent::{Logic, refollowed, taken_for_empty};
pub(super) use self::cluster::of_each_list;
use self::cluster::{Cluster, Fails};
use crate::support::{NANOSECOND, instant, seconds};

/// A cluster, its agent, and the time.
pub(super) struct Month<'a> {
    rng: Rng,
    cluster: Cluster,
    agent: Agent<'a>,
    now: Timestamp,
}

impl<'a> Month<'a> {
    pub(super) fn new(seed: u64, logic: &'a Logic<'a>) -> Month<'a> {
        let mut rng = Rng::with_seed(seed);
        // The clocks of each zone change.
        let begin = if rng.bool() { "2026-03-01T00:00:00Z" } else { "2026-10-10T00:00:00Z" };
        let cluster = Cluster::new(&mut rng);
        Month { rng, cluster, agent: Agent::new(logic), now: instant(begin) }
    }

    /// Runs this number of steps, then ends all policies. Returns the first violation.
    pub(super) fn live(&mut self, steps: u64) -> Result<(), String> {
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

    /// Advances the time. The agent has its turns at its wakes, and sometimes in between.
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

    /// A turn of the agent, if it is running; returns the instant of its next turn.
    fn wake(&mut self, is_up: bool) -> Result<Option<Timestamp>, String> {
        let fails = Fails::at_random(&mut self.rng);
        // The agent may observe a slightly older state.
        let sees = self.rng.u8(..6) != 0;
        if !is_up {
            return Ok(None);
        }
        self.agent.turn(&mut self.cluster, self.now, sees, fails, &mut self.rng)
    }

    /// Delivers everything: the agent observes the whole state, and its writes succeed.
    fn quiet(&mut self) -> Result<(), String> {
        self.cluster.late.clear();
        for _ in 0..3 {
            self.agent.turn(&mut self.cluster, self.now, true, Fails::Never, &mut self.rng)?;
        }
        let levels = self.agent.levels();
        self.cluster.check(&levels, self.now)?;
        // Nothing changes until the next wake, if any.
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
