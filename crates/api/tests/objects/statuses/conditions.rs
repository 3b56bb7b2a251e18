//! The conditions, and the times of their transitions.

use almanac_api::finding::{Code, Finding, Path};
use almanac_api::status::TargetProblem;
use almanac_api::status::conditions::{
    ConditionReason, ConditionState, ConditionType, conditions, errors,
};
use almanac_api::status::cron_federated_hpa::{condition_states, read};
use almanac_engine::Identity;
use almanac_engine::cron_scaling::{Execution, FiringOutcome, Memory, RuleMemory};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Value, json};

use crate::statuses::support::{
    at, executed, executed_at, now, policy, policy_and_findings, status_of,
};
use crate::written::{cron_for, cron_for_workload};

fn state(about: ConditionType, holds: bool) -> ConditionState {
    ConditionState { about, holds, reason: ConditionReason::Armed, message: "so it is".into() }
}

fn lines(condition_states: &[ConditionState]) -> Vec<String> {
    let line = |it: &ConditionState| {
        format!("{}={} {}: {}", it.about.name(), it.holds, it.reason.name(), it.message)
    };
    condition_states.iter().map(line).collect()
}

/// The conditions of an object for a Deployment with these rules.
fn condition_lines(rules: &str, problem: Option<&TargetProblem>) -> Vec<String> {
    let (policy, findings) = policy_and_findings(&cron_for_workload(rules));
    lines(&condition_states(policy.as_ref(), &findings, problem, None))
}

const GOOD: &str = "  - {name: up, schedule: '0 9 * * *', targetReplicas: 5}\n";
const BAD: &str = "  - {name: down, schedule: '0 18 * * *', targetReplicas: -1}\n";
const WHY: &str =
    "spec.rules[1].targetReplicas: Invalid value: -1: must be greater than or equal to 0";

#[test]
fn conditions_have_a_fixed_order_and_every_field_kubernetes_requires() {
    let condition_states = [state(ConditionType::Ready, false), state(ConditionType::Active, true)];
    let made = conditions(&Value::Null, &condition_states, Some(3), at("2026-01-05T10:00:30.9Z"));
    let expected = json!([
        {
            "type": "Active", "status": "True", "reason": "Armed", "message": "so it is",
            "observedGeneration": 3, "lastTransitionTime": "2026-01-05T10:00:30Z"
        },
        {
            "type": "Ready", "status": "False", "reason": "Armed", "message": "so it is",
            "observedGeneration": 3, "lastTransitionTime": "2026-01-05T10:00:30Z"
        },
    ]);
    assert_eq!(serde_json::to_value(made).expect("JSON"), expected);
}

#[test]
fn only_a_change_of_status_is_a_transition() {
    let previous = json!({ "conditions": [
        { "type": "Active", "status": "True", "reason": "Other", "message": "other",
          "lastTransitionTime": "2025-01-01T00:00:00Z" },
        { "type": "Ready", "status": "True", "lastTransitionTime": "2025-01-01T00:00:00Z" },
    ]});
    let condition_states = [state(ConditionType::Active, true), state(ConditionType::Ready, false)];
    let made = conditions(&previous, &condition_states, Some(4), now());
    let since = |it: &Condition| it.last_transition_time.0;
    assert_eq!(since(&made[0]), at("2025-01-01T00:00:00Z"));
    assert_eq!((&*made[0].reason, made[0].observed_generation), ("Armed", Some(4)));
    assert_eq!(since(&made[1]), now());
    let again = json!({ "conditions": made });
    let later = conditions(&again, &condition_states, Some(4), at("2027-01-01T00:00:00Z"));
    assert_eq!(later, made, "nothing has changed");
}

#[test]
fn nonsensical_conditions_are_replaced() {
    for mangled in [
        json!({ "conditions": "none" }),
        json!({ "conditions": [1, { "type": 1 }] }),
        json!({ "conditions": [{ "type": "Active", "status": true, "lastTransitionTime": "2025-01-01T00:00:00Z" }] }),
        json!({ "conditions": [{ "type": "Active", "status": "True", "lastTransitionTime": "then" }] }),
        json!({ "conditions": [{ "type": "Active", "status": "True" }] }),
    ] {
        let made = conditions(&mangled, &[state(ConditionType::Active, true)], Some(-1), now());
        assert_eq!(made[0].last_transition_time.0, now(), "{mangled}");
        assert_eq!(made[0].observed_generation, None);
    }
}

#[test]
fn a_message_is_truncated_and_each_condition_appears_once() {
    let long = ConditionState { message: "ü".repeat(40_000), ..state(ConditionType::Ready, true) };
    let made = conditions(&Value::Null, &[long, state(ConditionType::Ready, false)], None, now());
    assert_eq!(made.len(), 1);
    assert_eq!((&*made[0].status, made[0].message.chars().count()), ("True", 32_768));
}

#[test]
fn the_first_errors_are_listed_with_their_fixes_and_without_warnings() {
    let spec = Path::Root.key("spec");
    let error = |name: &str| {
        let field = spec.key(name);
        Finding::invalid(Code::Schedule, &field, "x", "is wrong").with_fix("write y")
    };
    let warning = Finding::new(Code::SameMinute, spec, "twice");
    assert_eq!(errors(std::slice::from_ref(&warning)), None);
    let one = "spec.a: Invalid value: \"x\": is wrong; write y";
    assert_eq!(errors(&[warning, error("a")]).as_deref(), Some(one));
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let all = errors(&names.map(error)).expect("errors");
    assert!(all.starts_with(&format!("7 problems: (1) {one} (2) spec.b: ")), "{all}");
    assert!(
        all.ends_with("(5) spec.e: Invalid value: \"x\": is wrong; write y and 2 more"),
        "{all}"
    );
    let said_already = Finding::new(Code::Target, spec, "write y").with_fix("write y");
    assert_eq!(errors(&[said_already]).as_deref(), Some("spec: write y"));
    let endless = Finding::new(Code::Target, spec, "ü".repeat(90_000));
    assert!(errors(&vec![endless; 90]).expect("errors").chars().count() < 6_000);
}

#[test]
fn rules_that_are_all_in_order_are_armed() {
    assert_eq!(
        condition_lines(GOOD, None),
        ["Active=true Armed: 1 rule is armed", "Ready=true Armed: nothing needs attention"]
    );
    let suspended = "  - {name: lunch, schedule: '0 12 * * *', targetReplicas: 3, suspend: true}\n";
    let expected = "Active=true Armed: 1 rule is armed, 1 is suspended";
    assert_eq!(condition_lines(&(GOOD.to_owned() + suspended), None)[0], expected);
    let expected = [
        "Active=false Suspended: no rule is armed, 1 is suspended",
        "Ready=true Suspended: nothing needs attention",
    ];
    assert_eq!(condition_lines(suspended, None), expected);
}

#[test]
fn a_suspended_policy_needs_no_attention_but_an_invalid_rule_does() {
    let needs_attention = |rules: &str| -> Vec<bool> {
        let (policy, findings) = policy_and_findings(&cron_for_workload(rules));
        let condition_states = condition_states(policy.as_ref(), &findings, None, None);
        condition_states.iter().map(ConditionState::needs_attention).collect()
    };
    let suspended = "  - {name: lunch, schedule: '0 12 * * *', targetReplicas: 3, suspend: true}\n";
    assert_eq!(needs_attention(suspended), [false, false]);
    assert_eq!(needs_attention(GOOD), [false, false]);
    assert_eq!(needs_attention(&(suspended.to_owned() + BAD)), [false, true]);
    assert_eq!(needs_attention(BAD), [true, true]);
}

#[test]
fn a_bad_rule_leaves_the_others_active_and_the_object_not_ready() {
    let expected = [
        "Active=true Armed: 1 rule is armed, 1 cannot be used".to_owned(),
        format!("Ready=false RulesInvalid: {WHY}"),
    ];
    assert_eq!(condition_lines(&(GOOD.to_owned() + BAD), None), expected);
}

#[test]
fn without_a_usable_rule_nothing_is_active() {
    let why = WHY.replace("[1]", "[0]");
    assert_eq!(
        condition_lines(BAD, None),
        [format!("Active=false NoUsableRule: {why}"), format!("Ready=false NoUsableRule: {why}")]
    );
    let bad_target = cron_for("{apiVersion: apps/v1, kind: DaemonSet, name: shop}", GOOD);
    let (policy, findings) = policy_and_findings(&bad_target);
    assert!(policy.is_none());
    let said_of_it = lines(&condition_states(None, &findings, None, None));
    assert!(said_of_it[0].starts_with("Active=false NoUsableRule: "), "{said_of_it:?}");
    assert!(said_of_it[1].contains("spec.scaleTargetRef.kind"), "{said_of_it:?}");
    let none = lines(&condition_states(None, &[], None, None));
    assert!(none[1].starts_with("Ready=false NoUsableRule: there are no rules"), "{none:?}");
}

#[test]
fn an_unreachable_target_outweighs_invalid_rules_and_the_message_names_both() {
    let missing =
        "Deployment.apps default/shop was not found: create it, or correct spec.scaleTargetRef";
    let expected = [
        format!("Active=false TargetNotFound: {missing}"),
        format!("Ready=false TargetNotFound: {missing}. Also, {WHY}"),
    ];
    assert_eq!(condition_lines(&(GOOD.to_owned() + BAD), Some(&TargetProblem::NotFound)), expected);
}

#[test]
fn every_target_problem_has_a_next_step() {
    let target = Identity::new("apps.example", "Shop", "default", "a");
    let forbidden = |words: &str| TargetProblem::Forbidden(words.to_owned());
    let denied = "shops.apps.example \"a\" is forbidden: User \"system:serviceaccount:almanac:almanac\" \
                  cannot patch resource \"shops/scale\" in API group \"apps.example\"";
    let grant = "Shop.apps.example default/a cannot be accessed: grant system:serviceaccount:almanac:almanac \
                 the verb \"patch\" on the resource \"shops/scale\" of the API group \"apps.example\"";
    for (problem, reason, message) in [
        (
            TargetProblem::NotScalable,
            "TargetNotScalable",
            "Shop.apps.example default/a has no scale subresource; a rule can only scale what has one".to_owned(),
        ),
        (
            TargetProblem::UnknownKind,
            "TargetUnknownKind",
            "the cluster does not serve the kind Shop in group apps.example: is its CRD installed?".to_owned(),
        ),
        (
            TargetProblem::ClusterScoped,
            "ClusterScopedTarget",
            "Shop.apps.example a is cluster-scoped; start the controller with \
             --allow-cluster-scoped-targets to allow it".to_owned(),
        ),
        (
            forbidden(&format!("{denied} in the namespace \"default\": RBAC: more words")),
            "TargetForbidden",
            format!("{grant} in the namespace \"default\""),
        ),
        (
            forbidden(&format!("{denied} at the cluster scope")),
            "TargetForbidden",
            format!("{grant} in the whole cluster"),
        ),
        (
            forbidden("exceeded quota"),
            "TargetForbidden",
            "the API server denies access to Shop.apps.example default/a: exceeded quota".to_owned(),
        ),
    ] {
        assert_eq!((problem.reason().name(), problem.message(&target)), (reason, message));
    }
    let core = Identity::new("", "Shop", "default", "a");
    assert!(TargetProblem::UnknownKind.message(&core).contains("the kind Shop in the core group"));
    assert!(forbidden(&"x".repeat(50_000)).message(&target).chars().count() < 3_000);
}

fn failed(attempts: u32) -> Execution {
    let ending = FiringOutcome::Failed { attempts, message: "denied by quota".into() };
    executed("2026-01-05T09:00:00Z", "2026-01-05T09:00:31Z", ending)
}

/// The conditions of an object with one good rule and this state, before and after the state was
/// written and read.
fn said_of_history(history: &[Execution], handled: &str) -> [Vec<String>; 2] {
    let policy = policy(&cron_for_workload(GOOD));
    let rule = RuleMemory::beginning(&policy.rules[0], at(handled));
    let memory = Memory { rules: vec![rule.with_executions(history.iter().cloned())] };
    let kept = read(&policy, &status_of(&policy, &memory)).expect("a written status");
    [memory, kept].map(|memory| lines(&condition_states(Some(&policy), &[], None, Some(&memory))))
}

#[test]
fn a_firing_that_was_given_up_needs_attention_before_and_after_a_restart() {
    for condition_lines in said_of_history(&[failed(5)], "2026-01-05T09:00:00Z") {
        let expected = [
            "Active=true Armed: 1 rule is armed",
            "Ready=false LastFiringFailed: rule up, scheduled for 2026-01-05T09:00:00Z, \
             gave up after 5 attempts: denied by quota",
        ];
        assert_eq!(condition_lines, expected);
    }
}

#[test]
fn a_later_success_ends_a_failure_with_or_without_a_history_entry() {
    let success = executed_at("2026-01-06T09:00:00Z", 5);
    for history in [vec![success, failed(5)], vec![failed(5)]] {
        for condition_lines in said_of_history(&history, "2026-01-06T09:00:00Z") {
            assert_eq!(condition_lines[1], "Ready=true Armed: nothing needs attention");
        }
    }
}

#[test]
fn a_later_firing_that_was_missed_or_superseded_does_not_end_it() {
    for ending in [FiringOutcome::Missed, FiringOutcome::Superseded { by: "down".into() }] {
        let later = executed("2026-01-06T09:00:00Z", "2026-01-06T09:10:00Z", ending);
        for condition_lines in said_of_history(&[later, failed(5)], "2026-01-06T09:00:00Z") {
            assert!(
                condition_lines[1].starts_with("Ready=false LastFiringFailed: rule up, "),
                "{condition_lines:?}"
            );
        }
    }
}

#[test]
fn a_missed_superseded_or_stopped_firing_needs_no_attention() {
    let superseded = FiringOutcome::Superseded { by: "down".into() };
    for ending in [FiringOutcome::Missed, superseded, FiringOutcome::Stopped] {
        let one = executed("2026-01-05T09:00:00Z", "2026-01-05T09:10:00Z", ending);
        for condition_lines in said_of_history(&[one], "2026-01-05T09:00:00Z") {
            assert_eq!(condition_lines[1], "Ready=true Armed: nothing needs attention");
        }
    }
}

#[test]
fn an_unreachable_target_outweighs_a_firing_that_was_given_up() {
    let policy = policy(&cron_for_workload(GOOD));
    let rule = RuleMemory::beginning(&policy.rules[0], at("2026-01-05T09:00:00Z"));
    let memory = Memory { rules: vec![rule.with_executions([failed(1)])] };
    let problem = Some(&TargetProblem::NotScalable);
    let condition_lines = lines(&condition_states(Some(&policy), &[], problem, Some(&memory)));
    assert!(
        condition_lines[1].starts_with("Ready=false TargetNotScalable: "),
        "{condition_lines:?}"
    );
    assert!(
        condition_lines[1].ends_with("gave up after 1 attempt: denied by quota"),
        "{condition_lines:?}"
    );
}
