//! `CronFederatedHPA`: rules that set a target's replicas or bounds when their time comes.
//!
//! | step | where |
//! |---|---|
//! | fetch | `fetch`: the policy from its object; `crate::targets`: its target |
//! | gather, decide | `almanac-engine` |
//! | apply | `crate::targets` |
//! | settle | `almanac-engine` |
//! | status | `status`, and `report` for Events and metrics |

mod fetch;
mod report;
mod status;

use std::sync::Arc;

use almanac_api::status::TargetProblem;
use almanac_engine::cron_scaling::{self, Because, CronScaling, Memory, Target, TargetState};
use almanac_engine::{Autoscaler, Decision, Identity, Outcome, Workload};
use almanac_shell::clock::Clock;
use almanac_shell::event_log::EventLog;
use almanac_shell::lease::Fenced;
use jiff::{SignedDuration, Timestamp};

use crate::cluster::{Cluster, Known};
use crate::targets::{Seen, Targets, Unknown};
use crate::turns::Turns;

pub(crate) use fetch::CronFederatedHpas;
pub(crate) use report::CronMetrics;

/// A target that cannot be used, and is not followed, is looked at again after about so long.
const LOOKS_AGAIN_AFTER: SignedDuration = SignedDuration::from_secs(60);

/// Carries out the rules.
pub(crate) struct CronFederatedHpaController {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) targets: Arc<Targets>,
    pub(crate) records: Arc<Turns>,
    pub(crate) events: EventLog,
    pub(crate) metrics: CronMetrics,
    pub(crate) clock: Clock,
}

/// What a turn is about: an object as it was when the turn began.
struct Subject {
    policy: CronScaling,
    target_version: Arc<str>,
    uid: Box<str>,
    generation: i64,
}

/// What was decided, and over what.
struct Decided {
    decision: Decision<Because, Memory>,
    before: Option<Memory>,
    over: Seen,
    at: Timestamp,
}

/// What was found out about the target in a turn.
enum TargetNews {
    /// Nothing: whatever was wrong with it still may be.
    None,
    /// It can be read.
    Readable,
    /// It was changed.
    Written,
    /// It cannot.
    Problem(TargetProblem),
    /// It can be read, but must not be changed.
    NotWritable(TargetProblem),
}

impl CronFederatedHpaController {
    /// Takes the turn of one object. When it wants its next one.
    pub(crate) async fn take_turn(&self, policy: &Identity) -> Option<Timestamp> {
        let Some(subject) = self.subject(policy) else {
            // There is nothing to carry out; that is worth recording.
            self.records.wake(policy);
            return None;
        };
        let target = &subject.policy.target;
        let unknown = self.targets.fetch(target, &subject.target_version).await.err();
        let Some(decided) = self.decide(policy, &subject, unknown.as_ref()) else {
            // It was changed meanwhile, and that gives it another turn.
            return None;
        };
        // Whoever does not lead any more has nothing to settle either.
        let (outcomes, news) = self.apply(target, &decided, unknown.as_ref()).await.ok()?;
        let settled_at = self.clock.now();
        let Decided { decision, before, at, .. } = decided;
        let memory = cron_scaling::settle(&subject.policy, decision.memory, &outcomes, settled_at);

        // Counted from the decision: what has fallen due since then has its turn at once.
        let wake_at = cron_scaling::wake_at(&subject.policy, &memory, at);
        self.report(policy, &subject, &decision.reasons, before.as_ref(), &memory);
        self.keep(policy, &subject, memory, news);
        self.records.wake(policy);
        let looks_again = unknown.and_then(|unknown| self.looks_again(target, &unknown, at));
        wake_at.into_iter().chain(looks_again).min()
    }

    fn subject(&self, policy: &Identity) -> Option<Subject> {
        let known = self.cluster.lock();
        let object = known.world.cron_scalings.get(policy)?;
        let held = known.policies.get(policy)?;
        Some(Subject {
            policy: object.policy.clone(),
            target_version: Arc::clone(&held.target_version),
            uid: held.uid.clone(),
            generation: held.generation,
        })
    }

    /// Gathers and decides, unless the object is another one than when the turn began.
    fn decide(
        &self,
        policy: &Identity,
        subject: &Subject,
        unknown: Option<&Unknown>,
    ) -> Option<Decided> {
        let at = self.clock.now();
        let known = self.cluster.lock();
        let held = known.policies.get(policy)?;
        if held.uid != subject.uid || held.generation != subject.generation {
            return None;
        }
        let mut input = cron_scaling::gather(&known.world, policy)?;
        if unknown.is_some_and(|unknown| !is_not_found(unknown)) {
            // It may well be there, and nobody has said with which numbers. So the decision wants
            // to write whatever is due, and that is what the reason is given for.
            input.target = match &input.policy.target {
                Target::Workload(_) => TargetState::Workload(Workload::default()),
                Target::Autoscaler(_) => TargetState::Autoscaler(Autoscaler::default()),
            };
        }
        Some(Decided {
            decision: cron_scaling::decide(&input, at),
            before: input.memory.cloned(),
            over: Seen::of(subject.policy.target.identity(), &known),
            at,
        })
    }

    /// Carries out what was decided; also what was found out about the target.
    async fn apply(
        &self,
        target: &Target,
        decided: &Decided,
        unknown: Option<&Unknown>,
    ) -> Result<(Vec<Outcome>, TargetNews), Fenced> {
        let identity = target.identity();
        let actions = &decided.decision.actions;
        if let Some(unknown) = unknown {
            let (why, news) = match unknown {
                Unknown::Problem(problem) => {
                    (problem.message(identity), TargetNews::Problem(problem.clone()))
                }
                Unknown::Passing(why) => (why.clone(), TargetNews::None),
            };
            let refused = Outcome::Refused(Arc::from(why));
            return Ok((vec![refused; actions.len()], news));
        }
        let mut outcomes = Vec::with_capacity(actions.len());
        let mut news = TargetNews::Readable;
        for action in actions {
            let applied = self.targets.apply(target, action, &decided.over).await?;
            news = match applied.problem {
                Some(problem @ TargetProblem::Forbidden(_)) => TargetNews::NotWritable(problem),
                Some(problem) => TargetNews::Problem(problem),
                None if applied.outcome == Outcome::Done => TargetNews::Written,
                None => TargetNews::None,
            };
            outcomes.push(applied.outcome);
        }
        Ok((outcomes, news))
    }

    /// Keeps what is remembered, unless the object is another one by now.
    fn keep(&self, policy: &Identity, subject: &Subject, memory: Memory, news: TargetNews) {
        let mut known = self.cluster.lock();
        let Known { world, policies, .. } = &mut *known;
        let Some(held) = policies.get_mut(policy).filter(|held| held.uid == subject.uid) else {
            return;
        };
        if held.generation == subject.generation {
            match news {
                TargetNews::None => {}
                // That it can be read does not say that it can be changed.
                TargetNews::Readable if held.is_not_writable => {}
                TargetNews::Readable | TargetNews::Written => held.note_problem(None, false),
                TargetNews::Problem(problem) => held.note_problem(Some(problem), false),
                TargetNews::NotWritable(problem) => held.note_problem(Some(problem), true),
            }
        }
        held.is_recorded = false;
        match world.cron_scalings.get_mut(policy) {
            Some(object) => object.memory = Some(memory),
            // Meanwhile it was edited to something that cannot be used. Its history stays.
            None => held.laid_aside = Some(Box::new(fetch::laid_aside(memory))),
        }
    }

    /// When to look at a target again that cannot be used now. Of a followed one that is missing
    /// the watch tells when it is there.
    fn looks_again(&self, target: &Target, unknown: &Unknown, at: Timestamp) -> Option<Timestamp> {
        if is_not_found(unknown) && self.targets.is_followed(target.identity()) {
            return None;
        }
        // Spread by the name, so that thousands do not ask together.
        let spread = target.identity().name().bytes().fold(0_u8, u8::wrapping_add);
        let after = LOOKS_AGAIN_AFTER + SignedDuration::from_millis(i64::from(spread) * 100);
        at.saturating_add(after).ok()
    }
}

fn is_not_found(unknown: &Unknown) -> bool {
    matches!(unknown, Unknown::Problem(TargetProblem::NotFound))
}

#[cfg(test)]
mod tests;
