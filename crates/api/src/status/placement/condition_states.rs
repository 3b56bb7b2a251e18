//! The conditions of a `Placement`: whether Almanac evaluates the placement, whether the placement is valid as written
//! and has the desired number of clusters, and what needs attention. The types and reasons are from Open Cluster
//! Management if they exist there.

use std::sync::Arc;

use almanac_engine::placement::{Memory, Placement, Satisfaction};
use almanac_engine::{Exempt, Identity, few};

use crate::finding::{Code, Finding};
use crate::kinds::Kind;
use crate::status::conditions::{
    ConditionReason, ConditionState, ConditionType, errors, exempt_conditions, exempt_reason,
    listed,
};

/// The maximum number of clusters that a message names.
const MAX_CLUSTERS_IN_MESSAGE: usize = 5;

/// The inputs of the status of a placement.
pub struct StatusInput<'a> {
    /// The identity of the placement.
    pub placement: &'a Identity,
    /// The placement from the spec. If the spec has an error, only the names of the sets are used.
    pub policy: Option<&'a Placement>,
    /// The findings about the placement.
    pub findings: &'a [Finding],
    /// The last written decision, if it belongs to the current spec.
    pub memory: Option<&'a Memory>,
    /// The number of clusters in the decisions of the placement.
    pub selected: usize,
    /// The reason that a valid placement has no new decision; `None` if Almanac evaluates the placement.
    pub undecided: Option<UndecidedReason>,
    /// The shortage by the sets alone; `None` for a placement that Almanac evaluates.
    pub unsatisfied: Option<Satisfaction>,
    /// The obstacle to writing the decision; `None` without one.
    pub obstacle: Option<&'a Obstacle>,
}

/// The reason that Almanac does not evaluate a valid placement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UndecidedReason {
    /// The placement is exempt.
    Exempt(Exempt),
    /// An annotation disables the placement.
    Disabled,
    /// The cluster does not serve a kind that the placement depends on.
    NotServed(Kind),
    /// The objects that the placement selects from cannot be used, for this reason.
    Unusable(String),
}

/// The obstacle to writing a decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Obstacle {
    /// Whether an object of another owner has the name of a decision.
    pub is_name_taken: bool,
    /// The problem, and its fix.
    pub message: Arc<str>,
}

/// The conditions of a placement; `None` as long as nothing can be reported.
#[must_use]
pub fn condition_states(input: &StatusInput<'_>) -> Option<Vec<ConditionState>> {
    let misconfigured = misconfigured(input);
    if let Some(UndecidedReason::Exempt(exempt)) = &input.undecided {
        let [active, ready] = exempt_conditions(*exempt);
        return Some(vec![active, misconfigured, standing(input), ready]);
    }
    if let Some((reason, why)) = inactive_reason(input) {
        let active = state(
            ConditionType::Active,
            false,
            reason,
            format!("{why}; the PlacementDecisions are unchanged"),
        );
        let ready = if reason == ConditionReason::Disabled {
            state(ConditionType::Ready, true, reason, "nothing needs attention".to_owned())
        } else {
            state(ConditionType::Ready, false, reason, why)
        };
        let satisfied = if input.obstacle.is_some() { unwritten(input) } else { standing(input) };
        return Some(vec![active, misconfigured, satisfied, ready]);
    }
    let satisfied = match input.memory {
        Some(memory) => satisfied(input, memory.satisfaction),
        None if input.obstacle.is_some() => unwritten(input),
        None => return None,
    };
    let active = state(
        ConditionType::Active,
        true,
        ConditionReason::Selecting,
        "clusters are selected, and selected again after each change".to_owned(),
    );
    let ready = ready(input, &satisfied);
    Some(vec![active, misconfigured, satisfied, ready])
}

fn state(
    about: ConditionType,
    holds: bool,
    reason: ConditionReason,
    message: String,
) -> ConditionState {
    ConditionState { about, holds, reason, message }
}

fn usable<'a>(input: &StatusInput<'a>) -> Option<&'a Placement> {
    input.policy.filter(|policy| policy.is_usable())
}

/// The reason that Almanac does not evaluate a placement, unless the placement is exempt.
fn inactive_reason(input: &StatusInput<'_>) -> Option<(ConditionReason, String)> {
    if usable(input).is_none() {
        let why =
            errors(input.findings).unwrap_or_else(|| "the placement cannot be used".to_owned());
        return Some((ConditionReason::PlacementInvalid, why));
    }
    Some(match input.undecided.as_ref()? {
        UndecidedReason::Exempt(exempt) => exempt_reason(*exempt),
        UndecidedReason::Disabled => {
            (ConditionReason::Disabled, "an annotation disables the placement".to_owned())
        }
        UndecidedReason::NotServed(kind) => {
            let why =
                format!("the cluster does not serve the kind {}; install its CRD", kind.name());
            (ConditionReason::KindNotServed, why)
        }
        UndecidedReason::Unusable(why) => (ConditionReason::PlacementInvalid, why.clone()),
    })
}

/// The condition that reports mistakes in the spec.
fn misconfigured(input: &StatusInput<'_>) -> ConditionState {
    let about = ConditionType::PlacementMisconfigured;
    let unusable = match &input.undecided {
        Some(UndecidedReason::Unusable(why)) => Some(why.clone()),
        _ => None,
    };
    if let Some(why) = errors(input.findings).or(unusable) {
        return state(about, true, ConditionReason::Misconfigured, why);
    }
    let has_no_effect = |it: &&Finding| matches!(it.code, Code::Unsupported | Code::NeverHolds);
    let ignored = listed(input.findings.iter().filter(has_no_effect));
    let message = ignored.unwrap_or_else(|| "the placement can be used as written".to_owned());
    state(about, false, ConditionReason::Succeedconfigured, message)
}

/// The condition that reports whether enough clusters are selected, by the decisions and the sets alone.
fn standing(input: &StatusInput<'_>) -> ConditionState {
    match input.unsatisfied {
        Some(Satisfaction::NoneMatches) if input.selected > 0 => {}
        Some(Satisfaction::NoneMatches) => {
            let message = "no cluster is selected before PlacementMisconfigured is False";
            let reason = ConditionReason::NoManagedClusterMatched;
            return state(ConditionType::PlacementSatisfied, false, reason, message.to_owned());
        }
        Some(unsatisfied) => return satisfied(input, unsatisfied),
        None => {}
    }
    let desired = usable(input).and_then(|policy| policy.number_of_clusters);
    let desired = desired.and_then(|it| usize::try_from(it).ok());
    let is_satisfied = usable(input).is_some() && desired.unwrap_or(1) <= input.selected;
    let (reason, message) = if is_satisfied {
        let message = format!("{} selected", clusters(input.selected));
        (ConditionReason::AllDecisionsScheduled, message)
    } else {
        let message = format!("{} selected, and nothing is decided", clusters(input.selected));
        (ConditionReason::NotAllDecisionsScheduled, message)
    };
    state(ConditionType::PlacementSatisfied, is_satisfied, reason, message)
}

/// The condition while the decision is not written: the clusters of an unwritten decision do not count.
fn unwritten(input: &StatusInput<'_>) -> ConditionState {
    let message =
        format!("{} selected, and the new decision is not written", clusters(input.selected));
    let reason = ConditionReason::NotAllDecisionsScheduled;
    state(ConditionType::PlacementSatisfied, false, reason, message)
}

fn satisfied(input: &StatusInput<'_>, satisfaction: Satisfaction) -> ConditionState {
    let (namespace, name) = (input.placement.namespace(), input.placement.name());
    let (reason, message) = match satisfaction {
        Satisfaction::NothingBound => (
            ConditionReason::NoManagedClusterSetBindings,
            format!(
                "no ManagedClusterSet that exists is bound to the namespace {namespace}; create a \
                 ManagedClusterSetBinding in it"
            ),
        ),
        Satisfaction::NoneOfItsSets => {
            let sets = input.policy.map(|it| few(it.cluster_sets.iter())).unwrap_or_default();
            let message = format!(
                "none of its sets is bound to the namespace {namespace}: {sets}; create a \
                 ManagedClusterSetBinding for one of them"
            );
            (ConditionReason::NoIntersection, message)
        }
        Satisfaction::NoClusters => (
            ConditionReason::AllManagedClusterSetsEmpty,
            "there is no cluster in its sets".to_owned(),
        ),
        Satisfaction::NoneMatches => (
            ConditionReason::NoManagedClusterMatched,
            format!(
                "no cluster of its sets may be selected; `almanac explain placement/{name} -n {namespace}` shows \
                 why"
            ),
        ),
        Satisfaction::TooCostly => (
            ConditionReason::ExpressionsTooCostly,
            format!(
                "its expressions take too many steps over some clusters, so it is unknown whether these match: \
                 those that are selected stay, and no others are added; {} selected; `almanac explain \
                 placement/{name} -n {namespace}` shows for which clusters",
                clusters(input.selected)
            ),
        ),
        Satisfaction::Lacks(lacking) => (
            ConditionReason::NotAllDecisionsScheduled,
            format!("{} selected, and {lacking} more are wanted", clusters(input.selected)),
        ),
        Satisfaction::Satisfied => (
            ConditionReason::AllDecisionsScheduled,
            format!("{} selected", clusters(input.selected)),
        ),
    };
    let holds = satisfaction == Satisfaction::Satisfied;
    state(ConditionType::PlacementSatisfied, holds, reason, message)
}

fn clusters(count: usize) -> String {
    if count == 1 { "1 cluster is".to_owned() } else { format!("{count} clusters are") }
}

/// The worst of the problems that need attention.
fn ready(input: &StatusInput<'_>, satisfied: &ConditionState) -> ConditionState {
    let about = ConditionType::Ready;
    if let Some(Obstacle { is_name_taken, message }) = input.obstacle {
        let reason = if *is_name_taken {
            ConditionReason::DecisionNameTaken
        } else {
            ConditionReason::DecisionNotWritten
        };
        return state(about, false, reason, message.to_string());
    }
    if !satisfied.holds {
        return state(about, false, satisfied.reason, satisfied.message.clone());
    }
    let undated = input.memory.map(|it| &*it.undated).unwrap_or_default();
    if let [first, ..] = undated {
        let names: Vec<&str> =
            undated.iter().take(MAX_CLUSTERS_IN_MESSAGE).map(|it| &**it).collect();
        let more = undated.len().saturating_sub(MAX_CLUSTERS_IN_MESSAGE);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let message = format!(
            "a taint has no timeAdded, so its toleration never ends, on: {}{more}; set timeAdded in \
             the taint of {first}",
            names.join(", ")
        );
        return state(about, false, ConditionReason::TaintWithoutTimeAdded, message);
    }
    let reason = ConditionReason::AllDecisionsScheduled;
    state(about, true, reason, "nothing needs attention".to_owned())
}
