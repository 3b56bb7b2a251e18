//! Placements: select clusters of the sets bound to a namespace, by filters, taints and scores.

mod begin;
mod change_cause;
mod decide;
mod eligibility;
mod expression_readers;
mod gather;
mod hub;
mod index;
mod known;
mod ledger;
mod logic;
mod policy;
mod predicates;
pub mod presumed;
mod rank;
mod reasons;
mod settle;
mod shares;
mod undecided;
mod writes;

pub use crate::objects::PlacementDecision;
pub use almanac_expressions::{
    Allowance, CompileError, Document, Expression, Failure, MAX_EXPRESSIONS, MAX_STEPS, Meter,
    Quantity, Subject,
};
pub use change_cause::ChangeCause;
pub use decide::{CLUSTERS_PER_DECISION, DecidedGroup, Decision, Satisfaction, decide};
pub use eligibility::{Eligibility, Exclusion};
pub use expression_readers::ExpressionReaders;
pub use gather::{Candidate, Input, gather, reads_otherwise};
pub use hub::{
    Cluster, ClusterSet, Hub, HubChange, HubObject, HubState, Score, Scores, Taint, TaintEffect,
};
pub use index::PlacementIndex;
pub use known::{KeptMatches, KnownMatches};
pub use ledger::DecisionLedger;
pub use logic::{Placements, hub_change, selected_clusters};
pub use policy::{
    ClusterSelector, DecisionGroup, GroupSize, Placement, PlacementState, Prioritizer,
    PrioritizerMode, ScoreSource, Tolerated, Toleration, Weight,
};
pub use predicates::{MatchVerdict, Matched};
pub use rank::{RankedCandidate, Ranking, RawScore};
pub use reasons::{Cause, explain, render};
pub use settle::{Memory, Recorded, Settlement, settle};
pub use undecided::unsatisfied;

pub(crate) use hub::GROUP;
pub(crate) use logic::{remove_hub_object, selected, upsert_hub_object};
pub(crate) use undecided::why_unknown;

use gather::readers;
use reasons::describe;
use undecided::why_not_decided;
