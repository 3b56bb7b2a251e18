//! Converts an object of the right shape to its slim form. The family converts a policy; the use in policies determines
//! the slim form of other objects.

use std::sync::Arc;

use almanac_engine::metric_scaling::PatternPool;
use almanac_engine::placement::{ClusterSet, HubObject};
use almanac_engine::{PolicyObject, Slim, Target, Workload};
use jiff::Timestamp;
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::metric_scaling::check_federated;
use super::{Checked, Descriptor, hub};
use crate::fields::target::check_target;
use crate::finding::{Code, FieldPath, Finding, Path, Severity};
use crate::kinds::{Kind, Role, removed_version};
use crate::kubernetes::KubernetesMinor;
use crate::lenient;
use crate::objects::ScaleTargetReference;
use crate::slim;

/// An object after a shape check, with corrections where it did not fit.
pub(crate) struct ShapeCheckedObject<'a> {
    pub(crate) kind: Kind,
    /// The object without its status.
    pub(crate) object: Json,
    /// The status as written. Only controllers write it, so it never fails a check.
    pub(crate) status: Json,
    /// The findings about the shape.
    pub(crate) findings: &'a [Finding],
    pub(crate) namespace: &'a str,
    pub(crate) now: Timestamp,
    pub(crate) kubernetes: Option<KubernetesMinor>,
    pub(crate) created: Option<Timestamp>,
    pub(crate) patterns: Option<&'a PatternPool>,
}

/// The slim form of an object, its target, and the findings about its meaning.
#[derive(Default)]
pub(crate) struct Interpretation {
    pub(crate) slim: Option<Slim>,
    pub(crate) scales: Option<Target>,
    /// The target that an unusable policy names.
    pub(crate) named: Option<Target>,
    /// The findings beyond the shape.
    pub(crate) findings: Vec<Finding>,
}

/// Interprets an object by the role of its kind.
pub(crate) fn interpret(mut object: ShapeCheckedObject<'_>) -> Interpretation {
    match object.kind.role() {
        Role::Policy(family) => (Descriptor::for_family(family).check)(&mut object),
        Role::Hub => object.hub_object(),
        Role::Bounds => object.bounds(),
        Role::Workload { .. } => {
            Interpretation { slim: object.data(&[]), ..Interpretation::default() }
        }
    }
}

impl Interpretation {
    /// The interpretation of a policy without a target.
    pub(super) fn new(slim: Slim, findings: Vec<Finding>) -> Interpretation {
        Interpretation { slim: Some(slim), findings, ..Interpretation::default() }
    }

    /// Sets the target. `named` is the target in the spec, for a policy without a usable target.
    pub(super) fn scaling(self, scales: Option<Target>, named: Option<Target>) -> Interpretation {
        let named = named.filter(|_| scales.is_none());
        Interpretation { scales, named, ..self }
    }
}

impl ShapeCheckedObject<'_> {
    /// The interpretation of a policy, as the world stores it.
    pub(super) fn kept<Policy, Memory>(
        &self,
        policy: Option<Policy>,
        memory: Option<Memory>,
    ) -> PolicyObject<Policy, Memory> {
        PolicyObject { policy: policy.map(Arc::new), created: self.created, memory }
    }

    /// The interpretation of an object from which placements select. An object with a wrong shape is treated as absent.
    /// A set with a wrong shape is treated as present, with unknown clusters.
    fn hub_object(self) -> Interpretation {
        let checked = hub::check(self.kind, &self.object, &self.status);
        let object = match checked.object {
            Some(HubObject::Set(_)) if !self.is_sound() => {
                Some(HubObject::Set(ClusterSet::Unusable))
            }
            object => object.filter(|_| self.is_sound()),
        };
        Interpretation {
            slim: object.map(Slim::Hub),
            findings: checked.findings,
            ..Interpretation::default()
        }
    }

    /// The interpretation of an autoscaler. For a `HorizontalPodAutoscaler`, only the bounds and the target are
    /// checked: its own API checks the rest.
    fn bounds(mut self) -> Interpretation {
        let checked = if self.kind == Kind::FederatedHPA {
            let spec = self.object["spec"].clone();
            checked_spec(spec, |spec| check_federated(&spec, self.namespace))
        } else {
            Checked { value: self.target_alone(), findings: Vec::new() }
        };
        let scales = checked.value.filter(|_| self.is_sound());
        let slim = self.data(&checked.findings);
        Interpretation { slim, scales, named: None, findings: checked.findings }
    }

    fn target_alone(&mut self) -> Option<Target> {
        let reference = self.object.get_mut("spec")?.get_mut("scaleTargetRef")?.take();
        let mut reference: ScaleTargetReference = serde_json::from_value(reference).ok()?;
        let written = reference.api_version.as_deref().unwrap_or_default();
        if let Some(removed) = removed_version(written, &reference.kind) {
            // Kubernetes looks the target up by group and kind.
            reference.api_version = Some(removed.now.to_owned());
        }
        let target = check_target(&reference, &Path::Root, self.namespace, &mut Vec::new());
        target.map(|reference| reference.target)
    }

    /// The slim form of an object that policies act on; `None` if its numbers are invalid. Other mistakes do not change
    /// the numbers.
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
        let slim = slim::from_object(self.kind, &self.object).filter(|_| in_order)?;
        Some(match slim {
            Slim::Workload(workload) => {
                let current = lenient::count(&self.status["replicas"]);
                Slim::Workload(Workload { current, ..workload })
            }
            other => other,
        })
    }

    pub(super) fn is_sound(&self) -> bool {
        errors(self.findings).next().is_none()
    }

    /// The target that the spec names, whether or not the rest of the policy is usable.
    pub(super) fn named_target(&self) -> Option<Target> {
        let reference = self.object.get("spec")?.get("scaleTargetRef")?;
        let reference = ScaleTargetReference::deserialize(reference).ok()?;
        let reference = check_target(&reference, &Path::Root, self.namespace, &mut Vec::new())?;
        Some(reference.target)
    }

    /// Deserializes the spec and checks it.
    pub(super) fn check_spec<Spec: DeserializeOwned, T>(
        &mut self,
        check: impl FnOnce(&Self, Spec) -> Checked<T>,
    ) -> Checked<T> {
        let spec = self.object.get_mut("spec").map(Json::take).unwrap_or_default();
        checked_spec(spec, |spec| check(self, spec))
    }
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

/// The errors among findings.
pub(super) fn errors(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    findings.iter().filter(|finding| finding.severity() == Severity::Error)
}
