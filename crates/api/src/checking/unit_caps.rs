//! Findings about node units whose caps together are lower than the maximum replicas of one workload. A forecast
//! computes the demand of several workloads at one instant.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use almanac_engine::units::{ResourcePolicy, Strategy};
use almanac_engine::{Identity, Slim, Target, World, counted};

use super::object::CheckedObject;
use crate::finding::{Code, Finding, Path};

/// The source of the maximum replicas of a workload.
enum ReplicasSource {
    Itself,
    Policy(String),
    /// The bounds of this autoscaler.
    Autoscaler(Identity),
}

/// The maximum replicas of each workload, with their source.
pub(super) struct PodDemand {
    by_workload: BTreeMap<Identity, (u32, ReplicasSource)>,
}

impl PodDemand {
    /// Computes the demand from the policies and the workloads of one cluster.
    pub(super) fn from_objects<'a>(objects: impl Iterator<Item = &'a CheckedObject>) -> PodDemand {
        let mut world = World::default();
        let mut by_workload = BTreeMap::new();
        let mut highest = Vec::new();
        for object in objects {
            let (Some(identity), Some(slim)) = (&object.identity, &object.slim) else { continue };
            match slim {
                Slim::Workload(workload) => {
                    let replicas = workload.replicas.unwrap_or(0);
                    by_workload.insert(identity.clone(), (replicas, ReplicasSource::Itself));
                }
                Slim::Autoscaler(bounds) => {
                    let scaled = object.scales.as_ref().map(Target::identity);
                    highest.extend(scaled.zip(bounds.max_replicas).map(|it| (identity, it)));
                }
                _ if object.kind.is_policy() => world.upsert(identity.clone(), slim.clone()),
                _ => {}
            }
        }
        for policy in world.policies() {
            let Some(demand) = world.replica_maximum(&policy) else { continue };
            let known = by_workload.entry(demand.workload).or_insert((0, ReplicasSource::Itself));
            if demand.most > known.0 {
                let rule = demand.rule.map_or(String::new(), |rule| format!(", rule {rule}"));
                *known =
                    (demand.most, ReplicasSource::Policy(format!("{}{rule}", policy.identity)));
            }
        }
        for (autoscaler, (workload, max)) in highest {
            let known = by_workload.entry(workload.clone()).or_insert((0, ReplicasSource::Itself));
            if max > known.0 {
                *known = (max, ReplicasSource::Autoscaler(autoscaler.clone()));
            }
        }
        PodDemand { by_workload }
    }

    /// The finding about a policy that governs the pods of these workloads, if the caps of the units are lower than the
    /// pods of one workload.
    pub(super) fn more_than_units_take<'w>(
        &self,
        policy: &ResourcePolicy,
        workloads: impl Iterator<Item = &'w Identity>,
    ) -> Option<Finding> {
        let caps: Option<Vec<u32>> = policy.units.iter().map(|unit| unit.max).collect();
        let all: u64 = caps?.into_iter().map(u64::from).sum();
        if policy.strategy != Strategy::Required {
            return None;
        }
        let demands = workloads.filter_map(|it| Some((it, self.by_workload.get(it)?)));
        // Of several workloads with equal demand, the first by name.
        let most = demands.max_by_key(|(workload, (replicas, _))| (*replicas, Reverse(*workload)));
        let (workload, (replicas, by)) = most?;
        let missing = u64::from(*replicas).checked_sub(all).filter(|missing| *missing > 0)?;
        let replicas = counted(*replicas, "replica");
        let demand = match by {
            ReplicasSource::Itself => format!("sets {replicas}"),
            ReplicasSource::Policy(policy) => format!("gets up to {replicas} by {policy}"),
            ReplicasSource::Autoscaler(it) => format!("may have {replicas} by the bounds of {it}"),
        };
        let (pods, stay) = (counted(all, "pod"), if missing == 1 { "stays" } else { "stay" });
        let message = format!(
            "{workload} {demand}, and all units together take {pods} of a group; with strategy: required, {missing} of \
             them {stay} pending"
        );
        let spec = Path::Root.key("spec");
        let list = spec.key("units");
        let fix = format!("raise a maxCount, or set at most {}", counted(all, "replica"));
        Some(Finding::new(Code::UnitsTooSmall, list, message).with_fix(fix))
    }
}
