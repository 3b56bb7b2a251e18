//! What came of firings, told in Events and counted in metrics.

use std::sync::Arc;

use almanac_engine::cron_scaling::{
    Applied, Because, CronRule, Ending, Execution, Memory, RuleMemory,
};
use almanac_engine::{Identity, Reason};
use almanac_shell::event_log::{Happening, Regarding};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::{CronFederatedHpaController, Subject};

/// How often rules fired, and how late.
#[derive(Clone, Debug)]
pub(crate) struct CronMetrics {
    lag: Histogram,
    fired: Counter,
    failed: Counter,
    missed: Counter,
}

/// From a twentieth of a second, which a quiet API server takes, to the longest usual delay.
const LAG_SECONDS: [f64; 13] =
    [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0];

impl Default for CronMetrics {
    fn default() -> Self {
        Self {
            lag: Histogram::new(LAG_SECONDS),
            fired: Counter::default(),
            failed: Counter::default(),
            missed: Counter::default(),
        }
    }
}

impl CronMetrics {
    /// Adds them to what is exported.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "almanac_cron_lag_seconds",
            "From the instant a rule was scheduled for until it was carried out",
            self.lag.clone(),
        );
        let fired = "Firings that were carried out, or found their value there already";
        registry.register("almanac_cron_fired", fired, self.fired.clone());
        let failed = "Firings that were tried in vain, or superseded by another rule";
        registry.register("almanac_cron_failed", failed, self.failed.clone());
        let missed = "Firings that nobody was there to carry out in time";
        registry.register("almanac_cron_missed", missed, self.missed.clone());
    }
}

impl CronFederatedHpaController {
    /// Tells and counts what is remembered now and was not before.
    pub(super) fn report(
        &self,
        policy: &Identity,
        subject: &Subject,
        reasons: &[Reason<Because>],
        before: Option<&Memory>,
        after: &Memory,
    ) {
        for (rule, memory) in subject.policy.rules.iter().zip(&after.rules) {
            let known = before.and_then(|it| it.rules.iter().find(|it| it.name == memory.name));
            for execution in new_executions(known, memory) {
                self.count(&execution.ending, execution);
                self.tell(policy, subject, rule, execution);
            }
        }
        // A rule that keeps no failures has them told all the same.
        for reason in reasons {
            let rule = reason.rule.and_then(|index| subject.policy.rules.get(index as usize));
            let (Some(rule), Some(at)) = (rule, reason.since) else { continue };
            if rule.failed_history_limit > 0 {
                continue;
            }
            let ending = match reason.because {
                Because::Missed { .. } => Ending::Missed,
                Because::GaveUp { attempts } => {
                    Ending::Failed { attempts, message: why_in_vain(before, &rule.name) }
                }
                _ => continue,
            };
            let execution = Execution::new(at, self.clock.now(), ending);
            self.count(&execution.ending, &execution);
            self.tell(policy, subject, rule, &execution);
        }
    }

    fn count(&self, ending: &Ending, execution: &Execution) {
        match ending {
            Ending::Done(_) => {
                self.metrics.fired.inc();
                self.metrics.lag.observe(execution.later().as_secs_f64());
            }
            Ending::Failed { .. } | Ending::Superseded { .. } => {
                self.metrics.failed.inc();
            }
            Ending::Missed => {
                self.metrics.missed.inc();
            }
        }
    }

    fn tell(&self, policy: &Identity, subject: &Subject, rule: &CronRule, execution: &Execution) {
        let target = subject.policy.target.identity();
        let (name, at) = (&rule.name, execution.scheduled());
        let (reason, is_warning, what) = match &execution.ending {
            Ending::Done(applied) => ("ScaledByRule", false, done(target, *applied)),
            Ending::Failed { attempts, message } => {
                let what = format!("failed to change {target} in {attempts} attempts: {message}");
                ("RuleFailed", true, what)
            }
            Ending::Superseded { by } => {
                ("RuleFailed", false, format!("was superseded by {by}, which fired later"))
            }
            Ending::Missed => {
                let late = execution.later();
                ("RuleMissed", true, format!("was missed by {late:#}; {target} was not changed"))
            }
        };
        let note = format!("rule {name}, scheduled for {at}, {what}");
        tracing::info!(rule = %name, scheduled = %at, reason, "{what}");
        self.events.tell(Happening {
            regarding: regarding(policy, &subject.uid),
            is_warning,
            reason,
            action: "Scale",
            note,
        });
    }
}

pub(super) fn regarding(policy: &Identity, uid: &str) -> Regarding {
    Regarding {
        api_version: "autoscaling.karmada.io/v1alpha1",
        kind: "CronFederatedHPA",
        namespace: policy.namespace().to_owned(),
        name: policy.name().to_owned(),
        uid: uid.to_owned(),
    }
}

/// What was recorded since, the oldest first. Each firing is recorded once, and what was handled
/// only grows.
fn new_executions<'a>(
    before: Option<&RuleMemory>,
    after: &'a RuleMemory,
) -> impl Iterator<Item = &'a Execution> {
    let known = before.map_or(&[][..], |it| &it.executions);
    let news = after.executions.iter().filter(move |execution| {
        !known
            .iter()
            .any(|it| it.scheduled() == execution.scheduled() && it.ending == execution.ending)
    });
    news.collect::<Vec<_>>().into_iter().rev()
}

/// Why the last attempt of a rule was in vain, from what was remembered when it was given up.
fn why_in_vain(before: Option<&Memory>, rule: &str) -> Arc<str> {
    let known = before.and_then(|it| it.rules.iter().find(|it| *it.name == *rule));
    let pending = known.and_then(|it| it.pending.as_ref());
    pending.and_then(|it| it.message.clone()).unwrap_or_else(|| Arc::from("never answered"))
}

fn done(target: &Identity, applied: Applied) -> String {
    let bound = |name: &str, bound: Option<u32>| bound.map(|it| format!("{name} to {it}"));
    let set = match applied {
        Applied::Replicas(replicas) => format!("replicas to {replicas}"),
        Applied::Bounds { .. } => {
            let bounds = [bound("minReplicas", applied.min()), bound("maxReplicas", applied.max())];
            bounds.into_iter().flatten().collect::<Vec<_>>().join(" and ")
        }
    };
    format!("set the {set} of {target}")
}
