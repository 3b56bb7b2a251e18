//! The status of a firing that another field manager has undone, before and after a restart.

use almanac_api::status::cron_federated_hpa::{condition_states, read};
use almanac_engine::Fingerprint;
use almanac_engine::cron_scaling::{Applied, FiringOutcome, Memory, RuleMemory, UndoneValue};

use crate::statuses::support::{at, executed, policy, status_of};
use crate::written::{cron_for, cron_for_workload};

const SAID: &str = "another writer has set replicas to 2 since";
const NINE: &str = "2026-01-05T09:00:00Z";

/// The policy state after another field manager replaced this value, which a rule applied at nine.
fn undone(rule: RuleMemory, applied: Applied) -> Memory {
    let mut rule = rule.with_executions([executed(NINE, NINE, FiringOutcome::Done(applied))]);
    rule.undone = UndoneValue::parse(at(NINE), SAID).map(Box::new);
    Memory { rules: vec![rule] }
}

#[test]
fn a_firing_that_was_undone_needs_attention_before_and_after_a_restart() {
    let policy =
        policy(&cron_for_workload("  - {name: up, schedule: '0 9 * * *', targetReplicas: 5}\n"));
    let memory = undone(RuleMemory::beginning(&policy.rules[0], at(NINE)), Applied::Replicas(5));
    let kept = read(&policy, &status_of(&policy, &memory)).expect("a written status");
    assert_eq!(kept, memory);
    let [active, ready] = condition_states(Some(&policy), &[], None, Some(&kept));
    assert!(active.holds && ready.needs_attention());
    assert_eq!(ready.reason.name(), "UndoneByAnotherWriter");
    let expected = format!("rule up, scheduled for {NINE}, was applied, but {SAID}");
    assert_eq!(ready.message, expected);

    let mut edited = policy.clone();
    edited.rules[0].fingerprint = Fingerprint::from_parts(["another"]);
    let [_, ready] = condition_states(Some(&edited), &[], None, Some(&kept));
    assert!(ready.holds, "{}", ready.message);
    assert!(!status_of(&edited, &kept).to_string().contains(SAID));
}

#[test]
fn a_moved_bound_and_an_undone_one_are_reported_together() {
    let target = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, name: shop}";
    let rule = "  - {name: up, schedule: '0 9 * * *', targetMinReplicas: 5}\n";
    let policy = policy(&cron_for(target, rule));
    let rule = || RuleMemory::beginning(&policy.rules[0], at(NINE));
    for moved in [true, false] {
        let memory = undone(rule(), Applied::bounds(Some(5), moved.then_some(5), moved));
        let status = status_of(&policy, &memory);
        let message = &status["executionHistories"][0]["successfulExecutions"][0]["message"];
        let before = if moved { "maxReplicas was moved to 5 to fit minReplicas; " } else { "" };
        assert_eq!(*message, format!("{before}{SAID}"));
        assert_eq!(read(&policy, &status).expect("a written status"), memory);
    }
}

#[test]
fn a_known_writer_has_advice_in_the_status_and_in_the_condition() {
    let policy =
        policy(&cron_for_workload("  - {name: up, schedule: '0 9 * * *', targetReplicas: 5}\n"));
    let rule = RuleMemory::beginning(&policy.rules[0], at(NINE));
    let mut memory = undone(rule, Applied::Replicas(5));
    let of_rule = memory.rules[0].undone.as_deref_mut().expect("an undone value");
    of_rule.by = Some("argocd-controller".into());
    let expected = format!("{SAID}; Argo CD applies its repository");
    let [_, ready] = condition_states(Some(&policy), &[], None, Some(&memory));
    assert!(ready.message.contains(&expected), "{}", ready.message);
    let status = status_of(&policy, &memory);
    assert!(status.to_string().contains(&expected), "{status}");
    let kept = read(&policy, &status).expect("a written status");
    assert_eq!(status_of(&policy, &kept), status, "after a restart");
}
