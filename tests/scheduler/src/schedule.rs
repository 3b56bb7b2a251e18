//! A schedule: all steps, one after the other, for one placement at one instant.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use crate::candidates::{Candidates, candidates, is_terminating, matched};
use crate::expressions;
use crate::groups::{self, Decision};
use crate::objects::{Objects, list, name_of};
use crate::prioritizers::{Part, is_decided, parts, prioritizers};
use crate::taints::{self, Tainted, tainted};

const DISABLED: &str = "cluster.open-cluster-management.io/experimental-scheduling-disable";

/// The selection of a placement, and its reasons.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// The eligible clusters, the best cluster first.
    pub ranked: Vec<RankedCluster>,
    /// The number of selected clusters, from the start of `ranked`.
    pub selected: usize,
    /// The excluded candidates, by name.
    pub excluded: Vec<(String, Exclusion)>,
    /// The candidates that match, with a taint that is tolerated only because its time of addition is missing.
    pub undated: Vec<String>,
    /// The clusters with expired scores that an expression has read, by name, with the names of the objects.
    pub expired: Vec<(String, BTreeSet<String>)>,
    /// The resulting `PlacementDecision`s.
    pub decisions: Vec<Decision>,
    /// Whether the placement is satisfied.
    pub is_satisfied: bool,
    /// The reason of the condition `PlacementSatisfied`.
    pub reason: &'static str,
}

/// An eligible cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RankedCluster {
    /// The name of the cluster.
    pub cluster: String,
    /// The sum of the parts.
    pub total: i64,
    /// Whether other clusters with the same total go first, because of a taint.
    pub is_last: bool,
    /// The part of each prioritizer.
    pub parts: Vec<Part>,
}

/// The reason that a candidate cannot be selected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Exclusion {
    /// The candidate is being deleted.
    Terminating,
    /// No predicate matches it.
    Predicates,
    /// The candidate does not tolerate this taint.
    Taint {
        /// The taint, as kubectl writes those of nodes.
        taint: String,
        /// The end of the toleration; `None` if the taint was never tolerated.
        ended: Option<Timestamp>,
    },
}

/// The invalid part of a spec. The previous selection stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Misconfigured(pub &'static str);

/// Whether a placement is exempt, by its own annotation.
#[must_use]
pub fn is_left_alone(placement: &Value) -> bool {
    placement["metadata"]["annotations"][DISABLED] == "true"
}

/// The selection of a placement at an instant.
pub fn schedule(
    objects: &Objects,
    placement: &Value,
    now: Timestamp,
) -> Result<Schedule, Misconfigured> {
    let prioritizers = prioritizers(placement).map_err(Misconfigured)?;
    check(placement)?;
    let found = candidates(objects, placement);
    let all: &[&Value] = match &found {
        Candidates::Clusters(clusters) => clusters,
        Candidates::NothingBound | Candidates::NoneOfThoseNamed => &[],
    };
    let (mut excluded, mut undated, mut expired) = (Vec::new(), Vec::new(), Vec::new());
    let mut left: Vec<(&Value, bool)> = Vec::new();
    for cluster in all {
        let is_decided = is_decided(objects, placement, cluster);
        let matched = matched(objects, placement, cluster, now);
        let why = if is_terminating(cluster) {
            Exclusion::Terminating
        } else if matched.matches {
            if taints::is_undated(placement, cluster) {
                undated.push(name_of(cluster).to_owned());
            }
            match tainted(placement, cluster, is_decided, now) {
                Tainted::Out { taint, ended } => Exclusion::Taint { taint, ended },
                Tainted::In { is_last } => {
                    left.push((cluster, is_last));
                    expired.push((name_of(cluster).to_owned(), matched.expired));
                    continue;
                }
            }
        } else {
            expired.push((name_of(cluster).to_owned(), matched.expired));
            Exclusion::Predicates
        };
        excluded.push((name_of(cluster).to_owned(), why));
    }
    let among: Vec<&Value> = left.iter().map(|(cluster, _)| *cluster).collect();
    let ranked = left.iter().map(|(cluster, is_last)| {
        let parts = parts(&prioritizers, objects, placement, cluster, &among, now);
        let total = parts.iter().map(|it| it.weight * it.raw).sum();
        RankedCluster { cluster: name_of(cluster).to_owned(), total, is_last: *is_last, parts }
    });
    let mut ranked: Vec<RankedCluster> = ranked.collect();
    ranked.sort_by_key(|it| (Reverse(it.total), it.is_last, it.cluster.clone()));
    let wanted = wanted(placement);
    let selected = wanted.map_or(ranked.len(), |wanted| wanted.min(ranked.len()));
    let is_selected = |it: &&Value| ranked[..selected].iter().any(|at| at.cluster == name_of(it));
    let chosen: Vec<&Value> = among.iter().copied().filter(is_selected).collect();
    let decisions = groups::decisions(placement, &chosen);
    let reason = reason(&found, ranked.len(), selected, wanted);
    let is_satisfied = reason == "AllDecisionsScheduled";
    Ok(Schedule { ranked, selected, excluded, undated, expired, decisions, is_satisfied, reason })
}

/// The number of desired clusters; all of them without a number.
fn wanted(placement: &Value) -> Option<usize> {
    placement["spec"]["numberOfClusters"].as_i64().map(|it| usize::try_from(it).unwrap_or(0))
}

fn reason(
    found: &Candidates<'_>,
    ranked: usize,
    selected: usize,
    wanted: Option<usize>,
) -> &'static str {
    match found {
        Candidates::NothingBound => "NoManagedClusterSetBindings",
        Candidates::NoneOfThoseNamed => "NoIntersection",
        Candidates::Clusters(clusters) if clusters.iter().all(|it| is_terminating(it)) => {
            "AllManagedClusterSetsEmpty"
        }
        Candidates::Clusters(_) if ranked == 0 => "NoManagedClusterMatched",
        Candidates::Clusters(_) if wanted.is_none_or(|wanted| wanted == selected) => {
            "AllDecisionsScheduled"
        }
        Candidates::Clusters(_) => "NotAllDecisionsScheduled",
    }
}

/// The problems of a spec, apart from its prioritizers.
fn check(placement: &Value) -> Result<(), Misconfigured> {
    let spec = &placement["spec"];
    let mut selectors = list(&spec["predicates"]).iter().map(|it| &it["requiredClusterSelector"]);
    let is_negative = spec["numberOfClusters"].as_i64().is_some_and(|it| it < 0);
    if is_negative {
        Err(Misconfigured("the number of clusters is negative"))
    } else if !selectors.clone().all(groups::selectors_are_usable) {
        Err(Misconfigured("a selector of a predicate is invalid"))
    } else if !selectors.all(expressions::are_usable) {
        Err(Misconfigured("an expression of a predicate does not compile"))
    } else if !taints::are_usable(placement) {
        Err(Misconfigured("a toleration is invalid"))
    } else if !groups::are_usable(placement) {
        Err(Misconfigured("the decision groups are invalid"))
    } else {
        Ok(())
    }
}
