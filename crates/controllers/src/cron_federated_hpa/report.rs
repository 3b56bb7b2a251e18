//! What came of firings, told in Events and in the log.

use almanac_engine::Identity;
use almanac_engine::cron_scaling::{Applied, Ending, Execution, Recorded};
use almanac_shell::event_log::{EventLog, Happening};
use jiff::SignedDuration;

use crate::families::Subject;

/// Tells what has happened to a rule. What is only a step on the way is told in the log alone.
pub(super) fn tell(of: &Subject, recorded: &Recorded, events: &EventLog) {
    let (rule, happening) = match recorded {
        Recorded::Ended { rule, execution } => (rule, ended(of, rule, execution)),
        Recorded::AttemptFailed { rule, scheduled, attempts, message } => {
            tracing::info!(%rule, %scheduled, attempts, "an attempt failed: {message}");
            return;
        }
        Recorded::ClockWasAhead { rule, until } => {
            let note = format!(
                "rule {rule} was dealt with until {until}, which is far ahead of now: a clock was \
                 wrong. That is forgotten, and the rule goes on from now"
            );
            (rule, happening(of, true, "ClockWasAhead", note))
        }
    };
    if happening.is_warning {
        tracing::warn!(%rule, reason = happening.reason, "{}", happening.note);
    } else {
        tracing::info!(%rule, reason = happening.reason, "{}", happening.note);
    }
    events.tell(happening);
}

fn ended(of: &Subject, rule: &str, execution: &Execution) -> Happening {
    let at = execution.scheduled();
    let target = of.target.as_ref().map_or_else(|| "its target".to_owned(), Identity::to_string);
    let (reason, is_warning, what) = match &execution.ending {
        Ending::Done(applied) => ("ScaledByRule", false, done(&target, *applied)),
        Ending::Failed { attempts, message } => {
            let what = format!("failed to change {target} in {attempts} attempts: {message}");
            ("RuleFailed", true, what)
        }
        Ending::Superseded { by } => ("RuleSuperseded", false, format!("was superseded by {by}")),
        Ending::Missed => {
            let late = SignedDuration::from_secs(execution.later().as_secs());
            ("RuleMissed", true, format!("was missed by {late:#}; {target} was not changed"))
        }
    };
    happening(of, is_warning, reason, format!("rule {rule}, scheduled for {at}, {what}"))
}

fn happening(of: &Subject, is_warning: bool, reason: &'static str, note: String) -> Happening {
    Happening { regarding: of.regarding(), is_warning, reason, action: "Scale", note }
}

fn done(target: &str, applied: Applied) -> String {
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
