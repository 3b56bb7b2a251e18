//! Runs cases: one walk over a zone and a year serves all its schedules.

use std::panic::{AssertUnwindSafe, catch_unwind};

use almanac_oracle::{Line, Observation, Rule, Schedule, observe, random_schedule, year_start};
use fastrand::Rng;

use crate::case::{Case, hash};
use crate::compare::{Truth, compare};
use crate::subject::{Subject, calendar};
use crate::zones::compare_zone;

/// The number of schedules for each zone and year: the walk costs more than evaluating a few more schedules.
const SCHEDULES: usize = 12;

/// The counts of a run.
#[derive(Default, Debug)]
pub(crate) struct Tally {
    pub(crate) schedules: usize,
    pub(crate) rejected: usize,
    pub(crate) events: usize,
    pub(crate) failures: Vec<String>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Tally) {
        self.schedules += other.schedules;
        self.rejected += other.rejected;
        self.events += other.events;
        self.failures.extend(other.failures);
    }
}

/// Random schedules over one zone and a random year.
pub(crate) fn random_year(zone: &str, seed: u64, round: u64) -> Tally {
    let mut rng = Rng::with_seed(seed ^ hash(zone) ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let year = rng.i64(1970..=2100);
    let cases: Vec<_> = (0..SCHEDULES)
        .map(|_| Case { zone: zone.to_owned(), year, schedule: random_schedule(&mut rng, year) })
        .collect();
    run(zone, year, &cases)
}

/// Cases of one zone and year, and the zone itself.
pub(crate) fn run(zone: &str, year: i64, cases: &[Case]) -> Tally {
    let line = Line::named(zone).expect("the zone is in the database");
    let (from, to) = (year_start(year), year_start(year + 1));
    let changes = line.changes(from, to);
    let mut tally = Tally::default();

    let mut rng = Rng::with_seed(hash(zone) ^ year.unsigned_abs());
    if let Err(difference) = caught(|| compare_zone(&line, year, &changes, &mut rng)) {
        // Any schedule repeats the walk over the zone.
        let schedule = Schedule::Cron("@yearly".to_owned());
        tally.failures.push(report(&Case { zone: zone.to_owned(), year, schedule }, &difference));
    }

    let rules: Vec<Rule> =
        cases.iter().map(|case| case.schedule.rule().unwrap_or_else(|e| panic!("{e}"))).collect();
    let seen = observe(&line, from, to, &rules.iter().collect::<Vec<_>>());
    for ((case, rule), seen) in cases.iter().zip(&rules).zip(&seen) {
        let truth = Truth { case, line: &line, rule, seen, changes: &changes };
        tally.schedules += 1;
        tally.events += events(seen);
        match caught(|| accept_and_compare(&truth)) {
            Ok(true) => {}
            Ok(false) => tally.rejected += 1,
            Err(difference) => tally.failures.push(report(case, &difference)),
        }
    }
    tally
}

/// The difference of a subject from the oracle in one case.
pub(crate) fn difference_to(case: &Case, subject: &Subject) -> Result<(), String> {
    let line = Line::named(&case.zone).expect("the zone is in the database");
    let (from, to) = (year_start(case.year), year_start(case.year + 1));
    let rule = case.schedule.rule().expect("parse the schedule");
    let seen = observe(&line, from, to, &[&rule]).remove(0);
    let changes = line.changes(from, to);
    compare(&Truth { case, line: &line, rule: &rule, seen: &seen, changes: &changes }, subject)
}

/// Checks that the calendar accepts the schedule exactly if the oracle does, and that their results agree.
fn accept_and_compare(truth: &Truth<'_>) -> Result<bool, String> {
    let case = truth.case;
    let all_day = matches!(&case.schedule, Schedule::Daily { end, .. } if end == "24:00");
    let acceptable = truth.rule.is_acceptable(all_day);
    match (calendar(&case.zone, &case.schedule), acceptable) {
        (Ok(subject), true) => compare(truth, &subject).map(|()| true),
        (Err(_), false) => Ok(false),
        (Ok(_), false) => Err("accepted, but it never fires or never changes".to_owned()),
        (Err(message), true) => Err(format!("rejected: {message}")),
    }
}

/// A panic of the calendar is a difference like any other.
fn caught<T>(check: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panicked: {}", message.unwrap_or_default()))
    })
}

fn events(seen: &Observation) -> usize {
    match seen {
        Observation::Firings(firings) => firings.len(),
        Observation::Window { flips, .. } => flips.len(),
    }
}

fn report(case: &Case, difference: &str) -> String {
    format!("{case}\n    {difference}\n    {}", case.rerun())
}
