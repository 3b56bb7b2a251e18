//! Checks policies for node units against each other and against the governed pods: a pod of two policies is
//! unschedulable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_engine::units::{DeletionCost, Pod, ResourcePolicy};
use almanac_engine::{Identity, LabelSelector, Labels, Slim, ValueRequirement};

use super::object::CheckedObject;
use super::together::at;
use super::unit_caps::PodDemand;
use crate::fields::label_sets::LabelSet;
use crate::finding::{Code, Finding, Path};
use crate::kinds::nearest;
use crate::slim::DELETION_COST;

/// The labels that controllers add to pods, or the API server at the binding. No file has these labels.
const GIVEN: [&str; 13] = [
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-completion-index",
    "batch.kubernetes.io/job-name",
    "controller-revision-hash",
    "controller-uid",
    "job-name",
    "pod-template-generation",
    "pod-template-hash",
    "rollouts-pod-template-hash",
    "statefulset.kubernetes.io/pod-name",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// The label domains of controllers that add labels to all their pods.
const GIVEN_DOMAINS: [&str; 2] = ["jobset.sigs.k8s.io", "leaderworkerset.sigs.k8s.io"];

/// A pod, or a workload whose template creates pods.
#[derive(Clone, Debug)]
pub struct GovernedPod<'a> {
    /// The identity of the pod or the workload.
    pub identity: Identity,
    /// The pod, or the pod that the template creates.
    pub pod: &'a Pod,
    /// The index among the pods of the reading.
    pub index: usize,
}

/// A usable policy and its number.
struct Candidate<'a> {
    index: usize,
    identity: &'a Identity,
    policy: &'a ResourcePolicy,
    pods: LabelSet,
}

/// Checks the policies of one cluster against each other and against the pods there. `place` returns the location of a
/// policy, and `pod_place` the location of a pod.
#[must_use]
pub fn check_units_together<'a>(
    objects: impl Iterator<Item = (usize, &'a CheckedObject)> + Clone,
    pods: impl Iterator<Item = GovernedPod<'a>>,
    place: impl Fn(usize) -> String,
    pod_place: impl Fn(usize) -> String,
) -> Vec<(usize, Finding)> {
    let mut seen = BTreeSet::new();
    let policies: Vec<Candidate<'a>> = objects
        .clone()
        .filter_map(|(index, object)| {
            let (Some(Slim::Units(units)), identity) = (&object.slim, object.identity.as_ref()?)
            else {
                return None;
            };
            let policy = units.policy.as_deref()?;
            let pods = LabelSet::from_selector(&policy.pod_selector);
            let is_first = seen.insert(identity) && !pods.is_empty();
            is_first.then_some(Candidate { index, identity, policy, pods })
        })
        .collect();
    if policies.is_empty() {
        return Vec::new();
    }
    let by_selector = BySelector::new(&policies);
    let pods: Vec<GovernedPod<'a>> = pods.filter(|it| it.pod.ungoverned.is_none()).collect();
    let mut governed: Vec<Vec<&GovernedPod<'a>>> = policies.iter().map(|_| Vec::new()).collect();
    let mut shared: BTreeMap<(usize, usize), Vec<&Identity>> = BTreeMap::new();
    for pod in &pods {
        let selecting = by_selector.selecting(pod.identity.namespace(), &pod.pod.labels);
        let selecting: Vec<usize> = selecting
            .into_iter()
            .filter(|it| policies[*it].policy.pod_selector.selects(&pod.pod.labels))
            .collect();
        for (position, other) in selecting.iter().enumerate() {
            governed[*other].push(pod);
            for first in &selecting[..position] {
                shared.entry((*first, *other)).or_default().push(&pod.identity);
            }
        }
    }
    let mut findings = Vec::new();
    for ((first, other), pods) in with_implied(&policies, &by_selector, shared) {
        let (first, other) = (&policies[first], &policies[other]);
        findings.push((other.index, two_policies(first, other, &pods, &place(first.index))));
    }
    let demand = PodDemand::from_objects(objects.map(|(_, object)| object));
    for (candidate, governed) in policies.iter().zip(&governed) {
        let workloads = governed.iter().map(|it| &it.identity);
        let too_small = demand.more_than_units_take(candidate.policy, workloads);
        findings.extend(too_small.map(|finding| (candidate.index, finding)));
        let of_costs = own_costs(governed, &pod_place).into_iter();
        let further = of_costs.chain(keys_of_no_pod(candidate.policy, governed));
        findings.extend(further.map(|finding| (candidate.index, finding)));
    }
    findings
}

/// The pairs of policies that govern the same pods: pods in the input, or any pods with labels that both policies
/// select.
fn with_implied<'a>(
    policies: &[Candidate<'_>],
    by_selector: &BySelector,
    mut shared: BTreeMap<(usize, usize), Vec<&'a Identity>>,
) -> BTreeMap<(usize, usize), Vec<&'a Identity>> {
    for (position, candidate) in policies.iter().enumerate() {
        let selector = &candidate.policy.pod_selector;
        for other in by_selector.selecting_all(candidate.identity.namespace(), selector) {
            if other != position && candidate.pods.is_within(&policies[other].pods) {
                shared.entry((position.min(other), position.max(other))).or_default();
            }
        }
    }
    shared
}

fn two_policies(
    first: &Candidate<'_>,
    other: &Candidate<'_>,
    pods: &[&Identity],
    place: &str,
) -> Finding {
    let place = at(place);
    let what = match pods {
        [] if !other.pods.is_within(&first.pods) => {
            let comma = if place.is_empty() { "" } else { "," };
            format!("all pods of {}{place}{comma} are selected here too", first.identity)
        }
        [] => {
            format!(
                "all pods that the policy selects are also selected by {}{place}",
                first.identity
            )
        }
        [pod] => format!("{pod} is also selected by {}{place}", first.identity),
        [pod, more @ ..] => {
            format!("{pod} and {} more are also selected by {}{place}", more.len(), first.identity)
        }
    };
    let message = format!("{what}; a pod of two policies is not scheduled");
    let spec = Path::Root.key("spec");
    Finding::new(Code::TwoPolicies, spec.key("podSelector"), message)
        .with_fix("change the selectors so that no pod fits both, or put all units in one policy")
}

/// Reports pods that have a deletion cost of their own, which is kept.
fn own_costs(
    governed: &[&GovernedPod<'_>],
    pod_place: impl Fn(usize) -> String,
) -> Option<Finding> {
    let mut with_cost = governed.iter().filter(|it| matches!(it.pod.cost, DeletionCost::Others(_)));
    let first = with_cost.next()?;
    let more = match with_cost.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "{}{}{more}, has the annotation {DELETION_COST} itself; it is kept, so the order of the units \
         does not decide which of these pods is deleted first",
        first.identity,
        at(&pod_place(first.index))
    );
    let spec = Path::Root.key("spec");
    Some(
        Finding::new(Code::OwnDeletionCost, spec.key("podSelector"), message)
            .with_fix("remove the annotation from the pods, unless their own order is meant"),
    )
}

/// Whether a controller or the API server adds the label to pods.
fn is_given(key: &str) -> bool {
    let domain = key.split_once('/').map(|(domain, _)| domain);
    GIVEN.contains(&key) || domain.is_some_and(|domain| GIVEN_DOMAINS.contains(&domain))
}

/// Findings about keys that are probably mistyped: similar to a key that Kubernetes sets, or absent from all present
/// pods.
fn keys_of_no_pod(policy: &ResourcePolicy, governed: &[&GovernedPod<'_>]) -> Vec<Finding> {
    let spec = Path::Root.key("spec");
    let list = spec.key("matchLabelKeys");
    let keys = policy.group_keys.iter().enumerate();
    let unknown = keys.filter(|(_, key)| {
        !is_given(key) && !governed.iter().any(|it| it.pod.labels.get(key).is_some())
    });
    let findings = unknown.filter_map(|(position, key)| {
        let meant = nearest(key, GIVEN.into_iter());
        if meant.is_none() && governed.is_empty() {
            return None;
        }
        let message = format!(
            "no pod of the policy has the label {key} here, and no controller is known that sets it; pods without it \
             are one group"
        );
        let finding = Finding::new(Code::LabelOfNoPod, list.index(position), message);
        Some(match meant {
            Some(meant) => finding.with_fix(format!("write {meant} if that is meant")),
            None => finding.with_fix("write the key of a label that the pods have, or remove it"),
        })
    });
    findings.collect()
}

/// A label in a namespace: the namespace, the key and the value.
type LabelIn = (Arc<str>, Arc<str>, Arc<str>);

/// An index of policies by a required label. Thousands of policies may exist, and few of them select a pod.
struct BySelector {
    keyed: BTreeMap<LabelIn, Vec<usize>>,
    /// The policies that require no value of a label, by namespace.
    others: BTreeMap<Arc<str>, Vec<usize>>,
}

impl BySelector {
    fn new(policies: &[Candidate<'_>]) -> BySelector {
        let (mut keyed, mut others) = (BTreeMap::new(), BTreeMap::new());
        for (position, candidate) in policies.iter().enumerate() {
            let namespace: Arc<str> = candidate.identity.namespace().into();
            match required_values(&candidate.policy.pod_selector)
                .min_by_key(|(_, values)| values.len())
            {
                None => others.entry(namespace).or_insert_with(Vec::new).push(position),
                Some((key, values)) => {
                    for value in values {
                        let label = (Arc::clone(&namespace), Arc::clone(key), Arc::clone(value));
                        keyed.entry(label).or_insert_with(Vec::new).push(position);
                    }
                }
            }
        }
        BySelector { keyed, others }
    }

    /// The policies that may select a pod with these labels, in their order.
    fn selecting(&self, namespace: &str, labels: &Labels) -> BTreeSet<usize> {
        self.matching(namespace, labels.iter().map(|(key, value)| (key.into(), value.into())))
    }

    /// The policies that may select all that this selector does, in their order.
    fn selecting_all(&self, namespace: &str, selector: &LabelSelector) -> BTreeSet<usize> {
        let labels = required_values(selector).flat_map(|(key, values)| {
            values.iter().map(move |value| (Arc::clone(key), Arc::clone(value)))
        });
        self.matching(namespace, labels)
    }

    fn matching(
        &self,
        namespace: &str,
        labels: impl Iterator<Item = (Arc<str>, Arc<str>)>,
    ) -> BTreeSet<usize> {
        let namespace: Arc<str> = namespace.into();
        let of_labels = labels.filter_map(|(key, value)| {
            self.keyed.get(&(Arc::clone(&namespace), key, value)).map(Vec::as_slice)
        });
        let others = self.others.get(&namespace).map(Vec::as_slice);
        of_labels.chain(others).flatten().copied().collect()
    }
}

/// The labels for which a selector requires certain values.
fn required_values(selector: &LabelSelector) -> impl Iterator<Item = (&Arc<str>, &[Arc<str>])> {
    selector.requirements().iter().filter_map(|requirement| match &requirement.of_value {
        ValueRequirement::In(values) => Some((&requirement.key, &**values)),
        ValueRequirement::NotIn(_) | ValueRequirement::Exists | ValueRequirement::DoesNotExist => {
            None
        }
    })
}
