//! Runs a property over random cases, from a seed that is printed.
//!
//! - `ALMANAC_ENGINE_SEED` repeats a run; the seed of each run is printed.
//! - `ALMANAC_ENGINE_CASES` is the number of cases of each property.
//!
//! Cases that failed once are in `regressions.txt`; they are run before any others.

use std::fmt::Debug;
use std::io::Write as _;

use proptest::strategy::Strategy;
use proptest::test_runner::{
    Config, FileFailurePersistence, RngSeed, TestCaseError, TestCaseResult, TestError, TestRunner,
};

const REGRESSIONS: &str = "tests/decisions/regressions.txt";

#[expect(clippy::disallowed_methods, reason = "a test is told its seed by the environment")]
pub(crate) fn number_in(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not \"{text}\"")))
}

/// Holds a property against random cases, and against those that failed once.
pub(crate) fn holds<S: Strategy>(
    name: &str,
    cases: u32,
    strategy: S,
    test: impl Fn(S::Value) -> TestCaseResult,
) where
    S::Value: Debug,
{
    let seed = number_in("ALMANAC_ENGINE_SEED").unwrap_or_else(|| fastrand::u64(..));
    let cases = number_in("ALMANAC_ENGINE_CASES")
        .map_or(cases, |cases| u32::try_from(cases).unwrap_or(u32::MAX));
    // Written past the test harness, which would keep it back unless a test fails.
    let _ = writeln!(std::io::stderr(), "ALMANAC_ENGINE_SEED={seed} {name}, {cases} cases");
    let config = Config {
        cases,
        // Some strategies draw again; how often grows with the number of cases.
        max_local_rejects: cases.saturating_mul(100).max(65_536),
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        source_file: Some(file!()),
        max_shrink_iters: 20_000,
        ..Config::default()
    };
    match TestRunner::new(config).run(&strategy, test) {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => panic!(
            "{name} does not hold: {why}\nthe smallest case found: {case:#?}\n\
             run it again with ALMANAC_ENGINE_SEED={seed} cargo test -p almanac-engine {name}"
        ),
        Err(error) => panic!("{name}: {error}"),
    }
}

/// A failure of a property, in a sentence.
pub(crate) fn fail(why: impl Into<String>) -> TestCaseError {
    TestCaseError::fail(why.into())
}
