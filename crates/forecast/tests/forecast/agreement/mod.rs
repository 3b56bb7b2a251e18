//! Over random worlds of all families: `forecast`, `explain` and `next` agree with each other at every boundary and at random
//! instants, and with the turns of controllers. `ALMANAC_AGREEMENT` is the number of worlds.

mod explained;
mod pods;
mod turns;
mod worlds;

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::{Family, Field, Identity, Occurrence, PolicyName, Value, World};
use almanac_fixtures::trials;
use almanac_forecast::{AssumedValues, Forecast, Period, Segment, Series, Upcoming};
use jiff::{SignedDuration, Timestamp};
use proptest::test_runner::{
    Config, RngSeed, TestCaseError, TestCaseResult, TestError, TestRunner,
};

use self::turns::{Change, Timelines, add, run};
use self::worlds::{Case, cases, instant};

/// The length of the period of each world.
const WATCHED: SignedDuration = SignedDuration::from_hours(48);

/// A policy, and its rule.
type Writer = (PolicyName, Option<Arc<str>>);

fn differs(what: &str, one: &dyn std::fmt::Debug, other: &dyn std::fmt::Debug) -> TestCaseError {
    TestCaseError::fail(format!("{what}: {one:#?} is not {other:#?}"))
}

fn holds(name: &str, usual: u32, thorough: u32, test: impl Fn(Case) -> TestCaseResult) {
    let cases_of_it = trials::size("ALMANAC_AGREEMENT", usual, thorough);
    let seed = trials::seed(&format!("{name}, {cases_of_it} worlds"));
    let config = Config {
        cases: cases_of_it,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: 5_000,
        ..Config::default()
    };
    match TestRunner::new(config).run(&cases(), test) {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => panic!(
            "{name}: {why}\nthe smallest world that disagrees: {case:#?}\n\
             run it again with ALMANAC_SEED={seed} cargo test --workspace --test forecast {name}"
        ),
        Err(error) => panic!("{name}: {error}"),
    }
}

fn period(from: Timestamp, length: SignedDuration) -> Period {
    Period::new(from, from + length).unwrap()
}

fn all_series(world: &World, period: Period) -> Vec<Series> {
    let forecast = Forecast::new(world, period, AssumedValues::new());
    forecast.parts().flat_map(|part| part.series).collect()
}

fn by(segment: &Segment) -> Option<Writer> {
    segment.origin.writer.as_ref().map(|it| (it.policy.clone(), it.rule.clone()))
}

/// The changes in a forecast.
fn timelines(series: &[Series]) -> Timelines {
    let timeline = |series: &Series| {
        let mut changes = Vec::new();
        for segment in &series.segments {
            add(&mut changes, (segment.from, segment.value.clone(), by(segment)));
        }
        ((series.target.clone(), series.field), changes)
    };
    series.iter().map(timeline).collect()
}

#[test]
fn a_forecast_has_the_changes_that_controllers_make_in_the_same_world() {
    holds("a_forecast_has_the_changes_that_controllers_make", 200, 20_000, |case| {
        let series = all_series(&case.world(), period(case.from(), WATCHED));
        let expected = timelines(&series);
        let done = run(&case, case.from() + WATCHED);
        for (field, of_field) in expected {
            let done = done.get(&field).cloned().unwrap_or_default();
            let [of_field, done] = [of_field, done].map(without_nothing);
            if of_field != done {
                let at = of_field.iter().zip(&done).position(|(one, other)| one != other);
                let at = at.unwrap_or(of_field.len().min(done.len()));
                let what = format!("{field:?}, change {at}, forecast and controllers");
                return Err(differs(&what, &of_field.get(at), &done.get(at)));
            }
        }
        Ok(())
    });
}

/// The replicas of the workloads determine the units of their pods.
fn is_of_units(field: Field) -> bool {
    matches!(field, Field::UnitPods | Field::PendingPods)
}

/// A pod that no policy has ever changed has no level, like a pod whose window has just closed.
fn without_nothing(mut changes: Vec<Change>) -> Vec<Change> {
    changes.drain(..changes.iter().take_while(|it| it.1 == Some(Value::Nothing)).count());
    changes
}

#[test]
fn what_comes_next_are_the_changes_of_a_forecast() {
    holds("what_comes_next_are_the_changes_of_a_forecast", 100, 10_000, |case| {
        let (world, period) = (case.world(), period(case.from(), WATCHED));
        let series = all_series(&world, period);
        let mut last: BTreeMap<(Timestamp, Identity, Field), ListedValue> = BTreeMap::new();
        for event in Upcoming::new(world.clone(), period, &AssumedValues::new()) {
            let hour = event.at.duration_since(instant(0)).as_secs().rem_euclid(86_400);
            let window = event.rule.as_deref().and_then(|rule| window(&case, &event.policy, rule));
            let due = window.map(|it| match event.what {
                Occurrence::Opens => it.0,
                _ => it.1,
            });
            let is_window = matches!(event.what, Occurrence::Opens | Occurrence::Closes);
            if is_window && due.is_some_and(|due| i64::from(due) * 3600 != hour) {
                return Err(differs("when a window opens or closes", &event, &window));
            }
            // A closing window leaves its field to another rule.
            let is_by_rule =
                matches!(event.what, Occurrence::Fires | Occurrence::Opens | Occurrence::Scales);
            // An unchanged value keeps its writer, except with cron rules.
            let is_new = |before: &Option<Value>, value: &Value| {
                event.policy.family == Family::CronScaling || before.as_ref() != Some(value)
            };
            for (field, before, value) in event.sets {
                if !is_new(&before, &value) {
                    continue;
                }
                let (policy, rule) = (event.policy.clone(), event.rule.clone());
                let listed = ListedValue { value, policy, rule, is_by_rule };
                last.insert((event.at, event.target.clone(), field), listed);
            }
        }
        for series in series.iter().filter(|it| !is_of_units(it.field)) {
            for pair in series.segments.windows(2).filter(|pair| pair[0].value != pair[1].value) {
                let place = (pair[1].from, series.target.clone(), series.field);
                let listed = last.remove(&place);
                if !listed.as_ref().is_some_and(|it| it.is_in(&pair[1])) {
                    return Err(differs(&format!("next {place:?}"), &listed, &pair[1]));
                }
            }
        }
        for ((at, target, field), listed) in last {
            let of = series.iter().find(|it| it.target == target && it.field == field);
            let forecast = of.and_then(|it| it.at(at));
            if !forecast.is_some_and(|it| listed.is_in(it)) {
                let what = format!("{field} of {target} at {at}, next and forecast");
                return Err(differs(&what, &listed, &forecast));
            }
        }
        Ok(())
    });
}

/// The value of a field in an entry of `next`.
#[derive(Debug)]
struct ListedValue {
    value: Value,
    policy: PolicyName,
    rule: Option<Arc<str>>,
    /// Whether this rule sets the value.
    is_by_rule: bool,
}

impl ListedValue {
    /// Whether a forecast has the value at the instant, by the same policy and rule. An autoscaler also decides if it
    /// only confirms a value that another policy has just set; that is not an event.
    fn is_in(&self, segment: &Segment) -> bool {
        let Some((policy, rule)) = by(segment) else { return false };
        let is_same = policy == self.policy && (!self.is_by_rule || rule == self.rule);
        let is_confirmed = policy.family == Family::MetricScaling;
        segment.value.as_ref() == Some(&self.value) && (is_same || is_confirmed)
    }
}

/// The hours in which a rule is open.
fn window(case: &Case, policy: &PolicyName, rule: &str) -> Option<(u32, u32)> {
    let number = |text: &str| text.parse::<usize>().ok();
    let window = match policy.family {
        Family::ScheduledCapacity => {
            let schedule = number(policy.identity.name().strip_prefix('s')?)?;
            let behavior = number(rule.strip_prefix("behaviors[")?.strip_suffix(']')?)?;
            case.schedules.get(schedule)?.1.get(behavior)?.0
        }
        Family::QosLevels => case.levels.get(number(rule.strip_prefix('l')?)?)?.0,
        Family::CronScaling | Family::MetricScaling | Family::Placement | Family::Units => {
            return None;
        }
    };
    Some((window.start, window.end))
}
