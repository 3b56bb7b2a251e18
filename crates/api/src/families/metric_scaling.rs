//! `HorizontalAutoscaler`: replicas by the results of queries.

pub(crate) mod query;
mod spec;

use almanac_engine::{Family, Slim};
use kube::CustomResourceExt as _;

use super::{Descriptor, Interpretation, KARPENTER, ShapeCheckedObject};
use crate::finding::Path;
use crate::kinds::Kind;
use crate::objects::HorizontalAutoscaler;
use crate::status;

pub(super) use spec::check_federated;

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    reads: &[Kind::MetricsProducer],
    upstream: Some(KARPENTER),
    has_queries: true,
    rule_field: |_, position| {
        let spec = Path::Root.key("spec");
        Some((&spec.key("metrics").index(position)).into())
    },
    ..Descriptor::plain(
        Family::MetricScaling,
        "horizontal-autoscaler",
        || vec![HorizontalAutoscaler::crd()],
        check,
    )
};

fn check(object: &mut ShapeCheckedObject<'_>) -> Interpretation {
    let named = object.named_target();
    let checked = object.check_spec(|it, spec| spec::check(&spec, it.namespace, it.patterns));
    let policy = checked.value.filter(|_| object.is_sound());
    let scales = policy.as_ref().map(|policy| policy.target.clone());
    let memory = status::horizontal_autoscaler::read(&object.status);
    let slim = Slim::MetricScaling(object.kept(policy, memory));
    Interpretation::new(slim, checked.findings).scaling(scales, named)
}
