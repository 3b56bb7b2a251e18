//! The rules that were due in a run, and never decided a value.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_engine::{Identity, PolicyName, Verdict};
use jiff::Timestamp;

use super::watch::{Loss, Watch};
use super::{ForecastFinding, Problem};
use crate::{Origin, Writer};

impl Watch<'_> {
    /// The rules that fired, and whose values never lasted.
    pub(super) fn never_won(&self) -> Vec<ForecastFinding> {
        let losers = self.lost.iter().filter(|(rule, _)| !self.won.contains(rule));
        let finding = |(loser, (at, winner)): (&Writer, &Loss)| {
            let winner = winner.as_ref().and_then(|it| it.writer.clone());
            let because = match &winner {
                Some(writer) => {
                    let policy =
                        (writer.policy != loser.policy).then(|| writer.policy.identity.to_string());
                    let rule = writer.rule.as_deref();
                    let who: Vec<&str> = policy.as_deref().into_iter().chain(rule).collect();
                    format!(
                        "{} overrides it at each firing, at the same instant, for example at {at:.0}",
                        who.join(" ")
                    )
                }
                None => format!("the rule is superseded at each firing, for example at {at:.0}"),
            };
            let (policy, rule) = (loser.policy.clone(), loser.rule.clone());
            ForecastFinding {
                policy,
                rule,
                problem: Problem::NeverWins { because, winner },
                at: vec![*at],
            }
        };
        losers.map(finding).collect()
    }

    /// The windows that were open in the run, and never decided a value.
    pub(super) fn never_won_though_open(&self) -> Vec<ForecastFinding> {
        let mut findings = Vec::new();
        for (policy, rules) in &self.rules {
            let mut known = BTreeMap::new();
            for rule in rules.iter().map(|it| &it.schedule).filter(|rule| !rule.is_off) {
                let writer = Writer { policy: policy.clone(), rule: Some(Arc::clone(&rule.rule)) };
                if !rule.has_windows() || self.won.contains(&writer) {
                    continue;
                }
                let (from, to) = (self.period.from(), self.period.to());
                let now = Some(from).filter(|at| rule.is_open(*at));
                let open_at = now.or_else(|| rule.begins(from, to).next());
                let lost = open_at.and_then(|at| {
                    let outcomes = known.entry(at).or_insert_with(|| self.outcomes(policy, at));
                    let outcome = outcomes.get(&rule.rule).filter(|it| !it.has_won)?;
                    Some((at, format!("at {at:.0}, {}", outcome.lost.as_ref()?)))
                });
                if let Some((at, because)) = lost {
                    let (policy, rule) = (writer.policy, writer.rule);
                    let problem = Problem::NeverWins { because, winner: None };
                    findings.push(ForecastFinding { policy, rule, problem, at: vec![at] });
                }
            }
        }
        findings
    }

    /// The outcomes of the rules of a policy at an instant, over all its objects. Each object is explained once for
    /// all rules: there may be hundreds of both.
    fn outcomes(&self, policy: &PolicyName, at: Timestamp) -> BTreeMap<Arc<str>, Outcome> {
        let writes = self.world.footprint(policy).writes;
        let objects: BTreeSet<Identity> = writes.into_iter().map(|(object, _)| object).collect();
        let mut outcomes: BTreeMap<Arc<str>, Outcome> = BTreeMap::new();
        for object in &objects {
            for explained in self.world.explain_object(policy, object, at) {
                let Some(rule) = explained.rule else { continue };
                let outcome = outcomes.entry(rule).or_default();
                outcome.has_won |= explained.verdict == Verdict::Won;
                if explained.verdict == Verdict::Lost && outcome.lost.is_none() {
                    outcome.lost = Some(explained.message);
                }
            }
        }
        outcomes
    }
}

/// The outcome of a rule.
#[derive(Default)]
struct Outcome {
    /// Whether the rule decided about some object.
    has_won: bool,
    /// The reason for the first object about which the rule did not decide.
    lost: Option<String>,
}

/// Keeps the first loss, and prefers a loss to another policy over a loss to a rule of the same policy.
pub(super) fn has_lost(
    lost: &mut BTreeMap<Writer, Loss>,
    loser: Writer,
    at: Timestamp,
    because: Option<Arc<Origin>>,
) {
    let is_own = |because: &Option<Arc<Origin>>| {
        let winner = because.as_ref().and_then(|it| it.writer.as_ref());
        winner.is_none_or(|it| it.policy == loser.policy)
    };
    let counts_more = lost.get(&loser).is_none_or(|(_, known)| is_own(known) && !is_own(&because));
    if counts_more {
        lost.insert(loser, (at, because));
    }
}
