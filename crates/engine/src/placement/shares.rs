//! The limit on the steps of the expressions of placements. Each evaluation has its own share, so that no evaluation
//! uses the steps of another.

use almanac_expressions::MAX_STEPS;

use super::predicates::Matched;

/// The maximum number of steps of a decision over all clusters together: more than a selection among ten thousand
/// clusters uses, and a fraction of a second.
pub(super) const STEPS_OF_A_DECISION: usize = 5_000_000;

/// The maximum number of steps to find the placements that a change of one cluster affects.
pub(super) const STEPS_OF_A_CHANGE: usize = 250_000;

/// The minimum number of steps of each evaluation, regardless of the number of evaluations: twenty times the steps to
/// search for a condition.
const MIN_STEPS: usize = 1_000;

/// Runs `count` evaluations, each with a share of the steps. The evaluations with too small a share are repeated, with
/// equal shares of the remaining steps.
pub(super) fn evaluate_each(
    steps: usize,
    count: usize,
    evaluate: impl Fn(usize, usize) -> Matched,
) -> Vec<Matched> {
    let share = (steps / count.max(1)).clamp(MIN_STEPS, MAX_STEPS);
    let mut all: Vec<Matched> = (0..count).map(|position| evaluate(position, share)).collect();
    let spent: usize = all.iter().map(|it| it.spent).sum();
    let unfinished = all.iter().filter(|it| it.is_unfinished()).count();
    let larger_share = steps.saturating_sub(spent) / unfinished.max(1);
    if larger_share > share && share < MAX_STEPS {
        let unfinished = all.iter_mut().enumerate().filter(|(_, it)| it.is_unfinished());
        unfinished.for_each(|(position, it)| *it = evaluate(position, larger_share.min(MAX_STEPS)));
    }
    all
}
