//! The assumptions of a forecast about node units, in words.

use crate::{Identity, Presumption};

/// The assumption that units without nodes in the input fit. `uses_outside` states whether pods may be outside all
/// units.
#[must_use]
pub fn nodes_enough(policy: &Identity, uses_outside: bool) -> Presumption {
    let outside = if uses_outside { ", and so are nodes outside of them" } else { "" };
    let sentence = format!(
        "no nodes in the input; each unit of {policy} is assumed to have room for all pods that it may take{outside}"
    );
    Presumption::new(7, [policy], sentence)
}

/// The assumption that the first of several units with the same priority fills first.
#[must_use]
pub fn first_of_equals(policy: &Identity) -> Presumption {
    let sentence = format!(
        "of units of {policy} that have the same priority, the first fills first; a scheduler may choose another one"
    );
    Presumption::new(8, [policy], sentence)
}

/// The assumption that an autoscaler with unknown recommendations only applies its bounds.
#[must_use]
pub fn within_bounds(autoscaler: &Identity, workload: &Identity) -> Presumption {
    let sentence = format!("{autoscaler} only keeps {workload} within its bounds");
    Presumption::new(9, [autoscaler, workload], sentence)
}

/// The assumption that pods without a revision label have the same revision.
#[must_use]
pub fn one_revision(policy: &Identity) -> Presumption {
    let sentence = format!(
        "no pod of {policy} in the input has the label pod-template-hash, so all are of one revision"
    );
    Presumption::new(10, [policy], sentence)
}

/// The assumption about a workload whose number of pods is unknown.
#[must_use]
pub fn unknown_number(workload: &Identity) -> Presumption {
    let sentence =
        format!("the number of pods of {workload} is unknown; only those in the input are counted");
    Presumption::new(11, [workload], sentence)
}

/// The assumption about a workload with more pods than the maximum that a forecast considers.
#[must_use]
pub fn too_many_pods(workload: &Identity, most: u32) -> Presumption {
    let sentence = format!("at most {most} pods of {workload} are considered");
    Presumption::new(12, [workload], sentence)
}
