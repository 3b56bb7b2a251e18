//! Kinds that do not answer, and rights that come late: a real API server cannot be told to hang, and
//! nobody wants to wait for it.

use http::Method;
use jiff::Timestamp;

use crate::stand::{Answer, Asked, Stand, at_nine, deployments, discovered, policy, scale};

const HEALTHY: usize = 20;

fn at(time: &str) -> Timestamp {
    format!("2026-11-20T{time}Z").parse().expect("it is an instant")
}

fn name(number: usize) -> String {
    format!("healthy-{number}")
}

/// How many of the healthy Deployments were scaled between nine o'clock and some seconds later.
fn in_time(stand: &Stand) -> usize {
    let in_time = at("09:00:00")..at("09:00:02");
    let patched = stand.patched();
    let deployments = patched.iter().filter(|(_, path)| path.contains("/deployments/healthy-"));
    deployments.filter(|(when, _)| in_time.contains(when)).count()
}

fn answer_of_apps(asked: &Asked) -> Answer {
    match asked.path.split('?').next() {
        Some("/apis/apps/v1") => discovered("apps", "Deployment", "deployments"),
        Some("/apis/apps/v1/deployments") => deployments((0..HEALTHY).map(name)),
        _ => scale(),
    }
}

#[tokio::test(start_paused = true)]
async fn kinds_of_a_group_that_hangs_hold_up_no_other_kind() {
    let mut stand = Stand::at("2026-11-20T08:59:30Z", |asked| {
        if asked.path.starts_with("/apis/hangs.example.com") {
            return Answer::Never;
        }
        answer_of_apps(asked)
    });
    for number in 0..30 {
        for other in 0..10 {
            let (name, kind) = (format!("a-{number}-{other}"), format!("Kind{number}"));
            stand.present(at_nine(&name, "hangs.example.com/v1", &kind));
        }
    }
    for number in 0..HEALTHY {
        stand.present(at_nine(&name(number), "apps/v1", "Deployment"));
    }
    stand.run(60).await;
    assert_eq!(in_time(&stand), HEALTHY, "{:?}", stand.patched());
}

#[tokio::test(start_paused = true)]
async fn scales_that_hang_hold_up_no_other_kind() {
    let nine = at("09:00:00");
    let mut stand = Stand::at("2026-11-20T08:59:30Z", move |asked| {
        if asked.path.starts_with("/apis/hangs.example.com/v1/") && asked.at >= nine {
            return Answer::Never;
        }
        match asked.path.split('?').next() {
            Some("/apis/hangs.example.com/v1") => discovered("hangs.example.com", "Hung", "hung"),
            _ => answer_of_apps(asked),
        }
    });
    for number in 0..1_200 {
        stand.present(at_nine(&format!("a-{number}"), "hangs.example.com/v1", "Hung"));
    }
    for number in 0..HEALTHY {
        stand.present(at_nine(&name(number), "apps/v1", "Deployment"));
    }
    stand.run(60).await;
    assert_eq!(in_time(&stand), HEALTHY, "{:?}", stand.patched());
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_answers_again_in_time_is_carried_out_in_time() {
    let (nine, again) = (at("09:00:00"), at("09:00:45"));
    let mut stand = Stand::at("2026-11-20T08:59:30Z", move |asked| {
        let hangs = (nine..again).contains(&asked.at);
        match asked.path.split('?').next() {
            Some("/apis/hangs.example.com/v1") => discovered("hangs.example.com", "Hung", "hung"),
            _ if hangs => Answer::Never,
            _ => scale(),
        }
    });
    for number in 0..300 {
        stand.present(at_nine(&format!("a-{number}"), "hangs.example.com/v1", "Hung"));
    }
    stand.run(200).await;
    assert_eq!(stand.patched().len(), 300);
}

#[tokio::test(start_paused = true)]
async fn a_right_that_is_granted_mends_the_condition_within_a_minute_and_a_half_without_a_write() {
    let granted = at("09:30:00");
    let mut stand = Stand::at("2026-11-20T08:59:30Z", move |asked| {
        if asked.method == Method::PATCH && asked.at < granted {
            let words = "deployments.apps \"healthy-1\" is forbidden: User \"almanac\" cannot patch";
            return Answer::No(403, words);
        }
        answer_of_apps(asked)
    });
    stand.present(at_nine("healthy-1", "apps/v1", "Deployment"));
    stand.run(30 * 60 + 29).await;
    assert_eq!(stand.complaint(&policy("healthy-1")), Some("TargetForbidden"));
    stand.run(90).await;
    assert_eq!(stand.complaint(&policy("healthy-1")), None);
    let written = stand.patched();
    let mut after_it_was_granted = written.iter().filter(|(when, _)| *when >= granted);
    assert!(after_it_was_granted.all(|(_, path)| path.contains("dryRun=All")), "{written:?}");
    stand.run(10 * 60).await;
    assert_eq!(stand.patched().len(), written.len(), "what is mended is not looked at again");
}
