//! The family's implementation of the interface that all families share.

use std::sync::Arc;

use almanac_calendar::Zone;
use jiff::Timestamp;

use super::decide::later;
use super::reasons::{explained, metric_name};
use super::{
    Answer, Cause, Decision, FiniteNumber, Memory, MetricScaling, Sample, SampleProblem, Samples,
    decide, explain, gather, presumed, settle,
};
use crate::answers::{ReplicasAskedFor, RuleExplanation};
use crate::beginning::{Beginning, RunStart};
use crate::families::{Logic, OpenDecision, Recorded};
use crate::other_writer::ExternalChange;
use crate::seam::{Policies, PolicyFamily, PolicyObject};
use crate::turn::{Closed, PolicyDecision};
use crate::{
    Exempt, Field, Footprint, Identity, Outcome, Presumption, Reach, Reason, Slim, TargetReference,
    Verdict, World,
};

/// Autoscalers, as a family of policies.
#[derive(Clone, Copy, Debug)]
pub struct Autoscalers;

impl PolicyFamily for Autoscalers {
    type Policy = MetricScaling;
    type Memory = Memory;
    type Extra = Samples;
}

/// Why nothing comes of an autoscaler, if it or its target is exempt.
fn exempt(world: &World, autoscaler: &Identity) -> Option<Exempt> {
    let target = policy_of(world, autoscaler)?.target.identity();
    Exempt::of(&world.objects.exempt, autoscaler, Some(target))
}

fn policy_of<'w>(world: &'w World, policy: &Identity) -> Option<&'w MetricScaling> {
    world.metric_scaling.policies.get(policy)?.policy.as_deref()
}

impl Logic for Autoscalers {
    /// That it was replaced is known without them; this is about who has done it.
    fn detect_undone(
        &self,
        world: &mut World,
        identity: &Identity,
        foreign: &[ExternalChange],
        _: Timestamp,
    ) -> Vec<Recorded> {
        let object = world.metric_scaling.policies.get_mut(identity);
        let memory = object.and_then(|object| object.memory.as_mut());
        if let Some(contest) = memory.and_then(|memory| memory.contest.as_mut()) {
            let is_it =
                |it: &&ExternalChange| it.field == Field::Replicas && it.to == contest.found;
            contest.by =
                foreign.iter().find(is_it).map(|it| Arc::clone(&it.by)).or(contest.by.take());
        }
        Vec::new()
    }

    fn names<'w>(&self, world: &'w World) -> Box<dyn Iterator<Item = &'w Identity> + 'w> {
        Box::new(world.metric_scaling.policies.keys())
    }

    fn footprint(&self, world: &World, identity: &Identity) -> Option<Footprint> {
        let policy = policy_of(world, identity)?;
        let target = policy.target.identity();
        let queries = policy.metrics.iter().map(|metric| &metric.query);
        let schedules = queries.flat_map(|query| query.schedules(world));
        let mut reads: Vec<Identity> = schedules.map(|(schedule, _)| schedule.clone()).collect();
        reads.push(target.clone());
        reads.sort_unstable();
        reads.dedup();
        let is_exempt = exempt(world, identity).is_some();
        let writes = (!is_exempt).then(|| (target.clone(), Field::Replicas));
        Some(Footprint { reads, writes: writes.into_iter().collect() })
    }

    fn target(&self, world: &World, policy: &Identity) -> Option<TargetReference> {
        let policy = policy_of(world, policy)?;
        let api_version = Arc::clone(&policy.target_version);
        Some(TargetReference { target: policy.target.clone(), api_version })
    }

    fn zones(&self, _: &World, _: &Identity) -> Vec<(Option<Arc<str>>, Zone)> {
        Vec::new()
    }

    fn follows_schedules(&self) -> bool {
        true
    }

    fn open(
        &self,
        world: &World,
        policy: &Identity,
        reach: &Reach,
        now: Timestamp,
    ) -> Option<OpenDecision> {
        let decision = decide(&gather(world, policy, reach, now)?, now);
        let policy = Arc::clone(world.metric_scaling.policies.get(policy)?.policy.as_ref()?);
        Some(OpenDecision::MetricScaling(PolicyDecision { policy, decision }))
    }

    /// While everything is stopped, nothing falls due that could be missed.
    fn skip_stopped(
        &self,
        world: &mut World,
        policy: &Identity,
        _: Timestamp,
        _: Timestamp,
    ) -> Option<Closed> {
        policy_of(world, policy)?;
        Some(Closed { recorded: Vec::new(), effects: Vec::new(), wake_at: None })
    }

    fn feeds_back(&self) -> bool {
        true
    }

    fn explain(
        &self,
        world: &World,
        policy: &Identity,
        _: Option<&Identity>,
        now: Timestamp,
    ) -> Vec<RuleExplanation> {
        if let Some(exempt) = exempt(world, policy) {
            let message = format!("not carried out; {exempt}");
            return vec![RuleExplanation::new(None, Verdict::Excluded, message)];
        }
        let reach = Reach::everything();
        let Some(input) = gather(world, policy, &reach, now) else { return Vec::new() };
        let reasons = explain(&input, now);
        let last = input.memory.and_then(|memory| memory.last_scale);
        // What was set last and is wanted again has been so since then.
        let since = |reason: &Reason<Cause>| {
            let last = last.filter(|last| reason.cause.keeps(last.replicas));
            reason.since.or(last.map(|last| last.at))
        };
        let lines = reasons.iter().map(|reason| RuleExplanation {
            rule: reason.rule.map(metric_name),
            position: reason.rule,
            verdict: reason.verdict,
            message: explained(&input, reason),
            since: since(reason),
            until: reason.until,
            scored: None,
            answered: reason.cause.answered(),
        });
        lines.collect()
    }

    fn reacts_to_changes(&self, _: &World, _: &Identity, _: Timestamp) -> bool {
        true
    }

    fn follows_target(
        &self,
        world: &World,
        policy: &Identity,
        now: Timestamp,
    ) -> Option<Timestamp> {
        policy_of(world, policy).filter(|_| exempt(world, policy).is_none())?;
        later(world.metric_scaling.extra.settings.query_period, now)
    }

    fn presumptions(&self, world: &World, policy: &Identity) -> Vec<Presumption> {
        let checked = policy_of(world, policy).filter(|_| exempt(world, policy).is_none());
        let Some(checked) = checked else { return Vec::new() };
        let target = checked.target.identity();
        let mut all = Vec::new();
        for metric in &checked.metrics {
            let query = &metric.query.text;
            let sample = world.metric_scaling.extra.of(policy, query);
            match (sample.map(|sample| &sample.value), &metric.query.answer) {
                (Some(Ok(number)), _) => {
                    let answer: Arc<str> = number.to_string().into();
                    all.push(presumed::answered(query, &answer));
                }
                // Nobody was asked: it is stated to be so.
                (Some(Err(problem)), _) if sample.is_some_and(|sample| sample.at.is_none()) => {
                    let why: Arc<str> = match problem {
                        SampleProblem::SeveralSamples { count } => {
                            format!("yields {count} samples, as specified").into()
                        }
                        _ => Arc::from(format!("{problem}, as specified")),
                    };
                    all.push(presumed::unanswered(policy, target, query, &why));
                }
                (None, Answer::External(why)) => {
                    let why = SampleProblem::External(Arc::clone(why));
                    let why: Arc<str> = format!("{why}; state its value with --sample").into();
                    all.push(presumed::unanswered(policy, target, query, &why));
                }
                (Some(Err(_)), _) | (None, Answer::Published(_)) => {}
            }
        }
        if checked.metrics.iter().any(|metric| metric.target_type.multiplies()) {
            all.push(presumed::follows_at_once(target));
        }
        all
    }

    fn asks_for(&self, world: &World, policy: &Identity) -> Option<ReplicasAskedFor> {
        let checked = policy_of(world, policy).filter(|_| exempt(world, policy).is_none())?;
        let workload = checked.target.identity().clone();
        Some(ReplicasAskedFor { workload, most: checked.bounds.max(), rule: None })
    }

    fn begin(&self, world: &mut World, policies: &[&Identity], beginning: Beginning) -> RunStart {
        super::begin::begin(world, policies, beginning)
    }

    fn known_until(&self, world: &World, policy: &Identity) -> Option<Timestamp> {
        let object = world.metric_scaling.policies.get(policy)?;
        object.policy.as_ref()?;
        object.memory.as_ref()?.known_until()
    }

    fn slim(&self, world: &World, policy: &Identity) -> Option<Slim> {
        world.metric_scaling.policies.get(policy).cloned().map(Slim::MetricScaling)
    }

    fn remove(&self, world: &mut World, policy: &Identity) {
        world.metric_scaling.policies.remove(policy);
        world.metric_scaling.extra.keep_only(policy, |_| false);
    }
}

/// Lets the queries that `is_it` tells have the same answer all the time. How many autoscalers ask one of them.
pub(crate) fn answer(
    world: &mut World,
    is_it: impl Fn(&str) -> bool,
    answer: &Result<FiniteNumber, SampleProblem>,
) -> usize {
    let mut asking = 0;
    for (identity, object) in &world.metric_scaling.policies {
        let metrics = object.policy.iter().flat_map(|policy| &policy.metrics);
        let asked: Vec<_> = metrics.map(|it| &it.query.text).filter(|it| is_it(it)).collect();
        asking += usize::from(!asked.is_empty());
        for query in asked {
            world
                .metric_scaling
                .extra
                .hold(identity, Sample::assumed(Arc::clone(query), answer.clone()));
        }
    }
    asking
}

/// The autoscalers whose queries Almanac answers from the number of this schedule, among others.
pub(crate) fn readers<'w>(
    world: &'w World,
    schedule: &'w Identity,
) -> impl Iterator<Item = &'w Identity> {
    let reads = |policy: &MetricScaling| {
        let named = policy.metrics.iter().flat_map(|metric| &metric.query.names);
        named.into_iter().any(|selects| selects.includes(schedule))
    };
    let all = world.metric_scaling.policies.iter();
    all.filter(move |(_, it)| it.policy.as_deref().is_some_and(reads)).map(|(reader, _)| reader)
}

/// Holds an object, and what is remembered of it since before.
pub(crate) fn upsert(
    objects: &mut Policies<MetricScaling, Memory>,
    identity: Identity,
    mut object: PolicyObject<MetricScaling, Memory>,
) {
    let remembered = objects.remove(&identity).and_then(|before| before.memory);
    object.memory = remembered.or(object.memory);
    objects.insert(identity, object);
}

/// Settles an open turn in the world.
pub(crate) fn close(
    world: &mut World,
    identity: &Identity,
    open: PolicyDecision<MetricScaling, Decision>,
    outcomes: &[Outcome],
    opened_at: Timestamp,
    now: Timestamp,
) -> Closed {
    let wake_at = open.decision.wake_at;
    let settled = settle(&open.policy, open.decision, outcomes, now);
    let retry = later(world.metric_scaling.extra.settings.query_period, opened_at);
    let wake_at = if settled.is_done { wake_at } else { wake_at.into_iter().chain(retry).min() };
    if let Some(object) = world.metric_scaling.policies.get_mut(identity) {
        object.memory = Some(settled.memory);
    }
    let recorded = settled.recorded.into_iter().map(Recorded::MetricScaling).collect();
    Closed { recorded, effects: settled.effects, wake_at }
}
