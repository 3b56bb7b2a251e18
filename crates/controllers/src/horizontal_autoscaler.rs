//! `HorizontalAutoscaler`: not carried out in a cluster yet. `--controllers` does not offer it, so none of its
//! objects is watched, and nothing is reported or written. Forecasts know it already.

use almanac_engine::{Identity, Recorded};
use almanac_shell::event_log::EventLog;
use jiff::Timestamp;

use crate::cluster::{ClusterState, PolicyEntry};
use crate::families::{Composed, FamilyController, ReportSubject};

/// Autoscalers, none of which is carried out.
pub(crate) struct HorizontalAutoscalers;

impl FamilyController for HorizontalAutoscalers {
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
