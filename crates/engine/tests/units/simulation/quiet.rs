//! All faults end, and all messages in progress arrive. Then the schedulers and replicas come to rest, without pending
//! work and without a failed check.
//!
//! The leader keeps its leadership. A new leader would count everything again, and hide a loss of this one.

use std::sync::Arc;
use std::time::Duration;

use almanac_engine::Identity;
use almanac_engine::units::{Pod, Verdict};

use super::api_server::ZONE;
use super::faults::{Check, Violation, wrong};
use super::scheduling::fits;
use super::world::World;

/// The number of rounds without a change that proves rest: longer than any wait.
const AT_REST: u32 = 24;

/// A cluster that is not at rest after this number of rounds never is.
const TOO_LONG: u32 = 2_000;

impl World {
    /// Ends all faults. All messages arrive, one replica leads, and it does all its work.
    pub(super) fn calm_down(&mut self) -> Result<(), Violation> {
        self.is_quiet = true;
        self.cut_off = None;
        let (mut at_rest, mut before) = (0, self.traces());
        for round in 0.. {
            if at_rest == AT_REST {
                break;
            }
            if round == TOO_LONG {
                self.is_quiet = false;
                return self.heed(Err(wrong(Check::Woken, "this never comes to rest")));
            }
            self.go_on()?;
            let now = self.traces();
            at_rest = if now == before { at_rest + 1 } else { 0 };
            before = now;
        }
        self.is_quiet = false;
        self.heed(self.check_rest())
    }

    /// Values of which at least one changes with every event.
    fn traces(&self) -> (u64, u64, usize, usize, usize) {
        let reserved = self.replicas.iter().map(|it| it.ledger.reservations()).sum();
        let under_way = self.flights.len() + self.decided.len() + self.queued().len();
        (self.api.version, self.generation, reserved, under_way, self.refused.len())
    }

    /// Deletes the pods on deleted nodes, as Kubernetes does.
    fn collect_garbage(&mut self) {
        let is_lost = |pod: &Pod| {
            pod.node.as_ref().is_some_and(|node| !self.api.held.nodes.contains_key(node))
        };
        let pods = self.api.held.pods.iter().filter(|(_, pod)| is_lost(pod));
        let lost: Vec<Identity> = pods.map(|(name, _)| name.clone()).collect();
        for name in lost {
            self.api.remove_pod(&name);
            self.note_recreated(&name);
        }
    }

    /// A few seconds in which every component does all its pending work.
    fn go_on(&mut self) -> Result<(), Violation> {
        self.now = self.now + Duration::from_secs(4);
        self.fly()?;
        self.collect_garbage();
        let holder = self.holder.unwrap_or(0);
        for index in 0..self.replicas.len() {
            if index != holder {
                self.replicas[index].drop_tasks();
                self.is_leading(index);
            }
        }
        self.lead(holder);
        if !self.replicas[holder].has_listed || !self.replicas[holder].is_serving() {
            for _ in 0..4 {
                self.list(holder);
            }
        }
        for kind in 0..3 {
            self.receive_events(holder, kind, usize::MAX);
        }
        for _ in 0..4 {
            self.read(holder);
        }
        self.settle_costs(holder);
        for _ in 0..self.queued().len() {
            self.schedule(holder)?;
        }
        for _ in 0..self.decided.len() {
            self.ask_to_bind(holder)?;
        }
        for _ in 0..self.replicas[holder].tasks.len() {
            self.post(holder)?;
        }
        self.wake(holder);
        self.compare()
    }

    fn settle_costs(&mut self, index: usize) {
        for _ in 0..3 {
            for patch in std::mem::take(&mut self.patches) {
                self.write_cost(&patch);
            }
            self.receive_events(index, 2, usize::MAX);
            self.price(index);
        }
    }

    fn check_rest(&self) -> Result<(), Violation> {
        let Some(index) = self.holder.filter(|index| self.replicas[*index].is_serving()) else {
            return Err(wrong(Check::Quiet, "no replica serves though nothing prevents it"));
        };
        let (replica, held) = (&self.replicas[index], &self.api.held);
        if let Some(why) = held.difference(&replica.ledger) {
            return Err(wrong(Check::Quiet, format!("when all is quiet, {why}")));
        }
        if replica.ledger.next_unsettled().is_some() {
            return Err(wrong(Check::Quiet, "when all is quiet, a binding is not settled"));
        }
        let wrong_costs = held.cost_changes();
        if !wrong_costs.is_empty() {
            let why = format!("when all is quiet, costs are wrong: {wrong_costs:?}");
            return Err(wrong(Check::Costs, why));
        }
        self.check_woken()
    }

    /// No pod is pending that could have a node.
    fn check_woken(&self) -> Result<(), Violation> {
        let (held, replica) = (&self.api.held, &self.replicas[self.holder.unwrap_or(0)]);
        let waits = |it: &Pod| it.node.is_none() && it.deleted.is_none() && !it.is_finished;
        for (name, pod) in held.pods.iter().filter(|(_, pod)| waits(pod)) {
            let fitting = held.nodes.keys().filter(|node| fits(pod, node));
            let nodes: Vec<Arc<str>> = fitting.cloned().collect();
            let has_node = match held.governing(name, pod)[..] {
                [] => !nodes.is_empty(),
                // The current labels of a pod determine its destinations.
                [policy] if held.policies[policy].group_keys.iter().any(|key| **key == *ZONE) => {
                    false
                }
                [_] => held.verdicts(name, &nodes).is_some_and(|it| it.contains(&Verdict::Chosen)),
                _ => false,
            };
            if has_node {
                let explained = replica.ledger.explain(name).map(|it| it.summary);
                let why = format!("{name} waits though it has room, and {explained:?}");
                return Err(wrong(Check::Woken, why));
            }
        }
        Ok(())
    }
}
