//! Watches a run for policies that probably do something unintended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_engine::{Field, Identity, Occurrence, PolicyName, RuleSchedule, Value, World};
use jiff::{SignedDuration, Timestamp};

use super::days::{clock_of, clocks};
use super::group_schedules::{Group, GroupSchedules, shared_fields};
use super::held::{Change, FieldHistory, Write};
use super::losers::has_lost;
use super::lost_values::{LostValue, Requests};
use super::{ForecastFinding, Problem};
use crate::{Origin, Period, Simulation, Step, Writer};

/// The state of a run so far. The run may consist of stretches, if the days in between show nothing new.
pub(crate) struct Watch<'w> {
    /// The whole world at the start of the run.
    pub(super) world: &'w World,
    pub(super) period: Period,
    pub(super) rules: BTreeMap<PolicyName, Vec<Rule>>,
    /// The workloads that the run sets, by their autoscalers.
    pub(super) autoscaled: BTreeMap<&'w Identity, Vec<&'w Identity>>,
    pub(super) held: BTreeMap<(Identity, Field), FieldHistory>,
    /// The groups of rules that set a field, if there are several.
    shared: BTreeMap<(Identity, Field), Vec<Group>>,
    schedules: GroupSchedules,
    /// The end of the lead of a stretch: an earlier value shows nothing new.
    pub(super) known_since: Timestamp,
    /// The workloads whose replicas or bounds have been set at the latest instant.
    pub(super) unsettled: (Timestamp, BTreeSet<&'w Identity>),
    /// The bounds that have moved at the latest instant, with their previous values.
    pub(super) moved: Vec<((Identity, Field), u32)>,
    /// The rules that had a value that lasted.
    pub(super) won: BTreeSet<Writer>,
    /// The rules that were due and set nothing that lasted, each with its first loss.
    pub(super) lost: BTreeMap<Writer, Loss>,
    /// The findings so far, one for each key.
    pub(super) found: BTreeMap<Key, ForecastFinding>,
    /// The rules that have raised a value, and those that have lowered one that no rare rule had set.
    pub(super) raising: BTreeSet<Writer>,
    pub(super) lowering: BTreeSet<Writer>,
    pub(super) rare: BTreeMap<Writer, bool>,
    /// The values that soon replaced one that a rare rule had set.
    pub(super) undone: Vec<((Identity, Field), Change)>,
    /// The maximum number of waiting pods, for each policy that reports it.
    pub(super) waiting: BTreeMap<PolicyName, u32>,
    /// All placements, and the placements that have selected a cluster.
    pub(super) placements: BTreeSet<PolicyName>,
    pub(super) selecting: BTreeSet<PolicyName>,
    /// The scores by their expiry.
    pub(super) ends_of_scores: BTreeMap<Timestamp, Vec<Score>>,
}

/// The minimum lead of a stretch: a day, which a clock change may shorten by an hour.
pub(crate) const SOON: SignedDuration = SignedDuration::from_hours(22);

/// The name of a score, and its cluster.
type Score = (Arc<str>, Arc<str>);

/// A rule, with the number of the clock that it follows.
pub(super) struct Rule {
    pub(super) schedule: RuleSchedule,
    pub(super) clock: Option<usize>,
}

/// The first instant at which a rule was due and set nothing that lasted, and the origin of the value instead.
pub(super) type Loss = (Timestamp, Option<Arc<Origin>>);

/// The subject of a finding. Of several with the same key, only the first is kept.
pub(super) type Key = (Sort, PolicyName, Option<Arc<str>>, Option<Writer>, Option<Field>);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sort {
    CutShort,
    TwoWriters,
    Gap,
    MovesOtherBound,
    OutOfBounds,
    PodsWait,
    ScoreEnds,
}

impl<'w> Watch<'w> {
    pub(crate) fn new(world: &'w World, policies: &[PolicyName], period: Period) -> Watch<'w> {
        let schedules: Vec<(&PolicyName, Vec<RuleSchedule>)> =
            policies.iter().map(|it| (it, world.schedules(it))).collect();
        let all: Vec<&RuleSchedule> = schedules.iter().flat_map(|(_, rules)| rules).collect();
        let clocks = clocks(&all, period);
        let rules = schedules.iter().map(|(policy, schedules)| {
            let rules = schedules.iter().map(|schedule| {
                let clock = clock_of(schedule, &clocks, period);
                Rule { schedule: schedule.clone(), clock }
            });
            ((*policy).clone(), rules.collect())
        });
        let mut autoscaled: BTreeMap<&Identity, Vec<&Identity>> = BTreeMap::new();
        if !world.units.extra.pods_and_nodes.autoscalers.is_empty() {
            for (object, _) in policies.iter().flat_map(|it| world.footprint(it).writes) {
                if let Some((workload, autoscaler)) =
                    world.units.extra.pods_and_nodes.autoscalers.get_key_value(&object)
                {
                    autoscaled.entry(autoscaler).or_default().push(workload);
                }
            }
        }
        let scores = world
            .placement
            .extra
            .hub
            .scores
            .iter()
            .flat_map(|(score, of)| of.iter().map(move |it| (score, it)));
        let mut ends_of_scores: BTreeMap<Timestamp, Vec<Score>> = BTreeMap::new();
        for (score, (cluster, it)) in scores {
            if let Some(until) = it.valid_until {
                let ended = (Arc::clone(score), Arc::clone(cluster));
                ends_of_scores.entry(until).or_default().push(ended);
            }
        }
        let rules: BTreeMap<PolicyName, Vec<Rule>> = rules.collect();
        let shared = if policies.len() > 1 || clocks.len() > 1 {
            shared_fields(world, &rules)
        } else {
            BTreeMap::new()
        };
        let group_schedules = GroupSchedules::new(&rules, &shared, period.from());
        Watch {
            world,
            period,
            rules,
            shared,
            schedules: group_schedules,
            autoscaled,
            held: BTreeMap::new(),
            known_since: period.from(),
            unsettled: (period.from(), BTreeSet::new()),
            moved: Vec::new(),
            won: BTreeSet::new(),
            lost: BTreeMap::new(),
            found: BTreeMap::new(),
            raising: BTreeSet::new(),
            lowering: BTreeSet::new(),
            rare: BTreeMap::new(),
            undone: Vec::new(),
            waiting: BTreeMap::new(),
            placements: BTreeSet::new(),
            selecting: BTreeSet::new(),
            ends_of_scores,
        }
    }

    /// The rules in force.
    pub(crate) fn rules(&self) -> Vec<&RuleSchedule> {
        let rules = self.rules.values().flatten().map(|it| &it.schedule);
        rules.filter(|it| !it.is_off).collect()
    }

    /// Starts a stretch.
    pub(crate) fn begin(&mut self, simulation: &Simulation, from: Timestamp) {
        self.unsettled = (from, BTreeSet::new());
        let is_first = from == self.period.from();
        self.known_since =
            if is_first { Timestamp::MIN } else { from.saturating_add(SOON).unwrap_or(from) };
        for (place, write) in simulation.last_writes() {
            let since = write.since.unwrap_or(Timestamp::MIN);
            let initial = self.write(since, write.value.clone(), Arc::clone(&write.origin));
            let given = place.1.read(self.world, &place.0);
            self.look_at(&place.0, place.1, &initial, given.as_ref());
            if place.1 == Field::Clusters {
                self.placements.extend(initial.writer().map(|it| it.policy.clone()));
            }
            let groups = self.shared.get(place);
            let requests = groups
                .map(|groups| Requests::begin(&self.schedules, place.1, groups, (from, is_first)));
            self.held.insert(place.clone(), FieldHistory::begin(initial, requests));
        }
    }

    /// Whether only a longer stretch can show the values that were cut short since an instant.
    pub(crate) fn is_open(&self, since: Timestamp) -> bool {
        self.held.values().any(|held| held.is_open(since))
    }

    /// Marks that all values of the instants so far have been set.
    pub(crate) fn pause(&mut self) {
        let mut findings = Vec::new();
        for place in self.shared.keys() {
            if let Some(held) = self.held.get_mut(place) {
                findings.push((place.clone(), held.settle(&mut self.schedules)));
            }
        }
        for (place, findings) in findings {
            self.report(&place, findings);
        }
    }

    /// Records a turn.
    pub(crate) fn record(&mut self, simulation: &Simulation, step: &Step) {
        if step.at > self.unsettled.0 {
            self.settle();
            self.unsettled.0 = step.at;
        }
        for set in &step.set {
            let write = self.write(step.at, Some(set.value.clone()), Arc::clone(&set.origin));
            self.look_at(&set.target, set.field, &write, set.before.as_ref());
            let place = (set.target.clone(), set.field);
            let Some(held) = self.held.get_mut(&place) else { continue };
            let mut lost_value = None;
            let is_replaced =
                held.current.at == step.at && held.current.writer() != set.origin.writer.as_ref();
            if is_replaced && let Some(loser) = held.current.writer() {
                let (loser, because) = (loser.clone(), Some(Arc::clone(&set.origin)));
                let of_others = loser.policy != step.policy;
                let values = held.current.number().zip(write.number());
                if let Some((one, other)) = values.filter(|(one, other)| of_others && one != other)
                {
                    let (by, values) = (write.clone(), (one, other));
                    let write = held.current.clone();
                    lost_value = Some(LostValue { write, by, values, end: None, is_cut: false });
                }
                has_lost(&mut self.lost, loser, step.at, because);
            } else if held.current.at < step.at
                && let Some(winner) = held.current.writer().filter(|it| !self.won.contains(*it))
            {
                self.won.insert(winner.clone());
            }
            let findings = held.set(write, &mut self.schedules);
            self.report(&place, findings);
            if let Some(lost_value) = lost_value {
                self.report_two_writers(&place, &lost_value);
            }
        }
        let world = simulation.world();
        for recorded in &step.recorded {
            let occurrence = recorded.occurrence(world, &step.policy.identity);
            let Some((Occurrence::Superseded, rule)) = occurrence else { continue };
            let loser = Writer { policy: step.policy.clone(), rule };
            let because = step.set.last().map(|set| Arc::clone(&set.origin));
            has_lost(&mut self.lost, loser, step.at, because);
        }
    }

    /// Ends a stretch: nothing more happens before an instant.
    pub(crate) fn leave(&mut self, until: Timestamp) {
        self.settle();
        for (place, held) in std::mem::take(&mut self.held) {
            self.won.extend(held.current.writer().cloned());
            let findings = held.end(until, &mut self.schedules);
            self.report(&place, findings);
        }
    }

    /// The findings after the end of all stretches.
    pub(crate) fn end(mut self) -> Vec<ForecastFinding> {
        self.report_undone();
        let cut: BTreeSet<(PolicyName, PolicyName)> = self
            .found
            .iter()
            .filter(|((sort, ..), _)| *sort == Sort::CutShort)
            .filter_map(|((_, by, _, held, _), _)| Some(in_order(by, &held.as_ref()?.policy)))
            .collect();
        self.found.retain(|(sort, policy, _, other, _), _| {
            let is_cut =
                other.as_ref().is_some_and(|it| cut.contains(&in_order(policy, &it.policy)));
            *sort != Sort::TwoWriters || !is_cut
        });
        let mut findings: Vec<_> = std::mem::take(&mut self.found).into_values().collect();
        for finding in &mut findings {
            if let Problem::PodsWait { most, .. } = &mut finding.problem {
                *most = self.waiting.get(&finding.policy).copied().unwrap_or(*most);
            }
        }
        findings.extend(self.never_won());
        findings.extend(self.never_won_though_open());
        findings.extend(self.selecting_nothing());
        findings
    }

    fn write(&self, at: Timestamp, value: Option<Value>, origin: Arc<Origin>) -> Write {
        let rules = origin.writer.as_ref().and_then(|it| self.rules.get(&it.policy));
        let of_rule = |it: &&Rule| {
            origin.writer.as_ref().and_then(|it| it.rule.as_ref()) == Some(&it.schedule.rule)
        };
        // A value that applies without a rule follows the clock of the rules.
        let rule = rules.and_then(|rules| rules.iter().find(of_rule).or(rules.first()));
        let policy = origin.writer.as_ref().filter(|_| rules.is_some()).map(|it| it.policy.clone());
        let group: Option<Group> = policy.map(|it| (it, rule.and_then(|rule| rule.clock)));
        Write { at, value, origin, group }
    }

    pub(super) fn rule(&self, writer: &Writer) -> Option<&RuleSchedule> {
        let rules = self.rules.get(&writer.policy)?;
        let rule = rules.iter().find(|it| Some(&it.schedule.rule) == writer.rule.as_ref())?;
        Some(&rule.schedule)
    }

    /// Records the findings that follow from a value alone.
    fn look_at(&mut self, target: &Identity, field: Field, write: &Write, before: Option<&Value>) {
        let Some(writer) = write.writer().cloned() else { return };
        let at = self.next_time(&writer, write.at);
        if write.origin.moves_other_bound
            && let Some(before) = before.and_then(Value::number)
        {
            self.moved.push(((target.clone(), field), before));
        }
        match (field, write.value.as_ref()) {
            (Field::Replicas, _) => {
                let workload =
                    self.world.units.extra.pods_and_nodes.autoscalers.get_key_value(target);
                self.unsettled.1.extend(workload.map(|(workload, _)| workload));
            }
            (Field::MinReplicas | Field::MaxReplicas, _) => {
                let workloads = self.autoscaled.get(target).into_iter().flatten();
                self.unsettled.1.extend(workloads.copied());
            }
            (Field::PendingPods, Some(Value::Number(pods))) if *pods > 0 => {
                let most = self.waiting.entry(writer.policy.clone()).or_default();
                *most = (*most).max(*pods);
                let because = write.origin.reason.clone();
                let problem = Problem::PodsWait { pods: *pods, most: *pods, because, at };
                let whole = Writer { policy: writer.policy, rule: None };
                self.note(Sort::PodsWait, &whole, None, None, (problem, vec![at]));
            }
            (Field::Clusters, Some(selected)) => {
                if !matches!(selected, Value::Names(names) if names.is_empty()) {
                    self.selecting.insert(writer.policy.clone());
                }
                let ended = self.ends_of_scores.get(&write.at);
                let changed = before.filter(|before| *before != selected);
                let Some((ended, before)) = ended.zip(changed) else { return };
                // Of several scores, prefers one of a cluster that is no longer selected.
                let is_left = |(_, cluster): &&Score| {
                    is_named(before, cluster) && !is_named(selected, cluster)
                };
                let ended = ended.iter().find(is_left).or(ended.first()).cloned();
                let Some((score, cluster)) = ended else { return };
                let values = (before.clone(), selected.clone());
                let problem =
                    Problem::ScoreEnds { placement: target.clone(), score, cluster, values, at };
                let whole = Writer { policy: writer.policy, rule: None };
                self.note(Sort::ScoreEnds, &whole, None, None, (problem, vec![at]));
            }
            _ => {}
        }
    }

    /// An instant of the run; for an action of a rule before the run, the next firing of that rule.
    pub(super) fn next_time(&self, writer: &Writer, at: Timestamp) -> Timestamp {
        if at >= self.period.from() {
            return at;
        }
        let next =
            self.rule(writer).and_then(|it| it.begins(self.period.from(), Timestamp::MAX).next());
        next.unwrap_or(self.period.from())
    }

    pub(super) fn note(
        &mut self,
        sort: Sort,
        writer: &Writer,
        other: Option<Writer>,
        field: Option<Field>,
        (problem, at): (Problem, Vec<Timestamp>),
    ) {
        let key = key(sort, writer, other, field);
        let (policy, rule) = (writer.policy.clone(), writer.rule.clone());
        self.found.entry(key).or_insert(ForecastFinding { policy, rule, problem, at });
    }

    /// The placements that have selected no cluster.
    fn selecting_nothing(&self) -> Vec<ForecastFinding> {
        let seen = self.world.placement.extra.hub.clusters.len();
        let nothing = self.placements.iter().filter(|it| seen > 0 && !self.selecting.contains(*it));
        let finding = |policy: &PolicyName| ForecastFinding {
            policy: policy.clone(),
            rule: None,
            problem: Problem::SelectsNothing { position: None, what: "clusters", seen },
            at: Vec::new(),
        };
        nothing.map(finding).collect()
    }
}

pub(super) fn key(sort: Sort, writer: &Writer, other: Option<Writer>, field: Option<Field>) -> Key {
    (sort, writer.policy.clone(), writer.rule.clone(), other, field)
}

/// Two policies, in an order that does not depend on the order of the arguments.
pub(super) fn in_order(one: &PolicyName, other: &PolicyName) -> (PolicyName, PolicyName) {
    (one.min(other).clone(), one.max(other).clone())
}

/// Whether a value is a list with this name in it.
fn is_named(value: &Value, name: &str) -> bool {
    matches!(value, Value::Names(names) if names.contains(name))
}
