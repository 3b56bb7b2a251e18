//! Findings about a policy without a run: schedules that never fire or open, or that are open at once, and selectors
//! that select nothing.

use almanac_engine::{EndedScore, PolicyName, RuleSchedule, Unmatched, World};
use jiff::{SignedDuration, Timestamp};

use super::{ForecastFinding, Problem, TWO_YEARS};

/// The examined period of a schedule that is the same every week.
const WEEKS: SignedDuration = SignedDuration::from_hours(24 * 15);

/// Of two windows, the rarer one reaches this number of openings later.
const OPENINGS: usize = 60;

/// The maximum number of windows in a row that the search tries for the deciding window.
const OUTRANKED: usize = 64;

/// The maximum number of rules whose schedules are all compared with each other.
const COMPARED: usize = 64;

/// The findings about a policy that do not depend on other policies in the world.
#[must_use]
pub fn standing_findings(
    world: &World,
    policy: &PolicyName,
    from: Timestamp,
) -> Vec<ForecastFinding> {
    let schedules = world.schedules(policy);
    let until = from.saturating_add(TWO_YEARS).unwrap_or(Timestamp::MAX);
    let mut findings = Vec::new();
    for rule in &schedules {
        let problem = if rule.is_off { Some(Problem::Suspended) } else { never(rule, from, until) };
        let finding = |problem| ForecastFinding {
            policy: policy.clone(),
            rule: Some(rule.rule.clone()),
            problem,
            at: Vec::new(),
        };
        findings.extend(problem.map(finding));
    }
    for idle in world.unmatched(policy) {
        let Unmatched { position, what, seen } = idle;
        let problem = Problem::SelectsNothing { position, what, seen };
        findings.push(ForecastFinding {
            policy: policy.clone(),
            rule: None,
            problem,
            at: Vec::new(),
        });
    }
    if let Some(metrics) = world.alternating_rules(policy) {
        let problem = Problem::MetricsAlternate { metrics };
        findings.push(ForecastFinding {
            policy: policy.clone(),
            rule: None,
            problem,
            at: Vec::new(),
        });
    }
    for EndedScore { resource, cluster, end } in world.ended_scores(policy, from) {
        let problem = Problem::ScoreEnded { score: resource, cluster, at: end };
        findings.push(ForecastFinding {
            policy: policy.clone(),
            rule: None,
            problem,
            at: vec![end],
        });
    }
    let compared = &schedules[..schedules.len().min(COMPARED)];
    for (index, later) in compared.iter().enumerate() {
        for first in &compared[..index] {
            findings.extend(order_decides(policy, compared, (first, later), (from, until)));
        }
    }
    findings
}

fn never(rule: &RuleSchedule, from: Timestamp, until: Timestamp) -> Option<Problem> {
    if rule.applies_within(from, until) {
        return None;
    }
    let last = rule.last(from);
    Some(if rule.has_windows() {
        Problem::NeverOpens { last }
    } else {
        Problem::NeverFires { last }
    })
}

/// Whether two rules of the same rank are open at once with different values, and no other rule decides.
fn order_decides(
    policy: &PolicyName,
    all: &[RuleSchedule],
    (first, later): (&RuleSchedule, &RuleSchedule),
    period: (Timestamp, Timestamp),
) -> Option<ForecastFinding> {
    let ((rank, value), (other_rank, other)) = (first.ranked?, later.ranked?);
    if rank != other_rank || value == other {
        return None;
    }
    let outranks = |it: &&RuleSchedule| {
        it.ranked.is_some_and(|(of, _)| of > rank || (of == rank && it.position < first.position))
    };
    let outranking: Vec<&RuleSchedule> = all.iter().filter(outranks).collect();
    let at = meeting(first, later, &outranking, period)?;
    let winner = first.rule.clone();
    let problem = Problem::ListOrder { winner, value, other, from: at };
    Some(ForecastFinding {
        policy: policy.clone(),
        rule: Some(later.rule.clone()),
        problem,
        at: vec![at],
    })
}

/// The first instant at which two windows are open, and no window of a higher rank is. Checks all openings of the rarer
/// window; for windows that are the same every week, those of two weeks.
fn meeting(
    one: &RuleSchedule,
    other: &RuleSchedule,
    outranking: &[&RuleSchedule],
    (from, until): (Timestamp, Timestamp),
) -> Option<Timestamp> {
    let mut all = [one, other].into_iter().chain(outranking.iter().copied());
    let until = if all.all(RuleSchedule::repeats_weekly) {
        from.saturating_add(WEEKS).unwrap_or(until)
    } else {
        until
    };
    let openings = |it: &RuleSchedule| it.begins(from, until).nth(OPENINGS).unwrap_or(until);
    let (rare, common) = if openings(one) < openings(other) { (other, one) } else { (one, other) };
    let now = Some(from).filter(|_| rare.is_open(from));
    now.into_iter().chain(rare.begins(from, until)).find_map(|opens| {
        let closes = rare.closes(opens).map_or(until, |it| it.min(until));
        let at_once = Some(opens).filter(|_| common.is_open(opens));
        let both = at_once.into_iter().chain(common.begins(opens, closes));
        let decides = |at: Timestamp| {
            let end = common.closes(at).map_or(closes, |it| it.min(closes));
            undecided(outranking, at, end)
        };
        both.into_iter().find_map(decides)
    })
}

/// The first instant at which none of some windows is open.
fn undecided(windows: &[&RuleSchedule], from: Timestamp, until: Timestamp) -> Option<Timestamp> {
    let mut at = from;
    for _ in 0..OUTRANKED {
        let Some(open) = windows.iter().find(|it| it.is_open(at)) else { return Some(at) };
        at = open.closes(at).filter(|it| *it < until)?;
    }
    None
}

#[cfg(test)]
mod tests;
