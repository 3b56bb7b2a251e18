//! The last step: the groups of the selected clusters, and their `PlacementDecision`s.

use serde_json::Value;

use crate::objects::{list, name_of};
use crate::selector;

/// The maximum number of clusters in one `PlacementDecision`.
const CLUSTERS_PER_DECISION: usize = 100;

/// The content of a `PlacementDecision`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Decision {
    /// The name of the `PlacementDecision`.
    pub name: String,
    /// The name of the group, empty for clusters without a group.
    pub group: String,
    /// The index of the group.
    pub group_index: usize,
    /// The clusters, by name.
    pub clusters: Vec<String>,
}

pub(crate) fn decisions(placement: &Value, selected: &[&Value]) -> Vec<Decision> {
    let strategy = &placement["spec"]["decisionStrategy"]["groupStrategy"];
    let size = group_size(&strategy["clustersPerDecisionGroup"], selected.len()).max(1);
    let mut rest: Vec<&Value> = selected.to_vec();
    rest.sort_by_key(|it| name_of(it));
    let mut groups: Vec<(String, Vec<&Value>)> = Vec::new();
    for group in list(&strategy["decisionGroups"]) {
        let selector = &group["groupClusterSelector"];
        let (inside, outside): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|it| selector::matches_cluster(selector, it));
        rest = outside;
        let name = group["groupName"].as_str().unwrap_or_default();
        groups.extend(inside.chunks(size).map(|chunk| (name.to_owned(), chunk.to_vec())));
    }
    groups.extend(rest.chunks(size).map(|chunk| (String::new(), chunk.to_vec())));
    if groups.is_empty() {
        groups.push((String::new(), Vec::new()));
    }
    let mut decisions = Vec::new();
    for (group_index, (group, clusters)) in groups.into_iter().enumerate() {
        // A group without clusters still has a decision, an empty one.
        let chunks = clusters.chunks(CLUSTERS_PER_DECISION).map(<[_]>::to_vec);
        let chunks: Vec<_> = if clusters.is_empty() { vec![Vec::new()] } else { chunks.collect() };
        for chunk in chunks {
            let name = format!("{}-decision-{}", name_of(placement), decisions.len() + 1);
            let clusters = chunk.iter().map(|it| name_of(it).to_owned()).collect();
            decisions.push(Decision { name, group: group.clone(), group_index, clusters });
        }
    }
    decisions
}

/// The maximum number of clusters in a group: a number, or a percentage of all, rounded up.
fn group_size(written: &Value, total: usize) -> usize {
    let size = match written {
        Value::Number(number) => number.as_u64().and_then(|it| usize::try_from(it).ok()),
        Value::String(text) => percentage(text).map(|percent| (percent * total).div_ceil(100)),
        _ => None,
    };
    size.filter(|size| *size > 0).unwrap_or(total).min(total)
}

fn percentage(text: &str) -> Option<usize> {
    text.strip_suffix('%')?.parse().ok()
}

/// Whether the strategy is valid.
pub(crate) fn are_usable(placement: &Value) -> bool {
    let strategy = &placement["spec"]["decisionStrategy"]["groupStrategy"];
    let is_size = match &strategy["clustersPerDecisionGroup"] {
        Value::String(text) => percentage(text).is_some_and(|it| (1..=100).contains(&it)),
        _ => true,
    };
    let selectors = list(&strategy["decisionGroups"]).iter().map(|it| &it["groupClusterSelector"]);
    is_size && selectors.into_iter().all(selectors_are_usable)
}

/// Whether both selectors of a pair are valid.
pub(crate) fn selectors_are_usable(pair: &Value) -> bool {
    selector::is_usable(&pair["labelSelector"]) && selector::is_usable(&pair["claimSelector"])
}
