//! Whether the records are current: they must be from the Kubernetes version that all other tests use, and from the
//! current cases.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helping functions too")]

use almanac_peers::{CASES, Record, SEED, differences, random_case, requests, version};

fn record() -> Record {
    include_str!("../kubernetes.txt").parse().unwrap()
}

#[test]
fn the_record_is_of_the_kubernetes_that_the_programs_are_built_from() {
    assert_eq!(record().kubernetes, version().unwrap(), "run `cargo xtask peers`");
}

#[test]
fn the_record_is_for_the_current_cases() {
    let (record, requests) = (record(), requests(SEED, CASES));
    assert_eq!(record.seed, SEED, "run `cargo xtask peers`");
    assert_eq!(record.digest, Record::digest_of(&requests), "run `cargo xtask peers`");
    let random = (0..CASES).map(|number| random_case(SEED, number));
    let cases = random.chain(differences().into_iter().map(|difference| difference.case));
    let steps: Vec<_> = cases.map(|case| case.steps.len()).collect();
    let answered: Vec<_> = record.answers.iter().map(Vec::len).collect();
    assert_eq!(answered, steps, "run `cargo xtask peers`");
}

#[test]
fn kubernetes_still_has_the_recorded_result_for_every_difference() {
    let record = record();
    for (difference, replicas) in differences().iter().zip(&record.answers[CASES..]) {
        let name = difference.name;
        assert_eq!(*replicas, difference.kubernetes, "{name}");
        assert_ne!(difference.ours, difference.kubernetes, "{name}: no difference");
    }
}
