//! Changes of numbers while a run is watched: values that are cut short, their writers, and values that apply only for
//! a short time in between.

use almanac_engine::{Field, Identity, RuleSchedule, Value};
use jiff::{SignedDuration, Timestamp};

use super::held::{Change, HeldValueFindings, ShortGap, Write};
use super::lost_values::LostValue;
use super::watch::{Sort, Watch, in_order, key};
use super::{ForecastFinding, Problem};
use crate::Writer;

/// A rule is rare if it does not fire again within this time.
const RARE: SignedDuration = SignedDuration::from_hours(24 * 300);

/// The actions of a rule on several days in a row, or within a week, are one occasion.
const OCCASION: SignedDuration = SignedDuration::from_hours(24 * 8);

const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);

impl Watch<'_> {
    pub(super) fn report(&mut self, place: &(Identity, Field), findings: HeldValueFindings) {
        let HeldValueFindings { lost, gap, change } = findings;
        for lost in lost {
            if lost.by.at < self.known_since {
                continue;
            }
            if lost.is_cut {
                self.report_cut(place, (&lost.write, &lost.by), lost.values, lost.end, false);
            } else if lost.write.policy() != lost.by.policy() {
                self.report_two_writers(place, &lost);
            }
        }
        if let Some(change) = change {
            self.record_change(place, change);
        }
        if let Some(gap) = gap {
            self.report_gap(place, &gap);
        }
    }

    fn report_cut(
        &mut self,
        (target, field): &(Identity, Field),
        (held, by): (&Write, &Write),
        values: (u32, u32),
        own_end: Option<Timestamp>,
        is_rare: bool,
    ) {
        let (Some(cut_by), Some(holder)) = (by.writer().cloned(), held.writer().cloned()) else {
            return;
        };
        let (since, cut) = (held.at, by.at);
        let (target, by) = (target.clone(), holder.clone());
        let problem =
            Problem::CutShort { target, field: *field, by, since, values, cut, own_end, is_rare };
        let at = [Some(since), Some(cut), own_end].into_iter().flatten().collect();
        self.note(Sort::CutShort, &cut_by, Some(holder), Some(*field), (problem, at));
    }

    /// Records a change of a number, and its meaning for the rules.
    fn record_change(&mut self, place: &(Identity, Field), change: Change) {
        let (Some(before), Some(after)) =
            (change.before.writer().cloned(), change.after.writer().cloned())
        else {
            return;
        };
        if change.values.1 > change.values.0 {
            self.raising.insert(after);
        } else if !self.is_rare(&before, change.before.at) {
            self.lowering.insert(after);
        } else if change.after.at >= self.known_since
            && self.is_same_day(&before, change.before.at, change.after.at)
        {
            self.undone.push((place.clone(), change));
        }
    }

    /// A policy changes the value that another one sets, earlier or at the same instant.
    pub(super) fn report_two_writers(
        &mut self,
        (target, field): &(Identity, Field),
        lost: &LostValue,
    ) {
        let LostValue { write, by: after, values, end, .. } = lost;
        let makes_way = write.origin.moves_other_bound || after.origin.moves_other_bound;
        let writers = write.writer().cloned().zip(after.writer().cloned());
        let contend = |(one, other): &(Writer, Writer)| {
            ![one, other].iter().any(|writer| writer.policy.family.shares_targets())
        };
        let writers = writers.filter(|it| !makes_way && contend(it));
        let Some((by, Writer { policy, rule })) = writers else { return };
        let Some(number) = write.number() else { return };
        let (one, other) = in_order(&policy, &by.policy);
        let at = [Some(write.at), Some(after.at).filter(|at| *at > write.at), *end];
        let problem = Problem::TwoWriters {
            target: target.clone(),
            field: *field,
            by,
            since: write.at,
            requested: number,
            values: *values,
            at: after.at,
            until: *end,
        };
        // One finding for each pair of policies, independent of which of them changes the other one's value first.
        let key = key(
            Sort::TwoWriters,
            &Writer { policy: one, rule: None },
            Some(Writer { policy: other, rule: None }),
            Some(*field),
        );
        let at = at.into_iter().flatten().collect();
        self.found.entry(key).or_insert(ForecastFinding { policy, rule, problem, at });
    }

    /// Reports values that a rare rule raised, and that were lowered by a rule that otherwise only raises.
    pub(super) fn report_undone(&mut self) {
        for (place, change) in std::mem::take(&mut self.undone) {
            let Some(by) = change.after.writer() else { continue };
            if self.raising.contains(by) && !self.lowering.contains(by) {
                let writes = (&change.before, &change.after);
                self.report_cut(&place, writes, change.values, None, true);
            }
        }
    }

    /// Whether a rule fires on no other occasion for a long time around an instant of a firing.
    fn is_rare(&mut self, writer: &Writer, at: Timestamp) -> bool {
        if let Some(known) = self.rare.get(writer) {
            return *known;
        }
        let is_rare = self.rule(writer).is_some_and(|rule| {
            let [later, much_later] =
                [OCCASION, RARE].map(|it| at.saturating_add(it).unwrap_or(Timestamp::MAX));
            let [before, long_before] =
                [OCCASION, RARE].map(|it| at.saturating_sub(it).unwrap_or(Timestamp::MIN));
            !rule.has_windows()
                && !rule.applies_within(later, much_later)
                && !rule.applies_within(long_before, before)
        });
        self.rare.insert(writer.clone(), is_rare);
        is_rare
    }

    /// Whether two instants are on one day in the time zone of a rule. The value of a rare rule is meant for its day.
    fn is_same_day(&self, writer: &Writer, one: Timestamp, other: Timestamp) -> bool {
        let day = |rule: &RuleSchedule, at| rule.zone().civil(at).date();
        self.rule(writer).is_some_and(|rule| day(rule, one) == day(rule, other))
    }

    fn report_gap(&mut self, (target, field): &(Identity, Field), gap: &ShortGap) {
        let ShortGap { before, within, after } = gap;
        let (Some(writer), Some(between), Some(next)) =
            (before.writer(), within.writer(), after.writer().and_then(|it| it.rule.clone()))
        else {
            return;
        };
        // A rule that applies only in the gap is intended.
        let lies_beneath = between.rule.is_none()
            || self.rule(between).is_some_and(|rule| {
                let moment_before = within.at.saturating_sub(NANOSECOND).unwrap_or(within.at);
                rule.is_open(moment_before) && rule.is_open(after.at)
            });
        if !lies_beneath {
            return;
        }
        let span = (within.at, after.at);
        let value = |write: &Write| write.value.clone().unwrap_or(Value::Nothing);
        let values = [value(before), value(within), value(after)];
        let problem = Problem::Gap { field: *field, target: target.clone(), next, values, span };
        self.note(Sort::Gap, writer, None, None, (problem, vec![span.0, span.1]));
    }
}
