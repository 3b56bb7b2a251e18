//! A version of the policies that takes over from another version, as when a change is applied. Its new and edited
//! policies start at that instant, and find the state that the other version has left.
//!
//! The engine determines which policies continue and which are new; the comparison, the differences over time.

use std::collections::{BTreeMap, BTreeSet};

use almanac_engine::cron_scaling::HeldBack;
use almanac_engine::metric_scaling::MetricScaling;
use almanac_engine::{
    Family, Field, Identity, PolicyName, World, continues, decides, keep_creation, known_until,
    start_as_new,
};
use jiff::Timestamp;

use super::{Forecast, Island};
use crate::{AssumedValues, LastWrite, Simulation};

/// The values of fields when a version takes over, and their writers.
pub(crate) type LeftValues = BTreeMap<(Identity, Field), LastWrite>;

/// The state that connected policies take over.
#[derive(Debug)]
pub(crate) struct Inherited {
    /// The values that the other version has left.
    pub(crate) left: LeftValues,
    /// Whether the left values yield to values set later, or at the same instant.
    pub(crate) yields_to_later: bool,
    /// The rules that start at that instant, of objects that continue from their status.
    pub(crate) held_back: Vec<HeldBack>,
}

/// The version from which another version takes over.
#[derive(Clone, Debug)]
pub(super) struct Takeover<'a> {
    /// `None` if there was no version before.
    before: Option<Forecast<'a>>,
    /// For each object whose numbers policies set, the part of that version that contains the object.
    part_of: BTreeMap<Identity, usize>,
}

impl<'a> Takeover<'a> {
    pub(super) fn new(before: Option<&Forecast<'a>>) -> Takeover<'a> {
        let mut part_of = BTreeMap::new();
        for (part, island) in before.iter().flat_map(|it| it.islands.iter().enumerate()) {
            let numbered = island
                .objects
                .iter()
                .filter(|(_, it)| it.fields.iter().any(|field| field.can_be_assumed()));
            part_of.extend(numbered.map(|(object, _)| (object.clone(), part)));
        }
        Takeover { before: before.cloned(), part_of }
    }

    /// Sets connected policies of the later version to an instant.
    pub(super) fn start(
        &self,
        mut world: World,
        from: Timestamp,
        assumed: &AssumedValues,
    ) -> Simulation {
        let policies: Vec<PolicyName> = world.policies().collect();
        let before = self.before.as_ref().map(|before| before.world);
        if let Some(before) = before {
            for policy in &policies {
                keep_creation(&mut world, policy, before);
            }
        }
        let writes = policies.iter().flat_map(|policy| world.footprint(policy).writes);
        let objects: BTreeSet<Identity> =
            writes.filter(|(_, field)| field.can_be_assumed()).map(|(object, _)| object).collect();
        if !self.is_changed(&world, &policies, &objects, from) {
            return Simulation::start(world, from, assumed);
        }
        let known = known_until(&world);
        let mut left = self
            .left_values(&objects, |object, writer| decides_again(&world, object, writer, from));
        let mut held_back = Vec::new();
        for policy in &policies {
            let sets_by_firings = world.sets_by_firings(policy);
            if known.is_some() && sets_by_firings {
                let before = before.map(|before| &before.cron_scaling);
                held_back.extend(HeldBack::hold(&mut world.cron_scaling, policy, before));
            } else if sets_by_firings
                || !self.continues(&world, policy) && !has_history(&world, policy)
            {
                // The left values include those that its rules have set.
                start_as_new(&mut world, policy, from);
            }
        }
        // A status later than all known state of the other version outweighs the values that the version has left,
        // except for values that it has set since, before rules were edited.
        let is_outweighed = known.is_some() && known > self.known_until(&objects);
        if is_outweighed {
            left.retain(|_, write| !held_back.is_empty() && write.since > known);
        }
        if known.is_some() && left.is_empty() && held_back.is_empty() {
            return Simulation::start(world, from, assumed);
        }
        let inherited = Inherited { left, yields_to_later: is_outweighed, held_back };
        Simulation::start_after(inherited, world, from, assumed)
    }

    /// Whether a policy is new or edited, a policy can no longer decide, or a deleted policy set the same fields.
    fn is_changed(
        &self,
        world: &World,
        policies: &[PolicyName],
        written: &BTreeSet<Identity>,
        from: Timestamp,
    ) -> bool {
        let own: BTreeSet<&PolicyName> = policies.iter().collect();
        let is_gone = |policy: &PolicyName| !own.contains(policy);
        let has_decided = |policy: &PolicyName| {
            self.before.as_ref().is_some_and(|before| decides(before.world, policy, from))
        };
        let is_other = |policy: &PolicyName| {
            !self.continues(world, policy) || !decides(world, policy, from) && has_decided(policy)
        };
        policies.iter().any(is_other)
            || written.iter().any(|object| self.writers(object).iter().any(is_gone))
    }

    fn continues(&self, world: &World, policy: &PolicyName) -> bool {
        self.before.as_ref().is_some_and(|before| continues(world, policy, before.world))
    }

    /// The part of the previous version that has set a field of an object, with its island.
    fn island_of(&self, object: &Identity) -> Option<(usize, &Island)> {
        let part = self.part_of.get(object).copied()?;
        Some((part, self.before.as_ref()?.islands.get(part)?))
    }

    /// The policies of the previous version that set an object.
    fn writers(&self, object: &Identity) -> &[PolicyName] {
        let fields = self.island_of(object).and_then(|(_, island)| island.objects.get(object));
        fields.map_or(&[][..], |it| &it.by)
    }

    /// The latest instant of known state of the policies that set these objects before.
    fn known_until(&self, objects: &BTreeSet<Identity>) -> Option<Timestamp> {
        let world = self.before.as_ref()?.world;
        let policies: BTreeSet<&PolicyName> = objects
            .iter()
            .filter_map(|object| self.island_of(object))
            .flat_map(|(_, island)| &island.policies)
            .collect();
        let policies: Vec<PolicyName> = policies.into_iter().cloned().collect();
        known_until(&world.part(&policies))
    }

    /// The values that the previous version has left in these objects, as far as a policy has set them. Values that no
    /// policy has set are those in the files of the later version. A value that an autoscaler decided at the first
    /// instant is not included if the new version decides it again at that instant, from the same replicas.
    pub(super) fn left_values(
        &self,
        objects: &BTreeSet<Identity>,
        is_decided_again: impl Fn(&Identity, &PolicyName) -> bool,
    ) -> LeftValues {
        let mut values = LeftValues::new();
        let Some(before) = &self.before else { return values };
        let parts: BTreeMap<usize, &Island> =
            objects.iter().filter_map(|object| self.island_of(object)).collect();
        for island in parts.into_values() {
            let simulation = before.simulation(island);
            for (place, write) in simulation.last_writes() {
                let (object, field) = place;
                if !field.can_be_assumed() || !objects.contains(object) {
                    continue;
                }
                let writer = write.origin.writer.as_ref().map(|writer| &writer.policy);
                let found = writer
                    .filter(|writer| is_decided_again(object, writer))
                    .and_then(|_| simulation.earlier_value(place));
                let write = found.unwrap_or(write);
                if write.origin.writer.is_some() {
                    values.insert(place.clone(), write.clone());
                }
            }
        }
        values
    }

    /// Whether an object of the previous version is absent in a world: then it is deleted, and not left unchanged.
    pub(super) fn has_lost(&self, world: &World, object: &Identity) -> bool {
        let has = |world: &World| {
            world.objects.workloads.contains_key(object)
                || world.objects.autoscalers.contains_key(object)
        };
        self.before.as_ref().is_some_and(|before| has(before.world)) && !has(world)
    }
}

/// Whether the status of an autoscaler records its recommendations and scalings.
fn has_history(world: &World, policy: &PolicyName) -> bool {
    let object = world.metric_scaling.policies.get(&policy.identity);
    policy.family == Family::MetricScaling && object.is_some_and(|it| it.memory.is_some())
}

/// Whether an autoscaler decides about an object from the same replicas as the previous autoscaler. That is so if it is
/// the same autoscaler, or if it multiplies the number of replicas: that factor would count twice.
fn decides_again(world: &World, object: &Identity, writer: &PolicyName, from: Timestamp) -> bool {
    let is_it = |(autoscaler, of): (&Identity, &MetricScaling)| {
        let name = PolicyName::new(Family::MetricScaling, autoscaler.clone());
        of.target.identity() == object
            && (name == *writer || of.multiplies())
            && decides(world, &name, from)
    };
    let all = world.metric_scaling.policies.iter();
    let mut valid = all.filter_map(|(name, it)| Some((name, it.policy.as_deref()?)));
    writer.family == Family::MetricScaling && valid.any(is_it)
}
