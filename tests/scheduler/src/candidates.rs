//! The first two steps: the clusters of the bound sets, and those that the predicates match.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use crate::expressions::Reading;
use crate::objects::{CLUSTER_SET_LABEL, Objects, list, name_of, namespace_of};
use crate::selector;

/// The candidates of a placement, or the reason for having none.
pub(crate) enum Candidates<'o> {
    /// No existing set is bound to the namespace.
    NothingBound,
    /// Sets are bound, but not those that the placement names.
    NoneOfThoseNamed,
    /// The clusters of the remaining sets, by name, including those that are being deleted; possibly empty.
    Clusters(Vec<&'o Value>),
}

pub(crate) fn candidates<'o>(objects: &'o Objects, placement: &Value) -> Candidates<'o> {
    let is_bound = |set: &Value| {
        objects.with_kind("ManagedClusterSetBinding").any(|binding| {
            namespace_of(binding) == namespace_of(placement)
                && binding["spec"]["clusterSet"] == name_of(set)
        })
    };
    let bound: Vec<_> =
        objects.with_kind("ManagedClusterSet").filter(|set| is_bound(set)).collect();
    if bound.is_empty() {
        return Candidates::NothingBound;
    }
    let named = list(&placement["spec"]["clusterSets"]);
    let is_named = |set: &Value| named.is_empty() || named.iter().any(|it| it == name_of(set));
    let sets: Vec<_> = bound.into_iter().filter(|set| is_named(set)).collect();
    if sets.is_empty() {
        return Candidates::NoneOfThoseNamed;
    }
    let clusters = objects.with_kind("ManagedCluster");
    let clusters = clusters.filter(|it| sets.iter().any(|set| is_in(it, set)));
    let mut clusters: Vec<_> = clusters.collect();
    clusters.sort_by_key(|it| name_of(it));
    Candidates::Clusters(clusters)
}

/// Whether a cluster is being deleted. Such a cluster is excluded.
pub(crate) fn is_terminating(cluster: &Value) -> bool {
    !cluster["metadata"]["deletionTimestamp"].is_null()
}

fn is_in(cluster: &Value, set: &Value) -> bool {
    let labels = &cluster["metadata"]["labels"];
    let how = &set["spec"]["clusterSelector"];
    if how["selectorType"] == "LabelSelector" {
        // Kubernetes' rule: no selector selects nothing, an empty one everything.
        let selector = &how["labelSelector"];
        !selector.is_null() && selector::matches(selector, |key| labels[key].as_str())
    } else {
        labels[CLUSTER_SET_LABEL] == name_of(set)
    }
}

/// Whether a cluster matches, and the expired scores that were read.
pub(crate) struct Matched {
    pub(crate) matches: bool,
    /// The names of the objects whose scores were read, and have expired.
    pub(crate) expired: BTreeSet<String>,
}

/// Whether any of the predicates matches; `true` without predicates.
pub(crate) fn matched(
    objects: &Objects,
    placement: &Value,
    cluster: &Value,
    now: Timestamp,
) -> Matched {
    let reading = Reading::new(objects, cluster, now);
    let predicates = list(&placement["spec"]["predicates"]);
    let mut selectors = predicates.iter().map(|it| &it["requiredClusterSelector"]);
    let matches = predicates.is_empty()
        || selectors.any(|it| selector::matches_cluster(it, cluster) && reading.all_hold(it));
    Matched { matches, expired: reading.expired() }
}
