//! Other scalers: cron policies of other projects, which are recognized by name and not reconciled, and other objects
//! of these projects that set the replicas of a target.

use std::collections::BTreeMap;

use almanac_engine::Identity;

use super::objects::PlacedFinding;
use crate::finding::{Code, Finding, Path, Span};
use crate::kinds::{Kind, group_and_version};
use crate::tree::Node;

const KEDA: &str = "keda.sh";
const ALIBABA: &str = "autoscaling.alibabacloud.com";
const KUBE_GREEN: &str = "kube-green.com";

/// The annotations by which kube-downscaler scales a workload or a namespace, and the annotation that excludes one.
const UPTIME: &str = "downscaler/uptime";
const DOWNTIME: &str = "downscaler/downtime";
const UPSCALE: &str = "downscaler/upscale-period";
const DOWNSCALE: &str = "downscaler/downscale-period";
const PERIODS: [&str; 4] = [UPTIME, DOWNTIME, UPSCALE, DOWNSCALE];
const EXCLUDE: &str = "downscaler/exclude";

/// The words of texts with objects of other scaling projects. A text without these words has no such object.
pub(super) const WORDS: [&str; 7] =
    [KEDA, ALIBABA, KUBE_GREEN, UPTIME, DOWNTIME, UPSCALE, DOWNSCALE];

/// The finding about an object that scales by the clock for another project.
pub(super) fn finding(node: &Node) -> Option<Finding> {
    let replace = match text(node, "kind") {
        Some("CronJob") => "note that kube-downscaler may skip a start that is displayed here",
        Some("ScaledJob") => "to start Jobs by the clock alone, use a CronJob",
        _ => "to have Almanac scale the target, replace it with a CronFederatedHPA",
    };
    if let Some(annotation) = downscaler(node) {
        let message = "the annotation is a policy for kube-downscaler; Almanac does not apply it";
        let metadata = Path::Root.key("metadata");
        let annotations = metadata.key("annotations");
        let field = annotations.key(annotation);
        return Some(Finding::new(Code::ForeignPolicy, field, message).with_fix(replace));
    }
    let (group, kind) = group_and_kind(node)?;
    let project = match (group, kind) {
        (KEDA, "ScaledObject" | "ScaledJob") if has_cron_trigger(node) => "KEDA",
        (ALIBABA, "CronHorizontalPodAutoscaler") => "kubernetes-cronhpa-controller",
        (KUBE_GREEN, "SleepInfo") => "kube-green",
        _ => return None,
    };
    let message = format!("this {kind} is a cron policy for {project}; Almanac does not apply it");
    Some(Finding::new(Code::ForeignPolicy, Path::Root.key("kind"), message).with_fix(replace))
}

fn has_cron_trigger(node: &Node) -> bool {
    let triggers = node.get("spec").and_then(|spec| spec.get("triggers")).and_then(Node::as_list);
    let is_cron = |trigger: &Node| text(trigger, "type") == Some("cron");
    triggers.is_some_and(|triggers| triggers.iter().any(is_cron))
}

/// The annotation by which kube-downscaler follows the clock, unless another annotation excludes the object.
fn downscaler(node: &Node) -> Option<&'static str> {
    let annotations = node.get("metadata")?.get("annotations")?;
    let is_excluded = text(annotations, EXCLUDE) == Some("true");
    PERIODS.into_iter().find(|period| annotations.get(period).is_some()).filter(|_| !is_excluded)
}

/// A cron policy of another project.
#[derive(Clone, Debug)]
pub struct ForeignPolicy {
    /// The namespace in the object; `None` if absent.
    pub namespace: Option<Box<str>>,
    /// The labels of the policy.
    pub labels: BTreeMap<String, String>,
    /// The finding about the policy.
    pub finding: PlacedFinding,
}

impl ForeignPolicy {
    pub(super) fn new(node: &Node, finding: PlacedFinding) -> ForeignPolicy {
        let namespace = node.get("metadata").and_then(|metadata| text(metadata, "namespace"));
        ForeignPolicy { namespace: namespace.map(Box::from), labels: labels(node), finding }
    }
}

/// The labels of an object; values that are not strings are skipped.
#[must_use]
pub fn labels(node: &Node) -> BTreeMap<String, String> {
    let labels = node.get("metadata").and_then(|metadata| metadata.get("labels"));
    let labels = labels.map(Node::to_json);
    labels.and_then(|labels| serde_json::from_value(labels).ok()).unwrap_or_default()
}

/// An object of another project that sets the replicas of a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignScaler {
    itself: ObjectName,
    /// The target; `None` if the object itself is the target, by its annotations.
    target: Option<ObjectName>,
    /// The namespace in the object; `None` if absent.
    pub namespace: Option<Box<str>>,
    /// The index of the source in [`super::Reading::sources`].
    pub source: usize,
    /// The location of the object.
    pub span: Span,
}

/// The kind and name of an object, whose namespace is determined elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ObjectName {
    group: Box<str>,
    kind: Box<str>,
    name: Box<str>,
}

impl ObjectName {
    fn new(group: &str, kind: &str, name: &str) -> ObjectName {
        ObjectName { group: group.into(), kind: kind.into(), name: name.into() }
    }
}

impl ForeignScaler {
    /// Reads an object that scales for another project.
    pub(super) fn read(source: usize, node: &Node) -> Option<ForeignScaler> {
        let (group, kind) = group_and_kind(node)?;
        let names_target = matches!(
            (group, kind),
            (KEDA, "ScaledObject") | (ALIBABA, "CronHorizontalPodAutoscaler")
        );
        let target = if names_target {
            let reference = node.get("spec")?.get("scaleTargetRef")?;
            let usual = Kind::Deployment;
            let group = text(reference, "apiVersion").map(|it| group_and_version(it).0);
            let group = group.unwrap_or(usual.group());
            let kind = text(reference, "kind").unwrap_or(usual.name());
            Some(ObjectName::new(group, kind, text(reference, "name")?))
        } else {
            // An annotation of a whole namespace applies to no object that a policy names.
            Kind::find(group, kind).and(downscaler(node))?;
            None
        };
        let metadata = node.get("metadata")?;
        Some(ForeignScaler {
            itself: ObjectName::new(group, kind, text(metadata, "name")?),
            target,
            namespace: text(metadata, "namespace").map(Box::from),
            source,
            span: node.span,
        })
    }

    /// The identity in the namespace of the object, or in the given namespace if that is absent.
    #[must_use]
    pub fn identity(&self, namespace: &str) -> Identity {
        self.named(&self.itself, namespace)
    }

    /// The identity of the target.
    #[must_use]
    pub fn target(&self, namespace: &str) -> Identity {
        self.named(self.target.as_ref().unwrap_or(&self.itself), namespace)
    }

    /// The name of the scaler in a message.
    #[must_use]
    pub fn display_name(&self, namespace: &str) -> String {
        match self.target {
            Some(_) => self.identity(namespace).to_string(),
            None => "kube-downscaler".to_owned(),
        }
    }

    fn named(&self, ObjectName { group, kind, name }: &ObjectName, namespace: &str) -> Identity {
        let namespace = self.namespace.as_deref().unwrap_or(namespace);
        Identity::new(group, kind, namespace, name)
    }
}

fn group_and_kind(node: &Node) -> Option<(&str, &str)> {
    Some((group_and_version(text(node, "apiVersion")?).0, text(node, "kind")?))
}

fn text<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.get(key).and_then(Node::as_text).filter(|text| !text.is_empty())
}
