//! The status of a `Placement`: the selected clusters, and its conditions.

mod condition_states;

use std::collections::{BTreeMap, BTreeSet};

use almanac_engine::Division;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

pub use self::condition_states::{Obstacle, StatusInput, UndecidedReason, condition_states};
use crate::lenient;
use crate::objects::{DecisionGroupStatus, PlacementStatus};

/// Writes the status of a placement with these decisions. The status has only fields of the older CRDs of Open Cluster
/// Management: with other fields, an API server would reject the apply.
#[must_use]
pub fn write(divisions: &[Division], conditions: Vec<Condition>) -> PlacementStatus {
    let mut groups: BTreeMap<u32, DecisionGroupStatus> = BTreeMap::new();
    for division in divisions {
        let index = division.group.unwrap_or_default();
        let group = groups.entry(index).or_default();
        group.decision_group_index = Some(lenient::number(index));
        group.decision_group_name = Some(division.group_name.to_string());
        group.decisions.push(division.object.to_string());
        group.cluster_count = group.cluster_count.saturating_add(counted(division.names.len()));
    }
    PlacementStatus {
        number_of_selected_clusters: Some(counted(selected(divisions))),
        decision_groups: groups.into_values().collect(),
        conditions,
        ..PlacementStatus::default()
    }
}

/// The number of clusters in these decisions.
#[must_use]
pub fn selected(divisions: &[Division]) -> usize {
    divisions.iter().flat_map(|it| &it.names).collect::<BTreeSet<_>>().len()
}

fn counted(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
