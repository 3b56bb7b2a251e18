//! Almanac's autoscaler compared with the code of Kubernetes: thousands of random cases in which every step must be
//! equal, and the intended differences, one case each. The results of Kubernetes are recorded; `cargo xtask peers`
//! records the results again. `record.rs` tests whether the record is still current.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helping functions too"
)]

mod subject;

use std::sync::LazyLock;

use almanac_peers::{
    Amount, CASES, Case, DEFAULT_DOWN_WINDOW, Record, SEED, differences, random_case,
};

use subject::live;

/// The maximum number of reported failures.
const SHOWN_FAILURES: usize = 3;

static RECORD: LazyLock<Record> = LazyLock::new(|| {
    include_str!("../../kubernetes.txt").parse().unwrap_or_else(|error| panic!("{error}"))
});

/// The result of Kubernetes for the random case with this number.
fn kubernetes(number: usize) -> &'static [u32] {
    &RECORD.answers[number]
}

/// The first difference between a result and that of Kubernetes, with the whole case.
fn difference(number: usize, case: &Case, ours: &[u32]) -> Option<String> {
    let theirs = kubernetes(number);
    let step = (0..theirs.len()).find(|step| ours.get(*step) != theirs.get(*step))?;
    let (ours, theirs) = (&ours[..=step], &theirs[..=step]);
    Some(format!("case {number}, step {step}:\nours       {ours:?}\nKubernetes {theirs:?}\n{case}"))
}

#[test]
fn every_step_of_every_random_case_is_as_kubernetes_has_it() {
    let all = (0..CASES).map(|number| (number, random_case(SEED, number)));
    let failures: Vec<_> =
        all.filter_map(|(number, case)| difference(number, &case, &live(&case))).collect();
    let count = failures.len().min(SHOWN_FAILURES);
    assert!(
        failures.is_empty(),
        "{} of {CASES} cases differ, the first {count}:\n\n{}",
        failures.len(),
        failures[..count].join("\n")
    );
}

#[test]
fn every_difference_is_intended() {
    for difference in differences() {
        let name = difference.name;
        assert_eq!(live(&difference.case), difference.ours, "{name}: ours");
    }
}

#[test]
fn every_difference_is_on_the_page_of_differences_and_no_other() {
    let page = include_str!("../../../../docs/compatibility.md");
    let (_, section) = page.split_once("\n## Autoscalers").expect("find the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows =
        section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| difference"));
    let listed: Vec<_> =
        rows.filter_map(|row| row.split(" | ").next()?.strip_prefix("| ")).collect();
    let names: Vec<_> = differences().iter().map(|it| it.name).collect();
    assert_eq!(listed, names);
}

/// A minimal fault, added to a case before Almanac's autoscaler runs the case.
type Mistake = (&'static str, fn(&mut Case));

#[test]
fn the_cases_catch_each_small_mistake() {
    let mistakes: [Mistake; 9] = [
        ("the upper window a second longer", |case| add(&mut case.up.window, 0)),
        ("the lower window a second longer", |case| {
            add(&mut case.down.window, DEFAULT_DOWN_WINDOW);
        }),
        ("a period of scaling up a second longer", |case| {
            case.up.policies.iter_mut().for_each(|policy| policy.period += 1);
        }),
        ("a period of scaling down a second longer", |case| {
            case.down.policies.iter_mut().for_each(|policy| policy.period += 1);
        }),
        ("a policy of scaling up allows a little more", |case| {
            case.up.policies.iter_mut().for_each(|policy| more(&mut policy.amount));
        }),
        ("a policy of scaling down allows a little more", |case| {
            case.down.policies.iter_mut().for_each(|policy| more(&mut policy.amount));
        }),
        ("no tolerance", |case| case.tolerance = 0),
        ("a status that follows immediately", |case| case.is_behind = false),
        ("the other policies selected", |case| {
            std::mem::swap(&mut case.up.select, &mut case.down.select);
        }),
    ];
    for (mistake, make) in mistakes {
        let found = (0..CASES).find(|number| {
            let mut case = random_case(SEED, *number);
            make(&mut case);
            live(&case) != kubernetes(*number)
        });
        assert!(found.is_some(), "{mistake}: no case tells");
    }
}

fn add(window: &mut Option<u32>, default: u32) {
    *window = Some(window.unwrap_or(default) + 1);
}

fn more(amount: &mut Amount) {
    match amount {
        Amount::Count(count) => *count += 1,
        Amount::Percent(percent) => *percent += 1,
    }
}
