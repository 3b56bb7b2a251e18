//! From an object of the right shape to its slim form, by what its kind is to us.

use std::sync::Arc;

use almanac_engine::cron_scaling::{CronScaling, UnusableRule};
use almanac_engine::metric_scaling::PatternPool;
use almanac_engine::placement::{ClusterSet, HubObject};
use almanac_engine::qos_levels::QosLevels;
use almanac_engine::{Family, PolicyObject, Slim, Target, Workload};
use jiff::Timestamp;
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::target::check_target;
use super::{
    Checked, cron_federated_hpa, horizontal_autoscaler, hub, metrics_producer, placement,
    qos_levels, resource_policy,
};
use crate::finding::{Code, FieldPath, Finding, Path, Severity};
use crate::kinds::{Kind, Role, removed_version};
use crate::lenient;
use crate::objects::agent_config::{GLOBAL, NODES, POLICIES};
use crate::objects::{ScaleTargetReference, document_key};
use crate::slim;
use crate::status;

/// An object after a shape check, with corrections where it did not fit.
pub(super) struct Mended<'a> {
    pub(super) kind: Kind,
    /// All of it but its status.
    pub(super) object: Json,
    /// As it is there: it is the controllers' own, and never worth failing for.
    pub(super) status: Json,
    /// The findings about the shape.
    pub(super) findings: &'a [Finding],
    pub(super) namespace: &'a str,
    pub(super) now: Timestamp,
    pub(super) created: Option<Timestamp>,
    pub(super) patterns: Option<&'a PatternPool>,
}

/// The meaning of an object.
#[derive(Default)]
pub(super) struct Meaning {
    pub(super) slim: Option<Slim>,
    pub(super) scales: Option<Target>,
    /// The target of a policy that cannot be used.
    pub(super) named: Option<Target>,
    /// The findings beyond the shape.
    pub(super) findings: Vec<Finding>,
}

/// Says what an object means.
pub(super) fn meaning_of(object: Mended<'_>) -> Meaning {
    match object.kind.role() {
        Role::Policy(Family::ScheduledCapacity) => object.scheduled_capacity(),
        Role::Policy(Family::CronScaling) => object.cron_scaling(),
        Role::Policy(Family::MetricScaling) => object.metric_scaling(),
        Role::Policy(Family::QosLevels) => object.qos_levels(),
        Role::Policy(Family::Placement) => object.placement(),
        Role::Policy(Family::Units) => object.units(),
        Role::Hub => object.hub_object(),
        Role::Bounds => object.bounds(),
        Role::Workload { .. } => Meaning { slim: object.data(&[]), ..Meaning::default() },
    }
}

impl Mended<'_> {
    fn scheduled_capacity(mut self) -> Meaning {
        let checked = self.check_spec(|_, spec| metrics_producer::check(&spec));
        let policy = checked.value.filter(|_| self.is_sound());
        let slim = Slim::ScheduledCapacity(PolicyObject {
            policy: policy.map(Arc::new),
            created: self.created,
            memory: status::metrics_producer::read(&self.status),
        });
        Meaning { slim: Some(slim), findings: checked.findings, ..Meaning::default() }
    }

    fn cron_scaling(mut self) -> Meaning {
        let named = self.named_target();
        let checked =
            self.check_spec(|it, spec| cron_federated_hpa::check(&spec, it.namespace, it.now));
        let policy = checked.value.and_then(|policy| without_broken_rules(policy, self.findings));
        let memory = match &policy {
            Some(policy) => status::cron_federated_hpa::read(policy, &self.status),
            None => status::cron_federated_hpa::read_without_policy(&self.status),
        };
        let scales = policy.as_ref().map(|policy| policy.target.clone());
        let named = named.filter(|_| scales.is_none());
        let policy = policy.map(Arc::new);
        let slim = Slim::CronScaling(PolicyObject { policy, created: self.created, memory });
        Meaning { slim: Some(slim), scales, named, findings: checked.findings }
    }

    fn metric_scaling(mut self) -> Meaning {
        let named = self.named_target();
        let checked = self
            .check_spec(|it, spec| horizontal_autoscaler::check(&spec, it.namespace, it.patterns));
        let policy = checked.value.filter(|_| self.is_sound());
        let scales = policy.as_ref().map(|policy| policy.target.clone());
        let named = named.filter(|_| scales.is_none());
        let slim = Slim::MetricScaling(PolicyObject {
            policy: policy.map(Arc::new),
            created: self.created,
            memory: status::horizontal_autoscaler::read(&self.status),
        });
        Meaning { slim: Some(slim), scales, named, findings: checked.findings }
    }

    /// The policies of a `ConfigMap` of Volcano's agent. One without its document is as bad as one with a
    /// document that cannot be read: a slip of the key must not undo all levels.
    fn qos_levels(self) -> Meaning {
        let name = self.object["metadata"]["name"].as_str().unwrap_or_default();
        let Some(key) = document_key(name) else { return Meaning::default() };
        let data = Path::Root.key("data");
        let field = data.key(key);
        let mut checked = if let Some(text) = self.object["data"][key].as_str() {
            qos_levels::check(text, &field)
        } else {
            Checked { value: None, findings: vec![missing_document(&self.object["data"], key)] }
        };
        let beside = [GLOBAL, NODES, POLICIES].into_iter();
        let beside = beside.filter(|it| self.object["data"].get(it).is_some());
        checked.findings.extend(beside.map(|it| {
            let why = format!("Ignored: the agent reads only {key}");
            let finding = Finding::new(Code::IgnoredField, data.key(it), why);
            finding.with_fix(format!("indent it, so that it is a part of the text of {key}"))
        }));
        let levels = checked.value.filter(|_| self.is_sound()).unwrap_or_else(QosLevels::unusable);
        let slim =
            Slim::QosLevels(PolicyObject { created: self.created, ..PolicyObject::new(levels) });
        Meaning { slim: Some(slim), findings: checked.findings, ..Meaning::default() }
    }

    fn placement(mut self) -> Meaning {
        let metadata = self.object["metadata"].clone();
        let unusable = placement::unusable(&self.object);
        let checked = self.check_spec(|_, spec| placement::check(&spec, &metadata));
        let policy = checked.value.filter(|_| self.is_sound()).or(unusable);
        let slim = Slim::Placement(PolicyObject {
            policy: policy.map(Arc::new),
            created: self.created,
            memory: None,
        });
        Meaning { slim: Some(slim), findings: checked.findings, ..Meaning::default() }
    }

    fn units(mut self) -> Meaning {
        let checked = self.check_spec(|_, spec| resource_policy::check(&spec));
        let policy = checked.value.filter(|_| self.is_sound());
        let slim = Slim::Units(PolicyObject {
            policy: policy.map(Arc::new),
            created: self.created,
            memory: None,
        });
        Meaning { slim: Some(slim), findings: checked.findings, ..Meaning::default() }
    }

    /// An object from which placements select. If its shape does not fit, it counts as absent; a set counts as present,
    /// with unknown clusters.
    fn hub_object(self) -> Meaning {
        let checked = hub::check(self.kind, &self.object, &self.status);
        let object = match checked.object {
            Some(HubObject::Set(_)) if !self.is_sound() => {
                Some(HubObject::Set(ClusterSet::Unusable))
            }
            object => object.filter(|_| self.is_sound()),
        };
        Meaning { slim: object.map(Slim::Hub), findings: checked.findings, ..Meaning::default() }
    }

    /// An autoscaler. One of Kubernetes' own is looked at as far as its bounds and its target go:
    /// whether the rest of it is right is for its own API to say.
    fn bounds(mut self) -> Meaning {
        let checked = if self.kind == Kind::FederatedHPA {
            let spec = self.object["spec"].clone();
            checked_spec(spec, |spec| horizontal_autoscaler::check_federated(&spec, self.namespace))
        } else {
            Checked { value: self.target_alone(), findings: Vec::new() }
        };
        let scales = checked.value.filter(|_| self.is_sound());
        let slim = self.data(&checked.findings);
        Meaning { slim, scales, named: None, findings: checked.findings }
    }

    fn target_alone(&mut self) -> Option<Target> {
        let reference = self.object.get_mut("spec")?.get_mut("scaleTargetRef")?.take();
        let mut reference: ScaleTargetReference = serde_json::from_value(reference).ok()?;
        let written = reference.api_version.as_deref().unwrap_or_default();
        if let Some(removed) = removed_version(written, &reference.kind) {
            // Kubernetes finds it by its group and kind.
            reference.api_version = Some(removed.now.to_owned());
        }
        let target = check_target(&reference, &Path::Root, self.namespace, &mut Vec::new());
        target.map(|reference| reference.target)
    }

    /// The slim form of what policies act on, if the numbers in it are in order. What else is wrong
    /// with it does not change what it has.
    fn data(&self, further: &[Finding]) -> Option<Slim> {
        let spec = Path::Root.key("spec");
        let numbers = slim::fields(self.kind.role()).iter().map(|it| FieldPath::from(spec.key(it)));
        let numbers: Vec<FieldPath> = numbers.collect();
        let is_about_numbers = |finding: &Finding| {
            numbers.iter().any(|it| it.is_within(&finding.field) || finding.field.is_within(it))
        };
        let in_order = !self
            .findings
            .iter()
            .chain(further)
            .any(|it| it.severity() == Severity::Error && is_about_numbers(it));
        let slim = slim::of_data(self.kind, &self.object).filter(|_| in_order)?;
        Some(match slim {
            Slim::Workload(workload) => {
                let current = lenient::count(&self.status["replicas"]);
                Slim::Workload(Workload { current, ..workload })
            }
            other => other,
        })
    }

    fn is_sound(&self) -> bool {
        errors(self.findings).next().is_none()
    }

    /// The target by its name, whether or not the rest can be used.
    fn named_target(&self) -> Option<Target> {
        let reference = self.object.get("spec")?.get("scaleTargetRef")?;
        let reference = ScaleTargetReference::deserialize(reference).ok()?;
        let found = check_target(&reference, &Path::Root, self.namespace, &mut Vec::new())?;
        Some(found.target)
    }

    /// Turns the spec into its type and checks it.
    fn check_spec<Spec: DeserializeOwned, T>(
        &mut self,
        check: impl FnOnce(&Self, Spec) -> Checked<T>,
    ) -> Checked<T> {
        let spec = self.object.get_mut("spec").map(Json::take).unwrap_or_default();
        checked_spec(spec, |spec| check(self, spec))
    }
}

/// Says that the document of the agent is missing, or is the only one and has another name.
fn missing_document(documents: &Json, key: &str) -> Finding {
    let data = Path::Root.key("data");
    let mut others = documents.as_object().into_iter().flatten().map(|(other, _)| other);
    if let (Some(other), None) = (others.next(), others.next()) {
        let message = "Required value: the agent reads its configuration from another key";
        return Finding::new(Code::MistypedField, data.key(other), message).meaning(key);
    }
    Finding::required(&data.key(key), "the configuration of the agent")
}

fn checked_spec<Spec: DeserializeOwned, T>(
    spec: Json,
    check: impl FnOnce(Spec) -> Checked<T>,
) -> Checked<T> {
    match serde_json::from_value(spec) {
        Ok(spec) => check(spec),
        Err(error) => {
            let message = format!("Invalid value: {error}");
            let finding = Finding::new(Code::WrongType, Path::Root.key("spec"), message);
            Checked { value: None, findings: vec![finding] }
        }
    }
}

fn errors(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    findings.iter().filter(|finding| finding.severity() == Severity::Error)
}

/// Leaves out the rules whose shape is broken: each stands on its own. A mistake elsewhere leaves nothing to use.
fn without_broken_rules(mut policy: CronScaling, findings: &[Finding]) -> Option<CronScaling> {
    let spec = Path::Root.key("spec");
    let rules = spec.key("rules");
    let list = FieldPath::from(&rules);
    if errors(findings).any(|it| !it.field.is_within(&list) || it.field == list) {
        return None;
    }
    let is_broken = |position: u32| {
        let rule = FieldPath::from(rules.index(position as usize));
        errors(findings).any(|finding| finding.field.is_within(&rule))
    };
    let (broken, kept): (Vec<_>, Vec<_>) =
        policy.rules.into_iter().partition(|rule| is_broken(rule.position));
    let mut unusable = policy.unusable_rules.into_vec();
    let named = broken.iter().filter(|rule| !rule.name.is_empty());
    unusable.extend(
        named.map(|rule| UnusableRule { name: (&*rule.name).into(), position: rule.position }),
    );
    unusable.sort_by_key(|rule| rule.position);
    policy.rules = kept.into();
    policy.unusable_rules = unusable.into();
    Some(policy)
}
