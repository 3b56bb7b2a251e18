//! Replicas and the bounds of autoscalers while a run is watched: values outside the bounds, and bounds that moved.

use almanac_engine::{Field, Identity};

use super::Problem;
use super::held::Write;
use super::watch::{Sort, Watch};

impl Watch<'_> {
    /// Checks the values against the bounds of the autoscalers, after all writes of an instant.
    pub(super) fn settle(&mut self) {
        for workload in std::mem::take(&mut self.unsettled.1) {
            self.compare_with_bounds(workload);
        }
        for (place, before) in std::mem::take(&mut self.moved) {
            let current = self.held.get(&place).map(|it| it.current.clone());
            // A bound that was set again at the same instant has not moved.
            if let Some(write) = current.filter(|it| it.origin.moves_other_bound) {
                self.report_moved_bound(&place.0, place.1, &write, before);
            }
        }
    }

    fn compare_with_bounds(&mut self, workload: &Identity) {
        let Some(autoscaler) = self.world.units.extra.pods_and_nodes.autoscalers.get(workload)
        else {
            return;
        };
        let current = |object: &Identity, field| {
            self.held.get(&(object.clone(), field)).map(|it| it.current.clone())
        };
        let Some(replicas) = current(workload, Field::Replicas) else { return };
        let given = self.world.objects.autoscalers.get(autoscaler);
        let set = [Field::MinReplicas, Field::MaxReplicas].map(|field| current(autoscaler, field));
        let number = |write: &Option<Write>| write.as_ref().and_then(Write::number);
        let min = number(&set[0]).or(given.and_then(|it| it.min_replicas)).unwrap_or(1);
        let max = number(&set[1]).or(given.and_then(|it| it.max_replicas));
        let (Some(value), Some(max)) = (replicas.number().filter(|it| *it > 0), max) else {
            return;
        };
        let later = set.into_iter().flatten().filter(|it| it.writer().is_some());
        let moved = later.max_by_key(|it| it.at).filter(|it| it.at > replicas.at);
        // A lower bound is meant to raise a value.
        let is_outside = if moved.is_some() { value > max } else { value < min || value > max };
        let since = moved.as_ref().map(|_| replicas.at);
        let Some(writer) = moved.as_ref().unwrap_or(&replicas).writer().cloned() else { return };
        if replicas.writer().is_none() || !is_outside {
            return;
        }
        let at = self.next_time(&writer, moved.as_ref().unwrap_or(&replicas).at);
        let (target, autoscaler, bounds) = (workload.clone(), autoscaler.clone(), (min, max));
        let problem = Problem::OutOfBounds { target, value, since, autoscaler, bounds, at };
        let at = since.into_iter().chain([at]).collect();
        self.note(Sort::OutOfBounds, &writer, None, None, (problem, at));
    }

    /// Reports the bound that had to move: the upper one if it was raised, or the lower one if it was lowered. A bound
    /// that the rule itself names changes the other way.
    pub(super) fn report_moved_bound(
        &mut self,
        target: &Identity,
        field: Field,
        write: &Write,
        before: u32,
    ) {
        let (Some(writer), Some(to)) = (write.writer().cloned(), write.number()) else { return };
        let has_moved = match field {
            Field::MinReplicas => to < before,
            Field::MaxReplicas => to > before,
            _ => false,
        };
        if has_moved && write.at >= self.known_since {
            let at = self.next_time(&writer, write.at);
            let (target, values) = (target.clone(), (before, to));
            let problem = Problem::MovesOtherBound { target, moved: field, values, at };
            self.note(Sort::MovesOtherBound, &writer, None, Some(field), (problem, vec![at]));
        }
    }
}
