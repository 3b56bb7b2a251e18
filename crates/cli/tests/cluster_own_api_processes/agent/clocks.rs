//! Boundaries: the window of a day, two overlapping windows, a window over midnight, and the clock changes of a time
//! zone.

use almanac_harness::TestResult;
use anyhow::ensure;
use serde_json::json;

use crate::agent::stage::at_place;
use crate::agent::test_namespace::{CLOSES, OPENS, daily, early, own, policy, under};

#[test]
fn a_pod_has_the_target_level_only_while_the_window_is_open() -> TestResult {
    at_place("window", 1, async |test_namespace| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        for (name, app, level) in
            [("given", "batch", "1"), ("bare", "batch", ""), ("other", "web", "2")]
        {
            test_namespace.pod(name, app, level).await?;
        }
        let outside = [("given", own("1")), ("bare", own("")), ("other", own("2"))];
        let inside = [
            ("given", under("night", "-1", "1")),
            ("bare", under("night", "-1", "")),
            ("other", own("2")),
        ];
        let agent = test_namespace.start(&early(OPENS)?, &[]).await?;
        agent.await_metric("almanac_qos_policies_loaded 1").await?;
        agent.await_metric("almanac_qos_policies_active 0").await?;
        test_namespace.ensure_pods(&outside).await?;
        agent.ensure_before(OPENS)?;
        test_namespace.await_pods(&inside).await?;
        for line in [
            "almanac_qos_policies_active 1",
            "almanac_qos_pods_managed 2",
            "almanac_qos_activated_total 2",
            "almanac_qos_lag_seconds_count 2",
        ] {
            agent.await_metric(line).await?;
        }
        let expected_event =
            "Normal PolicyActivated: policy night sets the QoS level to -1; the level was 1";
        test_namespace.await_event("given", expected_event).await?;
        agent.stop().await?;
        test_namespace.cross(CLOSES, &inside, &outside).await?;
        let expected_event =
            "Normal PolicyExpired: policy night is over; the QoS level is none again, and was -1";
        test_namespace.await_event("bare", expected_event).await?;
        test_namespace.ensure_written(&[("given", 2), ("bare", 2)]).await
    })
}

#[test]
fn the_first_of_two_overlapping_policies_wins_and_keeps_the_original() -> TestResult {
    at_place("overlap", 1, async |test_namespace| {
        // In the order of their windows for one app, and in reverse order for the other app.
        let early = |app| policy(&format!("early-{app}"), ("09:00", "12:00"), app, -1);
        let late = |app| policy(&format!("late-{app}"), ("11:00", "17:00"), app, 2);
        test_namespace.configure(&[early("a"), late("a"), late("b"), early("b")]).await?;
        test_namespace.pod("a", "a", "1").await?;
        test_namespace.pod("b", "b", "").await?;
        let (early_a, late_a) =
            (("a", under("early-a", "-1", "1")), ("a", under("late-a", "2", "1")));
        let (early_b, late_b) =
            (("b", under("early-b", "-1", "")), ("b", under("late-b", "2", "")));
        let (eleven, noon) = ("2026-11-30T11:00:00Z", "2026-11-30T12:00:00Z");
        test_namespace
            .cross(eleven, &[early_a.clone(), early_b], &[early_a.clone(), late_b.clone()])
            .await?;
        let follows = "Normal PolicyExpired: policy early-b is over; policy late-b follows it";
        test_namespace.await_event("b", follows).await?;
        test_namespace
            .cross(noon, &[early_a, late_b.clone()], &[late_a.clone(), late_b.clone()])
            .await?;
        test_namespace.cross(CLOSES, &[late_a, late_b], &[("a", own("1")), ("b", own(""))]).await?;
        test_namespace.ensure_written(&[("a", 3), ("b", 3)]).await
    })
}

#[test]
fn a_window_over_midnight_is_one_window() -> TestResult {
    at_place("midnight", 1, async |test_namespace| {
        test_namespace.configure(&[policy("night", ("22:00", "06:00"), "batch", -1)]).await?;
        test_namespace.pod("job", "batch", "1").await?;
        let (outside, inside) = ([("job", own("1"))], [("job", under("night", "-1", "1"))]);
        test_namespace.cross("2026-11-30T22:00:00Z", &outside, &inside).await?;
        test_namespace.cross("2026-12-01T00:00:00Z", &inside, &inside).await?;
        test_namespace.ensure_written(&[("job", 1)]).await?;
        test_namespace.cross("2026-12-01T06:00:00Z", &inside, &outside).await?;
        test_namespace.ensure_written(&[("job", 2)]).await
    })
}

#[test]
fn a_window_opens_at_the_end_of_a_gap_and_once_in_a_fold() -> TestResult {
    at_place("clocks", 1, async |test_namespace| {
        let in_berlin = |name, window, app| {
            let mut policy = policy(name, window, app, -1);
            policy["timeZone"] = json!("Europe/Berlin");
            policy
        };
        let gap = in_berlin("gap", ("02:30", "04:00"), "gap");
        test_namespace.configure(&[gap]).await?;
        test_namespace.pod("gap", "gap", "1").await?;
        test_namespace.pod("fold", "fold", "").await?;
        let (closed, open) = ([("gap", own("1"))], [("gap", under("gap", "-1", "1"))]);
        // The gap lasts from two to three o'clock.
        test_namespace.cross("2026-03-29T01:00:00Z", &closed, &open).await?;
        test_namespace.cross("2026-03-29T02:00:00Z", &open, &closed).await?;
        // The fold starts at three, when the clock goes back to two.
        test_namespace.configure(&[in_berlin("fold", ("02:30", "02:45"), "fold")]).await?;
        let (closed, open) = ([("fold", own(""))], [("fold", under("fold", "-1", ""))]);
        test_namespace.cross("2026-10-25T00:30:00Z", &closed, &open).await?;
        test_namespace.cross("2026-10-25T00:45:00Z", &open, &closed).await?;
        test_namespace.cross("2026-10-25T01:30:00Z", &closed, &closed).await?;
        test_namespace.ensure_written(&[("gap", 2), ("fold", 2)]).await
    })
}

#[test]
fn hundreds_of_pods_need_one_request_each_at_a_boundary() -> TestResult {
    at_place("boundary", 1, async |test_namespace| {
        const PODS: usize = 300;
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        let pods = test_namespace.many_pods("batch", PODS).await?;
        let proxy = almanac_harness::FaultProxy::start(test_namespace.cluster.client())?;
        let agent = test_namespace.start_behind(&proxy, &early(OPENS)?, &[]).await?;
        agent.await_done().await?;
        agent.ensure_before(OPENS)?;
        test_namespace.ensure_written(&[]).await?;
        agent.await_time(OPENS).await?;
        agent.await_done().await?;
        agent.await_metric(&format!("almanac_qos_lag_seconds_count {PODS}")).await?;
        let expected: Vec<_> = pods.iter().map(|pod| (&**pod, under("night", "-1", "1"))).collect();
        test_namespace.ensure_pods(&expected).await?;
        let once: Vec<_> = pods.iter().map(|pod| (&**pod, 1)).collect();
        test_namespace.ensure_written(&once).await?;
        // The agent did not get any pod individually.
        let mut requests = proxy.requests();
        requests.retain(|it| it.path.contains("/pods/"));
        ensure!(requests.len() == PODS, "{} requests for {PODS} pods", requests.len());
        agent.stop().await
    })
}
