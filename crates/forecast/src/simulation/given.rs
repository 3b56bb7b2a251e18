//! The values at the start of a run that the caller specifies, or that an earlier version of the policies has left.

use almanac_engine::{Field, Identity, Value};
use jiff::Timestamp;

use super::{LastWrite, Simulation};
use crate::part::Inherited;
use crate::{AssumedValues, Assumption, Origin};

impl Simulation {
    /// Records the unknown values.
    pub(super) fn note_unknown(&mut self, assumed: &AssumedValues) {
        for ((target, field), write) in &self.last_writes {
            let is_stated = || assumed.contains_key(&(target.clone(), *field));
            if write.value.is_none() && field.can_be_assumed() && !is_stated() {
                let target = target.clone();
                self.assumptions.push(Assumption::UnknownAtStart { target, field: *field });
            }
        }
    }

    /// Sets fields to the values that another version has left, with their writers, and starts the
    /// rules that were held back until then.
    pub(super) fn take_over(&mut self, inherited: Inherited, from: Timestamp) {
        let Inherited { left, yields_to_later, held_back } = inherited;
        for held in held_back {
            let (policy, next) = held.begin(&mut self.world.cron_scaling, from);
            self.agenda.set(&policy, next);
        }
        for (place, held) in left {
            let Some(write) = self.last_writes.get_mut(&place) else { continue };
            if yields_to_later && write.since >= held.since {
                continue;
            }
            let Some(number) = held.value.as_ref().and_then(Value::number) else { continue };
            *write = held;
            let (target, field) = place;
            self.world.objects.begin_with(&target, field, number);
            for follower in self.followers.get(&target).into_iter().flatten() {
                self.agenda.bring_forward(follower, from);
            }
        }
    }

    /// Sets fields to the values that the caller specified.
    pub(super) fn assume(&mut self, assumed: &AssumedValues, from: Timestamp) {
        for ((target, field), write) in &mut self.last_writes {
            let place = (target.clone(), *field);
            if let Some(&number) = assumed.get(&place) {
                self.world.objects.begin_with(target, *field, number);
                for follower in self.followers.get(target).into_iter().flatten() {
                    self.agenda.bring_forward(follower, from);
                }
                let value = Some(Value::Number(number));
                *write = LastWrite { value, origin: Origin::assumed(), since: None };
                let (target, field) = place;
                self.assumptions.push(Assumption::Stated { target, field, value: number });
            }
        }
        for ((target, field), &number) in assumed {
            self.make_way(target, *field, number, assumed);
        }
    }

    /// An autoscaler cannot have contradicting bounds. If the assumptions would cause that, the bound that was not
    /// specified yields.
    fn make_way(&mut self, target: &Identity, assumed: Field, number: u32, all: &AssumedValues) {
        let (other, crosses): (Field, fn(u32, u32) -> bool) = match assumed {
            Field::MinReplicas => (Field::MaxReplicas, |min, max| min > max),
            Field::MaxReplicas => (Field::MinReplicas, |max, min| min > max),
            Field::Replicas
            | Field::Value
            | Field::QosLevel
            | Field::Clusters
            | Field::UnitPods
            | Field::PendingPods => return,
        };
        let place = (target.clone(), other);
        let Some(write) = self.last_writes.get_mut(&place).filter(|_| !all.contains_key(&place))
        else {
            return;
        };
        let is_crossed =
            write.value.as_ref().and_then(Value::number).is_some_and(|it| crosses(number, it));
        if is_crossed {
            self.world.objects.begin_with(target, other, number);
            let value = Some(Value::Number(number));
            *write = LastWrite { value, origin: Origin::made_way(), since: None };
            let (target, field) = place;
            self.assumptions.push(Assumption::MadeWay { target, field, value: number });
        }
    }
}
