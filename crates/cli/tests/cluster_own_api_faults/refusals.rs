//! Requests that are refused, lost, or too early for a busy API server; and changes by others at the
//! same time.

use std::time::Duration;

use almanac_harness::{Answer, Fault, Observation, PATIENCE, TestResult, await_condition};
use anyhow::ensure;
use http::StatusCode;
use serde_json::{Value, json};

use crate::controller::{Cluster, DEPLOYMENT, on_cluster};
use crate::replica::{
    ALONE, BEFORE, NAMESPACE, Replica, await_armed, await_record, effective_scalings,
    ensure_carried_out_once, prepare, replicas,
};

const EARLY: i64 = 8;

fn answer(code: StatusCode) -> Fault {
    Fault::answer(Answer::with(code))
}

fn busy() -> Fault {
    let after = Duration::from_secs(1);
    Fault::answer(Answer::with(StatusCode::TOO_MANY_REQUESTS).retry_after(after))
}

#[test]
fn whatever_becomes_of_the_first_attempts_a_firing_is_carried_out_once() -> TestResult {
    on_cluster(async |test, cluster| {
        let troubles: [(&str, usize, Fault); 8] = [
            ("conflict", 1, answer(StatusCode::CONFLICT)),
            ("conflicts", 6, answer(StatusCode::CONFLICT)),
            ("busy", 1, busy()),
            ("very-busy", 4, busy()),
            ("broken", 2, answer(StatusCode::INTERNAL_SERVER_ERROR)),
            ("unavailable", 2, answer(StatusCode::SERVICE_UNAVAILABLE)),
            ("unanswered", 1, Fault::lose_answer()),
            ("cut-off", 2, Fault::refuse()),
        ];
        for (name, ..) in &troubles {
            prepare(cluster, name, Some(60)).await?;
        }
        let replica = Replica::start(test, EARLY, ALONE)?;
        for (name, ..) in &troubles {
            await_armed(cluster, name).await?;
        }
        replica.ensure_before_firing()?;
        let mut injected = Vec::new();
        for (name, times, fault) in troubles {
            injected.push((name, times, replica.spoil_scaling(name, fault.times(times))));
        }
        for (name, times, fault) in injected {
            fault.await_taken(times).await?;
            await_record(cluster, name).await?;
            ensure_carried_out_once(cluster, name, 1).await?;
        }
        replica.controller.program.check_running()
    })
}

/// Somebody changes a Deployment while the request to scale it is on its way.
async fn change_meanwhile(
    cluster: &Cluster,
    replica: &Replica,
    name: &str,
    by: &Value,
) -> TestResult {
    let held = replica.spoil_scaling(name, Fault::hang());
    held.await_taken(1).await?;
    cluster.patch(DEPLOYMENT, NAMESPACE, name, by).await?;
    held.release();
    await_condition("the request to be refused", PATIENCE, async || {
        let sent = replica.scalings(name);
        let first = sent.first().and_then(|first| first.status);
        Ok(Observation::of(first == Some(409), format!("{sent:?}")))
    })
    .await
}

#[test]
fn a_target_that_somebody_changes_at_the_same_time_is_decided_over_as_it_is_by_then() -> TestResult
{
    on_cluster(async |test, cluster| {
        let changes = [
            ("labelled", json!({"metadata": {"labels": {"tide": "high"}}}), 1),
            ("scaled", json!({"spec": {"replicas": 3}}), 2),
        ];
        for (name, ..) in &changes {
            prepare(cluster, name, Some(60)).await?;
        }
        // Somebody was faster, with the very same number.
        prepare(cluster, "agreed", Some(60)).await?;
        let replica = Replica::start(test, EARLY, ALONE)?;
        for name in ["labelled", "scaled", "agreed"] {
            await_armed(cluster, name).await?;
        }
        replica.ensure_before_firing()?;
        let agreed = json!({"spec": {"replicas": crate::replica::AFTER}});
        let [(one, label, _), (other, scale, _)] = &changes;
        tokio::try_join!(
            change_meanwhile(cluster, &replica, one, label),
            change_meanwhile(cluster, &replica, other, scale),
            change_meanwhile(cluster, &replica, "agreed", &agreed),
        )?;
        for (name, _, generations) in &changes {
            await_record(cluster, name).await?;
            ensure_carried_out_once(cluster, name, *generations).await?;
        }
        await_record(cluster, "agreed").await?;
        ensure!(effective_scalings(cluster, "agreed").await? == 0, "it was so already");
        Ok(())
    })
}

#[test]
fn a_firing_that_is_refused_until_it_is_too_late_is_given_up_and_told() -> TestResult {
    on_cluster(async |test, cluster| {
        prepare(cluster, "refused", Some(4)).await?;
        let replica = Replica::start(test, EARLY, ALONE)?;
        await_armed(cluster, "refused").await?;
        let broken = answer(StatusCode::INTERNAL_SERVER_ERROR).always();
        let refusing = replica.spoil_scaling("refused", broken);
        let record = await_record(cluster, "refused").await?;
        let message = record.failure()?;
        // At once, after one second and after two more.
        let expected = "gave up after 3 attempts: injected by a test";
        ensure!(message == expected, "{message}");
        ensure!(refusing.taken() == 3, "{} attempts", refusing.taken());
        refusing.withdraw();
        await_condition("an Event that it failed", PATIENCE, async || {
            let events = cluster.events(NAMESPACE, "refused").await?;
            let told = events.iter().filter(|event| event.starts_with("Warning RuleFailed: "));
            Ok(Observation::of(told.count() == 1, format!("{events:?}")))
        })
        .await?;
        ensure!(replicas(cluster, "refused").await? == u64::from(BEFORE), "it was scaled");
        Ok(())
    })
}
