//! What a policy's turns take for granted when they are taken without a cluster.

use std::fmt;
use std::sync::Arc;

use crate::Identity;

/// Something that is taken for granted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Presumption {
    /// A query has no answer, so that its policy changes nothing.
    Unanswered {
        /// The policy.
        policy: Identity,
        /// What it would change.
        target: Identity,
        /// The query.
        query: Arc<str>,
        /// Why it has none, and what can be done about it.
        why: Arc<str>,
    },
    /// A query has the same answer all the time, as whoever asks says.
    Answered {
        /// The query.
        query: Arc<str>,
        /// The answer.
        answer: Arc<str>,
    },
    /// No pods of a workload are in sight, so its template stands for them.
    TemplateStandsForPods {
        /// The workload.
        workload: Identity,
    },
    /// Nothing is known of a node but its name.
    NodeWithoutLabels {
        /// Its name.
        node: Arc<str>,
    },
    /// What a placement selects is not known, so nothing is.
    UnknownSelection {
        /// The placement.
        placement: Identity,
        /// Why it is not known.
        why: &'static str,
    },
    /// Nothing is selected yet, so that a placement selects when a run begins.
    SelectsAfresh {
        /// The placement.
        placement: Identity,
    },
    /// A target has at once as many replicas as are set.
    FollowsAtOnce {
        /// The target.
        target: Identity,
    },
    /// There are no nodes in sight.
    NodesEnough {
        /// The policy.
        policy: Identity,
        /// Whether its pods may be outside all of its units.
        uses_outside: bool,
    },
    /// Units have the same priority.
    FirstOfEquals {
        /// The policy.
        policy: Identity,
    },
    /// What an autoscaler makes of its metrics is not known, but its bounds are.
    WithinBounds {
        /// The autoscaler.
        autoscaler: Identity,
        /// What it scales.
        workload: Identity,
    },
    /// No pod says of which revision it is.
    OneRevision {
        /// The policy.
        policy: Identity,
    },
    /// How many pods a workload has is not known.
    UnknownNumber {
        /// The workload.
        workload: Identity,
    },
    /// A workload has more pods than are told apart.
    TooManyPods {
        /// The workload.
        workload: Identity,
        /// How many are.
        most: u32,
    },
}

impl Presumption {
    /// What its sentence begins with, where the same may be taken for granted of others.
    #[must_use]
    pub fn subject(&self) -> Option<String> {
        match self {
            Presumption::TemplateStandsForPods { workload } => Some(workload.to_string()),
            Presumption::NodeWithoutLabels { node } => Some(format!("Node {node}")),
            Presumption::UnknownSelection { placement, .. }
            | Presumption::SelectsAfresh { placement } => Some(placement.to_string()),
            Presumption::FollowsAtOnce { target } => Some(target.to_string()),
            Presumption::Unanswered { .. }
            | Presumption::Answered { .. }
            | Presumption::NodesEnough { .. }
            | Presumption::FirstOfEquals { .. }
            | Presumption::WithinBounds { .. }
            | Presumption::OneRevision { .. }
            | Presumption::UnknownNumber { .. }
            | Presumption::TooManyPods { .. } => None,
        }
    }
}

impl fmt::Display for Presumption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Presumption::Unanswered { policy, target, query, why } => {
                write!(formatter, "{policy} leaves {target} as it is: {query} {why}")
            }
            Presumption::Answered { query, answer } => {
                write!(formatter, "{query} is {answer} all the time, as specified")
            }
            Presumption::TemplateStandsForPods { workload } => write!(
                formatter,
                "{workload} has no pods here; its pod template stands for them, without a node"
            ),
            Presumption::NodeWithoutLabels { node } => {
                write!(formatter, "Node {node} has no labels; it is not among the objects")
            }
            Presumption::UnknownSelection { placement, why } => {
                write!(formatter, "{placement} has an unknown selection: {why}")
            }
            Presumption::SelectsAfresh { placement } => {
                write!(formatter, "{placement} has no decisions yet, and selects at the beginning")
            }
            Presumption::FollowsAtOnce { target } => {
                write!(formatter, "{target} has as many replicas as are set, at once")
            }
            Presumption::NodesEnough { policy, uses_outside } => {
                let outside =
                    if *uses_outside { ", and so have nodes outside of them" } else { "" };
                write!(
                    formatter,
                    "there are no nodes here, so each unit of {policy} has room for all pods that it may take{outside}"
                )
            }
            Presumption::FirstOfEquals { policy } => write!(
                formatter,
                "of units of {policy} that have the same priority, the first fills first; a scheduler may choose \
                 another one"
            ),
            Presumption::WithinBounds { autoscaler, workload } => write!(
                formatter,
                "{autoscaler} does no more than keep {workload} within its bounds"
            ),
            Presumption::OneRevision { policy } => write!(
                formatter,
                "no pod of {policy} has the label pod-template-hash here, so all of them are of one revision"
            ),
            Presumption::UnknownNumber { workload } => write!(
                formatter,
                "how many pods {workload} has is not known; only those count that are here"
            ),
            Presumption::TooManyPods { workload, most } => {
                write!(formatter, "of {workload}, no more than {most} pods are looked at")
            }
        }
    }
}
