//! The time before an instant: a run of some policies over the week before. All instants of a day have the same run,
//! so their explanations agree, and the run is computed once. The caller chooses the values to date.

use almanac_engine::{Field, Identity, PolicyName, World, known_until};
use jiff::{SignedDuration, Timestamp};

use super::{is_same, just_after};
use crate::{AssumedValues, LastWrite, Period, Segment, Series, Simulation};

/// The length of the search for the start of a decided value, back from the start of the day in UTC.
const LOOKS_BACK: SignedDuration = SignedDuration::from_hours(7 * 24);

const DAY_SECONDS: i64 = 24 * 60 * 60;

/// A run over the week before.
#[derive(Debug)]
pub(super) struct Past {
    policies: Vec<PolicyName>,
    /// The latest instant of the known state of the policies.
    known_until: Option<Timestamp>,
    /// The start of the run.
    from: Timestamp,
    /// The run, up to the latest requested instant.
    simulation: Simulation,
    /// The series of the run so far, in the order of the objects and of their fields.
    series: Vec<Series>,
}

impl Past {
    /// The time before an instant, as far as these policies are concerned.
    pub(super) fn before(at: Timestamp, world: &World, policies: Vec<PolicyName>) -> Option<Past> {
        let part = world.part(&policies);
        let known_until = known_until(&part);
        let from = beginning(known_until, at);
        let period = Period::new(from, Timestamp::MAX)?;
        let simulation = Simulation::start(part, from, &AssumedValues::new());
        let begin = |((target, field), write): (&(Identity, Field), &LastWrite)| {
            Series::start(target.clone(), *field, write, period)
        };
        let series = simulation.last_writes().iter().map(begin).collect();
        Some(Past { policies, known_until, from, simulation, series })
    }

    /// Whether the run also covers the time before this instant for these policies.
    pub(super) fn is_before(&self, at: Timestamp, policies: &[PolicyName]) -> bool {
        self.policies == policies && self.from == beginning(self.known_until, at)
    }

    /// The start of the written value of a field, at an instant; `None` if the value is older than the run, or the
    /// field has another value.
    pub(super) fn since(
        &mut self,
        at: Timestamp,
        target: &Identity,
        field: Field,
        write: &LastWrite,
    ) -> Option<Timestamp> {
        self.run(just_after(at));
        let segments = &self.series[self.position(target, field)?].segments;
        let until_then = segments.partition_point(|segment| segment.from <= at);
        let goes_on = |it: &&Segment| it.value == write.value && is_same(&it.origin, &write.origin);
        let first = segments[..until_then].iter().rev().take_while(goes_on).last()?;
        Some(first.from).filter(|since| *since > self.from)
    }

    fn run(&mut self, before: Timestamp) {
        while let Some(step) = self.simulation.step(before) {
            for set in &step.set {
                if let Some(position) = self.position(&set.target, set.field) {
                    self.series[position].change(step.at, &set.value, &set.origin);
                }
            }
        }
    }

    fn position(&self, target: &Identity, field: Field) -> Option<usize> {
        let place = (target, field);
        self.series.binary_search_by(|it| (&it.target, it.field).cmp(&place)).ok()
    }
}

/// The start of the run before an instant: a week before its day, or where the state of the policies is known.
fn beginning(known_until: Option<Timestamp>, at: Timestamp) -> Timestamp {
    let day = at.as_second().div_euclid(DAY_SECONDS) * DAY_SECONDS;
    let from = Timestamp::from_second(day - LOOKS_BACK.as_secs()).unwrap_or(Timestamp::MIN);
    known_until.filter(|known| *known <= at).map_or(from, |known| known.max(from))
}
