//! The family's implementation of the interface that all families share.

use std::sync::Arc;

use jiff::Timestamp;

use super::decide::later;
use super::reasons::{explained, metric_name};
use super::{
    Cause, Decision, FiniteNumber, Input, LastScale, LimitedReplicas, Memory, MetricScaling,
    QueryEvaluator, Recorded, Sample, SampleProblem, Samples, begin, decide, explain, gather,
    presumed, render, settle,
};
use crate::other_writer::ExternalChange;
use crate::seam::{
    Beginning, FamilyState, Happened, Opening, PolicyDecision, PolicyFamily, ReasonText,
    Settlement, Start, Times, View, ViewMut,
};
use crate::{
    Exempt, Field, Footprint, Identity, Inactive, Outcome, Presumption, Reach, Reason,
    ReplicaMaximum, Requested, RuleExplanation, TargetReference, Value, Verdict,
};

/// Autoscalers, as a family of policies.
#[derive(Clone, Copy, Debug)]
pub struct Autoscalers;

/// The reason that an autoscaler has no effect; `None` unless it or its target is exempt.
fn exempt(view: View<'_, Autoscalers>, autoscaler: &Identity) -> Option<Exempt> {
    let target = view.state.policy(autoscaler)?.target.identity();
    Exempt::for_policy(&view.objects.exempt, autoscaler, Some(target))
}

impl PolicyFamily for Autoscalers {
    const FOLLOWS_SCHEDULES: bool = true;
    const FEEDS_BACK: bool = true;
    const WRITES_AGAIN: bool = true;
    const IS_DATED: bool = true;

    type Policy = MetricScaling;
    type Memory = Memory;
    type Extra = Samples;
    type Input<'w> = Input<'w>;
    type Decision = Decision;
    type Cause = Cause;
    type Record = Recorded;

    fn gather<'w>(view: View<'w, Self>, policy: &Identity, at: Opening<'w>) -> Option<Input<'w>> {
        gather(view, policy, at.reach, at.now)
    }

    fn decide(input: &Input<'_>, now: Timestamp) -> Decision {
        decide(input, now)
    }

    fn settle(
        state: &mut FamilyState<Self>,
        policy: &Identity,
        open: PolicyDecision<Self>,
        outcomes: &[Outcome],
        times: Times,
    ) -> Settlement<Self> {
        let wake_at = open.decision.wake_at;
        let settled = settle(&open.policy, open.decision, outcomes, times.now);
        let retry = later(state.extra.settings.query_period, times.opened_at);
        let wake_at =
            if settled.is_done { wake_at } else { wake_at.into_iter().chain(retry).min() };
        if let Some(object) = state.policies.get_mut(policy) {
            object.memory = Some(settled.memory);
        }
        Settlement { recorded: settled.recorded, effects: settled.effects, wake_at }
    }

    fn footprint(view: View<'_, Self>, identity: &Identity) -> Option<Footprint> {
        let policy = view.state.policy(identity)?;
        let target = policy.target.identity();
        let queries = policy.metrics.iter().map(|metric| &metric.query);
        let schedules = queries.flat_map(|query| query.schedules(view));
        let mut reads: Vec<Identity> = schedules.map(|(schedule, _)| schedule.clone()).collect();
        reads.push(target.clone());
        reads.sort_unstable();
        reads.dedup();
        let is_exempt = exempt(view, identity).is_some();
        let writes = (!is_exempt).then(|| (target.clone(), Field::Replicas));
        Some(Footprint { reads, writes: writes.into_iter().collect() })
    }

    fn describe(
        view: View<'_, Self>,
        policy: &Identity,
        reason: &Reason<Cause>,
    ) -> Option<ReasonText> {
        let policy = view.state.policy(policy)?;
        Some((reason.rule.map(metric_name), render(policy, reason)))
    }

    fn explain(
        view: View<'_, Self>,
        policy: &Identity,
        _: Option<&Identity>,
        now: Timestamp,
    ) -> Vec<RuleExplanation> {
        if let Some(exempt) = exempt(view, policy) {
            let message = format!("not applied; {exempt}");
            return vec![RuleExplanation::new(None, Verdict::Excluded, message)];
        }
        let reach = Reach::everything();
        let Some(input) = gather(view, policy, &reach, now) else { return Vec::new() };
        let reasons = explain(&input, now);
        let last = input.memory.and_then(|memory| memory.last_scale);
        // A value that was set last and is desired again has applied since then.
        let since = |reason: &Reason<Cause>| {
            let last = last.filter(|last| reason.cause.keeps(last.replicas));
            reason.since.or(last.map(|last| last.at))
        };
        let lines = reasons.iter().map(|reason| RuleExplanation {
            since: since(reason),
            answered: reason.cause.answered(),
            ..RuleExplanation::from_reason(
                reason,
                reason.rule.map(metric_name),
                explained(&input, reason),
            )
        });
        lines.collect()
    }

    fn occurrence(_: View<'_, Self>, _: &Identity, record: &Recorded) -> Option<Happened> {
        record.occurrence()
    }

    fn begin(view: ViewMut<'_, Self>, policies: &[&Identity], from: Beginning) -> Start<Self> {
        begin::begin(view, policies, from)
    }

    fn with_memory_from(from_status: Option<Memory>, before: Memory) -> Option<Memory> {
        Some(match from_status {
            Some(from_status) => from_status.joined(before),
            None => before,
        })
    }

    fn remove(samples: &mut Samples, policy: &Identity) {
        samples.keep_only(policy, |_| false);
    }

    fn share(state: &FamilyState<Self>, part: &mut FamilyState<Self>) {
        part.extra = state.extra.part(part.policies.keys());
    }

    fn target(view: View<'_, Self>, policy: &Identity) -> Option<TargetReference> {
        let policy = view.state.policy(policy)?;
        let api_version = Arc::clone(&policy.target_version);
        Some(TargetReference { target: policy.target.clone(), api_version })
    }

    fn alternating_rules(view: View<'_, Self>, policy: &Identity) -> Option<usize> {
        let policy = view.state.policy(policy).filter(|policy| policy.alternates())?;
        Some(policy.metrics.len())
    }

    fn presumptions(view: View<'_, Self>, policy: &Identity) -> Vec<Presumption> {
        let checked = view.state.policy(policy).filter(|_| exempt(view, policy).is_none());
        let Some(checked) = checked else { return Vec::new() };
        let target = checked.target.identity();
        let mut all = Vec::new();
        for metric in &checked.metrics {
            let query = &metric.query.text;
            let sample = view.state.extra.get(policy, query);
            match (sample.map(|sample| &sample.value), &metric.query.evaluator) {
                (Some(Ok(number)), _) => {
                    let answer: Arc<str> = number.to_string().into();
                    all.push(presumed::answered(query, &answer));
                }
                // The sample was specified, not queried.
                (Some(Err(problem)), _) if sample.is_some_and(|sample| sample.at.is_none()) => {
                    let why: Arc<str> = match problem {
                        SampleProblem::SeveralSamples { count } => {
                            format!("yields {count} samples, as specified").into()
                        }
                        _ => Arc::from(format!("{problem}, as specified")),
                    };
                    all.push(presumed::unanswered(policy, target, query, &why));
                }
                (None, QueryEvaluator::External(why)) => {
                    let why = SampleProblem::External(Arc::clone(why));
                    let why: Arc<str> = format!("{why}; give its value with --sample").into();
                    all.push(presumed::unanswered(policy, target, query, &why));
                }
                (Some(Err(_)), _) | (None, QueryEvaluator::Published(_)) => {}
            }
        }
        if checked.metrics.iter().any(|metric| metric.target_type.multiplies()) {
            all.push(presumed::follows_at_once(target));
        }
        all
    }

    /// The autoscalers with a query that Almanac evaluates from this number, among others.
    fn readers_of_number(view: View<'_, Self>, publisher: &Identity) -> Vec<Identity> {
        let reads = |policy: &MetricScaling| {
            let selections = policy.metrics.iter().flat_map(|metric| &metric.query.names);
            selections.into_iter().any(|selects| selects.includes(publisher))
        };
        let all = view.state.policies.iter();
        let readers = all.filter(|(_, it)| it.policy.as_deref().is_some_and(reads));
        readers.map(|(reader, _)| reader.clone()).collect()
    }

    fn replica_maximum(view: View<'_, Self>, policy: &Identity) -> Option<ReplicaMaximum> {
        let checked = view.state.policy(policy).filter(|_| exempt(view, policy).is_none())?;
        let workload = checked.target.identity().clone();
        Some(ReplicaMaximum { workload, most: checked.bounds.max(), rule: None })
    }

    /// The value that the autoscaler sets now, from the instant of its recommendation or write. Without a decision, its
    /// last set value.
    fn request(
        view: View<'_, Self>,
        policy: &Identity,
        field: Field,
        now: Timestamp,
    ) -> Result<Requested, Inactive> {
        let reach = Reach::everything();
        let input = gather(view, policy, &reach, now).filter(|_| field == Field::Replicas);
        let input = input.ok_or(Inactive::NotNamed)?;
        let decision = decide(&input, now);
        let Memory { recommendations, last_scale, .. } = decision.memory;
        let limited = decision.reasons.iter().find_map(|reason| reason.cause.limited());
        let Some(LimitedReplicas { replicas, .. }) = limited else {
            let is_unanswered = decision.reasons.iter().any(|it| it.cause == Cause::NoSample);
            let why = if is_unanswered { Inactive::NoAnswer } else { Inactive::TargetUnknown };
            let LastScale { at, replicas, .. } = last_scale.ok_or(why)?;
            let value = Value::Number(replicas);
            return Ok(Requested { value, since: Some(at), applied: Some(at) });
        };
        let is_so = |recommended: u32| input.policy.bounds.nearest(recommended) == replicas;
        let since = match recommendations.last().filter(|it| is_so(it.replicas)) {
            // A run searches no further back than the start of the window.
            Some(it) => Some(it.since).filter(|at| *at != begin::window_start(input.policy, now)),
            None => last_scale.filter(|it| it.replicas == replicas).map(|it| it.at),
        };
        Ok(Requested { value: Value::Number(replicas), since, applied: None })
    }

    fn reacts_to_changes(_: View<'_, Self>, _: &Identity, _: Timestamp) -> bool {
        true
    }

    fn follows_target(
        view: View<'_, Self>,
        policy: &Identity,
        now: Timestamp,
    ) -> Option<Timestamp> {
        view.state.policy(policy).filter(|_| exempt(view, policy).is_none())?;
        later(view.state.extra.settings.query_period, now)
    }

    /// The autoscaler detects a replacement without the known changes. These only identify the field manager.
    fn detect_undone(
        view: ViewMut<'_, Self>,
        policy: &Identity,
        foreign: &[ExternalChange],
        _: Timestamp,
    ) -> Vec<Recorded> {
        let object = view.state.policies.get_mut(policy);
        let memory = object.and_then(|object| object.memory.as_mut());
        if let Some(contest) = memory.and_then(|memory| memory.contest.as_mut()) {
            let is_it =
                |it: &&ExternalChange| it.field == Field::Replicas && it.to == contest.found;
            contest.by =
                foreign.iter().find(is_it).map(|it| Arc::clone(&it.by)).or(contest.by.take());
        }
        Vec::new()
    }

    fn known_until(state: &FamilyState<Self>, policy: &Identity) -> Option<Timestamp> {
        let object = state.policies.get(policy)?;
        object.policy.as_ref()?;
        object.memory.as_ref()?.known_until()
    }

    fn arrive(
        view: View<'_, Self>,
        policy: &Identity,
        from: Timestamp,
    ) -> Option<(Option<Memory>, bool)> {
        begin::arrive(view, policy, from)
    }

    fn start_as_new(state: &mut FamilyState<Self>, policy: &Identity, at: Timestamp) {
        begin::start_as_new(state, policy, at);
    }

    fn continues(_: &FamilyState<Self>, policy: &Identity, before: &FamilyState<Self>) -> bool {
        before.policies.contains_key(policy)
    }

    fn decides(view: View<'_, Self>, policy: &Identity, at: Timestamp) -> bool {
        begin::decides(view, policy, at)
    }

    fn undone(record: &Recorded) -> Option<Field> {
        matches!(record, Recorded::Undone { .. }).then_some(Field::Replicas)
    }
}

/// Assigns the same constant sample to every query for which `is_it` is true. Returns the number of autoscalers with
/// such a query.
pub fn answer(
    state: &mut FamilyState<Autoscalers>,
    is_it: impl Fn(&str) -> bool,
    answer: &Result<FiniteNumber, SampleProblem>,
) -> usize {
    let mut policy_count = 0;
    for (identity, object) in &state.policies {
        let metrics = object.policy.iter().flat_map(|policy| &policy.metrics);
        let queries: Vec<_> = metrics.map(|it| &it.query.text).filter(|it| is_it(it)).collect();
        policy_count += usize::from(!queries.is_empty());
        for query in queries {
            state.extra.hold(identity, Sample::assumed(Arc::clone(query), answer.clone()));
        }
    }
    policy_count
}
