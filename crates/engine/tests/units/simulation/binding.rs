//! From the decision of a scheduler to the result of its binding: reserving, sending, landing, and the response.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use almanac_engine::units::{BindOutcome, Confirmed, Elapsed, Pod};
use almanac_engine::{Identity, Labels};

use super::faults::{Check, Fault, Violation, wrong};
use super::replica::Task;
use super::world::World;
use crate::naive::{ClusterView, Pods, group_of};
use crate::support::LONGEST_BIND;

/// A request to bind that has been sent.
pub(super) struct Flight {
    replica: usize,
    life: u32,
    task: Task,
    confirmed: Confirmed,
    /// The instant at which it reaches the API server; `None` when it is lost.
    lands_at: Option<Elapsed>,
    /// The result, once it has landed.
    is_bound: Option<bool>,
    /// The instant at which the response arrives; `None` when it is lost.
    answers_at: Option<Elapsed>,
    /// The instant at which the replica stops waiting for the response.
    gives_up_at: Elapsed,
    has_given_up: bool,
    /// The response is a conflict, which the API server returns for any error of etcd: the binding may have been
    /// applied.
    is_conflict: bool,
}

impl Flight {
    /// Whether a scheduler waits for the outcome of this pod.
    pub(super) fn is_awaited(&self, pod: &Identity) -> bool {
        !self.has_given_up && self.task.pod == *pod
    }
}

impl World {
    /// A scheduler requests the binding that it has decided on. If the pod is not bound, the scheduler retries after
    /// a while.
    pub(super) fn ask_to_bind(&mut self, index: usize) -> Result<(), Violation> {
        if self.decided.is_empty() {
            return Ok(());
        }
        let place = self.rng.usize(..self.decided.len());
        let (pod, uid, node) = self.decided.swap_remove(place);
        if !self.is_leading(index) || !self.replicas[index].is_serving() {
            self.back_off(&pod);
            return Ok(());
        }
        // The replica reads both for the reservation.
        let read = self.api.held.pods.get(&pod).filter(|read| read.uid.as_ref() == Some(&uid));
        let (Some(read), Some(found)) = (read.cloned(), self.api.held.nodes.get(&node).cloned())
        else {
            self.back_off(&pod);
            return Ok(());
        };
        let Ok(id) = self.replicas[index].reserve((&pod, &read), (&node, &found), self.now) else {
            self.back_off(&pod);
            if self.fault == Some(Fault::BindsWithoutReserving) {
                let wall = self.wall();
                self.api.bind(&pod, (Some(&uid), None), &node, None, wall);
                return self.check_bound();
            }
            return Ok(());
        };
        if let Some(why) = self.room_that_must_be(index, &pod, &node) {
            let why = format!("replica {index} reserves {node} for {pod} though {why}");
            self.heed(Err(wrong(Check::Room, why)))?;
        }
        self.heed(self.check_unit(index, &node, &found.labels))?;
        self.replicas[index].tasks.push(Task { id, pod, uid, node });
        Ok(())
    }

    /// Every policy has the node in the unit that its labels say as they were read.
    fn check_unit(&self, index: usize, node: &Arc<str>, read: &Labels) -> Result<(), Violation> {
        let replica = &self.replicas[index];
        for (name, policy) in &replica.seen.policies {
            let id = replica.ledger.node(node);
            let unit = id.and_then(|id| replica.ledger.unit_of(name, id));
            if unit != policy.unit_of(read) {
                return Err(wrong(Check::Units, format!("{node} is in {unit:?} of {name}")));
            }
        }
        Ok(())
    }

    /// The reason that a pod may not be bound, if all other pods are counted that we have bound or might bind. They
    /// count with the labels in the replica's view, even if it has not observed them bound.
    fn room_that_must_be(&self, index: usize, pod: &Identity, node: &str) -> Option<String> {
        let replica = &self.replicas[index];
        let known = replica.seen.pods.get(pod)?;
        let view = replica.view();
        let really = ClusterView { pods: self.really_bound(&view), ..view.clone() };
        let to_come = view.being_bound.get(pod).map(|(_, labels)| labels);
        for labels in [Some(&known.labels), to_come].into_iter().flatten() {
            let with_labels = Pod { labels: labels.clone(), ..known.clone() };
            let [name] = view.governing(pod, &with_labels)[..] else {
                let several = view.governing(pod, &with_labels).len() > 1;
                return several.then(|| "policies conflict".to_owned());
            };
            let policy = &view.policies[name];
            let place = view.unit_of(policy, node);
            let Some(max) = policy.units.get(place).and_then(|unit| unit.max) else { continue };
            let counted = really.counted(name);
            let Some(group) = counted.get(&group_of(policy, labels)) else { continue };
            let others = group[place].iter().filter(|other| *other != pod).count();
            if others >= max as usize {
                return Some(format!("{others} of {max} are in its unit"));
            }
        }
        None
    }

    /// The pods in a replica's view, on the nodes that we have really bound them to, or may have.
    fn really_bound(&self, view: &ClusterView) -> Pods {
        let mut pods = view.pods.clone();
        let mut bound: BTreeMap<&Identity, (&Arc<str>, &Arc<str>)> = BTreeMap::new();
        for (name, pod) in &self.api.held.pods {
            if let (Some(uid), Some(node)) = (&pod.uid, &pod.node)
                && self.api.bound_by_us.contains(uid)
            {
                bound.insert(name, (uid, node));
            }
        }
        for flight in &self.flights {
            let (name, uid) = (&flight.task.pod, &flight.task.uid);
            let target = self.api.held.pods.get(name);
            if flight.lands_at.is_some()
                && flight.is_bound.is_none()
                && target.is_some_and(|pod| {
                    let version = flight.confirmed.version;
                    pod.uid.as_ref() == Some(uid) && pod.version == version && pod.node.is_none()
                })
            {
                bound.insert(name, (uid, &flight.task.node));
            }
        }
        for (name, (uid, node)) in bound {
            let known = pods.get(name).filter(|known| known.uid.as_ref() == Some(uid));
            let mut pod = known.unwrap_or(&self.api.held.pods[name]).clone();
            pod.node = Some(Arc::clone(node));
            pods.insert(name.clone(), pod);
        }
        pods
    }

    /// Sends a binding that is reserved.
    pub(super) fn post(&mut self, index: usize) -> Result<(), Violation> {
        if self.replicas[index].tasks.is_empty() || !self.is_leading(index) {
            return Ok(());
        }
        let place = self.rng.usize(..self.replicas[index].tasks.len());
        let task = self.replicas[index].tasks.swap_remove(place);
        let result = self.replicas[index].confirm(&task, self.now);
        let is_faulty = self.fault == Some(Fault::PostsUnconfirmed);
        let (ends_by, uid) = (LONGEST_BIND.after(self.now), Some(Arc::clone(&task.uid)));
        let unconfirmed = Confirmed { uid, version: None, bound: None, ends_by };
        let confirmed = match result {
            Ok(confirmed) => confirmed,
            Err(_) if is_faulty => unconfirmed,
            Err(_) => {
                self.back_off(&task.pod);
                return Ok(());
            }
        };
        if let Some(why) = self.room_that_must_be(index, &task.pod, &task.node) {
            let Task { pod, node, .. } = &task;
            let why = format!("replica {index} posts {pod} to {node} though {why}");
            self.heed(Err(wrong(Check::Room, why)))?;
        }
        let left = self.now.until(confirmed.ends_by);
        let left = if self.fault == Some(Fault::PostsLate) { left * 6 } else { left };
        let left = u64::try_from(left.as_millis()).unwrap().max(1);
        let quick = if self.rng.bool() { left.min(300) } else { left };
        let lands_at = self.now + Duration::from_millis(self.rng.u64(0..quick));
        let answers_at = lands_at + Duration::from_millis(self.rng.u64(0..2_000));
        let life = self.replicas[index].life;
        self.flights.push(Flight {
            replica: index,
            life,
            task,
            confirmed,
            lands_at: (self.is_quiet || self.rng.u8(..12) > 0).then_some(lands_at),
            is_bound: None,
            answers_at: (self.is_quiet || self.rng.u8(..8) > 0).then_some(answers_at),
            gives_up_at: self.now + Duration::from_millis(self.rng.u64(0..left)),
            has_given_up: false,
            is_conflict: !self.is_quiet && self.rng.u8(..12) == 0,
        });
        Ok(())
    }

    /// Delivers requests and responses. A request without a timely response is given up.
    pub(super) fn fly(&mut self) -> Result<(), Violation> {
        let mut flights = std::mem::take(&mut self.flights);
        flights.sort_by_key(|flight| flight.lands_at);
        for mut flight in flights {
            let task = &flight.task;
            if flight.is_bound.is_none() && flight.lands_at.is_some_and(|at| at <= self.now) {
                let Confirmed { version, bound, .. } = &flight.confirmed;
                let on = match self.fault {
                    Some(Fault::BindsByNameAlone) => (None, None),
                    Some(Fault::BindsAnyVersion) => (Some(&task.uid), None),
                    _ => (Some(&task.uid), *version),
                };
                let wall = self.wall();
                let is_bound = self.api.bind(&task.pod, on, &task.node, bound.as_ref(), wall);
                flight.is_bound = Some(is_bound);
                self.bound += u64::from(is_bound);
                self.check_bound()?;
                let is_same = self.api.held.pods.get(&task.pod).map(|it| &it.uid)
                    == Some(&Some(Arc::clone(&task.uid)));
                if is_bound && !is_same {
                    let why = format!("another {} is bound", task.pod);
                    self.heed(Err(wrong(Check::SamePod, why)))?;
                }
            }
            let replica = &mut self.replicas[flight.replica];
            let is_received = replica.life == flight.life && !flight.has_given_up;
            let is_answered =
                !flight.is_conflict && flight.answers_at.is_some_and(|at| at <= self.now);
            let outcome = match flight.is_bound {
                Some(true) if is_answered => Some(BindOutcome::Posted),
                Some(false) if is_answered => Some(BindOutcome::Failed),
                _ if flight.gives_up_at > self.now => None,
                _ if flight.is_conflict && self.fault == Some(Fault::TakesConflictForFailure) => {
                    Some(BindOutcome::Failed)
                }
                _ => Some(BindOutcome::Unknown),
            };
            if let Some(outcome) = outcome.filter(|_| is_received) {
                replica.settle(&task.pod, task.id, outcome);
                flight.has_given_up = true;
                let pod = task.pod.clone();
                if outcome != BindOutcome::Posted {
                    self.back_off(&pod);
                }
            }
            let may_land = flight.is_bound.is_none() && flight.lands_at.is_some();
            if may_land || outcome.is_none() {
                self.flights.push(flight);
            }
        }
        Ok(())
    }

    fn check_bound(&self) -> Result<(), Violation> {
        self.heed(self.check_caps())?;
        let lost = self.api.lost_costs.first();
        let lost = lost.map(|pod| wrong(Check::UserCosts, format!("{pod} lost its user's cost")));
        self.heed(lost.map_or(Ok(()), Err))
    }

    /// No cap is exceeded, where only we could have exceeded it.
    fn check_caps(&self) -> Result<(), Violation> {
        if !self.is_calm {
            return Ok(());
        }
        for (name, policy) in &self.api.held.policies {
            for (group, places) in self.api.held.counted(name) {
                for (unit, pods) in policy.units.iter().zip(places) {
                    if unit.max.is_some_and(|max| pods.len() > max as usize) {
                        let (unit, count) = (&unit.name, pods.len());
                        let why = format!("{name} has {count} pods of {group:?} in {unit}");
                        return Err(wrong(Check::Caps, why));
                    }
                }
            }
        }
        Ok(())
    }
}
