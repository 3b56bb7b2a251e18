//! Watches a run for what is probably not meant.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_engine::{
    Field, Identity, Occurrence, PolicyName, RuleSchedule, Value, Verdict, World,
};
use jiff::Timestamp;

use super::held::{Cut, Group, Held, ShortGap, Shown, Write};
use super::{About, Doubt};
use crate::{Origin, Simulation, Step, Writer};

/// What is known of a run so far.
pub(crate) struct Watch<'w> {
    /// The whole world where the run began.
    world: &'w World,
    from: Timestamp,
    schedules: BTreeMap<PolicyName, Vec<RuleSchedule>>,
    held: BTreeMap<(Identity, Field), Held>,
    /// The rules of which a value has lasted.
    won: BTreeSet<Writer>,
    /// The rules that were due and set nothing that lasted: when first, and who decided instead.
    lost: BTreeMap<Writer, (Timestamp, Option<Arc<Origin>>)>,
    /// Each is told once.
    found: BTreeMap<Key, Doubt>,
    /// The most pods that have waited, and where that is told.
    waiting: BTreeMap<PolicyName, u32>,
    /// The placements that have selected a cluster.
    selecting: BTreeSet<PolicyName>,
    /// The name of a score and its cluster, by when it ends.
    ends_of_scores: BTreeMap<Timestamp, (Arc<str>, Arc<str>)>,
}

/// What a doubt is about: of several alike, the first is told.
type Key = (Sort, PolicyName, Option<Arc<str>>, Option<Writer>, Option<Field>);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    CutShort,
    Gap,
    MovesOtherBound,
    OutOfBounds,
    PodsWait,
    ScoreEnds,
}

impl<'w> Watch<'w> {
    pub(crate) fn new(
        world: &'w World,
        policies: &[PolicyName],
        simulation: &Simulation,
        from: Timestamp,
    ) -> Watch<'w> {
        let schedules = policies.iter().map(|it| (it.clone(), world.schedules(it))).collect();
        let scores =
            world.hub.scores.iter().flat_map(|(score, of)| of.iter().map(move |it| (score, it)));
        let ends = scores.filter_map(|(score, (cluster, it))| {
            Some((it.valid_until?, (Arc::clone(score), Arc::clone(cluster))))
        });
        let mut watch = Watch {
            world,
            from,
            schedules,
            held: BTreeMap::new(),
            won: BTreeSet::new(),
            lost: BTreeMap::new(),
            found: BTreeMap::new(),
            waiting: BTreeMap::new(),
            selecting: BTreeSet::new(),
            ends_of_scores: ends.collect(),
        };
        for (place, write) in simulation.last_writes() {
            let initial = Write {
                at: write.since.unwrap_or(Timestamp::MIN),
                value: write.value.clone(),
                origin: Arc::clone(&write.origin),
                group: watch.group(&write.origin),
            };
            let given = place.1.read(world, &place.0);
            watch.look_at(simulation, &place.0, place.1, &initial, given.as_ref());
            watch.held.insert(place.clone(), Held::begin(initial));
        }
        watch
    }

    /// Whether several groups of rules set the same field, so that it matters how they meet over the year.
    pub(crate) fn has_several_groups(&self) -> bool {
        let zones = |rules: &Vec<RuleSchedule>| {
            rules.iter().map(|it| it.zone().name()).collect::<BTreeSet<_>>().len()
        };
        self.schedules.len() > 1 || self.schedules.values().any(|rules| zones(rules) > 1)
    }

    /// Whether some rule has only lost so far.
    pub(crate) fn has_losers(&self) -> bool {
        self.lost.keys().any(|rule| !self.won.contains(rule))
    }

    /// Takes down a turn.
    pub(crate) fn take_down(&mut self, simulation: &Simulation, step: &Step) {
        for set in &step.set {
            let write = Write {
                at: step.at,
                value: Some(set.value.clone()),
                origin: Arc::clone(&set.origin),
                group: self.group(&set.origin),
            };
            self.look_at(simulation, &set.target, set.field, &write, set.before.as_ref());
            let place = (set.target.clone(), set.field);
            let Some(held) = self.held.get_mut(&place) else { continue };
            let is_replaced =
                held.current.at == step.at && held.current.writer() != set.origin.writer.as_ref();
            if is_replaced && let Some(loser) = held.current.writer() {
                let because = Some(Arc::clone(&set.origin));
                self.lost.entry(loser.clone()).or_insert((step.at, because));
            } else if held.current.at < step.at
                && let Some(winner) = held.current.writer().filter(|it| !self.won.contains(*it))
            {
                self.won.insert(winner.clone());
            }
            let shown = held.set(write);
            self.tell(&place, shown);
        }
        let world = simulation.world();
        for recorded in &step.recorded {
            let occurrence = recorded.occurrence(world, &step.policy.identity);
            let Some((Occurrence::Superseded, rule)) = occurrence else { continue };
            let loser = Writer { policy: step.policy.clone(), rule };
            let because = step.set.last().map(|set| Arc::clone(&set.origin));
            self.lost.entry(loser).or_insert((step.at, because));
        }
    }

    /// What there is to tell, once the run is over at `to`.
    pub(crate) fn end(mut self, simulation: &Simulation, to: Timestamp) -> Vec<Doubt> {
        for (place, held) in std::mem::take(&mut self.held) {
            self.won.extend(held.current.writer().cloned());
            let shown = held.end();
            self.tell(&place, shown);
        }
        let mut doubts: Vec<Doubt> = std::mem::take(&mut self.found).into_values().collect();
        for doubt in &mut doubts {
            if let About::PodsWait { most, .. } = &mut doubt.about {
                *most = self.waiting.get(&doubt.policy).copied().unwrap_or(*most);
            }
        }
        doubts.extend(self.never_won());
        doubts.extend(self.never_won_though_open(simulation, to));
        doubts.extend(self.selecting_nothing(simulation));
        doubts
    }

    fn group(&self, origin: &Origin) -> Option<Group> {
        let writer = origin.writer.as_ref()?;
        let rules = self.schedules.get(&writer.policy)?;
        // What applies without a rule follows the zone of the rules.
        let rule = rules.iter().find(|it| Some(&it.rule) == writer.rule.as_ref());
        let zone = rule.or(rules.first()).map(|it| it.zone().name());
        Some((writer.policy.clone(), zone))
    }

    /// What a value says by itself.
    fn look_at(
        &mut self,
        simulation: &Simulation,
        target: &Identity,
        field: Field,
        write: &Write,
        before: Option<&Value>,
    ) {
        let Some(writer) = write.writer().cloned() else { return };
        let at = self.next_time(&writer, write.at);
        if write.origin.moves_other_bound
            && let Some(before) = before.and_then(Value::number)
        {
            self.tell_moved_bound(target, field, write, before);
        }
        match (field, write.value.as_ref()) {
            (Field::Replicas, Some(Value::Number(value))) if *value > 0 => {
                let about = self.out_of_bounds(simulation, target, *value, at);
                if let Some(about) = about {
                    self.note(Sort::OutOfBounds, &writer, None, (about, vec![at]));
                }
            }
            (Field::PendingPods, Some(Value::Number(pods))) if *pods > 0 => {
                let most = self.waiting.entry(writer.policy.clone()).or_default();
                *most = (*most).max(*pods);
                let because = write.origin.reason.clone();
                let about = About::PodsWait { pods: *pods, most: *pods, because, at };
                let whole = Writer { policy: writer.policy, rule: None };
                self.note(Sort::PodsWait, &whole, None, (about, vec![at]));
            }
            (Field::Clusters, Some(selected)) => {
                if !matches!(selected, Value::Names(names) if names.is_empty()) {
                    self.selecting.insert(writer.policy.clone());
                }
                let ended = self.ends_of_scores.get(&write.at).cloned();
                let changed = before.filter(|before| *before != selected);
                let Some(((score, cluster), before)) = ended.zip(changed) else { return };
                let values = (before.clone(), selected.clone());
                let about =
                    About::ScoreEnds { placement: target.clone(), score, cluster, values, at };
                let whole = Writer { policy: writer.policy, rule: None };
                self.note(Sort::ScoreEnds, &whole, None, (about, vec![at]));
            }
            _ => {}
        }
    }

    fn out_of_bounds(
        &self,
        simulation: &Simulation,
        target: &Identity,
        value: u32,
        at: Timestamp,
    ) -> Option<About> {
        let autoscaler = self.world.fleet.autoscalers.get(target)?;
        let now = simulation.world().autoscalers.get(autoscaler);
        let bounds = now.or_else(|| self.world.autoscalers.get(autoscaler))?;
        let (min, max) = (bounds.min_replicas.unwrap_or(1), bounds.max_replicas?);
        let is_outside = value < min || value > max;
        let (target, autoscaler) = (target.clone(), autoscaler.clone());
        let bounds = (min, max);
        is_outside.then_some(About::OutOfBounds { target, value, autoscaler, bounds, at })
    }

    /// Which bound had to make way: the upper one if it was raised, or the lower one if it was lowered. The one that
    /// is named goes the other way.
    fn tell_moved_bound(&mut self, target: &Identity, field: Field, write: &Write, before: u32) {
        let (Some(writer), Some(to)) = (write.writer().cloned(), write.number()) else { return };
        let has_moved = match field {
            Field::MinReplicas => to < before,
            Field::MaxReplicas => to > before,
            _ => false,
        };
        if has_moved {
            let at = self.next_time(&writer, write.at);
            let (target, values) = (target.clone(), (before, to));
            let about = About::MovesOtherBound { target, moved: field, values, at };
            self.note(Sort::MovesOtherBound, &writer, Some(field), (about, vec![at]));
        }
    }

    /// An instant of the run; for what a rule did before it, when that fires next.
    fn next_time(&self, writer: &Writer, at: Timestamp) -> Timestamp {
        if at >= self.from {
            return at;
        }
        let rules = self.schedules.get(&writer.policy).into_iter().flatten();
        let rule = rules.into_iter().find(|it| Some(&it.rule) == writer.rule.as_ref());
        let next = rule.and_then(|rule| rule.begins(self.from, Timestamp::MAX).next());
        next.unwrap_or(self.from)
    }

    fn tell(&mut self, (target, field): &(Identity, Field), shown: Shown) {
        let Shown { cuts, gap } = shown;
        for Cut { held, by, values, own_end } in cuts {
            let (Some(cut_by), Some(holder)) = (by.writer().cloned(), held.writer().cloned())
            else {
                continue;
            };
            let (since, cut) = (held.at, by.at);
            let about = About::CutShort {
                target: target.clone(),
                field: *field,
                by: holder.clone(),
                since,
                values,
                cut,
                own_end,
            };
            let at = [Some(since), Some(cut), own_end].into_iter().flatten().collect();
            let key = key(Sort::CutShort, &cut_by, Some(holder), Some(*field));
            let (policy, rule) = (cut_by.policy, cut_by.rule);
            self.found.entry(key).or_insert(Doubt { policy, rule, about, at });
        }
        let Some(ShortGap { before, within, after }) = gap else { return };
        let (Some(writer), Some(next)) =
            (before.writer(), after.writer().and_then(|it| it.rule.clone()))
        else {
            return;
        };
        let span = (within.at, after.at);
        let value = |write: &Write| write.value.clone().unwrap_or(Value::Nothing);
        let values = [value(&before), value(&within), value(&after)];
        let about = About::Gap { field: *field, target: target.clone(), next, values, span };
        self.note(Sort::Gap, writer, None, (about, vec![span.0, span.1]));
    }

    fn note(
        &mut self,
        sort: Sort,
        writer: &Writer,
        field: Option<Field>,
        (about, at): (About, Vec<Timestamp>),
    ) {
        let key = key(sort, writer, None, field);
        let (policy, rule) = (writer.policy.clone(), writer.rule.clone());
        self.found.entry(key).or_insert(Doubt { policy, rule, about, at });
    }

    /// The rules that fired, and of which nothing has ever lasted.
    fn never_won(&self) -> Vec<Doubt> {
        let losers = self.lost.iter().filter(|(rule, _)| !self.won.contains(rule));
        let doubt = |(loser, (at, winner)): (&Writer, &(Timestamp, Option<Arc<Origin>>))| {
            let winner = winner.as_ref().and_then(|it| Some((it.writer.as_ref()?, it)));
            let because = match winner {
                Some((writer, _)) => {
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
            Doubt { policy, rule, about: About::NeverWins { because }, at: vec![*at] }
        };
        losers.map(doubt).collect()
    }

    /// The windows that were open in the run, and never decided anything.
    fn never_won_though_open(&self, simulation: &Simulation, to: Timestamp) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        for (policy, rules) in &self.schedules {
            for rule in rules.iter().filter(|rule| !rule.is_off) {
                let writer = Writer { policy: policy.clone(), rule: Some(Arc::clone(&rule.rule)) };
                if !rule.has_windows() || self.won.contains(&writer) {
                    continue;
                }
                let now = Some(self.from).filter(|at| rule.is_open(*at));
                let open_at = now.or_else(|| rule.begins(self.from, to).next());
                let lost =
                    open_at.and_then(|at| Some((at, self.why_lost(simulation, &writer, at)?)));
                if let Some((at, because)) = lost {
                    let (policy, rule) = (writer.policy, writer.rule);
                    let about = About::NeverWins { because };
                    doubts.push(Doubt { policy, rule, about, at: vec![at] });
                }
            }
        }
        doubts
    }

    /// Why a rule did not win of any object at an instant, if it lost one.
    fn why_lost(&self, simulation: &Simulation, rule: &Writer, at: Timestamp) -> Option<String> {
        let world = simulation.world();
        let objects = self.held.keys().map(|(object, _)| object);
        let written = world.footprint(&rule.policy).writes.into_iter().map(|(object, _)| object);
        let objects: BTreeSet<Identity> = objects.cloned().chain(written).collect();
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

    /// The placements that have selected no cluster.
    fn selecting_nothing(&self, simulation: &Simulation) -> Vec<Doubt> {
        let seen = self.world.hub.clusters.len();
        let written =
            simulation.last_writes().iter().filter(|((_, field), _)| *field == Field::Clusters);
        let policies = written.filter_map(|(_, write)| Some(&write.origin.writer.as_ref()?.policy));
        let nothing = policies.filter(|it| seen > 0 && !self.selecting.contains(it));
        let doubt = |policy: &PolicyName| Doubt {
            policy: policy.clone(),
            rule: None,
            about: About::SelectsNothing { position: None, what: "clusters", seen },
            at: Vec::new(),
        };
        nothing.map(doubt).collect()
    }
}

fn key(sort: Sort, writer: &Writer, other: Option<Writer>, field: Option<Field>) -> Key {
    (sort, writer.policy.clone(), writer.rule.clone(), other, field)
}
