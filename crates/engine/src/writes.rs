//! The fields of objects in a world, and the effects of actions on them.
//!
//! A field or an action may belong to one family only; this module locates its value.

use std::sync::Arc;

use crate::families::World;
use crate::placement::PlacementDecision;
use crate::{Action, Field, Identity, Outcome, Value};
use crate::{placement, qos_levels, units};

impl Field {
    /// The value of a field of an object in the world; `None` when it is unknown.
    #[must_use]
    pub fn read(self, world: &World, object: &Identity) -> Option<Value> {
        let number = match self {
            Field::Replicas | Field::MinReplicas | Field::MaxReplicas => {
                world.objects.number(object, self)
            }
            Field::Value => {
                world.scheduled_capacity.policies.get(object)?.memory.map(|it| it.value)
            }
            Field::QosLevel => {
                return Some(qos_levels::value_of(
                    world.objects.pods.get(object)?.level().cloned(),
                ));
            }
            Field::Clusters => {
                return placement::selected(&world.placement.extra.decisions, object);
            }
            Field::UnitPods => {
                return Some(world.units.policies.get(object)?.memory.as_ref()?.unit_pods.clone());
            }
            Field::PendingPods => {
                let policy = world.units.policies.get(object)?;
                return Some(policy.memory.as_ref()?.pending_pods.clone());
            }
        };
        number.map(Value::Number)
    }

    /// The value of a field of an object while no policy sets it: a value that a policy has set stays, but a level
    /// returns to the original level. `None` when the value is unknown, or does not exist without a policy.
    #[must_use]
    pub fn without_policy(self, world: &World, object: &Identity) -> Option<Value> {
        match self {
            Field::Replicas | Field::MinReplicas | Field::MaxReplicas => self.read(world, object),
            Field::QosLevel => {
                let level = world.objects.pods.get(object)?.annotations().level_of_user();
                Some(qos_levels::value_of(level))
            }
            Field::Value | Field::Clusters | Field::UnitPods | Field::PendingPods => None,
        }
    }
}

impl World {
    /// Applies an action like an API server that never fails.
    pub fn apply(&mut self, action: &Action) -> Outcome {
        match action {
            Action::Publish { schedule, value } => {
                // A published number is the policy state; closing the turn stores it.
                present(self.scheduled_capacity.policies.get(schedule), schedule, |object| {
                    let is_so = object.memory.is_some_and(|before| before.value == *value);
                    if is_so { Outcome::Unchanged } else { Outcome::Done }
                })
            }
            Action::SetReplicas { target, replicas } => {
                present(self.objects.workloads.get_mut(target), target, |workload| {
                    // Without a cluster, the workload is assumed to reach its replicas immediately.
                    workload.current = None;
                    replace(&mut workload.replicas, Some(*replicas))
                })
            }
            Action::SetBounds { target, min, max } => {
                present(self.objects.autoscalers.get_mut(target), target, |autoscaler| {
                    let before = *autoscaler;
                    autoscaler.min_replicas = min.or(before.min_replicas);
                    autoscaler.max_replicas = max.or(before.max_replicas);
                    if *autoscaler == before { Outcome::Unchanged } else { Outcome::Done }
                })
            }
            Action::Annotate { pod, annotations } => {
                present(self.objects.pods.get_mut(pod), pod, |pod| {
                    if pod.annotate(annotations) { Outcome::Done } else { Outcome::Unchanged }
                })
            }
            Action::WriteDecision { decision, content } => {
                if self.is_as_wanted(action) {
                    return Outcome::Unchanged;
                }
                Arc::make_mut(&mut self.placement.extra.decisions)
                    .insert(decision.clone(), PlacementDecision::clone(content));
                Outcome::Done
            }
            Action::RemoveDecision { decision } => {
                match Arc::make_mut(&mut self.placement.extra.decisions).remove(decision) {
                    Some(_) => Outcome::Done,
                    None => Outcome::Unchanged,
                }
            }
            Action::SchedulePods { at, .. } => {
                units::schedule_pods(&self.objects, &mut self.units.extra, *at)
            }
        }
    }

    /// Whether an action would change nothing.
    #[must_use]
    pub fn is_as_wanted(&self, action: &Action) -> bool {
        match action {
            Action::Publish { schedule, value } => {
                let object = self.scheduled_capacity.policies.get(schedule);
                object.and_then(|it| it.memory).is_some_and(|published| published.value == *value)
            }
            Action::SetReplicas { target, replicas } => {
                self.objects.workloads.get(target).is_some_and(|it| it.replicas == Some(*replicas))
            }
            Action::SetBounds { target, min, max } => {
                self.objects.autoscalers.get(target).is_some_and(|it| {
                    (min.is_none() || *min == it.min_replicas)
                        && (max.is_none() || *max == it.max_replicas)
                })
            }
            Action::Annotate { pod, annotations } => {
                self.objects.pods.get(pod).is_some_and(|it| it.annotations() == **annotations)
            }
            Action::WriteDecision { decision, content } => {
                self.placement.extra.decisions.get(decision) == Some(&**content)
            }
            Action::RemoveDecision { decision } => {
                self.placement.extra.decisions.get(decision).is_none()
            }
            Action::SchedulePods { at, .. } => {
                let scheduling = self.units.extra.scheduling.as_ref();
                scheduling.is_none_or(|it| {
                    it.is_settled(
                        units::Replicas::from_objects(&self.objects, &self.units.extra),
                        *at,
                    )
                })
            }
        }
    }
}

fn present<T>(found: Option<T>, target: &Identity, then: impl FnOnce(T) -> Outcome) -> Outcome {
    found.map_or_else(|| Outcome::Refused(Arc::from(format!("{target} not found"))), then)
}

fn replace<T: PartialEq>(place: &mut T, value: T) -> Outcome {
    if *place == value {
        return Outcome::Unchanged;
    }
    *place = value;
    Outcome::Done
}
