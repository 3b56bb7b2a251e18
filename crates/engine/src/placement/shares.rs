//! The limit on steps of the expressions of placements: each evaluation has its own share, so that none uses up the
//! steps of another one.

use almanac_expressions::MAX_STEPS;

use super::predicates::Matched;

/// The steps of a decision over all clusters together: more than a selection among ten thousand clusters takes, and a
/// fraction of a second.
pub(super) const STEPS_OF_A_DECISION: usize = 5_000_000;

/// The steps to find out to which placements a change of one cluster matters.
pub(super) const STEPS_OF_A_CHANGE: usize = 250_000;

/// The minimum number of steps of each evaluation, regardless of the number of evaluations: twenty times the steps to
/// look for a condition.
const FEWEST_STEPS: usize = 1_000;

/// Runs `count` evaluations, each with a share of the steps. Those with too small a share are repeated, with equal
/// shares of the rest.
pub(super) fn evaluate_each(
    steps: usize,
    count: usize,
    evaluate: impl Fn(usize, usize) -> Matched,
) -> Vec<Matched> {
    let share = (steps / count.max(1)).clamp(FEWEST_STEPS, MAX_STEPS);
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
