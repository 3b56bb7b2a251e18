//! A version of the policies that takes over from another one, as a change does that is applied. Its new and edited
//! policies begin there, and find the state that the other version has left.
//!
//! The engine determines which policies continue and which are new; the comparison, the differences over time.

use std::collections::{BTreeMap, BTreeSet};

use almanac_engine::{Field, Identity, PolicyName, World, begin_anew, goes_on, known_until};
use jiff::Timestamp;

use super::Forecast;
use crate::{AssumedValues, LastWrite, Simulation};

/// The values of fields when a version takes over, and who has set them.
pub(crate) type Left = BTreeMap<(Identity, Field), LastWrite>;

/// The version from which another one takes over.
#[derive(Clone, Debug)]
pub(super) struct Takeover<'a> {
    /// `None` if there was no version before.
    before: Option<Forecast<'a>>,
    /// In which of its parts the objects are of which policies set numbers.
    part_of: BTreeMap<Identity, usize>,
}

impl<'a> Takeover<'a> {
    pub(super) fn of(before: Option<&Forecast<'a>>) -> Takeover<'a> {
        let mut part_of = BTreeMap::new();
        for (part, island) in before.iter().flat_map(|it| it.islands.iter().enumerate()) {
            let numbered = island
                .shown
                .iter()
                .filter(|(_, written)| written.fields.iter().any(|field| field.can_be_assumed()));
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
        let written = policies.iter().flat_map(|policy| world.footprint(policy).writes);
        let written: BTreeSet<Identity> =
            written.filter(|(_, field)| field.can_be_assumed()).map(|(object, _)| object).collect();
        let own: BTreeSet<&PolicyName> = policies.iter().collect();
        let is_known = known_until(&world).is_some();
        if is_known || !self.is_changed(&world, &own, &written) {
            return Simulation::start(world, from, assumed);
        }
        let left = self.left(&own, &written);
        for policy in &policies {
            // The values that its rules have set are among those left.
            if world.sets_by_firings(policy) || !self.goes_on(&world, policy) {
                begin_anew(&mut world, policy, from);
            }
        }
        Simulation::start_after(left, world, from, assumed)
    }

    /// Whether a policy is new or edited, or one is gone that set the same.
    fn is_changed(
        &self,
        world: &World,
        policies: &BTreeSet<&PolicyName>,
        written: &BTreeSet<Identity>,
    ) -> bool {
        let is_gone = |policy: &PolicyName| !policies.contains(policy);
        policies.iter().any(|policy| !self.goes_on(world, policy))
            || written.iter().any(|object| self.writers(object).iter().any(is_gone))
    }

    fn goes_on(&self, world: &World, policy: &PolicyName) -> bool {
        self.before.as_ref().is_some_and(|before| goes_on(world, policy, before.world))
    }

    /// The policies that set an object before.
    fn writers(&self, object: &Identity) -> &[PolicyName] {
        let part = self.part_of.get(object).copied();
        let island = self.before.as_ref().zip(part).and_then(|(it, part)| it.islands.get(part));
        let written = island.and_then(|island| island.shown.get(object));
        written.map_or(&[][..], |written| &written.by)
    }

    /// The values that the version before has left in objects of which it has set anything.
    fn left(&self, policies: &BTreeSet<&PolicyName>, written: &BTreeSet<Identity>) -> Left {
        let mut left = Left::new();
        let Some(before) = &self.before else { return left };
        let parts: BTreeSet<usize> =
            written.iter().filter_map(|object| self.part_of.get(object).copied()).collect();
        for island in parts.into_iter().filter_map(|part| before.islands.get(part)) {
            let simulation = before.simulation(island);
            // A continuing autoscaler decides again; its last decision is not an input.
            let is_left = |write: &LastWrite| {
                let writer = write.origin.writer.as_ref().map(|writer| &writer.policy);
                writer.is_some_and(|it| {
                    simulation.world().sets_by_firings(it) || !policies.contains(it)
                })
            };
            let numbers = simulation
                .last_writes()
                .iter()
                .filter(|((object, field), _)| field.can_be_assumed() && written.contains(object));
            let set: BTreeSet<&Identity> = numbers
                .clone()
                .filter(|(_, write)| is_left(write))
                .map(|((object, _), _)| object)
                .collect();
            // What no policy has set is what the files of the later version state.
            let of_set = numbers.filter(|((object, _), write)| {
                write.origin.writer.is_some() && set.contains(object)
            });
            left.extend(of_set.map(|(place, write)| (place.clone(), write.clone())));
        }
        left
    }
}
