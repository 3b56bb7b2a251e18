//! Checks whether the scheduled replicas fit: when workloads together first need more than a quota or the nodes allow,
//! the excess, and the rule that causes it. The bounds are an input; a run supplies the replicas over time.
//!
//! Each workload has two numbers of replicas: the certain replicas, and the replicas that are possible because a policy
//! has raised the upper bound of an autoscaler. The upper bound in the spec of an autoscaler is not a peak.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_engine::{
    Allowance, Bound, Consequence, Consumer, Demand, Family, Field, Identity, PolicyName, Resource,
    RuleSchedule, Value, World,
};
use jiff::Timestamp;

use crate::findings::{SOON, days_to_run};
use crate::{Excess, Forecast, Origin, Period, Simulation, Step, Writer};

/// The demand of workloads over time, compared with their allowances.
#[derive(Debug)]
pub struct Fit<'a> {
    forecast: &'a Forecast<'a>,
    demand: &'a Demand,
    /// For each object, the part of the forecast that sets one of its fields.
    part_of: BTreeMap<&'a Identity, usize>,
    /// The workloads that policies scale by queries without a result.
    unknown: BTreeSet<Identity>,
}

impl<'a> Fit<'a> {
    /// The workloads of a forecast, and their allowances.
    #[must_use]
    pub fn new(forecast: &'a Forecast<'a>, demand: &'a Demand) -> Fit<'a> {
        let world = forecast.world();
        let by_queries = world.policies().filter(|it| it.family == Family::MetricScaling);
        let presumed = by_queries.flat_map(|policy| world.presumptions(&policy));
        let unknown = presumed.filter_map(|it| match it.consequence() {
            Consequence::Unchanged(target) => Some(target.clone()),
            Consequence::General | Consequence::Only(_) => None,
        });
        let part_of = forecast.objects_of_parts().map(|(part, object)| (object, part)).collect();
        Fit { forecast, demand, part_of, unknown: unknown.collect() }
    }

    /// The number of groups of allowances.
    #[must_use]
    pub fn len(&self) -> usize {
        self.demand.groups.len()
    }

    /// Whether nothing bounds the workloads.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.demand.groups.is_empty()
    }

    /// The demand of a group beyond its allowances, in their order; empty if out of range. The groups can be run in any
    /// order, and in parallel. Policies are only run if the highest numbers that they set, all at once, would be too
    /// much.
    #[must_use]
    pub fn excesses(&self, group: usize) -> Vec<Excess<'a>> {
        let Some(allowances) = self.demand.groups.get(group) else { return Vec::new() };
        let is_scheduled = |object: &Identity| self.part_of.contains_key(object);
        let consumers = &self.demand.consumers;
        let mut account = Account::new(consumers, allowances, &self.unknown, is_scheduled);
        let objects = account.of_object.keys();
        let parts: BTreeSet<usize> =
            objects.filter_map(|object| self.part_of.get(object)).copied().collect();
        let policies = parts.iter().flat_map(|part| self.forecast.policies_of(*part));
        let mut policies: Vec<PolicyName> = policies.cloned().collect();
        policies.sort();
        if policies.is_empty() || !account.may_exceed(self.forecast.world(), &policies) {
            return Vec::new();
        }
        let period = self.forecast.period();
        for stretch in self.stretches(&policies) {
            let mut run = self.forecast.run_of(&policies, stretch.from());
            // A value set before the first day of a later stretch was set on a day that has been run.
            let is_first = stretch.from() == period.from();
            let known_since = if is_first { None } else { stretch.from().checked_add(SOON).ok() };
            account.begin(&run);
            let mut now = stretch.from();
            while let Some(step) = run.step(stretch.to()) {
                if step.at > now {
                    account.settle(now, known_since);
                    now = step.at;
                }
                account.record(&step);
            }
            account.settle(now, known_since);
        }
        account.end()
    }

    /// The stretches of the period that must be run. If only schedules decide, skips the stretches in which rules fire
    /// as before.
    fn stretches(&self, policies: &[PolicyName]) -> Vec<Period> {
        let (world, period) = (self.forecast.world(), self.forecast.period());
        if !policies.iter().all(|it| it.family.follows_schedules()) {
            return vec![period];
        }
        let rules = policies.iter().flat_map(|it| world.schedules(it));
        let rules: Vec<RuleSchedule> = rules.filter(|it| !it.is_off).collect();
        days_to_run(&rules.iter().collect::<Vec<_>>(), true, period)
    }
}

/// The certain and the possible number of each resource.
type Sums = [[u128; Resource::ALL.len()]; 2];

/// The demand of the workloads of a group during a run.
struct Account<'a> {
    allowances: &'a [Allowance],
    members: Vec<Member<'a>>,
    /// The members that the fields of an object affect.
    of_object: BTreeMap<&'a Identity, Vec<usize>>,
    /// The demand of each allowance.
    sums: Vec<Sums>,
    /// The demand of workloads that no policy scales, by allowance.
    unscheduled: Vec<[u128; Resource::ALL.len()]>,
    /// The members that have been changed at the latest instant.
    touched: BTreeSet<usize>,
    /// The excess by the allowance and its bound, the certain one first.
    found: BTreeMap<(usize, usize, usize), Excess<'a>>,
}

/// A workload that counts against an allowance.
struct Member<'a> {
    consumer: &'a Consumer,
    allowances: Vec<usize>,
    is_unknown: bool,
    replicas: FieldValue,
    min: FieldValue,
    max: FieldValue,
    /// The certain and the possible replicas in the sums.
    counted: [u32; 2],
}

/// The value of a field, and its origin if that is known.
#[derive(Default)]
struct FieldValue {
    value: Option<u32>,
    origin: Option<Arc<Origin>>,
}

impl FieldValue {
    fn writer(&self) -> Option<&Writer> {
        self.origin.as_ref()?.writer.as_ref()
    }
}

impl Member<'_> {
    /// The certain and the possible replicas, each with the value that determines them. An autoscaler does not change
    /// a workload without replicas, and keeps any other workload within its bounds.
    fn counts(&self) -> [(u32, &FieldValue); 2] {
        let set = (self.replicas.value.unwrap_or(0), &self.replicas);
        if self.is_unknown {
            return [(0, &self.replicas); 2];
        }
        if self.consumer.autoscaler.is_none() || self.replicas.value == Some(0) {
            return [set; 2];
        }
        let least = (self.min.value.unwrap_or(0), &self.min);
        let most = self.max.value.unwrap_or(u32::MAX);
        let raised = [(self.max.value.unwrap_or(0), &self.max), (set.0.min(most), set.1)];
        let raised = raised.into_iter().filter(|(_, held)| held.writer().is_some());
        let possible = raised.fold(least, |one, other| if other.0 > one.0 { other } else { one });
        [least, possible]
    }
}

impl<'a> Account<'a> {
    fn new(
        consumers: &'a [Consumer],
        allowances: &'a [Allowance],
        unknown: &BTreeSet<Identity>,
        is_scheduled: impl Fn(&Identity) -> bool,
    ) -> Account<'a> {
        let mut allowances_of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (number, allowance) in allowances.iter().enumerate() {
            for consumer in &allowance.consumers {
                allowances_of.entry(*consumer).or_default().push(number);
            }
        }
        let member = |(index, allowances): (usize, Vec<usize>)| {
            let consumer = consumers.get(index)?;
            let is_unknown = unknown.contains(&consumer.workload);
            let (replicas, min, max) =
                (FieldValue::default(), FieldValue::default(), FieldValue::default());
            let counted = [0; 2];
            Some(Member { consumer, allowances, is_unknown, replicas, min, max, counted })
        };
        let members: Vec<Member<'_>> = allowances_of.into_iter().filter_map(member).collect();
        let mut of_object: BTreeMap<&Identity, Vec<usize>> = BTreeMap::new();
        for (number, Member { consumer, .. }) in members.iter().enumerate() {
            let autoscaler = consumer.autoscaler.as_ref().map(|(autoscaler, _)| autoscaler);
            for object in [&consumer.workload].into_iter().chain(autoscaler) {
                of_object.entry(object).or_default().push(number);
            }
        }
        let sums = vec![Sums::default(); allowances.len()];
        let mut unscheduled = vec![[0; Resource::ALL.len()]; allowances.len()];
        for Member { consumer, allowances, is_unknown, .. } in &members {
            let autoscaler = consumer.autoscaler.as_ref();
            let scaled_by = autoscaler.map(|(autoscaler, _)| autoscaler);
            if *is_unknown || [&consumer.workload].into_iter().chain(scaled_by).any(&is_scheduled) {
                continue;
            }
            let least = autoscaler.map(|(_, bounds)| bounds.min_replicas);
            let count = u128::from(least.unwrap_or(consumer.replicas).unwrap_or(0));
            for allowance in allowances {
                for (sum, of_pod) in unscheduled[*allowance].iter_mut().zip(consumer.of_pod) {
                    *sum += count * u128::from(of_pod);
                }
            }
        }
        let (touched, found) = (BTreeSet::new(), BTreeMap::new());
        Account { allowances, members, of_object, sums, unscheduled, touched, found }
    }

    /// Whether the highest numbers that may be set exceed an allowance if they are all set at once.
    fn may_exceed(&self, world: &World, policies: &[PolicyName]) -> bool {
        let mut highest: BTreeMap<Identity, u32> = BTreeMap::new();
        for policy in policies {
            let sets = world.schedules(policy).into_iter().flat_map(|it| it.sets);
            let most = sets.map(|(_, number)| number).max().unwrap_or(0);
            let writes = world.footprint(policy).writes.into_iter().map(|(it, _)| (it, most));
            let requested = world.replica_maximum(policy).map(|it| (it.workload, it.most));
            for (object, most) in writes.chain(requested) {
                let known = highest.entry(object).or_default();
                *known = most.max(*known);
            }
        }
        let set = |object: &Identity| highest.get(object).copied().unwrap_or(0);
        let most = self.members.iter().map(|Member { consumer, .. }| {
            let own = consumer.replicas.unwrap_or(0).max(set(&consumer.workload));
            consumer.autoscaler.as_ref().map_or(own, |(autoscaler, bounds)| {
                own.max(set(autoscaler)).max(bounds.min_replicas.unwrap_or(0))
            })
        });
        let mut sums = vec![[0_u128; Resource::ALL.len()]; self.allowances.len()];
        for (member, most) in self.members.iter().zip(most) {
            for allowance in &member.allowances {
                for (sum, of_pod) in sums[*allowance].iter_mut().zip(member.consumer.of_pod) {
                    *sum += u128::from(of_pod) * u128::from(most);
                }
            }
        }
        let is_exceeded = |(allowance, sums): (&Allowance, &[u128; Resource::ALL.len()])| {
            allowance.bounds.iter().any(|it| sums[it.resource.index()] > u128::from(it.most))
        };
        self.allowances.iter().zip(&sums).any(is_exceeded)
    }

    /// Starts a stretch.
    fn begin(&mut self, run: &Simulation) {
        for (number, member) in self.members.iter_mut().enumerate() {
            let Member { consumer, replicas, min, max, .. } = member;
            let held = |object: &Identity, field: Field, given: Option<u32>| {
                let write = run.last_writes().get(&(object.clone(), field));
                let set = write.and_then(|it| it.value.as_ref()).and_then(Value::number);
                FieldValue { value: set.or(given), origin: write.map(|it| Arc::clone(&it.origin)) }
            };
            *replicas = held(&consumer.workload, Field::Replicas, consumer.replicas);
            if let Some((autoscaler, bounds)) = &consumer.autoscaler {
                *min = held(autoscaler, Field::MinReplicas, bounds.min_replicas);
                *max = held(autoscaler, Field::MaxReplicas, bounds.max_replicas);
            }
            self.touched.insert(number);
        }
    }

    /// Records a turn.
    fn record(&mut self, step: &Step) {
        for set in &step.set {
            for number in self.of_object.get(&set.target).into_iter().flatten() {
                let Some(member) = self.members.get_mut(*number) else { continue };
                let held = match set.field {
                    Field::Replicas => &mut member.replicas,
                    Field::MinReplicas => &mut member.min,
                    Field::MaxReplicas => &mut member.max,
                    Field::Value
                    | Field::QosLevel
                    | Field::Clusters
                    | Field::UnitPods
                    | Field::PendingPods => continue,
                };
                let origin = Some(Arc::clone(&set.origin));
                *held = FieldValue { value: set.value.number(), origin };
                self.touched.insert(*number);
            }
        }
    }

    /// Ends the writes of an instant. Before `known_since`, no finding is new.
    fn settle(&mut self, at: Timestamp, known_since: Option<Timestamp>) {
        let mut moved: BTreeMap<usize, Vec<(usize, [u32; 2])>> = BTreeMap::new();
        for number in std::mem::take(&mut self.touched) {
            let Some(member) = self.members.get_mut(number) else { continue };
            let counts = member.counts().map(|(count, _)| count);
            let before = std::mem::replace(&mut member.counted, counts);
            for allowance in &member.allowances {
                let sums = self.sums[*allowance].iter_mut().zip(counts.into_iter().zip(before));
                for (sums, (now, before)) in sums {
                    for (sum, of_pod) in sums.iter_mut().zip(member.consumer.of_pod.map(u128::from))
                    {
                        *sum = *sum + of_pod * u128::from(now) - of_pod * u128::from(before);
                    }
                }
                moved.entry(*allowance).or_default().push((number, before));
            }
        }
        if known_since.is_none_or(|since| at >= since) {
            for (allowance, moved) in moved {
                self.compare(allowance, &moved, at);
            }
        }
    }

    /// Compares an allowance with the demand on it. These members had these replicas before.
    fn compare(&mut self, number: usize, moved: &[(usize, [u32; 2])], at: Timestamp) {
        let allowances = self.allowances;
        let allowance = &allowances[number];
        for (index, bound) in allowance.bounds.iter().enumerate() {
            for (kind, is_certain) in [(0, true), (1, false)] {
                let needed = self.sums[number][kind][bound.resource.index()];
                // An excess that exists without any policy is not due to a rule.
                let unscheduled = self.unscheduled[number][bound.resource.index()];
                let most = u128::from(bound.most);
                if needed <= most || unscheduled > most {
                    continue;
                }
                let key = (number, index, kind);
                if let Some(known) = self.found.get_mut(&key) {
                    if needed > known.peak.0 {
                        known.peak = (needed, at);
                    }
                    continue;
                }
                let raises = moved.iter().filter_map(|(member, before)| {
                    self.raise(*member, (kind, before[kind]), bound)
                });
                // Demand that no policy raises is not scheduled. Of several policies, the one that adds most is the
                // cause.
                let Some(raise) = raises.min_by_key(|it| Reverse(it.more)) else { continue };
                let Raise { by, consumer, replicas, .. } = raise;
                let peak = (needed, at);
                let excess = Excess {
                    allowance,
                    bound,
                    at,
                    needed,
                    peak,
                    is_certain,
                    by,
                    consumer,
                    replicas,
                };
                self.found.insert(key, excess);
            }
        }
    }

    /// The amount of a resource by which a policy has raised the demand of a member; `None` if no policy has.
    fn raise(
        &self,
        member: usize,
        (kind, before): (usize, u32),
        bound: &Bound,
    ) -> Option<Raise<'a>> {
        let member = self.members.get(member)?;
        let (replicas, held) = *member.counts().get(kind)?;
        let of_pod = member.consumer.of_pod[bound.resource.index()];
        let more = u128::from(replicas.checked_sub(before)?) * u128::from(of_pod);
        let by = held.writer().filter(|_| more > 0)?.clone();
        Some(Raise { more, by, consumer: member.consumer, replicas })
    }

    /// The result: the certain excess, or else the possible excess.
    fn end(self) -> Vec<Excess<'a>> {
        let mut excesses: BTreeMap<(usize, usize), Excess<'a>> = BTreeMap::new();
        for ((allowance, bound, _), excess) in self.found {
            excesses.entry((allowance, bound)).or_insert(excess);
        }
        excesses.into_values().collect()
    }
}

/// The amount that a policy adds to the demand.
struct Raise<'a> {
    more: u128,
    by: Writer,
    consumer: &'a Consumer,
    replicas: u32,
}
