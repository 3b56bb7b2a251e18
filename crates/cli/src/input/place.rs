//! The input of one cluster: its world, and the written form of its objects. `grouping` determines its objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_api::checking::CheckedObject;
use almanac_api::kinds::Kind;
use almanac_api::reading::{CronJob, OtherObject, ReadNode, ReadPod};
use almanac_engine::qos_levels::{AgentSettings, Node as PodNode};
use almanac_engine::units::UnitObject;
use almanac_engine::{
    Family, Identity, Labels as PodLabels, NamespaceMark, PolicyName, Slim, Workload, World,
    start_as_new,
};
use almanac_forecast::AssumedValues;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cron_jobs::{ShownCronJob, WrittenAt};
use crate::selector::Labels;

/// A checked object, and data that the checked form lacks.
pub(crate) struct InputObject {
    pub(crate) checked: CheckedObject,
    /// The `apiVersion` in the written form.
    pub(crate) api_version: String,
    pub(crate) labels: Labels,
    pub(crate) names_its_namespace: bool,
}

/// The input of one cluster.
#[derive(Default)]
pub(crate) struct InputPlace {
    /// The name; `None` for the only place.
    pub(crate) name: Option<String>,
    /// The names of the places with this input.
    pub(crate) stands_for: Vec<String>,
    /// The indexes of the places with this input.
    pub(crate) numbers: Vec<usize>,
    pub(crate) world: World,
    /// The objects that are exempt, and therefore not forecast.
    pub(crate) left_out: BTreeSet<String>,
    /// The assumptions, each with its family.
    pub(crate) assumed: BTreeSet<(Family, String)>,
    /// The specified start of all policies, as a sentence; `None` for the default.
    pub(crate) begins: Option<String>,
    /// The `CronJobs`, which Kubernetes starts by the clock.
    pub(crate) cron_jobs: Vec<ShownCronJob>,
    /// The assumed values of fields at the start.
    pub(crate) initial: AssumedValues,
    api_versions: BTreeMap<Identity, String>,
    labels: BTreeMap<Identity, Labels>,
    /// The target that each policy names, including unusable policies.
    named_targets: BTreeMap<Identity, Identity>,
    /// The index of each object in the reading.
    pub(crate) positions: BTreeMap<Identity, usize>,
}

impl InputPlace {
    /// The place of these objects, each with its index in the reading.
    pub(crate) fn new<'a>(
        objects: impl Iterator<Item = (usize, &'a InputObject)> + Clone,
        name: Option<String>,
    ) -> InputPlace {
        let mut place =
            InputPlace { name, stands_for: vec![String::new()], ..InputPlace::default() };
        let duplicates = duplicates(objects.clone().map(|(_, object)| object));
        for (position, object) in objects {
            let InputObject { checked, api_version, labels, names_its_namespace } = object;
            let Some(identity) = &checked.identity else { continue };
            if checked.kind == Kind::ConfigMap && !names_its_namespace {
                let why = "names no namespace; that of the agent is assumed";
                place.assumed.insert((Family::QosLevels, format!("{identity} {why}")));
            }
            place.api_versions.insert(identity.clone(), api_version.clone());
            if let Some(target) = &checked.named {
                place.named_targets.insert(identity.clone(), target.identity().clone());
            }
            if checked.is_marked {
                Arc::make_mut(&mut place.world.objects.exempt).mark(identity, true);
            }
            let slim = checked.slim.as_ref();
            let is_duplicate = duplicates.contains(identity);
            let slim = if is_duplicate { slim.and_then(Slim::unusable) } else { slim.cloned() };
            if let Some(slim) = slim {
                let scaled =
                    checked.scales.as_ref().filter(|_| matches!(slim, Slim::Autoscaler(_)));
                place.world.upsert(identity.clone(), slim);
                if let Some(scaled) = scaled {
                    let object = UnitObject::AutoscalerOf(scaled.identity().clone());
                    place.world.upsert(identity.clone(), Slim::UnitObject(object));
                }
            }
            if !labels.is_empty() {
                place.labels.insert(identity.clone(), labels.clone());
            }
            place.positions.insert(identity.clone(), position);
        }
        for reference in place.world.policies().filter_map(|it| place.world.target_of(&it)) {
            let (target, written) = (reference.target.identity(), reference.api_version);
            place.api_versions.entry(target.clone()).or_insert_with(|| written.to_string());
        }
        place
    }

    /// The target of a policy, if it is one object.
    pub(crate) fn target_of(&self, policy: &PolicyName) -> Option<Identity> {
        let used = self.world.target_of(policy).map(|it| it.target.identity().clone());
        used.or_else(|| self.named_targets.get(&policy.identity).cloned())
    }

    /// The name of a read object.
    pub(crate) fn object_at(&self, position: usize) -> Option<&Identity> {
        self.positions.iter().find(|(_, it)| **it == position).map(|(identity, _)| identity)
    }

    /// Exempts the objects in a namespace with the ignore annotation.
    pub(crate) fn mark_namespace(&mut self, name: &str) {
        Arc::make_mut(&mut self.world.objects.exempt).mark_namespace(name, NamespaceMark::Present);
    }

    /// Exempts the objects in these namespaces too. Also records the exempt policies, so the caller must add all
    /// objects first.
    pub(crate) fn exempt(&mut self, namespaces: &[String]) {
        let exempt = Arc::make_mut(&mut self.world.objects.exempt);
        *exempt = std::mem::take(exempt).with_namespaces(namespaces);
        for policy in self.world.policies() {
            if let Some(why) = self.world.why_exempt(&policy) {
                self.left_out.insert(format!("{} is not applied: {why}", policy.identity));
            }
        }
    }

    /// Starts all policies as new ones at an instant.
    pub(crate) fn restart_policies(&mut self, at: Timestamp) {
        let policies: Vec<PolicyName> = self.world.policies().collect();
        for policy in &policies {
            start_as_new(&mut self.world, policy, at);
        }
        if !policies.is_empty() {
            self.begins = Some(format!("all policies begin at {at:.0}, as specified"));
        }
    }

    pub(crate) fn add_cron_jobs<'a>(
        &mut self,
        jobs: impl Iterator<Item = &'a CronJob>,
        namespace: &str,
    ) {
        for job in jobs {
            let (identity, job) = (job.identity(namespace), job.clone());
            self.api_versions.insert(identity.clone(), job.api_version.to_string());
            self.cron_jobs.push(ShownCronJob { identity, job, written_at: None });
        }
        self.cron_jobs.sort_by(|one, other| one.identity.cmp(&other.identity));
    }

    /// Adds objects of unknown kinds that a policy targets or that create its pods, and records the exempt namespaces.
    pub(super) fn add_targets<'a>(
        &mut self,
        others: impl Iterator<Item = &'a OtherObject>,
        namespace: &str,
    ) {
        for other in others {
            if other.is_exempt_namespace() {
                self.mark_namespace(&other.name);
                continue;
            }
            let identity = other.identity(namespace);
            Arc::make_mut(&mut self.world.objects.exempt).mark(&identity, other.is_marked);
            let workload = Workload { replicas: other.replicas, ..Workload::default() };
            self.world.upsert(identity, Slim::Workload(workload));
        }
    }

    /// Adds the pods, nodes and workloads of policies for node units.
    pub(super) fn add_unit_objects<'a>(
        &mut self,
        pods: impl Iterator<Item = &'a ReadPod>,
        nodes: impl Iterator<Item = &'a ReadNode>,
        namespace: &str,
    ) {
        for (identity, ReadNode { node, .. }) in once(nodes.map(|it| (it.identity(), it))) {
            self.world.upsert(identity, Slim::UnitObject(UnitObject::Node(node.clone())));
        }
        for (identity, read) in once(pods.map(|it| (it.identity(namespace), it))) {
            if let Some(number) = read.first_number {
                let number = Slim::UnitObject(UnitObject::FirstNumber(number));
                self.world.upsert(identity.clone(), number);
            }
            let pod = Box::new(read.unit_pod.clone());
            let is_template = read.pod.is_template;
            let object = if is_template { UnitObject::Template(pod) } else { UnitObject::Pod(pod) };
            self.add_pod(identity, &read.api_version, false, Slim::UnitObject(object));
        }
    }

    /// Adds the pods and nodes of policies for QoS levels. A template represents the pods of its workload, unless a
    /// pod exists that may belong to the workload.
    pub(super) fn add_pods<'a>(
        &mut self,
        pods: impl Iterator<Item = &'a ReadPod>,
        nodes: impl Iterator<Item = &'a ReadNode>,
        namespace: &str,
    ) {
        for (_, ReadNode { name, labels, .. }) in once(nodes.map(|it| (it.identity(), it))) {
            self.world.objects.nodes.insert((**name).into(), PodNode { labels: labels.clone() });
        }
        let named = once(pods.map(|it| (it.identity(namespace), it))).into_iter();
        let (templates, pods): (Vec<_>, Vec<_>) = named.partition(|(_, it)| it.pod.is_template);
        let known = PodsByLabel::new(&pods);
        let has_pods = |(workload, template): &(Identity, &ReadPod)| {
            known.has_any(workload.namespace(), &template.pod.labels)
        };
        let templates: Vec<_> = templates.into_iter().filter(|it| !has_pods(it)).collect();
        for (identity, read) in pods.into_iter().chain(templates) {
            let pod = Slim::Pod(read.pod.clone());
            self.add_pod(identity, &read.api_version, read.is_marked, pod);
        }
    }

    /// Adds a pod, or the template of a workload.
    pub(crate) fn add_pod(
        &mut self,
        identity: Identity,
        api_version: &str,
        is_marked: bool,
        slim: Slim,
    ) {
        if is_marked {
            Arc::make_mut(&mut self.world.objects.exempt).mark(&identity, true);
        }
        self.api_versions.entry(identity.clone()).or_insert_with(|| api_version.to_owned());
        self.world.upsert(identity, slim);
    }

    /// Sets the settings of the agent, and lists the `ConfigMaps` that it ignores.
    pub(crate) fn run_agent(&mut self, settings: AgentSettings) {
        self.world.qos_levels.extra = settings;
        for policy in self.world.policies() {
            if let Some(why) = self.world.why_not_applied(&policy) {
                self.left_out.insert(format!("{} is {why}", policy.identity));
            }
        }
    }

    pub(crate) fn position(&self, identity: &Identity) -> Option<usize> {
        self.positions.get(identity).copied()
    }

    pub(super) fn labels(&self, identity: &Identity) -> Option<&Labels> {
        self.labels.get(identity)
    }

    /// The `apiVersion` of an object, as written or as referenced by a policy, or else the default of its kind.
    pub(crate) fn api_version(&self, identity: &Identity) -> String {
        let written = self.api_versions.get(identity).cloned();
        let usual = || Kind::for_object(identity).map(Kind::api_version);
        written.or_else(usual).unwrap_or_else(|| identity.group().to_owned())
    }

    /// The reference to an object in the JSON of every command.
    pub(crate) fn reference(&self, identity: &Identity) -> Value {
        json!({
            "apiVersion": self.api_version(identity),
            "kind": identity.kind(),
            "namespace": identity.namespace(),
            "name": identity.name(),
        })
    }

    /// The reference to a `CronJob`.
    pub(crate) fn job_reference(&self, job: &ShownCronJob) -> Value {
        self.written_reference(&job.identity, job.written_at.as_ref())
    }

    /// The reference to an object whose name may not be unique.
    pub(crate) fn written_reference(
        &self,
        identity: &Identity,
        written_at: Option<&WrittenAt>,
    ) -> Value {
        let mut object = self.reference(identity);
        if let Some(WrittenAt { file, line }) = written_at {
            object["file"] = Value::from(&**file);
            if let Some(line) = line {
                object["line"] = Value::from(*line);
            }
        }
        object
    }
}

/// An index of the labels of pods, because there may be thousands of pods and of templates.
struct PodsByLabel<'a> {
    namespaces: BTreeSet<&'a str>,
    /// By namespace, key and value.
    labels: BTreeMap<(&'a str, &'a str, &'a str), Vec<&'a PodLabels>>,
}

impl<'a> PodsByLabel<'a> {
    fn new(pods: &'a [(Identity, &'a ReadPod)]) -> PodsByLabel<'a> {
        let (mut namespaces, mut labels) = (BTreeSet::new(), BTreeMap::new());
        for (identity, ReadPod { pod, .. }) in pods {
            namespaces.insert(identity.namespace());
            for (key, value) in pod.labels.iter() {
                let known: &mut Vec<_> =
                    labels.entry((identity.namespace(), key, value)).or_default();
                known.push(&pod.labels);
            }
        }
        PodsByLabel { namespaces, labels }
    }

    /// Whether any pod of a namespace has all these labels.
    fn has_any(&self, namespace: &str, labels: &PodLabels) -> bool {
        let of_label = |(key, value)| {
            self.labels.get(&(namespace, key, value)).map(Vec::as_slice).unwrap_or_default()
        };
        match labels.iter().map(of_label).min_by_key(|pods| pods.len()) {
            Some(fewest) => fewest
                .iter()
                .any(|pod| labels.iter().all(|(key, value)| pod.get(key) == Some(value))),
            None => self.namespaces.contains(namespace),
        }
    }
}

/// The objects with a unique name, in their order. Two objects of one name are both excluded.
fn once<Thing>(named: impl Iterator<Item = (Identity, Thing)>) -> Vec<(Identity, Thing)> {
    let all: Vec<(Identity, Thing)> = named.collect();
    let mut times: BTreeMap<Identity, u32> = BTreeMap::new();
    for (identity, _) in &all {
        *times.entry(identity.clone()).or_default() += 1;
    }
    all.into_iter().filter(|(identity, _)| times[identity] == 1).collect()
}

/// The names that several objects share. All objects of such a name are excluded.
fn duplicates<'a>(objects: impl Iterator<Item = &'a InputObject>) -> BTreeSet<Identity> {
    let mut seen = BTreeSet::new();
    let identities = objects.filter_map(|object| object.checked.identity.clone());
    identities.filter(|identity| !seen.insert(identity.clone())).collect()
}
