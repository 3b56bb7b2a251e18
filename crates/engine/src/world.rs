//! The inputs of all decisions: policies, and the slim form of the objects that the policies change.
//!
//! Files or a cluster fill it, through the same [`Slim`] forms, and nothing else depends on the origin of an object.
//! Each family's `gather` determines the inputs of a decision.

use std::sync::Arc;

use almanac_calendar::Zone;
use jiff::Timestamp;

use crate::families::{World, WorldFamily, of_family};
use crate::other_writer::ExternalChange;
use crate::placement;
use crate::seam::PolicyFamily as _;
use crate::{
    Division, EndedScore, Exempt, Family, Field, Footprint, Identity, PolicyName, Presumption,
    Recorded, ReplicaMaximum, RuleClockEffect, RuleExplanation, RuleSchedule, Slim,
    TargetReference, Unmatched,
};

impl World {
    /// Every policy, including invalid policies, in the order of their names.
    pub fn policies(&self) -> impl Iterator<Item = PolicyName> {
        Family::ALL.into_iter().flat_map(
            |family| of_family!(family, F => names(F::state_in(self).policies.keys(), family)),
        )
    }

    /// The reads and writes of a policy; empty for an invalid policy.
    #[must_use]
    pub fn footprint(&self, policy: &PolicyName) -> Footprint {
        of_family!(policy.family, F => F::footprint(self.view(), &policy.identity).unwrap_or_default())
    }

    /// Whether a policy sets a field now: it is usable and not exempt, and not all of its rules are suspended.
    #[must_use]
    pub fn is_armed(&self, policy: &PolicyName) -> bool {
        of_family!(policy.family, F => F::is_armed(self.view(), &policy.identity))
    }

    /// The object that must be fetched before a policy's turn; `None` if nothing must be fetched.
    #[must_use]
    pub fn target_of(&self, policy: &PolicyName) -> Option<TargetReference> {
        of_family!(policy.family, F => F::target(self.view(), &policy.identity))
    }

    /// The reason that a valid policy has no effect; `None` if it has one.
    #[must_use]
    pub fn why_not_applied(&self, policy: &PolicyName) -> Option<String> {
        of_family!(policy.family, F => F::why_not_applied(self.view(), &policy.identity))
    }

    /// The reason that a field of an object is unknown, regardless of its policies; `None` if it is known.
    #[must_use]
    pub fn why_unknown(&self, object: &Identity, field: Field) -> Option<&'static str> {
        let is_selection = field == Field::Clusters;
        is_selection.then(|| placement::why_unknown(self.view(), object)).flatten()
    }

    /// The reason that a policy is not applied; `None` unless the policy or its target is exempt.
    #[must_use]
    pub fn why_exempt(&self, policy: &PolicyName) -> Option<Exempt> {
        let target = self.target_of(policy);
        let target = target.as_ref().map(|reference| reference.target.identity());
        Exempt::for_policy(&self.objects.exempt, &policy.identity, target)
    }

    /// The time zones of a policy's schedules, each with the name of its rule; `None` for the zone of the whole policy.
    #[must_use]
    pub fn zones_of(&self, policy: &PolicyName) -> Vec<(Option<Arc<str>>, Zone)> {
        of_family!(policy.family, F => F::zones(self.view(), &policy.identity))
    }

    /// The schedules of a policy, in the order of its rules.
    #[must_use]
    pub fn schedules(&self, policy: &PolicyName) -> Vec<RuleSchedule> {
        of_family!(policy.family, F => F::schedules(self.view(), &policy.identity))
    }

    /// The effects of clock changes in `[from, to)` on the schedules of a policy, in the order of its rules.
    /// Suspended rules have none.
    #[must_use]
    pub fn clock_effects(
        &self,
        policy: &PolicyName,
        from: Timestamp,
        to: Timestamp,
    ) -> Vec<RuleClockEffect> {
        let in_force = self.schedules(policy).into_iter().filter(|it| !it.is_off);
        in_force.flat_map(|it| it.clock_effects(from, to)).collect()
    }

    /// The selectors of a policy that select no object, although the world contains objects of the kind.
    #[must_use]
    pub fn unmatched(&self, policy: &PolicyName) -> Vec<Unmatched> {
        of_family!(policy.family, F => F::unmatched(self.view(), &policy.identity))
    }

    /// The expired scores that a policy ranks by.
    #[must_use]
    pub fn ended_scores(&self, policy: &PolicyName, at: Timestamp) -> Vec<EndedScore> {
        of_family!(policy.family, F => F::ended_scores(self.view(), &policy.identity, at))
    }

    /// The verdict on every rule of a policy after its turns until `now`, in the order of the spec.
    #[must_use]
    pub fn explain(&self, policy: &PolicyName, now: Timestamp) -> Vec<RuleExplanation> {
        of_family!(policy.family, F => F::explain(self.view(), &policy.identity, None, now))
    }

    /// The verdicts for one of the objects whose fields the policy sets.
    #[must_use]
    pub fn explain_object(
        &self,
        policy: &PolicyName,
        object: &Identity,
        now: Timestamp,
    ) -> Vec<RuleExplanation> {
        of_family!(policy.family, F => F::explain(self.view(), &policy.identity, Some(object), now))
    }

    /// The divisions of a policy's value; empty if the value is not divided.
    #[must_use]
    pub fn divisions(&self, policy: &PolicyName) -> Vec<Division> {
        of_family!(policy.family, F => F::divisions(self.view(), &policy.identity))
    }

    /// Whether an explanation of a policy lists parts of its value rather than rules that set it.
    #[must_use]
    pub fn explains_parts(&self, policy: &PolicyName) -> bool {
        of_family!(policy.family, F => F::EXPLAINS_PARTS)
    }

    /// Whether the decision of a policy changes after it is applied.
    #[must_use]
    pub fn feeds_back(&self, policy: &PolicyName) -> bool {
        of_family!(policy.family, F => F::FEEDS_BACK)
    }

    /// The decision of an additional turn; `None` if it equals the last decision.
    #[must_use]
    pub fn decides_otherwise(
        &self,
        policy: &PolicyName,
        now: Timestamp,
    ) -> Option<RuleExplanation> {
        of_family!(policy.family, F => F::decides_otherwise(self.view(), &policy.identity, now))
    }

    /// Whether a value applies since the last firing of its rule, even if the rule had set the same value before.
    #[must_use]
    pub fn sets_by_firings(&self, policy: &PolicyName) -> bool {
        of_family!(policy.family, F => F::SETS_BY_FIRINGS)
    }

    /// Whether a pod is among those that a policy selects and explains the parts of.
    #[must_use]
    pub fn selects_pod(&self, policy: &PolicyName, pod: &Identity) -> bool {
        of_family!(policy.family, F => F::selects(self.view(), &policy.identity, pod))
    }

    /// The maximum number of replicas that a policy can set for a workload; `None` if it sets none.
    #[must_use]
    pub fn replica_maximum(&self, policy: &PolicyName) -> Option<ReplicaMaximum> {
        of_family!(policy.family, F => F::replica_maximum(self.view(), &policy.identity))
    }

    /// Whether a policy needs a turn at this instant because its target has changed.
    #[must_use]
    pub fn reacts_to_changes(&self, policy: &PolicyName, now: Timestamp) -> bool {
        of_family!(policy.family, F => F::reacts_to_changes(self.view(), &policy.identity, now))
    }

    /// The number of rules of a policy if its direction selects one of them and no rule lasts; otherwise `None`.
    #[must_use]
    pub fn alternating_rules(&self, policy: &PolicyName) -> Option<usize> {
        of_family!(policy.family, F => F::alternating_rules(self.view(), &policy.identity))
    }

    /// The assumptions of a policy's turns without a cluster.
    #[must_use]
    pub fn presumptions(&self, policy: &PolicyName) -> Vec<Presumption> {
        of_family!(policy.family, F => F::presumptions(self.view(), &policy.identity))
    }

    /// The objects whose changes by other policies cause an additional turn of a policy.
    #[must_use]
    pub fn follows(&self, policy: &PolicyName) -> Vec<Identity> {
        of_family!(policy.family, F => F::follows(self.view(), &policy.identity))
    }

    /// The instant of an additional turn of a policy, because a different policy has just changed an object that it
    /// follows; `None` if the change does not affect it.
    #[must_use]
    pub fn follows_target(&self, policy: &PolicyName, now: Timestamp) -> Option<Timestamp> {
        of_family!(policy.family, F => F::follows_target(self.view(), &policy.identity, now))
    }

    /// The instant of an additional turn of a policy whose target is not watched; `None` if changes of the target do
    /// not affect the policy.
    #[must_use]
    pub fn rereads_target(&self, policy: &PolicyName, now: Timestamp) -> Option<Timestamp> {
        of_family!(policy.family, F => F::rereads_target(self.view(), &policy.identity, now))
    }

    /// The policies whose decision may change because this policy has just set a value that is not of their target.
    pub(crate) fn influenced_by(&self, policy: &PolicyName) -> impl Iterator<Item = PolicyName> {
        let family = policy.family;
        let influenced = of_family!(family, F => F::influenced_by(self.view(), &policy.identity));
        influenced.into_iter().map(move |identity| PolicyName::new(family, identity))
    }

    /// The policies whose decisions may change when this policy is created, edited or deleted.
    pub fn readers_of<'w>(&'w self, policy: &'w PolicyName) -> impl Iterator<Item = PolicyName> {
        let publishes = of_family!(policy.family, F => F::PUBLISHES);
        let families = Family::ALL.into_iter().filter(move |_| publishes);
        families.flat_map(|family| {
            let readers = of_family!(family, F => {
                F::readers_of_number(self.view(), &policy.identity)
            });
            readers.into_iter().map(move |reader| PolicyName::new(family, reader))
        })
    }

    /// The policies whose decisions may change because an object that they read, other than a policy, was created,
    /// edited or deleted. The caller of an edit calls this before and after the edit, because the readers can differ.
    pub fn readers_of_object(&self, changed: &Identity) -> impl Iterator<Item = PolicyName> {
        Family::ALL.into_iter().flat_map(|family| {
            let readers = of_family!(family, F => F::readers_of_object(self.view(), changed));
            readers.into_iter().map(move |reader| PolicyName::new(family, reader))
        })
    }

    /// Whether a decision about a policy may take longer than a millisecond. The decision is then the same in a part of
    /// the world with this policy alone.
    #[must_use]
    pub fn is_costly(&self, policy: &PolicyName) -> bool {
        of_family!(policy.family, F => F::is_costly(self.view(), &policy.identity))
    }

    /// Detects values of a policy that other field managers have replaced, given their known changes of its target
    /// (`foreign`). Each new replacement is returned once.
    pub fn detect_undone(
        &mut self,
        policy: &PolicyName,
        foreign: &[ExternalChange],
        now: Timestamp,
    ) -> Vec<Recorded> {
        of_family!(policy.family, F => {
            let identity = &policy.identity;
            let recorded = F::detect_undone(F::view_mut(self), identity, foreign, now);
            recorded.into_iter().map(F::recorded).collect()
        })
    }

    /// The slim form of a policy, with its policy state.
    #[must_use]
    pub fn slim_of(&self, policy: &PolicyName) -> Option<Slim> {
        of_family!(policy.family, F => F::state_in(self).policies.get(&policy.identity).cloned().map(F::slim))
    }

    /// Removes a policy.
    pub fn remove_policy(&mut self, policy: &PolicyName) {
        of_family!(policy.family, F => {
            let state = F::view_mut(self).state;
            state.policies.remove(&policy.identity);
            F::remove(&mut state.extra, &policy.identity);
        });
    }

    /// Removes an object that policies change.
    pub fn remove(&mut self, object: &Identity) {
        self.objects.workloads.remove(object);
        self.objects.autoscalers.remove(object);
        self.objects.pods.remove(object);
        if object.kind() == "Node" {
            self.objects.nodes.remove(object.name());
        }
        if object.group() == placement::GROUP {
            placement::remove_hub_object(&mut self.placement.extra, object);
        }
    }

    /// A world with only the given policies, and the objects that these read and write.
    #[must_use]
    pub fn part(&self, policies: &[PolicyName]) -> World {
        let mut part = World::default();
        part.objects.seen_at = self.objects.seen_at;
        part.objects.exempt = Arc::clone(&self.objects.exempt);
        for policy in policies {
            if let Some(slim) = self.slim_of(policy) {
                part.upsert(policy.identity.clone(), slim);
            }
            let footprint = self.footprint(policy);
            let written_objects = footprint.writes.iter().map(|(object, _)| object);
            for object in footprint.reads.iter().chain(written_objects) {
                self.add_object(object, &mut part);
            }
        }
        for family in Family::ALL {
            of_family!(family, F => F::share(F::state_in(self), F::view_mut(&mut part).state));
        }
        part
    }

    /// A part of the world with an additional object that none of the policies may read or write.
    #[must_use]
    pub fn part_with(&self, policies: &[PolicyName], object: &Identity) -> World {
        let mut part = self.part(policies);
        self.add_object(object, &mut part);
        part
    }

    /// Adds an object that policies change to a part, if the world contains it.
    fn add_object(&self, object: &Identity, part: &mut World) {
        let workload = self.objects.workloads.get_key_value(object);
        part.objects.workloads.extend(workload.map(|(object, it)| (object.clone(), *it)));
        let autoscaler = self.objects.autoscalers.get_key_value(object);
        part.objects.autoscalers.extend(autoscaler.map(|(object, it)| (object.clone(), *it)));
        let Some((object, pod)) = self.objects.pods.get_key_value(object) else { return };
        part.objects.pods.insert(object.clone(), pod.clone());
        let node = pod.node.as_ref().and_then(|node| self.objects.nodes.get_key_value(node));
        part.objects.nodes.extend(node.map(|(name, it)| (Arc::clone(name), it.clone())));
    }
}

fn names<'w>(
    policies: impl Iterator<Item = &'w Identity> + 'w,
    family: Family,
) -> Box<dyn Iterator<Item = PolicyName> + 'w> {
    Box::new(policies.map(move |it| PolicyName::new(family, it.clone())))
}
