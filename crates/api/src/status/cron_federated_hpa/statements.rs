//! Whether cron rules are carried out, and whether anybody has to look after them.

use almanac_engine::cron_scaling::CronScaling;

use crate::finding::Finding;
use crate::status::TargetProblem;
use crate::status::conditions::{ConditionReason, ConditionType, Statement, errors};

/// Says whether an object is active and ready. `policy` is what can be used of it, if anything;
/// `problem` is what stands between it and its target.
///
/// Active: at least one rule is carried out when its time comes. Ready: nothing needs the user's
/// attention. Where several things do, the reason is the gravest of them and the message tells all.
/// Warnings are not among them.
#[must_use]
pub fn statements(
    policy: Option<&CronScaling>,
    findings: &[Finding],
    problem: Option<&TargetProblem>,
) -> [Statement; 2] {
    let errors = errors(findings);
    let usable = policy.filter(|policy| !policy.rules.is_empty());
    let problem = policy.zip(problem);
    let problem = problem.map(|(policy, it)| (it.reason(), it.message(policy.target.identity())));
    let Some(policy) = usable else {
        let why = errors.unwrap_or_else(|| {
            "there are no rules: add one to spec.rules, or delete the object".to_owned()
        });
        let reason = ConditionReason::NoUsableRule;
        let all = joined(why.clone(), problem.map(|(_, message)| message));
        return [active(false, reason, why), ready(false, reason, all)];
    };
    let count = Count::of(policy);
    let working =
        if count.armed == 0 { ConditionReason::Suspended } else { ConditionReason::Armed };
    let active = match &problem {
        Some((reason, message)) => active(false, *reason, message.clone()),
        None => active(count.armed > 0, working, count.told()),
    };
    let ready = match (problem, errors) {
        (Some((reason, message)), errors) => ready(false, reason, joined(message, errors)),
        (None, Some(errors)) => ready(false, ConditionReason::RulesInvalid, errors),
        (None, None) => ready(true, working, "nothing needs attention".to_owned()),
    };
    [active, ready]
}

fn active(holds: bool, reason: ConditionReason, message: String) -> Statement {
    Statement { about: ConditionType::Active, holds, reason, message }
}

fn ready(holds: bool, reason: ConditionReason, message: String) -> Statement {
    Statement { about: ConditionType::Ready, holds, reason, message }
}

fn joined(first: String, further: Option<String>) -> String {
    match further {
        Some(further) => format!("{first}. Besides, {further}"),
        None => first,
    }
}

/// How many rules are in which state.
struct Count {
    armed: usize,
    suspended: usize,
    unusable: usize,
}

impl Count {
    fn of(policy: &CronScaling) -> Count {
        let suspended = policy.rules.iter().filter(|rule| rule.suspended).count();
        Count {
            armed: policy.rules.len() - suspended,
            suspended,
            unusable: policy.unusable_rules.len(),
        }
    }

    /// `2 rules are armed, 1 is suspended, 1 cannot be used`.
    fn told(&self) -> String {
        let armed = match self.armed {
            0 => "no rule is armed".to_owned(),
            1 => "1 rule is armed".to_owned(),
            armed => format!("{armed} rules are armed"),
        };
        let suspended = match self.suspended {
            0 => String::new(),
            1 => ", 1 is suspended".to_owned(),
            suspended => format!(", {suspended} are suspended"),
        };
        let unusable = match self.unusable {
            0 => String::new(),
            unusable => format!(", {unusable} cannot be used"),
        };
        armed + &suspended + &unusable
    }
}
