//! The demand of the workloads of each place, and the bounds of quotas and nodes on them together. A forecast computes
//! the replicas over time, and whether the pods fit.
//!
//! Only certain amounts count: an unknown amount is 0, so that every sum is a lower bound.

use std::collections::{BTreeMap, BTreeSet};

use almanac_engine::units::Resources;
use almanac_engine::{
    Allowance, Amounts, Autoscaler, Bound, Bounding, Consumer, Demand, Identity, Labels, Resource,
    Slim, Target,
};

use super::everything::line_of;
use super::object::CheckedObject;
use super::places::Places;
use crate::kinds::Kind;
use crate::reading::{Hard, ReadPod, ReadQuota, Reading};
use crate::slim::Requirements;

/// The workloads of each place and their bounds, by the index of the place. `objects` are the checked objects of the
/// reading; `namespace` is the default namespace.
#[must_use]
pub fn pod_demands(
    reading: &Reading,
    objects: &[CheckedObject],
    places: &Places,
    namespace: &str,
) -> Vec<Demand> {
    if !reading.bounds_pods() {
        return Vec::new();
    }
    let folder = |source: usize| reading.sources[source].folder();
    let objects_of = places.split(reading.objects.iter().map(|it| folder(it.source)));
    let pods_of = places.split(reading.pods.iter().map(|it| folder(it.source)));
    let nodes_of = places.split(reading.nodes.iter().map(|it| folder(it.source)));
    let quotas_of = places.split(reading.quotas.iter().map(|it| folder(it.source)));
    let ranges_of = places.split(reading.limit_ranges.iter().map(|it| folder(it.source)));
    let foreign_of = places.split(reading.foreign.iter().map(|it| folder(it.source)));
    let demand = |place: usize| {
        let here = Here { reading, namespace };
        let objects: Vec<&CheckedObject> =
            objects_of[place].iter().map(|it| &objects[*it]).collect();
        let pods = here.pods(&pods_of[place], &ranges_of[place]);
        let scalers = Scalers::new(&objects, here.foreign_targets(&foreign_of[place]));
        let (consumers, pods): (Vec<Consumer>, Vec<Counted<'_>>) =
            pods.into_iter().filter_map(|pod| Some((scalers.consumer(&pod)?, pod))).unzip();
        let mut groups = here.quotas(&quotas_of[place], &consumers, &pods);
        // Scaled node groups have a different number of nodes at other times.
        if !objects.iter().any(|it| it.kind == Kind::ScalableNodeGroup) {
            groups.extend(here.nodes(&nodes_of[place], &consumers, &pods));
        }
        Demand { consumers, groups }
    };
    (0..places.count()).map(demand).collect()
}

/// A pod that counts, or the template of a workload whose pods count.
struct Counted<'a> {
    identity: Identity,
    pod: &'a ReadPod,
    of_pod: Amounts,
    is_best_effort: bool,
}

/// Objects other than policies that set replicas.
struct Scalers {
    /// The autoscaler of each workload; if several scale it, the first by name.
    autoscalers: BTreeMap<Identity, (Identity, Autoscaler)>,
    /// The targets that other projects scale.
    foreign: BTreeSet<Identity>,
}

impl Scalers {
    fn new(objects: &[&CheckedObject], foreign: BTreeSet<Identity>) -> Scalers {
        let mut autoscalers: BTreeMap<Identity, (Identity, Autoscaler)> = BTreeMap::new();
        for object in objects {
            let (Some(identity), Some(Slim::Autoscaler(bounds))) = (&object.identity, &object.slim)
            else {
                continue;
            };
            let Some(workload) = object.scales.as_ref().map(Target::identity) else { continue };
            let known =
                autoscalers.entry(workload.clone()).or_insert_with(|| (identity.clone(), *bounds));
            if *identity < known.0 {
                *known = (identity.clone(), *bounds);
            }
        }
        Scalers { autoscalers, foreign }
    }

    /// A workload; `None` if its replicas in this cluster are unknown, because another project or a `FederatedHPA`
    /// scales it.
    fn consumer(&self, pod: &Counted<'_>) -> Option<Consumer> {
        let autoscaler = self.autoscalers.get(&pod.identity).cloned();
        let is_federated =
            autoscaler.as_ref().is_some_and(|(it, _)| it.kind() == Kind::FederatedHPA.name());
        let is_known = !is_federated && !self.foreign.contains(&pod.identity);
        is_known.then(|| Consumer {
            workload: pod.identity.clone(),
            replicas: pod.pod.replicas,
            autoscaler,
            of_pod: pod.of_pod,
        })
    }
}

/// The objects read for one place.
#[derive(Clone, Copy)]
struct Here<'a> {
    reading: &'a Reading,
    namespace: &'a str,
}

impl<'a> Here<'a> {
    /// The workloads, and the pods without an owner, with the defaults of the limit ranges.
    fn pods(self, pods: &[usize], ranges: &[usize]) -> Vec<Counted<'a>> {
        let mut defaults: BTreeMap<&str, Requirements> = BTreeMap::new();
        for range in ranges.iter().map(|it| &self.reading.limit_ranges[*it]) {
            // The order in which Kubernetes applies several limit ranges is unknown.
            let of_namespace = range.namespace.as_deref().unwrap_or(self.namespace);
            let known = defaults.entry(of_namespace).or_insert(range.defaults);
            *known = known.least(range.defaults);
        }
        let pods = pods.iter().map(|it| &self.reading.pods[*it]);
        let pods = once(pods.map(|it| (it.identity(self.namespace), it)));
        let counts = |pod: &ReadPod| pod.pod.is_template || pod.replicas.is_some();
        let counted = |(identity, pod): (Identity, &'a ReadPod)| {
            let defaults = defaults.get(identity.namespace()).copied().unwrap_or_default();
            let requirements = pod.requirements.clone().with_defaults(&defaults);
            let (requests, limits) = (requirements.requests(), requirements.limits());
            let of_pod = [requests.milli_cpu, requests.memory, limits.milli_cpu, limits.memory];
            let [requests_cpu, requests_memory, limits_cpu, limits_memory] =
                of_pod.map(Option::unwrap_or_default);
            let of_pod = [requests_cpu, requests_memory, limits_cpu, limits_memory, 1];
            Counted { identity, pod, of_pod, is_best_effort: requirements.is_best_effort() }
        };
        pods.into_iter().filter(|(_, pod)| counts(pod)).map(counted).collect()
    }

    fn foreign_targets(self, foreign: &[usize]) -> BTreeSet<Identity> {
        let scalers = foreign.iter().map(|it| &self.reading.foreign[*it]);
        scalers.map(|it| it.target(self.namespace)).collect()
    }

    /// The allowances of the quotas, a group for each namespace.
    fn quotas(
        self,
        quotas: &[usize],
        consumers: &[Consumer],
        pods: &[Counted<'_>],
    ) -> Vec<Vec<Allowance>> {
        let mut in_namespace: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, consumer) in consumers.iter().enumerate() {
            in_namespace.entry(consumer.workload.namespace()).or_default().push(index);
        }
        let quotas = quotas.iter().map(|it| &self.reading.quotas[*it]);
        let named = |it: &'a ReadQuota| {
            let namespace = it.namespace.as_deref().unwrap_or(self.namespace);
            (Identity::new("", "ResourceQuota", namespace, &*it.name), it)
        };
        let mut groups: BTreeMap<String, Vec<Allowance>> = BTreeMap::new();
        for (identity, quota) in once(quotas.map(named)) {
            let Some(members) = in_namespace.get(identity.namespace()) else { continue };
            let counts = |index: &&usize| {
                pods.get(**index).is_some_and(|it| quota.counts(it.pod, it.is_best_effort))
            };
            let consumers: Vec<usize> = members.iter().filter(counts).copied().collect();
            let bounds = quota.hard.iter().map(|it| self.bound(quota, it)).collect();
            let namespace = identity.namespace().to_owned();
            let allowance = Allowance { by: Bounding::Quota(identity), bounds, consumers };
            groups.entry(namespace).or_default().push(allowance);
        }
        groups.into_values().collect()
    }

    fn bound(self, quota: &ReadQuota, hard: &Hard) -> Bound {
        Bound {
            resource: hard.resource,
            most: hard.most,
            key: hard.key.clone(),
            location: line_of(self.reading, quota.source, hard.span).into(),
        }
    }

    /// The allowances of the nodes, in one group; `None` without nodes, or if the allocatable resources of any node are
    /// unknown.
    fn nodes(
        self,
        nodes: &[usize],
        consumers: &[Consumer],
        pods: &[Counted<'_>],
    ) -> Option<Vec<Allowance>> {
        let nodes = nodes.iter().map(|it| &self.reading.nodes[*it]);
        let nodes = once(nodes.map(|it| (it.identity(), it))).into_values();
        let schedulable = nodes.filter(|it| !it.node.is_unschedulable);
        let nodes: Vec<(&Labels, Resources)> = schedulable
            .map(|it| Some((&it.labels, it.node.allocatable?)))
            .collect::<Option<_>>()?;
        let mut selected: BTreeMap<&Labels, Vec<usize>> = BTreeMap::new();
        for (index, pod) in pods.iter().enumerate() {
            selected.entry(&pod.pod.node_selector).or_default().push(index);
        }
        let mut allowances = Vec::new();
        let all: Vec<Resources> = nodes.iter().map(|(_, it)| *it).collect();
        let everything = Labels::default();
        allowances.extend(nodes_allowance(&all, &everything, (0..consumers.len()).collect()));
        for (selector, indexes) in selected {
            let is_fit = |labels: &Labels| {
                selector.iter().all(|(key, value)| labels.get(key) == Some(value))
            };
            let fitting = nodes.iter().filter(|(labels, _)| is_fit(labels));
            let fitting: Vec<Resources> = fitting.map(|(_, it)| *it).collect();
            let too_large =
                indexes.iter().filter(|it| !fits_on_one(&fitting, &consumers[**it].of_pod));
            allowances
                .extend(too_large.filter_map(|it| each_node_allowance(&fitting, selector, *it)));
            if *selector != everything {
                allowances.extend(nodes_allowance(&fitting, selector, indexes));
            }
        }
        (!allowances.is_empty()).then_some(allowances)
    }
}

/// The allocatable resources of the nodes with some labels; `None` without such nodes.
fn nodes_allowance(
    nodes: &[Resources],
    selector: &Labels,
    consumers: Vec<usize>,
) -> Option<Allowance> {
    let bound = |resource: Resource, amount: fn(&Resources) -> Option<u64>| {
        let amounts: Option<Vec<u64>> = nodes.iter().map(amount).collect();
        let most = amounts?.into_iter().fold(0, u64::saturating_add);
        Some(Bound { resource, most, key: Box::default(), location: Box::default() })
    };
    let bounds = [
        bound(Resource::RequestsCpu, |it| it.milli_cpu),
        bound(Resource::RequestsMemory, |it| it.memory),
        bound(Resource::Pods, |it| it.pods.map(u64::from)),
    ];
    let by = Bounding::Nodes { count: nodes.len(), selector: selector.clone() };
    let bounds = bounds.into_iter().flatten().collect();
    (!nodes.is_empty()).then_some(Allowance { by, bounds, consumers })
}

/// An allowance of zero pods for a workload whose pods are too large for every node; `None` without nodes.
fn each_node_allowance(
    nodes: &[Resources],
    selector: &Labels,
    consumer: usize,
) -> Option<Allowance> {
    let (key, location) = (Box::default(), Box::default());
    let none = Bound { resource: Resource::Pods, most: 0, key, location };
    let by = Bounding::EachNode { count: nodes.len(), selector: selector.clone() };
    (!nodes.is_empty()).then_some(Allowance { by, bounds: vec![none], consumers: vec![consumer] })
}

fn fits_on_one(nodes: &[Resources], of_pod: &Amounts) -> bool {
    let has = |allocatable: Option<u64>, resource: Resource| {
        allocatable.is_none_or(|it| it >= of_pod[resource.index()])
    };
    nodes.iter().any(|it| {
        has(it.milli_cpu, Resource::RequestsCpu) && has(it.memory, Resource::RequestsMemory)
    })
}

/// The items with a unique name. Items that share a name are left out, as either may apply.
fn once<Thing>(named: impl Iterator<Item = (Identity, Thing)>) -> BTreeMap<Identity, Thing> {
    let mut known: BTreeMap<Identity, Option<Thing>> = BTreeMap::new();
    for (identity, thing) in named {
        known.entry(identity).and_modify(|it| *it = None).or_insert(Some(thing));
    }
    known.into_iter().filter_map(|(identity, thing)| Some((identity, thing?))).collect()
}
