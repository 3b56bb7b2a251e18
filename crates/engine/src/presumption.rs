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
        /// Why it has none.
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
    /// Nothing is selected yet, so that a placement selects when a run begins.
    SelectsAfresh {
        /// The placement.
        placement: Identity,
    },
    /// A placement is decided again as soon as another one has selected other clusters.
    BalancesAtOnce {
        /// The placement.
        placement: Identity,
    },
    /// A target has at once as many replicas as are set.
    FollowsAtOnce {
        /// The target.
        target: Identity,
    },
}

impl fmt::Display for Presumption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Presumption::Unanswered { policy, target, query, why } => write!(
                formatter,
                "{policy} leaves {target} as it is: {query} {why}; state its value with --sample"
            ),
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
            Presumption::SelectsAfresh { placement } => {
                write!(formatter, "{placement} has no decisions yet, and selects at the beginning")
            }
            Presumption::BalancesAtOnce { placement } => write!(
                formatter,
                "{placement} is decided again at once when another one selects other clusters; a controller \
                 looks again within five minutes"
            ),
            Presumption::FollowsAtOnce { target } => {
                write!(formatter, "{target} has as many replicas as are set, at once")
            }
        }
    }
}
