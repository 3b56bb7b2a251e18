//! All faults end, and everything that is under way arrives: then nothing may be left to do, and nothing may be wrong.

use std::sync::Arc;
use std::time::Duration;

use almanac_engine::Identity;
use almanac_engine::units::{Pod, Verdict};

use super::world::{World, fits};

impl World {
    /// Kubernetes deletes the pods that are bound to nodes that are gone.
    fn collect_garbage(&mut self) {
        let is_lost = |pod: &Pod| {
            pod.node.as_ref().is_some_and(|node| !self.api.held.nodes.contains_key(node))
        };
        let pods = self.api.held.pods.iter().filter(|(_, pod)| is_lost(pod));
        let lost: Vec<Identity> = pods.map(|(name, _)| name.clone()).collect();
        for name in lost {
            self.api.remove_pod(&name);
            self.is_tried_anew(&name);
        }
    }

    /// All faults end. Everything arrives, one replica leads, and does all there is to do.
    pub(super) fn calm_down(&mut self) -> Result<(), String> {
        let index = self.rng.usize(..self.replicas.len());
        for _ in 0..4 {
            self.now = self.now + Duration::from_secs(100);
            self.fly()?;
            self.collect_garbage();
            for other in 0..self.replicas.len() {
                self.replicas[other].drop_tasks();
                self.is_leading(other);
            }
            self.lead(index);
            for _ in 0..4 {
                self.now = self.now + Duration::from_secs(5);
                self.lead(index);
                self.list(index);
            }
            while self.replicas[index].list.is_some() {
                self.list(index);
            }
            if !self.replicas[index].is_serving() {
                return Err("nobody serves though nothing is in the way".to_owned());
            }
            self.hear_all(index);
            for _ in 0..20 {
                self.read(index);
            }
            self.settle_costs(index);
            self.compare()?;
        }
        let (replica, held) = (&self.replicas[index], &self.api.held);
        if let Some(why) = held.difference(&replica.ledger) {
            return Err(format!("when all is quiet, {why}"));
        }
        if replica.ledger.next_unsettled().is_some() {
            return Err("when all is quiet, a binding is not settled".to_owned());
        }
        let wrong = held.cost_changes();
        if !wrong.is_empty() {
            return Err(format!("when all is quiet, costs are wrong: {wrong:?}"));
        }
        // In a wild one, schedulers see for themselves what happens to nodes and labels, and when is up to them.
        if self.is_calm { self.check_woken(index) } else { Ok(()) }
    }

    fn hear_all(&mut self, index: usize) {
        for kind in 0..3 {
            self.hear(index, kind, usize::MAX);
        }
    }

    fn settle_costs(&mut self, index: usize) {
        for _ in 0..4 {
            for patch in std::mem::take(&mut self.patches) {
                self.write_cost(&patch);
            }
            self.hear_all(index);
            self.price(index);
            for patch in std::mem::take(&mut self.patches) {
                self.write_cost(&patch);
            }
            self.hear_all(index);
        }
    }

    /// Pods that were refused are woken when they need not be any more: some of them at once, and the others as those
    /// take their places or do not.
    fn check_woken(&mut self, index: usize) -> Result<(), String> {
        self.decided.clear();
        for _ in 0..80 {
            self.wake(index);
            for _ in 0..7 {
                self.now = self.now + Duration::from_secs(5);
                self.lead(index);
            }
        }
        let held = &self.api.held;
        for pod in &self.refused {
            let is_pending =
                |it: &&Pod| it.node.is_none() && it.deleted.is_none() && !it.is_finished;
            let Some(pending) = held.pods.get(pod).filter(is_pending) else { continue };
            let nodes = held.nodes.keys().filter(|node| fits(pending, node));
            let nodes: Vec<Arc<str>> = nodes.cloned().collect();
            let verdicts = held.verdicts(pod, &nodes);
            if verdicts.is_some_and(|verdicts| verdicts.contains(&Verdict::Chosen)) {
                return Err(format!("{pod} was refused, has room now, and is never woken"));
            }
        }
        Ok(())
    }
}
