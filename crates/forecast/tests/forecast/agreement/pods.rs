//! The pods of two Deployments in two units with caps, computed one by one. This module shares no code with the
//! scheduling simulation.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::{Field, Identity, Value};
use almanac_fixtures::names;
use jiff::Timestamp;

use super::turns::{Timelines, add};

/// The units, the better one first.
pub(super) const UNITS: [&str; 2] = ["x", "y"];

/// The pods in the order of their creation.
pub(super) struct Pods {
    caps: [u32; 2],
    all: Vec<Pod>,
    /// The last values in the timelines.
    published: BTreeMap<Field, Value>,
}

struct Pod {
    deployment: usize,
    unit: Option<usize>,
}

impl Pods {
    pub(super) fn new(caps: (u32, u32)) -> Pods {
        Pods { caps: caps.into(), all: Vec::new(), published: BTreeMap::new() }
    }

    fn count(&self, is_counted: impl Fn(&Pod) -> bool) -> u32 {
        u32::try_from(self.all.iter().filter(|pod| is_counted(pod)).count()).unwrap()
    }

    /// Sets the number of pods of each Deployment to its replicas.
    pub(super) fn become_as_many(&mut self, replicas: [u32; 2]) {
        for (deployment, wanted) in replicas.into_iter().enumerate() {
            while self.count(|pod| pod.deployment == deployment) > wanted {
                let own = (0..self.all.len()).filter(|it| self.all[*it].deployment == deployment);
                // Removes pending pods first, then pods of the worse unit, the newest first.
                let rank = |it: &usize| (self.all[*it].unit.map(Reverse), Reverse(*it));
                let first = own.min_by_key(rank).unwrap();
                self.all.remove(first);
            }
        }
        for (deployment, wanted) in replicas.into_iter().enumerate() {
            for _ in self.count(|pod| pod.deployment == deployment)..wanted {
                self.all.push(Pod { deployment, unit: None });
            }
        }
        for index in 0..self.all.len() {
            if self.all[index].unit.is_none() {
                let has_place = |unit: &usize| self.in_unit(*unit) < self.caps[*unit];
                self.all[index].unit = (0..UNITS.len()).find(has_place);
            }
        }
    }

    fn in_unit(&self, unit: usize) -> u32 {
        self.count(|pod| pod.unit == Some(unit))
    }

    /// Adds the units of the pods, and the number of pending ones.
    pub(super) fn publish_numbers(&mut self, timelines: &mut Timelines, at: Timestamp) {
        let numbers: BTreeMap<Arc<str>, u32> =
            (0..UNITS.len()).map(|it| (UNITS[it].into(), self.in_unit(it))).collect();
        let waiting = self.count(|pod| pod.unit.is_none());
        let worst = (0..UNITS.len()).rev().find(|it| self.in_unit(*it) > 0);
        // A unit receives the last pod, unless a pod is pending.
        let by = worst.filter(|_| waiting == 0).map(|it| UNITS[it].into());
        let policy = names::resource_policy("u");
        let published = [
            (Field::UnitPods, Value::Numbers(Arc::new(numbers)), by),
            (Field::PendingPods, Value::Number(waiting), None),
        ];
        for (field, value, by) in published {
            if self.published.insert(field, value.clone()).as_ref() != Some(&value) {
                let place: (Identity, Field) = (policy.identity.clone(), field);
                let by = Some((policy.clone(), by));
                add(timelines.entry(place).or_default(), (at, Some(value), by));
            }
        }
    }
}
