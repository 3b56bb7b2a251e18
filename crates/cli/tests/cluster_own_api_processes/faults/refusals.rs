//! Requests that the API server or admission rejects until the deadline, and a field manager that reverts applied
//! changes. The tests of the controllers cover single failing requests against the API stub.

use almanac_harness::{
    Fault, InjectedResponse, Observation, PATIENCE, TestResult, await_condition,
};
use anyhow::ensure;
use http::StatusCode;
use serde_json::{Value, json};

use crate::controller::{
    Cluster, DEPLOYMENT, Kind, condition, head_start, in_namespace, on_cluster,
};
use crate::faults::replica::{
    ALONE, BEFORE, Replica, await_armed, await_record, ensure_carried_out_once, prepare, replicas,
};

/// The deadline in seconds. Attempts follow immediately, and after one and three seconds; a fourth would follow after
/// seven.
const THREE_ATTEMPTS: u32 = 6;

fn fault_with(code: StatusCode) -> Fault {
    Fault::respond(InjectedResponse::with(code))
}

#[test]
fn a_firing_rejected_until_its_deadline_is_abandoned_and_reported() -> TestResult {
    in_namespace(async |cluster| {
        prepare(cluster, "refused", Some(THREE_ATTEMPTS)).await?;
        let replica = Replica::start(cluster, head_start(), ALONE)?;
        await_armed(cluster, "refused").await?;
        let broken = fault_with(StatusCode::INTERNAL_SERVER_ERROR).always();
        let refusing = replica.spoil_scaling("refused", broken);
        let record = await_record(cluster, "refused").await?;
        let message = record.failure()?;
        let expected = "gave up after 3 attempts: injected by a test";
        ensure!(message == expected, "{message}");
        ensure!(refusing.taken() == 3, "{} attempts", refusing.taken());
        refusing.withdraw();
        cluster.await_events((cluster.home(), "refused"), "Warning RuleFailed: ", 1..=1).await?;
        ensure!(replicas(cluster, "refused").await? == u64::from(BEFORE), "the target was scaled");
        let log = replica.controller.program.log()?;
        let lines = |level: &str, words: &str| {
            let is_meant = |line: &&str| line.contains(level) && line.contains(words);
            log.lines().filter(is_meant).count()
        };
        ensure!(lines(" INFO ", "an attempt failed: injected by a test") == 3, "{log}");
        ensure!(lines(" WARN ", "reason=\"RuleFailed\"") == 1, "{log}");
        Ok(())
    })
}

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1";
const ADMISSION_POLICY: Kind = Kind { root: POLICIES, plural: "validatingadmissionpolicies" };
const ADMISSION_BINDING: Kind =
    Kind { root: POLICIES, plural: "validatingadmissionpolicybindings" };

/// Rejects every scale to this number of replicas, with the code of a missing permission.
async fn admit_not(cluster: &Cluster, replicas: u32) -> TestResult {
    let rule = json!({
        "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"],
        "resources": ["deployments/scale"],
    });
    let validation = json!({
        "expression": format!("object.spec.replicas != {replicas}"),
        "message": "that many are not admitted", "reason": "Forbidden",
    });
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "few"},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [validation]},
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "few"},
        "spec": {"policyName": "few", "validationActions": ["Deny"]},
    });
    cluster.create(ADMISSION_POLICY, "", &policy).await?;
    cluster.create(ADMISSION_BINDING, "", &binding).await
}

#[test]
fn a_firing_denied_by_admission_is_not_reported_as_forbidden() -> TestResult {
    on_cluster(async |_, cluster| {
        prepare(cluster, "denied", Some(THREE_ATTEMPTS)).await?;
        prepare(cluster, "tried", None).await?;
        admit_not(cluster, crate::faults::replica::AFTER).await?;
        await_condition("the policy to be in force", PATIENCE, async || {
            let replicas = format!("--replicas={}", crate::faults::replica::AFTER);
            let scaled = ["--namespace", cluster.home(), "scale", "deployment/tried", &replicas];
            let refused = cluster.kubectl(&scaled).await.err().map(|it| format!("{it:#}"));
            let is_denied = refused.as_ref().is_some_and(|it| it.contains("are not admitted"));
            cluster
                .patch(DEPLOYMENT, cluster.home(), "tried", &json!({"spec": {"replicas": 1}}))
                .await?;
            Ok(Observation::from_bool(is_denied, format!("{refused:?}")))
        })
        .await?;
        let replica = Replica::start(cluster, head_start(), ALONE)?;
        await_armed(cluster, "denied").await?;
        let record = await_record(cluster, "denied").await?;
        let refusal = "refused by admission: deployments.apps \"denied\" is forbidden: \
                       ValidatingAdmissionPolicy 'few' with binding 'few' denied request: that many \
                       are not admitted";
        let expected = format!("gave up after 3 attempts: {refusal}");
        let message = record.failure()?;
        ensure!(message == expected, "{message}");
        let is_reported = |status: &Value| {
            condition(status, "Ready")[..2] == ["False", "LastFiringFailed"]
                && condition(status, "Active")[..2] == ["True", "Armed"]
        };
        cluster
            .await_status(cluster.home(), "denied", "its last firing failed", is_reported)
            .await?;
        let events = cluster.events(cluster.home(), "denied").await?;
        ensure!(!events.iter().any(|it| it.contains("TargetForbidden")), "{events:?}");
        let tried = replica.scalings("denied");
        let statuses: Vec<_> = tried.iter().map(|it| it.status).collect();
        ensure!(statuses == [Some(403); 3], "{tried:?}");
        replica.controller.program.check_running()
    })
}

#[test]
fn a_firing_undone_by_another_field_manager_is_reported_and_not_repeated() -> TestResult {
    in_namespace(async |cluster| {
        prepare(cluster, "undone", Some(60)).await?;
        let replica = Replica::start(cluster, head_start(), ALONE)?;
        await_record(cluster, "undone").await?;
        let back = json!({"spec": {"replicas": 2}});
        cluster.patch(DEPLOYMENT, cluster.home(), "undone", &back).await?;
        let reason = "UndoneByAnotherWriter";
        let is_reported = |status: &Value| condition(status, "Ready")[..2] == ["False", reason];
        let status =
            cluster.await_status(cluster.home(), "undone", "to be undone", is_reported).await?;
        ensure!(condition(&status, "Active")[0] == "True", "{status}");
        let success = &status["executionHistories"][0]["successfulExecutions"][0]["message"];
        ensure!(*success == "another writer has set replicas to 2 since", "{success}");
        let begins = format!("Warning {reason}: rule up set replicas of");
        cluster.await_events((cluster.home(), "undone"), &begins, 1..=1).await?;
        let events = cluster.events(cluster.home(), "undone").await?;
        let matching = events.iter().filter(|event| event.contains(reason));
        ensure!(matching.count() == 1, "once a firing: {events:?}");
        let counted = replica.controller.scrape("almanac_cron_undone_total").await?;
        ensure!(counted == ["almanac_cron_undone_total 1"], "{counted:?}");
        ensure!(replicas(cluster, "undone").await? == 2, "the value was set again");

        let ours = json!({"spec": {"replicas": crate::faults::replica::AFTER}});
        cluster.patch(DEPLOYMENT, cluster.home(), "undone", &ours).await?;
        let is_over = |status: &Value| condition(status, "Ready")[0] == "True";
        cluster.await_status(cluster.home(), "undone", "to be over", is_over).await?;
        ensure_carried_out_once(cluster, "undone", 3).await
    })
}
