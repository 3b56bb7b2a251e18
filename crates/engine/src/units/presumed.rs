//! The assumptions of a forecast about node units, in words.

use crate::{Identity, Presumption};

/// The input has no nodes. `uses_outside` states whether pods may be outside of all units.
#[must_use]
pub fn nodes_enough(policy: &Identity, uses_outside: bool) -> Presumption {
    let outside = if uses_outside { ", and so are nodes outside of them" } else { "" };
    let sentence = format!(
        "no nodes in the input; each unit of {policy} is assumed to have room for all pods that it may take{outside}"
    );
    Presumption::new(7, [policy], sentence)
}

/// Units have the same priority.
#[must_use]
pub fn first_of_equals(policy: &Identity) -> Presumption {
    let sentence = format!(
        "of units of {policy} that have the same priority, the first fills first; a scheduler may choose another one"
    );
    Presumption::new(8, [policy], sentence)
}

/// The recommendations of an autoscaler are unknown, but its bounds are known.
#[must_use]
pub fn within_bounds(autoscaler: &Identity, workload: &Identity) -> Presumption {
    let sentence = format!("{autoscaler} only keeps {workload} within its bounds");
    Presumption::new(9, [autoscaler, workload], sentence)
}

/// No pod has a label with its revision.
#[must_use]
pub fn one_revision(policy: &Identity) -> Presumption {
    let sentence = format!(
        "no pod of {policy} in the input has the label pod-template-hash, so all are of one revision"
    );
    Presumption::new(10, [policy], sentence)
}

/// The number of pods of a workload is unknown.
#[must_use]
pub fn unknown_number(workload: &Identity) -> Presumption {
    let sentence =
        format!("the number of pods of {workload} is unknown; only those in the input are counted");
    Presumption::new(11, [workload], sentence)
}

/// A workload has more pods than the maximum that a forecast considers.
#[must_use]
pub fn too_many_pods(workload: &Identity, most: u32) -> Presumption {
    let sentence = format!("at most {most} pods of {workload} are considered");
    Presumption::new(12, [workload], sentence)
}
