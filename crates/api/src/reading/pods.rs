//! The pods and the nodes in files, and the workloads whose templates create pods: the subject of policies for QoS
//! levels. The template of any kind of workload is read, since any may create pods.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use almanac_engine::qos_levels::Pod;
use almanac_engine::{Identity, Labels, units};
use serde_json::{Value as Json, json};

use super::other_object::count;
use crate::exempt::{MARK, exempts};
use crate::finding::Span;
use crate::kinds::{Kind, Role, group_and_version};
use crate::slim::{self, PodRequirements};
use crate::tree::{Node, Value};

/// The group of Volcano's jobs.
const VOLCANO: &str = "batch.volcano.sh";

/// The labels by which Kubernetes identifies the pods of a job.
const JOB_NAMES: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];

/// A pod, or a workload whose template represents its pods.
#[derive(Clone, Debug)]
pub struct ReadPod {
    /// The `apiVersion` of the object.
    pub api_version: Box<str>,
    /// The `kind` of the object.
    pub kind: Box<str>,
    /// The namespace in the object; `None` if absent.
    pub namespace: Option<Box<str>>,
    /// The name of the object. The name of a task of a job is the start of the names of its pods.
    pub name: Box<str>,
    /// The index of the source in [`super::Reading::sources`].
    pub source: usize,
    /// The location in the source.
    pub span: Span,
    /// The properties of the pod or the template on which QoS levels depend.
    pub pod: Pod,
    /// The properties of the pod or the template on which node units depend.
    pub unit_pod: units::Pod,
    /// The number of the first pod of a `StatefulSet`, if given.
    pub first_number: Option<u64>,
    /// The desired number of pods: the replicas as written or by default; 1 for a pod that has no owner and has not
    /// ended; `None` if unknown.
    pub replicas: Option<u32>,
    /// The requirements of the containers.
    pub requirements: PodRequirements,
    /// The node selector of the pods.
    pub node_selector: Labels,
    /// The name of the priority class; `None` if absent.
    pub priority_class: Option<Box<str>>,
    /// Whether the ignore annotation exempts the object from all policies.
    pub is_marked: bool,
}

/// A node in a file.
#[derive(Clone, Debug)]
pub struct ReadNode {
    /// The name of the node.
    pub name: Box<str>,
    /// The index of the source in [`super::Reading::sources`].
    pub source: usize,
    /// The location in the source.
    pub span: Span,
    /// The labels of the node.
    pub labels: Labels,
    /// The properties on which node units depend.
    pub node: units::Node,
}

/// Whether a file may have pods, nodes or workloads. Never `false` for a file with one, unless the file writes the
/// letters as escapes.
#[must_use]
pub fn may_hold_pods(bytes: &[u8]) -> bool {
    static WORDS: LazyLock<Option<AhoCorasick>> =
        LazyLock::new(|| AhoCorasick::new(["Pod", "Node", "emplate"]).ok());
    WORDS.as_ref().is_none_or(|words| words.is_match(bytes))
}

impl ReadPod {
    /// Reads a pod, or the templates of a workload. An object with an owner is skipped.
    pub(super) fn read(api_version: &str, kind: &str, source: usize, node: &Node) -> Vec<Self> {
        let Some(metadata) = node.get("metadata") else { return Vec::new() };
        let text = |field: &str| {
            let text = metadata.get(field).and_then(Node::as_text);
            text.filter(|text| !text.is_empty()).map(Box::<str>::from)
        };
        let Some(name) = text("name") else { return Vec::new() };
        let is_marked = ["annotations", "labels"].into_iter().any(|field| {
            let mark = metadata.get(field).and_then(|texts| texts.get(MARK));
            mark.and_then(Node::as_text).is_some_and(exempts)
        });
        let numbers = node.get("spec").filter(|_| kind == "StatefulSet");
        let numbers = numbers.and_then(|spec| spec.get("ordinals"));
        let first_number = numbers
            .and_then(|ordinals| slim::first_number(&json!({ "ordinals": ordinals.to_json() })));
        let read = |name, (pod, unit_pod): (Pod, units::Pod), spec: &Json, replicas| ReadPod {
            api_version: api_version.into(),
            kind: kind.into(),
            namespace: text("namespace"),
            name,
            source,
            span: node.span,
            pod,
            unit_pod,
            first_number,
            replicas,
            requirements: PodRequirements::read(spec),
            node_selector: slim::labels(&spec["nodeSelector"]),
            priority_class: spec["priorityClassName"].as_str().map(Box::from),
            is_marked,
        };
        let owners = metadata.get("ownerReferences").and_then(Node::as_list);
        let is_owned = owners.is_some_and(|owners| !owners.is_empty());
        if (api_version, kind) == ("v1", "Pod") {
            let object = node.to_json();
            let (pod, unit_pod) = (slim::pod(&object), slim::unit_pod(&object));
            let stays = !is_owned && !unit_pod.is_finished && unit_pod.deleted.is_none();
            let replicas = stays.then_some(1);
            return vec![read(name, (pod, unit_pod), &object["spec"], replicas)];
        }
        if is_owned {
            return Vec::new();
        }
        let group = group_and_version(api_version).0;
        let replicas = replicas(group, kind, node);
        let workload = Workload { group, kind, name: &name };
        let templates = workload.templates(node).into_iter();
        let pod = |metadata: &Json| Pod {
            node: None,
            left_alone: None,
            is_template: true,
            ..slim::pod(&json!({ "metadata": metadata }))
        };
        let read = |Template { name, metadata, spec }: Template| {
            let unit_pod = slim::unit_pod_of_template(&metadata, &spec, kind);
            read(name, (pod(&metadata), unit_pod), &spec, replicas)
        };
        templates.map(read).collect()
    }

    /// The identity in the namespace of the object, or in the given namespace if that is absent.
    #[must_use]
    pub fn identity(&self, namespace: &str) -> Identity {
        let (group, _) = group_and_version(&self.api_version);
        let namespace = self.namespace.as_deref().unwrap_or(namespace);
        Identity::new(group, &*self.kind, namespace, &*self.name)
    }
}

/// The replicas of a workload, as written or by the default of its kind.
fn replicas(group: &str, kind: &str, node: &Node) -> Option<u32> {
    let field = node.get("spec").and_then(|spec| spec.get("replicas"));
    match field.filter(|it| it.value != Value::Null) {
        Some(field) => count(field),
        None => match Kind::find(group, kind)?.role() {
            Role::Workload { absent_replicas } => absent_replicas,
            Role::Policy(_) | Role::Hub | Role::Bounds => None,
        },
    }
}

/// A pod template, with the name that represents its pods.
struct Template {
    name: Box<str>,
    metadata: Json,
    spec: Json,
}

/// An object that creates pods.
struct Workload<'a> {
    group: &'a str,
    kind: &'a str,
    name: &'a str,
}

impl Workload<'_> {
    /// The pod templates: `spec.template`, or the templates of the tasks of a Volcano job. A `CronJob` has the template
    /// of its Jobs, whose names are unknown.
    fn templates(&self, node: &Node) -> Vec<Template> {
        let Some(spec) = node.get("spec") else { return Vec::new() };
        let of_jobs = spec.get("jobTemplate").and_then(|job| job.get("spec"));
        let spec = of_jobs.unwrap_or(spec);
        let job = Some(self.name).filter(|_| self.kind == "Job" && of_jobs.is_none());
        if self.group == VOLCANO {
            let tasks = spec.get("tasks").and_then(Node::as_list).unwrap_or_default();
            let queue = spec.get("queue").and_then(Node::as_text).unwrap_or("default");
            let task = |(index, task)| self.task(index, task, job, queue);
            return tasks.iter().enumerate().filter_map(task).collect();
        }
        let labels = match job {
            Some(job) if self.group == "batch" => &JOB_NAMES.map(|key| (key, job))[..],
            _ => &[],
        };
        let template = spec.get("template");
        template.and_then(|it| Template::new(self.name.into(), it, labels)).into_iter().collect()
    }

    /// The template of a task. Volcano names the pods of a task by the job, the task and a number.
    fn task(&self, index: usize, task: &Node, job: Option<&str>, queue: &str) -> Option<Template> {
        let own_name = task.get("name").and_then(Node::as_text).filter(|name| !name.is_empty());
        let name = own_name.map_or_else(|| format!("default{index}"), str::to_owned);
        let job = job.map(|job| ("volcano.sh/job-name", job));
        let own = [("volcano.sh/task-spec", &*name), ("volcano.sh/queue-name", queue)];
        let labels: Vec<_> = job.into_iter().chain(own).collect();
        let name = format!("{}-{name}", self.name);
        Template::new(name.into(), task.get("template")?, &labels)
    }
}

impl Template {
    /// A template, with the additional labels of its pods.
    fn new(name: Box<str>, template: &Node, labels: &[(&str, &str)]) -> Option<Template> {
        let spec = template.get("spec")?;
        // Only templates of pods have containers.
        spec.get("containers")?;
        let mut metadata = template.get("metadata").map(Node::to_json).unwrap_or_default();
        for (key, value) in labels {
            if !metadata.is_object() {
                metadata = json!({});
            }
            if !metadata["labels"].is_object() {
                metadata["labels"] = json!({});
            }
            metadata["labels"][*key] = json!(value);
        }
        Some(Template { name, metadata, spec: spec.to_json() })
    }
}

impl ReadNode {
    pub(super) fn read(api_version: &str, kind: &str, source: usize, node: &Node) -> Option<Self> {
        if (api_version, kind) != ("v1", "Node") {
            return None;
        }
        let metadata = node.get("metadata")?;
        let name = metadata.get("name")?.as_text()?.into();
        let (span, node) = (node.span, slim::unit_node(&node.to_json()));
        Some(ReadNode { name, source, span, labels: node.labels.clone(), node })
    }

    /// The identity of the node.
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity::new("", "Node", "", &*self.name)
    }
}
