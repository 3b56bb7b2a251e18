//! The families of policies as objects: a descriptor of each, and the meaning of its objects.
//!
//! Every list of families, here and in the crates above, is derived from [`DESCRIPTORS`]. The names of the kind of a
//! family, and the watches of its objects, are a row in `kinds`; the behavior of its policies is up to the engine.
//!
//! To add a family, add a directory with its objects, their check and their status, and its entry in [`DESCRIPTORS`].

mod controlled;
mod cron_scaling;
mod hub;
mod interpretation;
pub(crate) mod metric_scaling;
mod placement;
pub(crate) mod qos_levels;
mod scheduled_capacity;
mod units;
mod upstream;

use almanac_engine::{Family, Slim};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::finding::{FieldPath, Finding, Path};
use crate::kinds::Kind;

pub use controlled::Controlled;
pub(crate) use interpretation::{Interpretation, ShapeCheckedObject, interpret};
pub use upstream::Upstream;
use upstream::{KARMADA, KARPENTER, OPEN_CLUSTER_MANAGEMENT};

/// All families, in their order.
pub static DESCRIPTORS: [&Descriptor; Family::ALL.len()] = [
    &scheduled_capacity::DESCRIPTOR,
    &cron_scaling::DESCRIPTOR,
    &metric_scaling::DESCRIPTOR,
    &qos_levels::DESCRIPTOR,
    &placement::DESCRIPTOR,
    &units::DESCRIPTOR,
];

/// The properties of a family that differ from those of the others, except for the behavior of its policies.
pub struct Descriptor {
    /// The family itself.
    pub family: Family,
    /// The name of its policies on the command line.
    pub flag: &'static str,
    /// The kinds that the policies read, in addition to their own kind and their targets.
    pub reads: &'static [Kind],
    /// The kinds that the policies write, in addition to the replicas of their targets, which may be of any kind.
    pub writes: &'static [Kind],
    /// The controller of another project that reconciles the same objects, if one can be recognized.
    pub upstream: Option<Upstream>,
    /// The process that reconciles the policies.
    pub process: Process,
    /// The reason that a process limited to some namespaces cannot reconcile the policies; `None` if it can.
    pub why_cluster_wide: Option<&'static str>,
    /// The way in which a forecast of a cluster lists the policies.
    pub listing: Listing,
    /// Whether its policies have queries, which are evaluated, and whose patterns take long to check.
    pub has_queries: bool,
    /// The nouns for a policy and its objects, for rules without names.
    pub nouns: Nouns,
    /// The fix for a rule that never wins; `None` unless the order of the rules matters.
    pub never_wins_fix: Option<&'static str>,
    /// The CRDs of the kind of the policies and of its companion kinds.
    definitions: fn() -> Vec<CustomResourceDefinition>,
    check: fn(&mut ShapeCheckedObject<'_>) -> Interpretation,
    rule_field: fn(&Slim, usize) -> Option<FieldPath>,
    selector_field: fn(&Slim, Option<usize>) -> Option<FieldPath>,
}

/// The processes that reconcile policies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Process {
    /// The process of the controllers.
    Controller {
        /// Whether the controllers do so by default. Other kinds may have CRDs from another project.
        by_default: bool,
    },
    /// The agent for QoS levels.
    Agent,
    /// The scheduler extender for node units.
    Extender,
}

/// The ways to list policies in a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listing {
    /// All policies are listed. Without the permission, the forecast fails.
    Required,
    /// All policies are listed. Without the permission, the forecast contains no policies of the family.
    Optional,
    /// Policies are read by name: most objects of their kind are not policies.
    ByName,
}

/// The nouns for a family's policies in an explanation.
#[derive(Clone, Copy, Debug)]
pub struct Nouns {
    /// The policy as a whole.
    pub policy: &'static str,
    /// An object that the policy changes.
    pub object: &'static str,
}

/// The outcome of checking a part: its usable value, and the findings.
struct Checked<T> {
    /// The usable value; `None` if the part is unusable.
    value: Option<T>,
    /// Errors, warnings and infos.
    findings: Vec<Finding>,
}

impl Descriptor {
    /// The descriptor of a family that needs nothing but its targets.
    const fn plain(
        family: Family,
        flag: &'static str,
        definitions: fn() -> Vec<CustomResourceDefinition>,
        check: fn(&mut ShapeCheckedObject<'_>) -> Interpretation,
    ) -> Descriptor {
        Descriptor {
            family,
            flag,
            reads: &[],
            writes: &[],
            upstream: None,
            process: Process::Controller { by_default: true },
            why_cluster_wide: None,
            listing: Listing::Optional,
            has_queries: false,
            nouns: Nouns { policy: "default", object: "default" },
            never_wins_fix: None,
            definitions,
            check,
            rule_field: |_, _| Some(Path::Root.key("spec").into()),
            selector_field: |_, _| None,
        }
    }

    /// The descriptor of a family.
    #[must_use]
    pub fn for_family(family: Family) -> &'static Descriptor {
        DESCRIPTORS[family as usize]
    }

    /// The descriptor of the family of a kind, if its objects are policies.
    #[must_use]
    pub fn for_kind(kind: Kind) -> Option<&'static Descriptor> {
        kind.family().map(Descriptor::for_family)
    }

    /// The field of a rule of a policy, by the index of the rule.
    #[must_use]
    pub fn rule_field(&self, policy: &Slim, position: usize) -> Option<FieldPath> {
        (self.rule_field)(policy, position)
    }

    /// The field of a selector of a policy: of the rule with an index, or of the policy as a whole.
    #[must_use]
    pub fn selector_field(&self, policy: &Slim, position: Option<usize>) -> Option<FieldPath> {
        let own = (self.selector_field)(policy, position);
        own.or_else(|| self.rule_field(policy, position?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Role;

    #[test]
    fn each_family_has_its_descriptor() {
        for family in Family::ALL {
            assert_eq!(Descriptor::for_family(family).family, family);
        }
    }

    #[test]
    fn placements_read_the_kinds_of_a_hub_and_no_other() {
        let of_hub = Kind::ALL.iter().copied().filter(|kind| kind.role() == Role::Hub);
        assert_eq!(Descriptor::for_family(Family::Placement).reads, of_hub.collect::<Vec<_>>());
    }
}
