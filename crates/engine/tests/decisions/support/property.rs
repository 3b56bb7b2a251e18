//! Runs a property over random cases, from a seed that is printed. `ALMANAC_ENGINE_CASES` is the number of cases of each
//! property.
//!
//! Cases that failed once are in `regressions.txt`; they run before all others.

use std::fmt::Debug;

use almanac_fixtures::trials;
use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::{
    Config, FileFailurePersistence, RngAlgorithm, RngSeed, TestCaseError, TestCaseResult,
    TestError, TestRng, TestRunner,
};

const REGRESSIONS: &str = "tests/decisions/regressions.txt";

/// Checks a property with random cases, and with the cases that failed once.
pub(crate) fn holds<S: Strategy>(
    name: &str,
    cases: u32,
    strategy: S,
    test: impl Fn(S::Value) -> TestCaseResult,
) where
    S::Value: Debug,
{
    let cases = trials::size("ALMANAC_ENGINE_CASES", cases, 10 * cases);
    let seed = trials::seed(&format!("{name}, {cases} cases"));
    let config = Config {
        cases,
        // Some strategies draw again; the limit grows with the number of cases.
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
             run it again with ALMANAC_SEED={seed} cargo test -p almanac-engine {name}"
        ),
        Err(error) => panic!("{name}: {error}"),
    }
}

/// A failure of a property, in a sentence.
pub(crate) fn fail(why: impl Into<String>) -> TestCaseError {
    TestCaseError::fail(why.into())
}

/// The messages of the random cases in which a property does not hold. The cases are the same in each run.
pub(crate) fn failures<S: Strategy>(
    cases: usize,
    strategy: S,
    test: impl Fn(S::Value) -> TestCaseResult,
) -> impl Iterator<Item = String> {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let next = move || strategy.new_tree(&mut runner).unwrap().current();
    let failures =
        std::iter::repeat_with(next).take(cases).filter_map(move |case| test(case).err());
    failures.map(|failure| failure.to_string())
}
