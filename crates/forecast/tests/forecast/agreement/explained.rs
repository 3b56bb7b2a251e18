//! At every boundary, and at other instants, `explain` agrees with the forecasts: on the value, its writer, its
//! start, and the next change.
//!
//! An autoscaler's turns are counted from the start of the forecast, so each explanation is compared with forecasts
//! that start where it does, in all worlds. The value, its writer and the next change are compared with a forecast
//! from its instant. The start of the value is compared with a forecast that starts a week before its day. That is the
//! same for all instants of a day. Values that rules alone set do not depend on the start, so they are also compared
//! with the forecast of the whole time.
//!
//! Each boundary therefore costs an explanation for each policy, and a forecast up to the [`AHEAD`]th boundary after
//! it: as much in a world of many boundaries as in a world of few. If autoscalers replace each other's values, there
//! are some 300 to 600 boundaries in 48 hours.

use std::collections::BTreeMap;

use almanac_engine::{Family, Field, Identity, PolicyName, Value, Verdict, World};
use almanac_forecast::{AssumedValues, Explainer, Explanation, Forecast, Period, Segment, Series};
use jiff::{SignedDuration, Timestamp};
use proptest::test_runner::TestCaseResult;

use super::turns::last_firing;
use super::worlds::{Case, deployment, instant};
use super::{WATCHED, Writer, by, differs, holds, period};

const DAY: SignedDuration = SignedDuration::from_hours(24);
const WEEK: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The number of other instants that are explained for each part of a world.
const OTHERS: i64 = 4;
/// The next change is searched for over the average length of this many boundaries, at most over the time that the
/// world is watched. A later change is compared from an instant closer to it.
const AHEAD: usize = 100;

#[test]
fn an_explanation_agrees_with_a_forecast_from_its_instant() {
    holds("an_explanation_says_what_a_forecast", 30, 3_000, |case| {
        let world = case.world();
        let watched = period(case.from(), WATCHED);
        let parts = Forecast::new(&world, watched, AssumedValues::new()).len();
        (0..parts).try_for_each(|number| Part { case: &case, world: &world, number }.agrees())
    });
}

/// Connected policies of a world.
struct Part<'a> {
    case: &'a Case,
    world: &'a World,
    number: usize,
}

impl Part<'_> {
    fn forecast(&self, period: Period) -> Vec<Series> {
        Forecast::new(self.world, period, AssumedValues::new()).part(self.number).series
    }

    /// Every policy with each object of which it sets a field.
    fn pairs(&self, series: &[Series]) -> Vec<(PolicyName, Identity)> {
        let is_here = |target: &Identity| series.iter().any(|it| it.target == *target);
        let of_policy = |policy: PolicyName| {
            let mut targets: Vec<Identity> = self
                .world
                .footprint(&policy)
                .writes
                .into_iter()
                .map(|(object, _)| object)
                .collect();
            targets.dedup();
            targets.into_iter().map(move |target| (policy.clone(), target))
        };
        let all = self.world.policies().flat_map(of_policy);
        all.filter(|(_, target)| is_here(target)).collect()
    }

    fn agrees(&self) -> TestCaseResult {
        let (case, world, none) = (self.case, self.world, AssumedValues::new());
        let whole = self.forecast(period(case.from(), WATCHED));
        let boundaries = boundaries(&whole);
        let others: Vec<Timestamp> =
            (0..OTHERS).map(|it| instant(case.from + 7 + it * 577)).collect();
        let ahead = WATCHED / i32::try_from(boundaries.len().div_ceil(AHEAD)).unwrap();
        let mut instants = [boundaries, others.clone()].concat();
        instants.sort_unstable();
        let mut explainers: Vec<(PolicyName, Identity, Explainer<'_>)> = self
            .pairs(&whole)
            .into_iter()
            .map(|(policy, target)| (policy, target, Explainer::new(world)))
            .collect();
        let mut before_days: BTreeMap<Timestamp, Vec<Series>> = BTreeMap::new();
        for at in instants {
            let day = day_of(at);
            let before: &[Series] = before_days
                .entry(day)
                .or_insert_with(|| self.forecast(Period::new(day - WEEK, day + DAY).unwrap()));
            let from_then = self.forecast(period(at, ahead));
            let forecasts = Forecasts { case, world, ahead, from_then: &from_then, before };
            forecasts.continue_the_whole(&whole, at)?;
            for (policy, target, explainer) in &mut explainers {
                let explained = explainer.explain_object(policy, target, at, &none).unwrap();
                forecasts.check_explanation(&explained)?;
                if others.contains(&at) {
                    let alone = Explainer::new(world).explain_object(policy, target, at, &none);
                    if alone.as_ref() != Some(&explained) {
                        return Err(differs(
                            "explained after others, and alone",
                            &explained,
                            &alone,
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The instants of changes, and the first instant.
fn boundaries(series: &[Series]) -> Vec<Timestamp> {
    let mut boundaries: Vec<Timestamp> =
        series.iter().flat_map(|it| it.segments.iter().map(|segment| segment.from)).collect();
    boundaries.sort_unstable();
    boundaries.dedup();
    boundaries
}

/// The start of the day of an instant, in UTC.
fn day_of(at: Timestamp) -> Timestamp {
    let days = at.duration_since(instant(0)).as_secs().div_euclid(24 * 60 * 60);
    instant(days * 24 * 60)
}

fn just_after(at: Timestamp) -> Timestamp {
    at + SignedDuration::from_nanos(1)
}

fn series_of<'s>(all: &'s [Series], target: &Identity, field: Field) -> Option<&'s Series> {
    all.iter().find(|it| it.target == *target && it.field == field)
}

/// Forecasts before and after an instant.
struct Forecasts<'a> {
    case: &'a Case,
    world: &'a World,
    /// The length of the stretch from the instant.
    ahead: SignedDuration,
    from_then: &'a [Series],
    /// The forecast from a week before the day.
    before: &'a [Series],
}

impl Forecasts<'_> {
    /// Whether the forecast from the instant starts as the forecast from the start continues, as far as rules alone set
    /// the value.
    fn continue_the_whole(&self, whole: &[Series], at: Timestamp) -> TestCaseResult {
        let is_scaled =
            |it: &Identity| self.case.scalers.iter().any(|of| deployment(of.deployment) == *it);
        let is_by_rules = |it: &&Series| match it.field {
            Field::Value => true,
            Field::Replicas => !is_scaled(&it.target),
            _ => false,
        };
        for series in self.from_then.iter().filter(is_by_rules) {
            let segment_of_whole =
                series_of(whole, &series.target, series.field).and_then(|it| it.at(at));
            let goes_on = segment_of_whole.map(|it| (&it.value, by(it)));
            let begins = (&series.segments[0].value, by(&series.segments[0]));
            if goes_on.as_ref() != Some(&begins) {
                let what =
                    format!("{} of {} at {at}, begun and gone on", series.field, series.target);
                return Err(differs(&what, &begins, &goes_on));
            }
        }
        Ok(())
    }

    /// Whether the forecasts agree with an explanation.
    fn check_explanation(&self, explained: &Explanation) -> TestCaseResult {
        let Explanation { policy, target, at, values, reasons, next, .. } = explained;
        let problem = format!("{policy} of {target} at {at}");
        for (field, write) in values {
            let Some(series) = series_of(self.from_then, target, *field) else { continue };
            let first = &series.segments[0];
            let writer = write.origin.writer.as_ref();
            let writer = writer.map(|it| (it.policy.clone(), it.rule.clone()));
            if (&write.value, &writer) != (&first.value, &by(first)) {
                let what = format!("{problem}: explained and forecast");
                let forecast = (&first.value, &by(first));
                return Err(differs(&what, &(&write.value, &writer), &forecast));
            }
            let since = self.since(explained, (*field, &write.value), writer.as_ref());
            let is_older = write.since.is_some_and(|it| it <= day_of(*at) - WEEK);
            let may_be_older = policy.family == Family::ScheduledCapacity && since.is_none();
            if write.since != since && !(is_older && may_be_older) {
                let what =
                    format!("{problem}: since {writer:?} sets {field}, explained and forecast");
                return Err(differs(&what, &write.since, &since));
            }
            let of_parts = self.world.explains_parts(policy) || !explained.divisions.is_empty();
            if let Some((_, rule)) = writer.filter(|(it, _)| it == policy && !of_parts) {
                let mut won = reasons.iter().filter(|it| it.verdict == Verdict::Won);
                if !won.any(|it| it.rule == rule || it.rule.is_none()) {
                    return Err(differs(&format!("{problem}: who won"), reasons, &rule));
                }
            }
        }
        let series =
            values.iter().filter_map(|(field, _)| series_of(self.from_then, target, *field));
        let changes = series.filter_map(|series| {
            let first = &series.segments[0].value;
            Some(series.segments.iter().find(|it| it.value != *first)?.from)
        });
        let forecast = changes.min();
        let explained = next.as_ref().map(|it| it.at).filter(|it| *it < *at + self.ahead);
        if forecast != explained {
            return Err(differs(&format!("{problem}: the next change"), &explained, &forecast));
        }
        Ok(())
    }

    /// The instant since which a field has its value and writer: the last firing of a cron rule, else the start of
    /// the stretch in the forecast from a week before the day.
    fn since(
        &self,
        explained: &Explanation,
        (field, value): (Field, &Option<Value>),
        writer: Option<&Writer>,
    ) -> Option<Timestamp> {
        let Explanation { at, target, .. } = explained;
        let writer = writer?;
        if writer.0.family == Family::CronScaling {
            let number = (0..self.case.deployments.len()).find(|it| deployment(*it) == *target)?;
            return last_firing(self.case, number, just_after(*at)).map(|(fired, ..)| fired);
        }
        // A placement has no rules; its forecast has the change cause of each selection.
        let is_same = |it: &Segment| match by(it) {
            Some((policy, _)) if policy.family == Family::Placement => policy == writer.0,
            by => by.as_ref() == Some(writer),
        };
        let segments = &series_of(self.before, target, field)?.segments;
        let goes_on = |it: &&Segment| it.value == *value && is_same(it);
        let until = segments.iter().rev().skip_while(|it| it.from > *at);
        let first = until.take_while(goes_on).last()?;
        (first.from > day_of(*at) - WEEK).then_some(first.from)
    }
}
