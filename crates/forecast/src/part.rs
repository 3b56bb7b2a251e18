//! A forecast, one island at a time.
//!
//! Policies of different islands do not affect each other. So each island runs under its own clock, in any
//! order, and its series are returned and dropped. Memory grows with the largest island, not with the
//! number of policies.

mod takeover;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_engine::{Field, Identity, PolicyName, Value, World, islands};

use jiff::{SignedDuration, Timestamp};

use self::takeover::Takeover;
pub(crate) use self::takeover::{Inherited, LeftValues};
use crate::findings::{RECENT, Watch, days_to_run};
use crate::overlap::SharedFirings;
use crate::{
    AssumedValues, Assumption, ForecastFinding, LastWrite, OpenWindows, Origin, Overlap, Period,
    Series, Simulation,
};

/// The forecast of a period.
#[derive(Clone, Debug)]
pub struct Forecast<'a> {
    world: &'a World,
    period: Period,
    assumed: AssumedValues,
    islands: Vec<Island>,
    /// The previous version, from which this version takes over when the period starts.
    takeover: Option<Arc<Takeover<'a>>>,
}

/// Connected policies.
#[derive(Clone, Debug)]
struct Island {
    policies: Vec<PolicyName>,
    /// Every object, with the policies that write it and the fields that they write.
    objects: BTreeMap<Identity, WrittenFields>,
}

/// The policies that write an object, and the fields that they write.
#[derive(Clone, Debug, Default)]
struct WrittenFields {
    by: Vec<PolicyName>,
    fields: Vec<Field>,
}

/// The forecast of one island.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Part {
    /// A series for each field that can be set, in the order of the objects and of their fields.
    pub series: Vec<Series>,
    /// The assumptions.
    pub assumptions: Vec<Assumption>,
    /// The instants at which several rules fire and one rule decides, by the index of the series.
    pub meetings: BTreeMap<usize, Vec<Overlap>>,
}

impl<'a> Forecast<'a> {
    /// A forecast of everything that policies of this world set.
    #[must_use]
    pub fn new(world: &'a World, period: Period, assumed: AssumedValues) -> Forecast<'a> {
        let islands =
            islands(world).into_iter().map(|policies| Island::for_policies(world, policies));
        let islands = islands.filter(|island| !island.objects.is_empty()).collect();
        Forecast { world, period, assumed, islands, takeover: None }
    }

    /// Makes this version take over from another version of the policies, or from none, when the period starts.
    /// New and edited policies start at that instant, as they do in a cluster, and find the values that the other
    /// version has set. Objects with a status continue from it.
    #[must_use]
    pub fn taking_over(mut self, before: Option<&Forecast<'a>>) -> Forecast<'a> {
        self.takeover = Some(Arc::new(Takeover::new(before)));
        self
    }

    /// Runs the policies that set a workload together with those that set the bounds of its autoscaler.
    #[must_use]
    pub fn joined_by_autoscalers(mut self) -> Forecast<'a> {
        let autoscalers = &self.world.units.extra.pods_and_nodes.autoscalers;
        let mut part_of: BTreeMap<&Identity, usize> = BTreeMap::new();
        for (part, object) in self.objects_of_parts() {
            if autoscalers.contains_key(object)
                || self.world.objects.autoscalers.contains_key(object)
            {
                part_of.insert(object, part);
            }
        }
        let mut with: Vec<usize> = (0..self.islands.len()).collect();
        for (workload, autoscaler) in autoscalers {
            let Some((one, other)) = part_of.get(workload).zip(part_of.get(autoscaler)) else {
                continue;
            };
            let [one, other] = [one, other].map(|part| first(&with, *part));
            with[one.max(other)] = one.min(other);
        }
        let mut joined: BTreeMap<usize, Island> = BTreeMap::new();
        for (part, island) in std::mem::take(&mut self.islands).into_iter().enumerate() {
            match joined.entry(first(&with, part)) {
                Entry::Occupied(mut known) => known.get_mut().join(island),
                Entry::Vacant(place) => _ = place.insert(island),
            }
        }
        self.islands = joined.into_values().collect();
        self
    }

    /// Limits the results to the matching objects, by the object and the policies that write it. Connected
    /// policies are still run.
    pub fn narrow(&mut self, keep: impl Fn(&Identity, &[PolicyName]) -> bool) {
        for island in &mut self.islands {
            island.objects.retain(|object, fields| keep(object, &fields.by));
        }
        self.islands.retain(|island| !island.objects.is_empty());
    }

    /// The period.
    #[must_use]
    pub fn period(&self) -> Period {
        self.period
    }

    /// Every object in the results with the policies that write it, in the order of the parts.
    pub fn targets(&self) -> impl Iterator<Item = (&Identity, &[PolicyName])> {
        let objects = self.islands.iter().flat_map(|island| &island.objects);
        objects.map(|(object, fields)| (object, fields.by.as_slice()))
    }

    /// Every object in the results with the index of its part, in their order. A part contains an object once.
    pub(crate) fn objects_of_parts(&self) -> impl Iterator<Item = (usize, &Identity)> {
        let parts = self.islands.iter().enumerate();
        parts.flat_map(|(part, island)| island.objects.keys().map(move |object| (part, object)))
    }

    /// The objects in the results of all policies that are connected with one of these objects.
    pub fn connected_with(
        &self,
        is_one: impl Fn(&Identity) -> bool,
    ) -> impl Iterator<Item = &Identity> {
        let has_one = move |island: &&Island| {
            island.policies.iter().any(|policy| is_one(&policy.identity))
                || island.objects.keys().any(&is_one)
        };
        self.islands.iter().filter(has_one).flat_map(|island| island.objects.keys())
    }

    /// The world of the forecast.
    pub(crate) fn world(&self) -> &'a World {
        self.world
    }

    /// The value of an object's field that no policy sets. Another version may have left the value. `None` if it is
    /// unknown.
    pub(crate) fn standing(
        &self,
        target: &Identity,
        field: Field,
        left: Option<&LastWrite>,
    ) -> Option<Series> {
        let start = |write: &LastWrite| Series::start(target.clone(), field, write, self.period);
        let stated = self.assumed.get(&(target.clone(), field)).copied().map(Value::Number);
        if let (None, Some(left)) = (&stated, left) {
            return Some(start(left));
        }
        let value = stated.or_else(|| field.without_policy(self.world, target))?;
        let write = LastWrite { value: Some(value), origin: Origin::standing(), since: None };
        Some(start(&write))
    }

    /// Whether this version takes over from another version, or from none.
    pub(crate) fn takes_over(&self) -> bool {
        self.takeover.is_some()
    }

    /// The values that the other version has left in objects that no policy here sets.
    pub(crate) fn left_in(&self, objects: &BTreeSet<Identity>) -> LeftValues {
        let Some(takeover) = &self.takeover else { return LeftValues::new() };
        let kept = objects.iter().filter(|object| !takeover.has_lost(self.world, object));
        takeover.left_values(&kept.cloned().collect(), |_, _| false)
    }

    /// The policies of a part.
    pub(crate) fn policies_of(&self, part: usize) -> &[PolicyName] {
        self.islands.get(part).map_or(&[][..], |island| &island.policies)
    }

    /// Starts a run of some policies at an instant.
    pub(crate) fn run_of(&self, policies: &[PolicyName], from: Timestamp) -> Simulation {
        Simulation::start(self.world.part(policies), from, &self.assumed)
    }

    /// Whether an object is a policy whose value other policies of the world read.
    pub(crate) fn is_carrier(&self, part: usize, object: &Identity) -> bool {
        self.islands.get(part).is_some_and(|island| {
            let others = island.policies.iter().filter(|it| it.identity != *object);
            others.map(|it| self.world.footprint(it)).any(|it| it.reads.contains(object))
        })
    }

    /// The number of parts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.islands.len()
    }

    /// Whether the forecast has no parts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.islands.is_empty()
    }

    /// Runs one part; an empty one if out of range. The parts can be run in any order, and at the same
    /// time.
    #[must_use]
    pub fn part(&self, part: usize) -> Part {
        let Some(island) = self.islands.get(part) else {
            return Part::default();
        };
        let mut simulation = self.simulation(island);
        let assumptions = simulation.assumptions().to_vec();
        let last_writes = simulation
            .last_writes()
            .iter()
            .filter(|((object, _), _)| island.objects.contains_key(object));
        let mut series: Vec<Series> = last_writes
            .map(|((object, field), write)| {
                Series::start(object.clone(), *field, write, self.period)
            })
            .collect();
        let mut meetings = SharedFirings::for_policies(&island.policies);
        while let Some(step) = simulation.step(self.period.to()) {
            meetings.record(simulation.world(), &step, &series);
            for set in &step.set {
                let place = series.binary_search_by(|it| {
                    it.target.cmp(&set.target).then(it.field.cmp(&set.field))
                });
                if let Ok(place) = place {
                    series[place].change(step.at, &set.value, &set.origin);
                }
            }
        }
        Part { series, assumptions, meetings: meetings.end() }
    }

    /// The windows of one part that are open at the same time with different values.
    #[must_use]
    pub fn open_windows(&self, part: usize) -> OpenWindows<'a> {
        OpenWindows::new(self.world, self.policies_of(part), self.period)
    }

    /// Runs one part and returns its probable mistakes; none if out of range. Skips days on which rules fire as on
    /// earlier days, if the rules of a policy alone determine its past.
    #[must_use]
    pub fn findings(&self, part: usize) -> Vec<ForecastFinding> {
        let Some(island) = self.islands.get(part) else { return Vec::new() };
        let watch = Watch::new(self.world, &island.policies, self.period);
        let stretches = if island.policies.iter().all(|it| it.family.follows_schedules()) {
            days_to_run(&watch.rules(), island.policies.len() > 1, self.period)
        } else {
            vec![self.period]
        };
        self.watched(island, watch, &stretches)
    }

    fn watched(
        &self,
        island: &Island,
        mut watch: Watch<'_>,
        stretches: &[Period],
    ) -> Vec<ForecastFinding> {
        let mut run: Option<(Simulation, Timestamp)> = None;
        for stretch in stretches {
            let (mut simulation, until) = match run.take() {
                Some((simulation, until)) if until >= stretch.from() => (simulation, until),
                last => {
                    if let Some((_, until)) = last {
                        watch.leave(until);
                    }
                    let simulation = self.run_of(&island.policies, stretch.from());
                    watch.begin(&simulation, stretch.from());
                    (simulation, stretch.from())
                }
            };
            let until = self.run(&mut simulation, &mut watch, *stretch, until);
            run = Some((simulation, until));
        }
        if let Some((_, until)) = run {
            watch.leave(until);
        }
        watch.end()
    }

    /// Runs to the end of a stretch, and on until the lost values in it are known. Returns the end of the run.
    fn run(
        &self,
        simulation: &mut Simulation,
        watch: &mut Watch<'_>,
        stretch: Period,
        mut until: Timestamp,
    ) -> Timestamp {
        until = until.max(stretch.to());
        let last = stretch.to().saturating_add(RECENT).unwrap_or(Timestamp::MAX);
        let last = last.min(self.period.to());
        loop {
            while let Some(step) = simulation.step(until) {
                watch.record(simulation, &step);
            }
            watch.pause();
            if !watch.is_open(stretch.from()) {
                return until;
            }
            let Some(next) = simulation.next().filter(|next| *next < last) else {
                return until.max(last);
            };
            // Includes the turns at this instant.
            until = next.saturating_add(SignedDuration::from_nanos(1)).unwrap_or(last);
        }
    }

    /// The parts in order, computed lazily.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        (0..self.len()).map(|part| self.part(part))
    }

    /// The assumptions, sorted and deduplicated. They do not depend on the period.
    #[must_use]
    pub fn assumptions(&self) -> Vec<Assumption> {
        let of_islands = self.islands.iter().map(|island| self.simulation(island));
        let mut assumptions: Vec<Assumption> =
            of_islands.flat_map(|simulation| simulation.assumptions().to_vec()).collect();
        assumptions.sort();
        assumptions.dedup();
        assumptions
    }

    fn simulation(&self, island: &Island) -> Simulation {
        match &self.takeover {
            Some(takeover) => {
                let world = self.world.part(&island.policies);
                takeover.start(world, self.period.from(), &self.assumed)
            }
            None => self.run_of(&island.policies, self.period.from()),
        }
    }
}

impl Island {
    fn for_policies(world: &World, policies: Vec<PolicyName>) -> Island {
        let mut objects: BTreeMap<Identity, WrittenFields> = BTreeMap::new();
        for policy in &policies {
            for (object, field) in world.footprint(policy).writes {
                let object_fields = objects.entry(object).or_default();
                if !object_fields.fields.contains(&field) {
                    object_fields.fields.push(field);
                }
                if object_fields.by.last() != Some(policy) {
                    object_fields.by.push(policy.clone());
                }
            }
        }
        Island { policies, objects }
    }
    fn join(&mut self, other: Island) {
        self.policies.extend(other.policies);
        // Policies of one family are adjacent.
        self.policies.sort();
        self.objects.extend(other.objects);
    }
}

/// The first of the parts that are joined with this part.
fn first(with: &[usize], mut part: usize) -> usize {
    while with[part] != part {
        part = with[part];
    }
    part
}

#[cfg(test)]
mod tests;
