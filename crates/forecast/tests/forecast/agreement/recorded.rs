//! Records what forecasts, explanations and `next` say of random worlds in a file, or compares with one: a change of the
//! structure that is to change no behavior is run once before it and once after. `ALMANAC_RECORD` names the file; without
//! it, two runs of the same process are compared.

use std::fmt::Write as _;
use std::path::Path;

use almanac_engine::Fingerprint;
use almanac_fixtures::trials;
use almanac_forecast::{Explainer, Explanation};
use proptest::strategy::{Strategy as _, ValueTree as _};

use super::*;

/// So many boundaries of a world are explained, spread over all.
const EXPLAINED: usize = 12;

#[test]
fn worlds_are_forecast_as_they_are_recorded() {
    let record = std::env::var_os("ALMANAC_RECORD");
    let worlds: usize = trials::size("ALMANAC_RECORD_WORLDS", 20, 2_000);
    let seed = trials::seed(&format!("worlds_are_forecast_as_they_are_recorded, {worlds} worlds"));
    let now = lines(worlds, seed);
    let Some(record) = record else {
        assert_same(&now, &lines(worlds, seed));
        return;
    };
    let record = Path::new(&record);
    if record.exists() {
        assert_same(&std::fs::read_to_string(record).unwrap(), &now);
    } else {
        std::fs::write(record, now).unwrap();
    }
}

fn assert_same(before: &str, now: &str) {
    let differing = before.lines().zip(now.lines()).find(|(before, now)| before != now);
    assert_eq!(differing, None, "a world is forecast otherwise");
    assert_eq!(before.lines().count(), now.lines().count());
}

/// A line for each world: its number, and fingerprints of what is said of it.
fn lines(worlds: usize, seed: u64) -> String {
    let mut runner =
        TestRunner::new(Config { rng_seed: RngSeed::Fixed(seed), ..Config::default() });
    let strategy = cases();
    let mut lines = String::new();
    for number in 0..worlds {
        let case = strategy.new_tree(&mut runner).unwrap().current();
        let (world, period) = (case.world(), period(case.from(), WATCHED));
        let series = all_series(&world, period);
        let forecast = fingerprint(&series);
        let next: Vec<_> =
            Upcoming::new(world.clone(), period, &AssumedValues::new()).take(2_000).collect();
        let explained = explanations(&world, &series);
        let (next, explained) = (fingerprint(&next), fingerprint(&explained));
        writeln!(lines, "{number} forecast {forecast} next {next} explain {explained}").unwrap();
    }
    lines
}

fn explanations(world: &World, series: &[Series]) -> Vec<Explanation> {
    let mut boundaries: Vec<Timestamp> =
        series.iter().flat_map(|it| it.segments.iter().map(|segment| segment.from)).collect();
    boundaries.sort_unstable();
    boundaries.dedup();
    let mut explained = Vec::new();
    for at in boundaries.iter().step_by(boundaries.len().div_ceil(EXPLAINED).max(1)) {
        for policy in world.policies() {
            for target in targets(world, &policy) {
                let none = AssumedValues::new();
                let mut explainer = Explainer::new(world);
                explained.push(explainer.explain_object(&policy, &target, *at, &none).unwrap());
            }
        }
    }
    explained
}

fn targets(world: &World, policy: &PolicyName) -> Vec<Identity> {
    let mut targets: Vec<Identity> =
        world.footprint(policy).writes.into_iter().map(|(object, _)| object).collect();
    targets.dedup();
    targets
}

fn fingerprint(value: &impl std::fmt::Debug) -> Fingerprint {
    Fingerprint::of([format!("{value:?}").as_str()])
}
