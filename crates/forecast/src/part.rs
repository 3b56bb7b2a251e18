//! A forecast, one island at a time.
//!
//! Policies of different islands do not affect each other. So each island runs under its own clock, in any
//! order, and its series are handed over and dropped. Memory grows with the largest island, not with the
//! number of policies.

use std::collections::BTreeMap;

use almanac_engine::{Field, Identity, PolicyName, Value, World, islands};

use jiff::SignedDuration;

use crate::doubt::Watch;
use crate::{AssumedValues, Assumption, Doubt, LastWrite, Origin, Period, Series, Simulation};

/// An island of policies that follow one zone repeats itself: after so many turns, and so long, it has shown what there
/// is to see, unless some rule has only lost so far.
const TURNS: usize = 400;
const REPEATS: SignedDuration = SignedDuration::from_hours(24 * 35);

/// What will happen in a period.
#[derive(Clone, Debug)]
pub struct Forecast<'a> {
    world: &'a World,
    period: Period,
    assumed: AssumedValues,
    islands: Vec<Island>,
}

/// Connected policies.
#[derive(Clone, Debug)]
struct Island {
    policies: Vec<PolicyName>,
    /// What to show of it: every object, the policies that write it, and which of its fields.
    shown: BTreeMap<Identity, Written>,
}

/// The policies that write an object, and which of its fields.
#[derive(Clone, Debug, Default)]
struct Written {
    by: Vec<PolicyName>,
    fields: Vec<Field>,
}

/// One island: its series, and what was assumed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// A series for each field that can be set, in the order of the objects and of their fields.
    pub series: Vec<Series>,
    /// What was assumed.
    pub assumptions: Vec<Assumption>,
}

impl<'a> Forecast<'a> {
    /// A forecast of everything that policies of this world set.
    #[must_use]
    pub fn new(world: &'a World, period: Period, assumed: AssumedValues) -> Forecast<'a> {
        let islands = islands(world).into_iter().map(|policies| Island::of(world, policies));
        let islands = islands.filter(|island| !island.shown.is_empty()).collect();
        Forecast { world, period, assumed, islands }
    }

    /// Shows only the matching objects, by the object and the policies that write it. Connected
    /// policies are still run.
    pub fn narrow(&mut self, keep: impl Fn(&Identity, &[PolicyName]) -> bool) {
        for island in &mut self.islands {
            island.shown.retain(|object, written| keep(object, &written.by));
        }
        self.islands.retain(|island| !island.shown.is_empty());
    }

    /// The period.
    #[must_use]
    pub fn period(&self) -> Period {
        self.period
    }

    /// Every shown object with the policies that write it, in the order of the parts.
    pub fn targets(&self) -> impl Iterator<Item = (&Identity, &[PolicyName])> {
        let shown = self.islands.iter().flat_map(|island| &island.shown);
        shown.map(|(object, written)| (object, written.by.as_slice()))
    }

    /// Every shown object with the number of its part, in their order. In one part, each is there once.
    pub(crate) fn objects_of_parts(&self) -> impl Iterator<Item = (usize, &Identity)> {
        let parts = self.islands.iter().enumerate();
        parts.flat_map(|(part, island)| island.shown.keys().map(move |object| (part, object)))
    }

    /// What is shown of policies that are connected with one of these objects.
    pub fn connected_with(
        &self,
        is_one: impl Fn(&Identity) -> bool,
    ) -> impl Iterator<Item = &Identity> {
        let has_one = move |island: &&Island| {
            island.policies.iter().any(|policy| is_one(&policy.identity))
                || island.shown.keys().any(&is_one)
        };
        self.islands.iter().filter(has_one).flat_map(|island| island.shown.keys())
    }

    /// The world that it is of.
    pub(crate) fn world(&self) -> &'a World {
        self.world
    }

    /// What an object has that no policy sets; `None` if it is unknown.
    pub(crate) fn standing(&self, target: &Identity, field: Field) -> Option<Series> {
        let stated = self.assumed.get(&(target.clone(), field)).copied().map(Value::Number);
        let value = stated.or_else(|| field.read(self.world, target));
        let value = value.filter(|_| field.can_be_assumed())?;
        let write = LastWrite { value: Some(value), origin: Origin::standing(), since: None };
        Some(Series::start(target.clone(), field, &write, self.period))
    }

    /// Whether an object is a policy that carries its number to others here, which read it.
    pub(crate) fn is_carrier(&self, part: usize, object: &Identity) -> bool {
        self.islands.get(part).is_some_and(|island| {
            let others = island.policies.iter().filter(|it| it.identity != *object);
            others.map(|it| self.world.footprint(it)).any(|it| it.reads.contains(object))
        })
    }

    /// How many parts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.islands.len()
    }

    /// Whether there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.islands.is_empty()
    }

    /// Runs one part; out of range, an empty one. The parts can be run in any order, and at the same
    /// time.
    #[must_use]
    pub fn part(&self, part: usize) -> Part {
        let Some(island) = self.islands.get(part) else {
            return Part { series: Vec::new(), assumptions: Vec::new() };
        };
        let mut simulation = self.simulation(island);
        let assumptions = simulation.assumptions().to_vec();
        let shown = simulation
            .last_writes()
            .iter()
            .filter(|((object, _), _)| island.shown.contains_key(object));
        let mut series: Vec<Series> = shown
            .map(|((object, field), write)| {
                Series::start(object.clone(), *field, write, self.period)
            })
            .collect();
        while let Some(step) = simulation.step(self.period.to()) {
            for set in &step.set {
                let place = series.binary_search_by(|it| {
                    it.target.cmp(&set.target).then(it.field.cmp(&set.field))
                });
                if let Ok(place) = place {
                    series[place].change(step.at, &set.value, &set.origin);
                }
            }
        }
        Part { series, assumptions }
    }

    /// Runs one part for what is probably not meant in it; nothing, out of range. Policies that set what no other
    /// policy or zone sets are run until they repeat themselves, the others to the end of the period.
    #[must_use]
    pub fn doubts(&self, part: usize) -> Vec<Doubt> {
        let Some(island) = self.islands.get(part) else { return Vec::new() };
        let (from, to) = (self.period.from(), self.period.to());
        let mut simulation = self.simulation(island);
        let mut watch = Watch::new(self.world, &island.policies, &simulation, from);
        let repeats_at = from.saturating_add(REPEATS).unwrap_or(to);
        let may_end = !watch.has_several_groups();
        let mut turns = 0;
        let mut until = to;
        while let Some(step) = simulation.step(until) {
            watch.take_down(&simulation, &step);
            turns += 1;
            if may_end && turns >= TURNS && step.at >= repeats_at && !watch.has_losers() {
                // Whoever has a turn at this instant still takes it.
                until = step.at.saturating_add(SignedDuration::from_nanos(1)).unwrap_or(to);
            }
        }
        watch.end(&simulation, until)
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
        Simulation::start(self.world.part(&island.policies), self.period.from(), &self.assumed)
    }
}

impl Island {
    fn of(world: &World, policies: Vec<PolicyName>) -> Island {
        let mut shown: BTreeMap<Identity, Written> = BTreeMap::new();
        for policy in &policies {
            for (object, field) in world.footprint(policy).writes {
                let written = shown.entry(object).or_default();
                if !written.fields.contains(&field) {
                    written.fields.push(field);
                }
                if written.by.last() != Some(policy) {
                    written.by.push(policy.clone());
                }
            }
        }
        Island { policies, shown }
    }
}
