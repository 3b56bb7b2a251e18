//! Checking an object from a file: its shape first, then its meaning.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use almanac_engine::cron_scaling::{CronScaling, Target, UnusableRule};
use almanac_engine::scheduled_capacity::ScheduledCapacity;
use almanac_engine::{Autoscaler, Identity, Workload};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::envelope::{check_names, metadata_shape};
use super::shape::Shape;
use super::{Checked, cron_federated_hpa, horizontal_autoscaler, metrics_producer};
use crate::finding::{Code, FieldPath, Finding, Path, Severity};
use crate::kinds::{Kind, group_and_version};
use crate::objects::custom_resources;
use crate::reading::ReadObject;

/// What checking needs to know besides the object.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The namespace of objects that name none.
    pub namespace: &'a str,
    /// The present: what is said about the next two years begins here.
    pub now: Timestamp,
}

/// An object, checked.
#[derive(Clone, Debug)]
pub struct CheckedObject {
    /// Its name in the world; `None` when it has none that can be used.
    pub identity: Option<Identity>,
    /// What it says; `None` when it can't be used.
    pub meaning: Option<Meaning>,
    /// What is wrong, or worth knowing.
    pub findings: Vec<Finding>,
}

/// What an object says, in the types of the engine.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// A number over time.
    ScheduledCapacity(ScheduledCapacity),
    /// Cron rules.
    CronScaling(CronScaling),
    /// A `HorizontalAutoscaler`, and what it scales.
    HorizontalAutoscaler(Target),
    /// An autoscaler whose bounds cron rules may set, and what it scales if that is known.
    Autoscaler(Autoscaler, Option<Target>),
    /// Something with replicas.
    Workload(Workload),
}

/// Checks an object that was read from a file.
#[must_use]
pub fn check(object: &ReadObject, setting: Setting<'_>) -> CheckedObject {
    let mut findings = Vec::new();
    let shape = shape_of(object.kind);
    let mended = shape.examine(&object.node, &Path::Root, &mut findings);
    let metadata = mended["metadata"].clone();
    let name = metadata["name"].as_str().unwrap_or_default();
    let written_namespace = metadata["namespace"].as_str();
    if !says_something_about(&findings, &["metadata", "name"]) {
        check_names(name, written_namespace, &mut findings);
    }
    let namespace = written_namespace.unwrap_or(setting.namespace);
    let (group, _) = group_and_version(&object.api_version);
    let identity = Identity::new(group, &*object.kind_name, namespace, name);
    let named = !name.is_empty();
    let checked = check_meaning(object.kind, mended, namespace, setting.now);
    let meaning = checked.value.and_then(|meaning| without_what_is_broken(meaning, &findings));
    add_what_is_new(&mut findings, checked.findings);
    CheckedObject { identity: named.then_some(identity), meaning, findings }
}

fn says_something_about(findings: &[Finding], keys: &[&str]) -> bool {
    let [outer, inner] = keys else { return false };
    let outer = Path::Root.key(outer);
    let field = FieldPath::from(outer.key(inner));
    findings.iter().any(|finding| finding.field == field)
}

/// Leaves out what the shape has found to be broken: single rules where rules stand on their own,
/// the whole object elsewhere.
fn without_what_is_broken(meaning: Meaning, findings: &[Finding]) -> Option<Meaning> {
    let errors = || findings.iter().filter(|finding| finding.severity() == Severity::Error);
    let Meaning::CronScaling(mut policy) = meaning else {
        return errors().next().is_none().then_some(meaning);
    };
    let spec = Path::Root.key("spec");
    let rules = spec.key("rules");
    let of_a_rule = |finding: &&Finding, position: usize| {
        finding.field.is_within(&FieldPath::from(rules.index(position)))
    };
    let list = FieldPath::from(rules);
    if errors().any(|finding| !finding.field.is_within(&list) || finding.field == list) {
        return None;
    }
    let (broken, kept): (Vec<_>, Vec<_>) = policy
        .rules
        .into_iter()
        .partition(|rule| errors().any(|finding| of_a_rule(&finding, rule.position as usize)));
    let mut unusable = policy.unusable_rules.into_vec();
    let named = broken.iter().filter(|rule| !rule.name.is_empty());
    unusable.extend(
        named.map(|rule| UnusableRule { name: (&*rule.name).into(), position: rule.position }),
    );
    unusable.sort_by_key(|rule| rule.position);
    policy.rules = kept.into();
    policy.unusable_rules = unusable.into();
    Some(Meaning::CronScaling(policy))
}

/// Adds findings about the meaning, but for those about fields whose shape is already complained
/// of, and for comparisons with a field beside it that is.
fn add_what_is_new(findings: &mut Vec<Finding>, further: Vec<Finding>) {
    let of_shape = findings.len();
    for finding in further {
        let compares = finding.code == Code::CrossedBounds;
        if compares
            && findings[..of_shape].iter().any(|known| known.field.is_beside(&finding.field))
        {
            continue;
        }
        if !findings[..of_shape].iter().any(|known| covers(known, &finding)) {
            findings.push(finding);
        }
    }
}

/// Whether one finding makes another needless: it is about the same field or one around it, or
/// says that the field is there under a misspelled name.
fn covers(known: &Finding, finding: &Finding) -> bool {
    let misspelled = known.code == Code::UnknownField
        && known.field.is_beside(&finding.field)
        && known.fix == finding.field.last_key().map(|key| format!("write {key}"));
    let related = finding.field.is_within(&known.field) || known.field.is_within(&finding.field);
    misspelled || related
}

fn check_meaning(kind: Kind, mended: Json, namespace: &str, now: Timestamp) -> Checked<Meaning> {
    match kind {
        Kind::MetricsProducer => {
            typed(mended, |object| metrics_producer::check(&object).map(Meaning::ScheduledCapacity))
        }
        Kind::CronFederatedHPA => typed(mended, |object| {
            cron_federated_hpa::check(&object, namespace, now).map(Meaning::CronScaling)
        }),
        Kind::HorizontalAutoscaler => typed(mended, |object| {
            horizontal_autoscaler::check(&object, namespace).map(Meaning::HorizontalAutoscaler)
        }),
        Kind::FederatedHPA => typed(mended, |object| {
            horizontal_autoscaler::check_federated(&object, namespace)
                .map(|(autoscaler, target)| Meaning::Autoscaler(autoscaler, Some(target)))
        }),
        // A node group without a number keeps the nodes it has; a workload without one gets one.
        Kind::ScalableNodeGroup => workload(count(&mended["spec"]["replicas"])),
        Kind::Workload => workload(count(&mended["spec"]["replicas"]).or(Some(1))),
        Kind::HorizontalPodAutoscaler => horizontal_pod_autoscaler(&mended, namespace),
    }
}

/// Kubernetes' own autoscaler, as far as its bounds and its target go. Whether the rest of it is
/// right is for its own API to say.
fn horizontal_pod_autoscaler(mended: &Json, namespace: &str) -> Checked<Meaning> {
    let spec = &mended["spec"];
    let autoscaler = Autoscaler {
        min_replicas: count(&spec["minReplicas"]).or(Some(1)),
        max_replicas: count(&spec["maxReplicas"]),
    };
    let target =
        serde_json::from_value(spec["scaleTargetRef"].clone()).ok().and_then(|reference| {
            super::target::check_target(&reference, &Path::Root, namespace, &mut Vec::new())
        });
    Checked { value: Some(Meaning::Autoscaler(autoscaler, target)), findings: Vec::new() }
}

fn workload(replicas: Option<u32>) -> Checked<Meaning> {
    Checked { value: Some(Meaning::Workload(Workload { replicas })), findings: Vec::new() }
}

fn count(value: &Json) -> Option<u32> {
    value.as_u64().and_then(|count| u32::try_from(count).ok())
}

impl<T> Checked<T> {
    fn map<U>(self, into: impl FnOnce(T) -> U) -> Checked<U> {
        Checked { value: self.value.map(into), findings: self.findings }
    }
}

/// Turns a value of the right shape into its type. A status that can't be read is forgotten: it is
/// the controllers' own, and never worth failing for.
fn typed<T: DeserializeOwned>(
    mut mended: Json,
    check: impl FnOnce(T) -> Checked<Meaning>,
) -> Checked<Meaning> {
    if !mended["status"].is_null() {
        if let Ok(object) = serde_json::from_value(mended.clone()) {
            return check(object);
        }
        mended["status"] = Json::Null;
    }
    match serde_json::from_value(mended) {
        Ok(object) => check(object),
        Err(error) => {
            let message = format!("Invalid value: {error}");
            let finding = Finding::new(Code::WrongType, FieldPath::default(), message);
            Checked { value: None, findings: vec![finding] }
        }
    }
}

/// The shape of a kind: its schema for kinds we define, as much as we read of the others.
fn shape_of(kind: Kind) -> &'static Shape {
    static SHAPES: LazyLock<BTreeMap<Kind, Shape>> = LazyLock::new(shapes);
    static ANYTHING: LazyLock<Shape> = LazyLock::new(Shape::default);
    SHAPES.get(&kind).unwrap_or(&ANYTHING)
}

fn shapes() -> BTreeMap<Kind, Shape> {
    let mut shapes = BTreeMap::new();
    for resource in custom_resources() {
        let kind = match resource.kind() {
            "MetricsProducer" => Kind::MetricsProducer,
            "HorizontalAutoscaler" => Kind::HorizontalAutoscaler,
            "ScalableNodeGroup" => Kind::ScalableNodeGroup,
            "CronFederatedHPA" => Kind::CronFederatedHPA,
            _ => Kind::FederatedHPA,
        };
        let mut shape = Shape::of(&resource.schema());
        shape.set("status", Shape::default());
        shapes.insert(kind, with_envelope(shape));
    }
    let count = json!({ "type": "integer", "format": "int32", "minimum": 0, "nullable": true });
    let open = |fields: Json| {
        let spec = json!({ "type": "object", "properties": fields, "additionalProperties": {} });
        let schema =
            json!({ "type": "object", "properties": { "spec": spec }, "additionalProperties": {} });
        with_envelope(Shape::of(&schema))
    };
    shapes.insert(Kind::Workload, open(json!({ "replicas": count })));
    let bounds = json!({ "minReplicas": count, "maxReplicas": count });
    shapes.insert(Kind::HorizontalPodAutoscaler, open(bounds));
    shapes
}

fn with_envelope(mut shape: Shape) -> Shape {
    let text = json!({ "type": "string" });
    shape.set("apiVersion", Shape::of(&text));
    shape.set("kind", Shape::of(&text));
    shape.set("metadata", metadata_shape());
    shape
}
