//! `ResourcePolicy`: units of nodes that pods fill in order.

mod spec;

use almanac_engine::{Family, Slim};
use kube::CustomResourceExt as _;

use super::{Descriptor, Interpretation, Nouns, Process, ShapeCheckedObject};
use crate::finding::Path;
use crate::objects::ResourcePolicy;

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    process: Process::Extender,
    nouns: Nouns { policy: "the policy", object: "the pod" },
    selector_field: |_, unit| {
        let spec = Path::Root.key("spec");
        Some(match unit {
            Some(unit) => (&spec.key("units").index(unit).key("nodeSelector")).into(),
            None => (&spec.key("podSelector")).into(),
        })
    },
    ..Descriptor::plain(Family::Units, "units", || vec![ResourcePolicy::crd()], check)
};

fn check(object: &mut ShapeCheckedObject<'_>) -> Interpretation {
    let checked = object.check_spec(|_, spec| spec::check(&spec));
    let policy = checked.value.filter(|_| object.is_sound());
    Interpretation::new(Slim::Units(object.kept(policy, None)), checked.findings)
}
