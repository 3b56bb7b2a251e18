//! Rules whose value another rule overrides: windows of one policy that are open at once, and rules that fire at one
//! instant. The reader of the report judges whether that is intended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_engine::{
    Identity, PolicyName, RuleExplanation, RuleSchedule, Schedule, Value, Verdict, World,
};
use jiff::Timestamp;

use crate::{Origin, Period, Series, Set, Step, Writer};

/// A window or an instant in which rules request a value, and another rule decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overlap {
    /// The start of the overlap.
    pub from: Timestamp,
    /// The first instant after the overlap; equal to `from` for rules that fire.
    pub to: Timestamp,
    /// The rules that do not decide; never empty.
    pub rules: Arc<[Outranked]>,
}

/// A rule that does not decide.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outranked {
    /// The rule by name.
    pub rule: Writer,
    /// The reason, as a line for users.
    pub because: Box<str>,
    /// Whether the policy ranks the rules, rather than only the order of the list.
    pub is_by_rank: bool,
}

/// The times at which several windows of a policy with different values are open.
#[derive(Debug)]
pub struct OpenWindows<'a> {
    world: &'a World,
    policies: Vec<OfPolicy>,
}

#[derive(Debug)]
struct OfPolicy {
    policy: PolicyName,
    rules: Vec<RuleSchedule>,
    /// Each different set of rules that are open at once.
    sets: Vec<BTreeSet<usize>>,
    /// The start, the end and the index of the set.
    open: Vec<(Timestamp, Timestamp, usize)>,
}

impl<'a> OpenWindows<'a> {
    /// The open windows of some policies.
    pub(crate) fn new(
        world: &'a World,
        policies: &[PolicyName],
        period: Period,
    ) -> OpenWindows<'a> {
        let of_policy = |policy: &PolicyName| OfPolicy::new(world, policy, period);
        OpenWindows { world, policies: policies.iter().filter_map(of_policy).collect() }
    }

    /// Whether no windows overlap.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    /// The windows that are open while another window decides about an object, in order. Windows that do not affect
    /// the object are skipped.
    #[must_use]
    pub fn for_target(&self, target: &Identity) -> Vec<Overlap> {
        let mut all = Vec::new();
        for of_policy in &self.policies {
            let writes = self.world.footprint(&of_policy.policy).writes;
            if writes.iter().any(|(object, _)| object == target) {
                all.extend(of_policy.overlaps(self.world, target));
            }
        }
        all.sort_by_key(|overlap| (overlap.from, overlap.to));
        all
    }
}

impl OfPolicy {
    /// `None` if no windows with different values are open at the same time.
    fn new(world: &World, policy: &PolicyName, period: Period) -> Option<OfPolicy> {
        let rules = world.schedules(policy);
        let rules: Vec<RuleSchedule> =
            rules.into_iter().filter(|rule| rule.has_windows() && !rule.is_off).collect();
        let differ = rules.iter().any(|rule| rule.requested_value != rules[0].requested_value);
        if !differ {
            return None;
        }
        let changes = changes(&rules, period);
        let mut open: BTreeSet<usize> =
            (0..rules.len()).filter(|rule| rules[*rule].is_open(period.from())).collect();
        let mut found = OfPolicy { policy: policy.clone(), rules, sets: vec![], open: vec![] };
        let mut since = period.from();
        for (at, changed) in changes {
            found.record(&open, since, at);
            for (rule, opens) in changed {
                if opens { _ = open.insert(rule) } else { _ = open.remove(&rule) }
            }
            since = at;
        }
        found.record(&open, since, period.to());
        (!found.open.is_empty()).then_some(found)
    }

    fn record(&mut self, open: &BTreeSet<usize>, from: Timestamp, to: Timestamp) {
        let mut requested = open.iter().map(|rule| self.rules[*rule].requested_value);
        let first = requested.next();
        let differ = requested.any(|it| Some(it) != first);
        if from == to || !differ {
            return;
        }
        let known = self.sets.iter().position(|it| it == open);
        let set = known.unwrap_or_else(|| {
            self.sets.push(open.clone());
            self.sets.len() - 1
        });
        match self.open.last_mut() {
            Some(last) if last.1 == from && last.2 == set => last.1 = to,
            _ => self.open.push((from, to, set)),
        }
    }

    fn overlaps(&self, world: &World, target: &Identity) -> Vec<Overlap> {
        // The set of open windows determines the deciding window, independent of the instant.
        let mut outranked: BTreeMap<usize, Arc<[Outranked]>> = BTreeMap::new();
        let mut overlaps = Vec::new();
        for (from, to, set) in &self.open {
            let rules = outranked.entry(*set).or_insert_with(|| {
                let verdicts = world.explain_object(&self.policy, target, *from);
                self.outranked(verdicts, &self.sets[*set])
            });
            if !rules.is_empty() {
                overlaps.push(Overlap { from: *from, to: *to, rules: Arc::clone(rules) });
            }
        }
        overlaps
    }

    /// The open rules whose value differs from that of the deciding one.
    fn outranked(
        &self,
        verdicts: Vec<RuleExplanation>,
        open: &BTreeSet<usize>,
    ) -> Arc<[Outranked]> {
        let rule = |name: Option<&Arc<str>>| {
            open.iter().map(|rule| &self.rules[*rule]).find(|it| Some(&it.rule) == name)
        };
        let decides = verdicts.iter().find(|it| it.verdict == Verdict::Won);
        let decides = decides.and_then(|it| rule(it.rule.as_ref()));
        let lost = verdicts.into_iter().filter(|it| it.verdict == Verdict::Lost);
        let outranked = lost.filter_map(|it| {
            let loser = rule(it.rule.as_ref())?;
            let rank = |it: &RuleSchedule| it.ranked.map(|(rank, _)| rank);
            (Some(loser.requested_value) != decides.map(|it| it.requested_value)).then(|| {
                Outranked {
                    rule: Writer { policy: self.policy.clone(), rule: it.rule },
                    because: it.message.into(),
                    is_by_rank: loser.ranked.is_none() || decides.and_then(rank) != rank(loser),
                }
            })
        });
        outranked.collect()
    }
}

/// The instants at which rules open or close, in order, each with these rules.
fn changes(rules: &[RuleSchedule], period: Period) -> BTreeMap<Timestamp, Vec<(usize, bool)>> {
    let mut changes: BTreeMap<Timestamp, Vec<(usize, bool)>> = BTreeMap::new();
    for (position, rule) in rules.iter().enumerate() {
        let Schedule::Windows(windows) = &rule.schedule else { continue };
        for change in windows.between(period.from(), period.to()) {
            changes.entry(change.at).or_default().push((position, change.opens));
        }
    }
    changes
}

/// Watches a run for rules that fire at one instant.
#[derive(Debug)]
pub(crate) struct SharedFirings {
    /// Whether several policies set values here.
    are_several: bool,
    /// The last value set, by the index of the series.
    last: BTreeMap<usize, (Timestamp, Value, Arc<Origin>)>,
    /// The rules of a policy, with their values.
    rules: BTreeMap<PolicyName, Vec<RuleSchedule>>,
    found: BTreeMap<usize, Vec<Overlap>>,
}

impl SharedFirings {
    pub(crate) fn for_policies(policies: &[PolicyName]) -> SharedFirings {
        let are_several = policies.len() > 1;
        let (last, rules, found) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        SharedFirings { are_several, last, rules, found }
    }

    /// Records the values set in a turn.
    pub(crate) fn record(&mut self, world: &World, step: &Step, series: &[Series]) {
        let sets: &[Set] = if self.are_several { &step.set } else { &[] };
        for set in sets {
            let Some(position) = position(series, set) else { continue };
            let now = (step.at, set.value.clone(), Arc::clone(&set.origin));
            let before = self.last.insert(position, now);
            let Some((at, value, origin)) = before else { continue };
            let of_other = origin.writer.as_ref().filter(|it| it.policy != step.policy);
            if let Some(rule) = of_other.filter(|_| at == step.at && value != set.value) {
                let because = format!("sets {value} at the same instant, before {}", step.policy);
                self.note(position, at, rule.clone(), because);
            }
        }
        for recorded in &step.recorded {
            let Some(rule) = recorded.superseded() else { continue };
            for set in &step.set {
                let Some(by) = set.origin.writer.as_ref().and_then(|it| it.rule.clone()) else {
                    continue;
                };
                let is_agreed = self.requested_value(world, &step.policy, &rule)
                    == set.value.number().map(i64::from);
                let Some(position) = position(series, set).filter(|_| !is_agreed) else { continue };
                let writer = Writer { policy: step.policy.clone(), rule: Some(Arc::clone(&rule)) };
                self.note(
                    position,
                    step.at,
                    writer,
                    format!("fires together with {by}, which decides"),
                );
            }
        }
    }

    fn requested_value(
        &mut self,
        world: &World,
        policy: &PolicyName,
        rule: &Arc<str>,
    ) -> Option<i64> {
        let rules = self.rules.entry(policy.clone()).or_insert_with(|| world.schedules(policy));
        rules.iter().find(|it| it.rule == *rule).and_then(|it| it.requested_value)
    }

    fn note(&mut self, position: usize, at: Timestamp, rule: Writer, because: String) {
        let of_series = self.found.entry(position).or_default();
        let one = Outranked { rule, because: because.into(), is_by_rank: false };
        if let Some(last) = of_series.last_mut().filter(|last| last.from == at) {
            if !last.rules.contains(&one) {
                last.rules = last.rules.iter().cloned().chain([one]).collect();
            }
            return;
        }
        // Most overlaps are between the same rules.
        let known = of_series.iter().rev().take(4).find(|it| *it.rules == [one.clone()]);
        let rules = known.map_or_else(|| Arc::from([one]), |it| Arc::clone(&it.rules));
        of_series.push(Overlap { from: at, to: at, rules });
    }

    /// The overlaps, by the index of the series.
    pub(crate) fn end(self) -> BTreeMap<usize, Vec<Overlap>> {
        self.found
    }
}

fn position(series: &[Series], set: &Set) -> Option<usize> {
    series.binary_search_by(|it| it.target.cmp(&set.target).then(it.field.cmp(&set.field))).ok()
}

#[cfg(test)]
mod tests;
