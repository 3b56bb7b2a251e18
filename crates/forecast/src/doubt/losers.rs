//! The rules that were due in a run, and never decided anything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_engine::{Identity, Verdict};
use jiff::Timestamp;

use super::watch::{Loss, Watch};
use super::{About, Doubt};
use crate::{Origin, Writer};

impl Watch<'_> {
    /// The rules that fired, and of which nothing has ever lasted.
    pub(super) fn never_won(&self) -> Vec<Doubt> {
        let losers = self.lost.iter().filter(|(rule, _)| !self.won.contains(rule));
        let doubt = |(loser, (at, winner)): (&Writer, &Loss)| {
            let winner = winner.as_ref().and_then(|it| it.writer.clone());
            let because = match &winner {
                Some(writer) => {
                    let policy =
                        (writer.policy != loser.policy).then(|| writer.policy.identity.to_string());
                    let rule = writer.rule.as_deref();
                    let who: Vec<&str> = policy.as_deref().into_iter().chain(rule).collect();
                    format!(
                        "whenever it fires, as at {at:.0}, {} decides at the same instant",
                        who.join(" ")
                    )
                }
                None => format!("whenever it fires, as at {at:.0}, it is superseded"),
            };
            let (policy, rule) = (loser.policy.clone(), loser.rule.clone());
            Doubt { policy, rule, about: About::NeverWins { because, winner }, at: vec![*at] }
        };
        losers.map(doubt).collect()
    }

    /// The windows that were open in the run, and never decided anything.
    pub(super) fn never_won_though_open(&self) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        for (policy, rules) in &self.rules {
            for rule in rules.iter().map(|it| &it.schedule).filter(|rule| !rule.is_off) {
                let writer = Writer { policy: policy.clone(), rule: Some(Arc::clone(&rule.rule)) };
                if !rule.has_windows() || self.won.contains(&writer) {
                    continue;
                }
                let (from, to) = (self.period.from(), self.period.to());
                let now = Some(from).filter(|at| rule.is_open(*at));
                let open_at = now.or_else(|| rule.begins(from, to).next());
                let lost = open_at.and_then(|at| Some((at, self.why_lost(&writer, at)?)));
                if let Some((at, because)) = lost {
                    let (policy, rule) = (writer.policy, writer.rule);
                    let about = About::NeverWins { because, winner: None };
                    doubts.push(Doubt { policy, rule, about, at: vec![at] });
                }
            }
        }
        doubts
    }

    /// Why a rule did not win of any object at an instant, if it lost one.
    fn why_lost(&self, rule: &Writer, at: Timestamp) -> Option<String> {
        let written = self.world.footprint(&rule.policy).writes;
        let objects: BTreeSet<Identity> = written.into_iter().map(|(object, _)| object).collect();
        let verdicts = objects.iter().flat_map(|object| {
            let explained = self.world.explain_object(&rule.policy, object, at);
            explained.into_iter().filter(|it| it.rule == rule.rule).collect::<Vec<_>>()
        });
        let verdicts: Vec<_> = verdicts.collect();
        if verdicts.iter().any(|it| it.verdict == Verdict::Won) {
            return None;
        }
        let lost = verdicts.into_iter().find(|it| it.verdict == Verdict::Lost)?;
        Some(format!("at {at:.0}, {}", lost.message))
    }
}

/// The first loss counts, but one to another policy more than any to rules of its own.
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
