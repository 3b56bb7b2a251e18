//! `MetricsProducer`: a number that follows a schedule.

mod spec;

use almanac_engine::{Family, Slim};
use kube::CustomResourceExt as _;

use super::{Descriptor, Interpretation, KARPENTER, Listing, ShapeCheckedObject};
use crate::finding::Path;
use crate::objects::MetricsProducer;
use crate::status;

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    upstream: Some(KARPENTER),
    listing: Listing::Required,
    rule_field: |_, position| {
        let spec = Path::Root.key("spec");
        Some((&spec.key("schedule").key("behaviors").index(position)).into())
    },
    ..Descriptor::plain(
        Family::ScheduledCapacity,
        "metrics-producer",
        || vec![MetricsProducer::crd()],
        check,
    )
};

fn check(object: &mut ShapeCheckedObject<'_>) -> Interpretation {
    let checked = object.check_spec(|_, spec| spec::check(&spec));
    let policy = checked.value.filter(|_| object.is_sound());
    let memory = status::metrics_producer::read(&object.status);
    Interpretation::new(Slim::ScheduledCapacity(object.kept(policy, memory)), checked.findings)
}
