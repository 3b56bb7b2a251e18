//! The inputs of all decisions: policies, and the slim form of the objects they act on.
//!
//! Files or a cluster fill it, through the same [`Slim`] forms, and nothing else depends on the origin of an object.
//! Which parts of it a decision depends on is up to each family's `gather`.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_calendar::Zone;
use jiff::Timestamp;

use crate::metric_scaling::{FiniteNumber, SampleProblem};
use crate::other_writer::ExternalChange;
use crate::placement::{HubChange, HubObject, Matched, PlacementDecision, Scores};
use crate::seam::{FamilyState, Policies};
use crate::{
    Action, Division, EndedScore, Exempt, Family, Field, Footprint, Identity, Objects, Outcome,
    PolicyName, Presumption, Recorded, ReplicasAskedFor, RuleExplanation, Slim, TargetReference,
    Unmatched, World,
};
use crate::{cron_scaling, metric_scaling, placement, qos_levels, scheduled_capacity, units};

impl World {
    /// Every policy, including invalid ones, in the order of their names.
    pub fn policies(&self) -> impl Iterator<Item = PolicyName> {
        Family::ALL.into_iter().flat_map(|family| {
            family.logic().names(self).map(move |it| PolicyName::new(family, it.clone()))
        })
    }

    /// The reads and writes of a policy; nothing for an invalid one.
    #[must_use]
    pub fn footprint(&self, policy: &PolicyName) -> Footprint {
        policy.family.logic().footprint(self, &policy.identity).unwrap_or_default()
    }

    /// The object that has to be fetched before a policy's turn, if there is one.
    #[must_use]
    pub fn target_of(&self, policy: &PolicyName) -> Option<TargetReference> {
        policy.family.logic().target(self, &policy.identity)
    }

    /// Why the agent ignores a `ConfigMap`; `None` if it applies it.
    #[must_use]
    pub fn why_no_levels(&self, config: &PolicyName) -> Option<String> {
        let is_one = config.family == Family::QosLevels;
        is_one.then(|| qos_levels::why_not_carried_out(self, &config.identity)).flatten()
    }

    /// Why nothing is decided for a placement that can be used as written, if nothing is.
    #[must_use]
    pub fn why_not_selecting(&self, placement: &PolicyName) -> Option<String> {
        let is_one = placement.family == Family::Placement;
        is_one.then(|| placement::why_not_decided(self, &placement.identity)).flatten()
    }

    /// The changes of an object that placements read, compared with the one here.
    #[must_use]
    pub fn hub_change(&self, identity: &Identity, object: &HubObject) -> HubChange {
        placement::hub_change(self, identity, object)
    }

    /// Why a field of an object is unknown, regardless of its policies; `None` if it is known.
    #[must_use]
    pub fn why_unknown(&self, object: &Identity, field: Field) -> Option<&'static str> {
        let is_selection = field == Field::Clusters;
        is_selection.then(|| placement::why_unknown(self, object)).flatten()
    }

    /// Why a policy is not carried out, if it or its target is exempt.
    #[must_use]
    pub fn why_exempt(&self, policy: &PolicyName) -> Option<Exempt> {
        let target = self.target_of(policy);
        let target = target.as_ref().map(|reference| reference.target.identity());
        Exempt::of(&self.objects.exempt, &policy.identity, target)
    }

    /// The zones a policy's schedules are written in, each with the name of its rule; without a name
    /// it is that of the whole policy.
    #[must_use]
    pub fn zones_of(&self, policy: &PolicyName) -> Vec<(Option<Arc<str>>, Zone)> {
        policy.family.logic().zones(self, &policy.identity)
    }

    /// The selectors of a policy that select none of what is here, although there is some.
    #[must_use]
    pub fn unmatched(&self, policy: &PolicyName) -> Vec<Unmatched> {
        policy.family.logic().unmatched(self, &policy.identity)
    }

    /// The scores that a policy ranks by and that have ended.
    #[must_use]
    pub fn ended_scores(&self, policy: &PolicyName, at: Timestamp) -> Vec<EndedScore> {
        policy.family.logic().ended_scores(self, &policy.identity, at)
    }

    /// The verdict on every rule of a policy whose turns are taken until `now`, in the order of the
    /// spec.
    #[must_use]
    pub fn explain(&self, policy: &PolicyName, now: Timestamp) -> Vec<RuleExplanation> {
        policy.family.logic().explain(self, &policy.identity, None, now)
    }

    /// The same, as far as an object is concerned that the policy sets something of.
    #[must_use]
    pub fn explain_object(
        &self,
        policy: &PolicyName,
        object: &Identity,
        now: Timestamp,
    ) -> Vec<RuleExplanation> {
        policy.family.logic().explain(self, &policy.identity, Some(object), now)
    }

    /// How what a policy has set is divided, if it is.
    #[must_use]
    pub fn divisions(&self, policy: &PolicyName) -> Vec<Division> {
        let is_placement = policy.family == Family::Placement;
        let divisions = is_placement.then(|| placement::divisions(self, &policy.identity));
        divisions.unwrap_or_default()
    }

    /// Whether what is explained of a policy are parts of its value rather than rules that set it.
    #[must_use]
    pub fn explains_parts(&self, policy: &PolicyName) -> bool {
        policy.family.logic().explains_parts()
    }

    /// Whether a policy decides otherwise once its decision is carried out.
    #[must_use]
    pub fn feeds_back(&self, policy: &PolicyName) -> bool {
        policy.family.logic().feeds_back()
    }

    /// The decision of a policy if it decided once more, where that differs.
    #[must_use]
    pub fn decides_otherwise(
        &self,
        policy: &PolicyName,
        now: Timestamp,
    ) -> Option<RuleExplanation> {
        policy.family.logic().decides_otherwise(self, &policy.identity, now)
    }

    /// Whether what a policy sets holds since its rule fired last, even if the rule had set the same before.
    #[must_use]
    pub fn sets_by_firings(&self, policy: &PolicyName) -> bool {
        policy.family.logic().sets_by_firings()
    }

    /// Whether a pod is among those that a policy for units of nodes selects.
    #[must_use]
    pub fn selects_pod(&self, policy: &PolicyName, pod: &Identity) -> bool {
        policy.family == Family::Units && units::selects(self, &policy.identity, pod)
    }

    /// How many replicas a policy may ever set of a workload, if it sets any.
    #[must_use]
    pub fn asks_for(&self, policy: &PolicyName) -> Option<ReplicasAskedFor> {
        policy.family.logic().asks_for(self, &policy.identity)
    }

    /// Whether a policy needs a turn at this instant because its target has changed.
    #[must_use]
    pub fn reacts_to_changes(&self, policy: &PolicyName, now: Timestamp) -> bool {
        policy.family.logic().reacts_to_changes(self, &policy.identity, now)
    }

    /// How many metrics an autoscaler has, if its direction says which of their recommendations counts and none lasts.
    #[must_use]
    pub fn alternating_metrics(&self, policy: &PolicyName) -> Option<usize> {
        let is_one = policy.family == Family::MetricScaling;
        let object = self.metric_scaling.policies.get(&policy.identity).filter(|_| is_one)?;
        let checked = object.policy.as_ref().filter(|policy| policy.alternates())?;
        Some(checked.metrics.len())
    }

    /// The assumptions of a policy's turns without a cluster.
    #[must_use]
    pub fn presumptions(&self, policy: &PolicyName) -> Vec<Presumption> {
        policy.family.logic().presumptions(self, &policy.identity)
    }

    /// Gives the queries that `is_it` selects a constant sample. Returns the number of policies with one of them.
    pub fn answer(
        &mut self,
        is_it: impl Fn(&str) -> bool,
        answer: &Result<FiniteNumber, SampleProblem>,
    ) -> usize {
        metric_scaling::answer(self, is_it, answer)
    }

    /// The objects that a policy has another turn after if another one changes them.
    #[must_use]
    pub fn follows(&self, policy: &PolicyName) -> Vec<Identity> {
        policy.family.logic().follows(self, &policy.identity)
    }

    /// When a policy has another turn because another one has just changed what it follows, if that matters
    /// to it.
    #[must_use]
    pub fn follows_target(&self, policy: &PolicyName, now: Timestamp) -> Option<Timestamp> {
        policy.family.logic().follows_target(self, &policy.identity, now)
    }

    /// The policies that may decide otherwise because this one has just set something that is not their target.
    pub(crate) fn influenced_by(&self, policy: &PolicyName) -> impl Iterator<Item = PolicyName> {
        let family = policy.family;
        let influenced = family.logic().influenced_by(self, &policy.identity);
        influenced.into_iter().map(move |identity| PolicyName::new(family, identity))
    }

    /// The policies that may decide otherwise when this one comes, goes or is edited.
    pub fn readers_of<'w>(&'w self, policy: &'w PolicyName) -> impl Iterator<Item = PolicyName> {
        let is_schedule = policy.family == Family::ScheduledCapacity;
        let readers = is_schedule.then(|| metric_scaling::readers(self, &policy.identity));
        let readers = readers.into_iter().flatten();
        readers.map(|reader| PolicyName::new(Family::MetricScaling, reader.clone()))
    }

    /// The policies that may decide otherwise because an object that they read, other than a policy, is new, was edited
    /// or is gone. The caller of an edit calls this before and after: not the same policies may read it then.
    pub fn readers_of_object(&self, changed: &Identity) -> impl Iterator<Item = PolicyName> {
        let is_of_hub = changed.group() == placement::GROUP;
        let readers = is_of_hub.then(|| placement::readers(self, changed));
        let readers = readers.into_iter().flatten();
        readers.map(|reader| PolicyName::new(Family::Placement, reader.clone()))
    }

    /// Whether a placement reads something else of the scores in an object at `now` when these take the place of those
    /// that are there.
    #[must_use]
    pub fn reads_otherwise(
        &self,
        placement: &PolicyName,
        object: &Identity,
        scores: Option<&Scores>,
        now: Timestamp,
    ) -> bool {
        placement::reads_otherwise(self, &placement.identity, object, scores, now)
    }

    /// The placements that may select a cluster by expressions.
    pub fn readers_by_expressions(&self, cluster: &str) -> impl Iterator<Item = PolicyName> {
        let readers = placement::readers_by_expressions(self, cluster);
        readers.map(|(reader, ..)| PolicyName::new(Family::Placement, reader.clone()))
    }

    /// The placements that may select a cluster by expressions, with the result of these for it at `now`. After a
    /// change that only expressions read, the caller compares the results before and after: only placements with a
    /// changed result decide otherwise.
    #[must_use]
    pub fn matched_by_expressions(
        &self,
        cluster: &Identity,
        now: Timestamp,
    ) -> Vec<(PolicyName, Option<Matched>)> {
        placement::matched_by_expressions(self, cluster, now)
    }

    /// Detects values of a policy that other field managers have replaced, given their known changes of its target
    /// (`foreign`). Each new one is returned once.
    pub fn detect_undone(
        &mut self,
        policy: &PolicyName,
        foreign: &[ExternalChange],
        now: Timestamp,
    ) -> Vec<Recorded> {
        policy.family.logic().detect_undone(self, &policy.identity, foreign, now)
    }

    /// Inserts or replaces an object. The memory of a policy that is already here outweighs its
    /// status, because it is later.
    pub fn upsert(&mut self, identity: Identity, slim: Slim) {
        match slim {
            Slim::ScheduledCapacity(object) => {
                scheduled_capacity::upsert(&mut self.scheduled_capacity.policies, identity, object);
            }
            Slim::CronScaling(object) => {
                cron_scaling::upsert(&mut self.cron_scaling.policies, identity, object);
            }
            Slim::MetricScaling(object) => {
                metric_scaling::upsert(&mut self.metric_scaling.policies, identity, object);
            }
            Slim::QosLevels(object) => {
                qos_levels::upsert(&mut self.qos_levels.policies, identity, object);
            }
            Slim::Placement(object) => {
                placement::upsert(&mut self.placement.policies, identity, object)
            }
            Slim::Hub(object) => placement::upsert_hub_object(self, identity, object),
            Slim::Units(object) => units::upsert(&mut self.units.policies, identity, object),
            Slim::Fleet(object) => {
                Arc::make_mut(&mut self.units.extra.fleet).upsert(identity, object)
            }
            Slim::Workload(workload) => {
                self.objects.workloads.insert(identity, workload);
            }
            Slim::Autoscaler(autoscaler) => {
                self.objects.autoscalers.insert(identity, autoscaler);
            }
            Slim::Pod(pod) => {
                self.objects.pods.insert(identity, pod);
            }
            Slim::Node(node) => {
                self.objects.nodes.insert(identity.name().into(), node);
            }
        }
    }

    /// The slim form of a policy, with its policy state.
    #[must_use]
    pub fn slim_of(&self, policy: &PolicyName) -> Option<Slim> {
        policy.family.logic().slim(self, &policy.identity)
    }

    /// Removes a policy.
    pub fn remove_policy(&mut self, policy: &PolicyName) {
        policy.family.logic().remove(self, &policy.identity);
    }

    /// Removes an object that policies act on.
    pub fn remove(&mut self, object: &Identity) {
        self.objects.workloads.remove(object);
        self.objects.autoscalers.remove(object);
        self.objects.pods.remove(object);
        if object.kind() == "Node" {
            self.objects.nodes.remove(object.name());
        }
        if object.group() == placement::GROUP {
            placement::remove_hub_object(self, object);
        }
    }

    /// A world with only the given policies and what they read and write.
    #[must_use]
    pub fn part(&self, policies: &[PolicyName]) -> World {
        let mut part = World::default();
        part.objects.seen_at = self.objects.seen_at;
        part.objects.exempt = Arc::clone(&self.objects.exempt);
        let identities = policies.iter().map(|policy| &policy.identity);
        part.metric_scaling.extra = self.metric_scaling.extra.part(identities);
        part.qos_levels.extra = self.qos_levels.extra.clone();
        for policy in policies {
            if let Some(slim) = self.slim_of(policy) {
                part.upsert(policy.identity.clone(), slim);
            }
            let footprint = self.footprint(policy);
            let written = footprint.writes.iter().map(|(object, _)| object);
            for object in footprint.reads.iter().chain(written) {
                self.add_object(object, &mut part);
            }
        }
        if !part.placement.policies.is_empty() {
            part.placement.extra.hub = Arc::clone(&self.placement.extra.hub);
            part.placement.extra.decisions = self.placement.extra.decisions.clone();
        }
        if !part.units.policies.is_empty() {
            part.units.extra.fleet = Arc::clone(&self.units.extra.fleet);
        }
        part
    }

    /// The same, with an object that none of them may have anything to do with.
    #[must_use]
    pub fn part_with(&self, policies: &[PolicyName], object: &Identity) -> World {
        let mut part = self.part(policies);
        self.add_object(object, &mut part);
        part
    }

    /// The same world without what only policies about pods look at, which may be much.
    #[must_use]
    pub fn without_pods(&self) -> World {
        let objects = Objects {
            seen_at: self.objects.seen_at,
            exempt: Arc::clone(&self.objects.exempt),
            workloads: self.objects.workloads.clone(),
            autoscalers: self.objects.autoscalers.clone(),
            pods: BTreeMap::new(),
            nodes: BTreeMap::new(),
        };
        let extra = self.qos_levels.extra.clone();
        World {
            objects,
            scheduled_capacity: self.scheduled_capacity.clone(),
            cron_scaling: self.cron_scaling.clone(),
            metric_scaling: self.metric_scaling.clone(),
            qos_levels: FamilyState { policies: Policies::new(), extra },
            placement: self.placement.clone(),
            units: FamilyState::default(),
        }
    }

    /// Adds what policies act on to a part, if it is here.
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

    /// Carries out an action like an API server that never fails.
    pub fn apply(&mut self, action: &Action) -> Outcome {
        match action {
            Action::Publish { schedule, value } => {
                // A published number is the policy's memory; closing the turn stores it.
                present(self.scheduled_capacity.policies.get(schedule), schedule, |object| {
                    let is_so = object.memory.is_some_and(|before| before.value == *value);
                    if is_so { Outcome::Unchanged } else { Outcome::Done }
                })
            }
            Action::SetReplicas { target, replicas } => {
                present(self.objects.workloads.get_mut(target), target, |workload| {
                    // Without a cluster, the workload is assumed to follow at once.
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
                self.placement
                    .extra
                    .decisions
                    .insert(decision.clone(), PlacementDecision::clone(content));
                Outcome::Done
            }
            Action::RemoveDecision { decision } => {
                match self.placement.extra.decisions.remove(decision) {
                    Some(_) => Outcome::Done,
                    None => Outcome::Unchanged,
                }
            }
            Action::Pour { at, .. } => units::pour(self, *at),
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
            Action::Pour { at, .. } => {
                let pouring = self.units.extra.pouring.as_ref();
                pouring.is_none_or(|it| it.is_settled(units::Replicas::in_world(self), *at))
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
