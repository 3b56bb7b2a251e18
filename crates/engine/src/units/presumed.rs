//! The assumptions of a forecast about node units, in words.

use crate::{Identity, Presumption};

/// There are no nodes in sight. `uses_outside` says whether pods may be outside of all units.
#[must_use]
pub fn nodes_enough(policy: &Identity, uses_outside: bool) -> Presumption {
    let outside = if uses_outside { ", and nodes outside of them to have room" } else { "" };
    let sentence =
        format!("no nodes in the input; each unit of {policy} is assumed to fit its cap{outside}");
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
    let sentence = format!("{autoscaler} does no more than keep {workload} within its bounds");
    Presumption::new(9, [autoscaler, workload], sentence)
}

/// No pod says of which revision it is.
#[must_use]
pub fn one_revision(policy: &Identity) -> Presumption {
    let sentence = format!(
        "no pod of {policy} has the label pod-template-hash here, so all of them are of one revision"
    );
    Presumption::new(10, [policy], sentence)
}

/// How many pods a workload has is not known.
#[must_use]
pub fn unknown_number(workload: &Identity) -> Presumption {
    let sentence =
        format!("how many pods {workload} has is not known; only those count that are here");
    Presumption::new(11, [workload], sentence)
}

/// A workload has more pods than the maximum that a forecast considers.
#[must_use]
pub fn too_many_pods(workload: &Identity, most: u32) -> Presumption {
    let sentence = format!("of {workload}, no more than {most} pods are looked at");
    Presumption::new(12, [workload], sentence)
}
