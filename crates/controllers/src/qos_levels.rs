//! QoS levels, as far as the controllers go: they are carried out by the agent, which is another process.
//! `--controllers` does not offer them, so no `ConfigMap` and no pod is watched here.

use almanac_engine::{Identity, Recorded};
use almanac_shell::event_log::EventLog;
use jiff::Timestamp;

use crate::cluster::{ClusterState, PolicyEntry};
use crate::families::{Composed, FamilyController, ReportSubject};

/// Policies for levels, none of which is carried out here.
pub(crate) struct QosLevels;

impl FamilyController for QosLevels {
    fn compose(
        &self,
        _: &ClusterState,
        _: &Identity,
        _: &PolicyEntry,
        _: Timestamp,
    ) -> Option<Composed> {
        None
    }

    fn report(&self, _: &ReportSubject, _: &[Recorded], _: &EventLog) {}
}
