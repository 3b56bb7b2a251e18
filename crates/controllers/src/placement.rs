//! Placements: not carried out in a cluster yet. `--controllers` does not offer them, so no placement and no cluster
//! is watched, and nothing is reported or written. Forecasts of files know them already.

use almanac_engine::{Identity, Recorded};
use almanac_shell::event_log::EventLog;
use jiff::Timestamp;

use crate::cluster::{ClusterState, PolicyEntry};
use crate::families::{Composed, FamilyController, ReportSubject};

/// Placements, none of which is carried out.
pub(crate) struct Placements;

impl FamilyController for Placements {
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
