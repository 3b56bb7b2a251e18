//! The request of a comparison: its parts, and its execution on several threads, with changes reported in order.

use std::collections::BTreeSet;

use almanac_calendar::Zone;
use almanac_engine::Identity;
use almanac_forecast::{Assumption, Comparison, Period};

use super::change_groups::{ChangeGroup, ChangeGroups};
use super::jobs::Jobs;
use super::rows::{self, Change};
use super::side::{Coverage, Side};
use super::summary::Summary;
use crate::forecast::in_order::in_order;
use crate::forecast::progress::Progress;
use crate::input::InputPlace;

/// A comparison: both sides, the pairs of places, and the settings of the command.
pub(super) struct Question<'a> {
    pub(super) old: &'a Side,
    pub(super) new: &'a Side,
    pub(super) pairs: Vec<Pair<'a>>,
    pub(super) period: Period,
    pub(super) zone: Zone,
    pub(super) threads: usize,
    pub(super) coverage: Coverage,
    pub(super) jobs: Jobs,
}

/// The places to compare with each other: an old one and a new one.
pub(super) struct Pair<'a> {
    /// The common name; `None` if each side is a single place.
    pub(super) name: Option<String>,
    pub(super) before: Option<&'a InputPlace>,
    pub(super) after: Option<&'a InputPlace>,
    pub(super) comparison: Comparison<'a>,
    /// The objects that are not compared, because an object that they depend on cannot be used on the new side.
    pub(super) unclear: BTreeSet<Identity>,
}

/// The assumptions about the changes, on the old side and on the new side.
pub(super) type Assumptions = [BTreeSet<Assumption>; 2];

/// A message from the thread that compares a part.
enum DiffEvent<T> {
    Change(Change, T),
    End { fields: usize, unclear: usize, assumed: [Vec<Assumption>; 2] },
}

impl Question<'_> {
    /// Whether all differing files are compared.
    pub(super) fn is_complete(&self) -> bool {
        let Coverage { incomplete, uncompared, unrendered, .. } = &self.coverage;
        incomplete.is_empty() && uncompared.is_empty() && unrendered.is_empty()
    }

    /// Whether neither side has anything to compare.
    pub(super) fn is_empty(&self) -> bool {
        self.pairs.iter().all(|it| it.comparison.is_empty())
            && self.jobs.compared + self.jobs.unclear == 0
            && self.coverage.uncompared.is_empty()
            && self.coverage.unrendered.is_empty()
    }

    /// Compares all pairs. Draws each change with at most `most` rows, and passes the changes to `report` in order.
    pub(super) fn each<T: Send>(
        &self,
        most: usize,
        draw: impl Fn(&Pair<'_>, &almanac_forecast::Difference) -> anyhow::Result<T> + Sync,
        mut report: impl FnMut(&Change, T) -> anyhow::Result<()>,
    ) -> anyhow::Result<(Summary, Assumptions)> {
        let count = self.pairs.iter().map(|it| it.comparison.len()).sum();
        let mut progress = Progress::new("comparing", count);
        let mut summary = Summary {
            uncompared: self.coverage.uncompared.len(),
            unrendered: self.coverage.unrendered.len(),
            jobs_unclear: self.jobs.unclear,
            jobs: self.jobs.compared,
            jobs_changed: self.jobs.changes.len(),
            ..Summary::default()
        };
        let mut assumed = Assumptions::default();
        let compare = |index, send: &mut dyn FnMut(DiffEvent<T>) -> anyhow::Result<()>| {
            let Some((pair, own)) = self.find(index) else { return Ok(()) };
            let part = pair.comparison.part(own);
            let mut unclear = 0;
            for difference in &part.differences {
                if pair.unclear.contains(&difference.target) {
                    unclear += 1;
                    continue;
                }
                let place = pair.name.as_deref();
                let change =
                    Change::from_difference(place, difference, self.period, self.zone, most);
                send(DiffEvent::Change(change, draw(pair, difference)?))?;
            }
            let (fields, unclear) = (part.fields - unclear, unclear + part.unknown);
            let assumed = [part.assumed_before, part.assumed_after];
            send(DiffEvent::End { fields, unclear, assumed })
        };
        in_order(count, self.threads, compare, |event| {
            match event {
                DiffEvent::Change(change, drawn) => {
                    summary.add(&change);
                    report(&change, drawn)?;
                }
                DiffEvent::End { fields, unclear, assumed: of_part } => {
                    summary.fields += fields;
                    summary.unclear += unclear;
                    for (all, of_part) in assumed.iter_mut().zip(of_part) {
                        all.extend(of_part);
                    }
                    progress.advance();
                }
            }
            Ok(())
        })?;
        Ok((summary, assumed))
    }

    /// All changes, in a form that does not grow with the period. Equal changes of several objects are one group.
    pub(super) fn changes(&self) -> anyhow::Result<(Vec<ChangeGroup>, Summary, Assumptions)> {
        let mut change_groups = ChangeGroups::default();
        let draw = |_: &Pair<'_>, _: &almanac_forecast::Difference| Ok(());
        let (summary, assumed) = self.each(rows::MAX_ROWS, draw, |change, ()| {
            change_groups.add(change);
            Ok(())
        })?;
        Ok((change_groups.grouped(), summary, assumed))
    }

    /// The pair of a part, and the index of the part in the pair.
    fn find(&self, index: usize) -> Option<(&Pair<'_>, usize)> {
        let mut before = 0;
        for pair in &self.pairs {
            if index < before + pair.comparison.len() {
                return Some((pair, index - before));
            }
            before += pair.comparison.len();
        }
        None
    }
}
