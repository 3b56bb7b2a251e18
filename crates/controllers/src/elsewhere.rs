//! What other processes carry out: the agent sets QoS levels, and pods are scheduled into units of nodes by whoever
//! schedules. `--controllers` does not offer either, so nothing of them is watched here.

use almanac_engine::{Identity, Recorded};
use almanac_shell::event_log::EventLog;
use jiff::Timestamp;

use crate::cluster::{ClusterState, PolicyEntry};
use crate::families::{Composed, FamilyController, ReportSubject};

/// Policies that are not carried out here.
pub(crate) struct Elsewhere;

impl FamilyController for Elsewhere {
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
