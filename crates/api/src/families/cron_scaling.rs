//! `CronFederatedHPA`: cron rules that set replicas or bounds.

mod coincidence;
mod max_delay;
mod spec;

use almanac_engine::cron_scaling::{CronScaling, UnusableRule};
use almanac_engine::{Family, Slim};
use kube::CustomResourceExt as _;

use super::interpretation::errors;
use super::{Descriptor, Interpretation, KARMADA, Listing, ShapeCheckedObject};
use crate::finding::{FieldPath, Finding, Path};
use crate::kinds::Kind;
use crate::objects::{CronFederatedHPA, FederatedHPA};
use crate::status::cron_federated_hpa::{read, read_without_policy};

pub(super) const DESCRIPTOR: Descriptor = Descriptor {
    writes: &[Kind::FederatedHPA, Kind::HorizontalPodAutoscaler],
    upstream: Some(KARMADA),
    listing: Listing::Required,
    rule_field: |_, position| {
        let spec = Path::Root.key("spec");
        Some((&spec.key("rules").index(position).key("schedule")).into())
    },
    ..Descriptor::plain(
        Family::CronScaling,
        "cron-federated-hpa",
        || vec![CronFederatedHPA::crd(), FederatedHPA::crd()],
        check,
    )
};

fn check(object: &mut ShapeCheckedObject<'_>) -> Interpretation {
    let named = object.named_target();
    let checked =
        object.check_spec(|it, spec| spec::check(&spec, it.namespace, it.now, it.kubernetes));
    let policy = checked.value.and_then(|policy| without_broken_rules(policy, object.findings));
    let memory = match &policy {
        Some(policy) => read(policy, &object.status),
        None => read_without_policy(&object.status),
    };
    let scales = policy.as_ref().map(|policy| policy.target.clone());
    let slim = Slim::CronScaling(object.kept(policy, memory));
    Interpretation::new(slim, checked.findings).scaling(scales, named)
}

/// Removes the rules whose shape is broken, since rules are independent. A mistake outside the rules makes the whole
/// policy unusable.
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
