//! `Placement`: selects clusters, and writes their names into `PlacementDecision`s.
//!
//! This module composes the status. `follower` fills the world with the inputs of placements and their decisions.
//! `hooks` contains the additions of placements to a turn. `writer` writes the decisions, request by request as `step`
//! returns them. `records` contains the state of placements outside the world. `report` turns records into Events and
//! log lines, and `metrics` counts the records.

mod follower;
mod hooks;
mod metrics;
mod records;
mod report;
mod step;
mod writer;

use std::sync::Arc;

use almanac_api::families::Descriptor;
use almanac_api::status::conditions::conditions;
use almanac_api::status::placement::{
    StatusInput, UndecidedReason, condition_states, selected, write,
};
use almanac_engine::placement::{PlacementState, unsatisfied};
use almanac_engine::{Exempt, Family, Identity, PolicyName, Recorded};
use almanac_shell::clock::Clock;
use almanac_shell::event_log::EventLog;
use almanac_shell::writer::Writer;
use jiff::Timestamp;
use kube::Client;
use prometheus_client::registry::Registry;

use self::follower::HubFollower;
use self::metrics::{PlacementGauges, PlacementMetrics};
pub(crate) use self::records::HubRecords;
use self::writer::DecisionWriter;
use crate::cluster::{Cluster, ClusterState, PolicyEntry};
use crate::families::{ComposedStatus, FamilyController, ReportSubject, ScrapeInputs};
use crate::namespaces::Namespaces;
use crate::runtime::RunningTerm;
use crate::status_writer::WriteMethod;
use crate::turn_hooks::TurnHooks;
use crate::work_queue::WorkQueue;

/// The controller side of placements.
#[derive(Default)]
pub(crate) struct Placements {
    metrics: PlacementMetrics,
}

impl FamilyController for Placements {
    fn compose(
        &self,
        state: &ClusterState,
        policy: &Identity,
        entry: &PolicyEntry,
        now: Timestamp,
    ) -> Option<ComposedStatus> {
        let object = state.world.placement.policies.get(policy)?;
        let name = PolicyName::new(Family::Placement, policy.clone());
        let usable = object.policy.as_deref().filter(|it| it.is_usable());
        let undecided = usable.and_then(|it| undecided(state, &name, it.standing));
        if usable.is_some() && undecided.is_none() && !state.hub.is_decided(policy, entry.revision)
        {
            return None;
        }
        let has_error = usable.is_none() || matches!(undecided, Some(UndecidedReason::Unusable(_)));
        let divisions = state.world.divisions(&name);
        let input = StatusInput {
            placement: policy,
            policy: object.policy.as_deref(),
            findings: &entry.findings,
            // The result of an earlier revision does not apply to this revision.
            memory: object.memory.as_ref().filter(|_| state.hub.is_written(policy, entry.revision)),
            selected: selected(&divisions),
            unsatisfied: has_error.then(|| unsatisfied(state.world.view(), policy)).flatten(),
            undecided,
            obstacle: state.hub.obstacle(policy),
        };
        let condition_states = condition_states(&input)?;
        let generation = entry.revision.generation();
        let conditions =
            conditions(&entry.recorded.conditions(), &condition_states, generation, now);
        // A status is plain data, so serialization cannot fail.
        let status = serde_json::to_value(write(&divisions, conditions)).ok()?;
        let method = WriteMethod::ServerSideApply(status.clone());
        Some(ComposedStatus { status, condition_states, method })
    }

    fn register(&self, registry: &mut Registry, scraped: &ScrapeInputs) {
        self.metrics.register(registry);
        registry.register_collector(Box::new(PlacementGauges(scraped.clone())));
    }

    fn hooks(
        &self,
        client: &Client,
        writer: &Writer,
        cluster: &Arc<Cluster>,
        clock: &Clock,
    ) -> Option<Box<dyn TurnHooks>> {
        Some(Box::new(DecisionWriter {
            client: client.clone(),
            writer: writer.clone(),
            cluster: Arc::clone(cluster),
            clock: clock.clone(),
            metrics: self.metrics.clone(),
        }))
    }

    fn follow(&self, cluster: &Arc<Cluster>, turns: &Arc<WorkQueue>, running: &mut RunningTerm) {
        for kind in Descriptor::for_family(Family::Placement).reads.iter().copied() {
            running.watch_kind(kind, &Namespaces::All, |_| {
                let (cluster, turns) = (Arc::clone(cluster), Arc::clone(turns));
                HubFollower::new(kind, cluster, turns, self.metrics.clone())
            });
        }
    }

    fn report(&self, subject: &ReportSubject, recorded: &[Recorded], events: &EventLog) {
        for recorded in recorded {
            if let Recorded::Placement(recorded) = recorded {
                self.metrics.count(recorded);
                report::report(subject, recorded, events);
            }
        }
    }
}

/// The reason that a usable placement has no decision; `None` if it has one.
fn undecided(
    state: &ClusterState,
    placement: &PolicyName,
    standing: PlacementState,
) -> Option<UndecidedReason> {
    if let Some(exempt) = Exempt::for_policy(&state.world.objects.exempt, &placement.identity, None)
    {
        return Some(UndecidedReason::Exempt(exempt));
    }
    if standing == PlacementState::Disabled {
        return Some(UndecidedReason::Disabled);
    }
    if let Some(kind) = state.hub.missing_kind() {
        return Some(UndecidedReason::NotServed(kind));
    }
    state.world.why_not_applied(placement).map(UndecidedReason::Unusable)
}
