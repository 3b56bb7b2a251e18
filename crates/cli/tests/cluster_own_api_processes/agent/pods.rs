//! Pods that are created, deleted and changed while a window is open, and users who edit their levels.

use almanac_api::slim::QOS_POLICY;
use almanac_harness::TestResult;
use serde_json::json;

use crate::agent::stage::at_place;
use crate::agent::test_namespace::{AFTER, INSIDE, POD, daily, own, under};

#[test]
fn a_new_pod_gets_the_target_level_and_a_deselected_pod_its_original() -> TestResult {
    at_place("comings", 1, async |test_namespace| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        let agent = test_namespace.start(INSIDE, &[]).await?;
        test_namespace.pod("made", "batch", "1").await?;
        test_namespace.pod("moves", "batch", "").await?;
        let inside = under("night", "-1", "1");
        let moved = under("night", "-1", "");
        test_namespace.await_pods(&[("made", inside.clone()), ("moves", moved.clone())]).await?;
        test_namespace.relabel("moves", "web").await?;
        test_namespace.await_pods(&[("moves", own("")), ("made", inside.clone())]).await?;
        let expected = "Normal PolicyExpired: policy night is over; the QoS level is none again";
        test_namespace.await_event("moves", expected).await?;
        test_namespace.relabel("moves", "batch").await?;
        test_namespace.await_pods(&[("moves", moved)]).await?;
        // Another pod of the same name has a different original level.
        test_namespace.cluster.delete(POD, &test_namespace.name, "made").await?;
        let is_gone = |pod: &serde_json::Value| pod.is_null();
        test_namespace
            .cluster
            .await_object(POD, (&test_namespace.name, "made"), "to be gone", is_gone)
            .await?;
        test_namespace.pod("made", "batch", "0").await?;
        test_namespace.await_pods(&[("made", under("night", "-1", "0"))]).await?;
        test_namespace.ensure_written(&[("made", 2), ("moves", 3)]).await?;
        agent.stop().await
    })
}

#[test]
fn a_level_that_a_user_writes_in_the_window_is_restored_after_the_window() -> TestResult {
    at_place("edits", 1, async |test_namespace| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        for name in ["edited", "emptied", "again", "late", "stripped"] {
            test_namespace.pod(name, "batch", "1").await?;
        }
        let agent = test_namespace.start(INSIDE, &[]).await?;
        let inside = under("night", "-1", "1");
        let names = ["edited", "emptied", "again", "late", "stripped"];
        test_namespace.await_pods(&names.map(|name| (name, inside.clone()))).await?;
        test_namespace.edit("edited", Some("2")).await?;
        test_namespace.edit("emptied", None).await?;
        test_namespace.edit("again", Some("0")).await?;
        // The agent restores the annotations of a policy after any change by a user.
        test_namespace.change("stripped", &json!({"annotations": {QOS_POLICY: null}})).await?;
        test_namespace
            .await_pods(&[
                ("edited", under("night", "-1", "2")),
                ("emptied", under("night", "-1", "")),
                ("again", under("night", "-1", "0")),
                ("stripped", inside),
            ])
            .await?;
        test_namespace.edit("again", Some("1")).await?;
        test_namespace.await_pods(&[("again", under("night", "-1", "1"))]).await?;
        agent.await_done().await?;
        agent.stop().await?;
        // An edit that the agent first observes after the window has closed is the new original.
        test_namespace.edit("late", Some("LS")).await?;
        let agent = test_namespace.start(AFTER, &[]).await?;
        test_namespace
            .await_pods(&[
                ("edited", own("2")),
                ("emptied", own("")),
                ("again", own("1")),
                ("late", own("LS")),
                ("stripped", own("1")),
            ])
            .await?;
        // Outside of the window, an edit has no effect.
        test_namespace.edit("edited", Some("-1")).await?;
        test_namespace.pod("sentinel", "batch", "2").await?;
        agent.await_done().await?;
        let (edited, sentinel) = (("edited", own("-1")), ("sentinel", own("2")));
        test_namespace.ensure_pods(&[edited, sentinel]).await?;
        test_namespace
            .ensure_written(&[
                ("edited", 3),
                ("emptied", 3),
                ("again", 4),
                ("late", 2),
                ("stripped", 3),
            ])
            .await?;
        agent.stop().await
    })
}

#[test]
fn levels_written_as_names_are_those_that_volcano_reads() -> TestResult {
    at_place("names", 1, async |test_namespace| {
        let targets = [("be", -1), ("none", 0), ("ls", 1), ("lc", 2)];
        let policies = targets.map(|(app, target)| daily(app, app, target));
        test_namespace.configure(&policies).await?;
        for (app, _) in targets {
            test_namespace.pod(app, app, "HLS").await?;
        }
        let agent = test_namespace.start(INSIDE, &["--qos-level-format", "name"]).await?;
        test_namespace
            .await_pods(&[
                ("be", under("be", "BE", "HLS")),
                ("none", under("none", "", "HLS")),
                ("ls", under("ls", "LS", "HLS")),
                ("lc", under("lc", "LC", "HLS")),
            ])
            .await?;
        agent.stop().await?;
        // Numbers instead of strings are not an edit of a user, and neither is a restore by another agent.
        let agent = test_namespace.start(INSIDE, &[]).await?;
        test_namespace
            .await_pods(&[("be", under("be", "-1", "HLS")), ("none", under("none", "0", "HLS"))])
            .await?;
        agent.stop().await?;
        let agent = test_namespace.start(AFTER, &["--qos-level-format", "name"]).await?;
        test_namespace.await_pods(&targets.map(|(app, _)| (app, own("HLS")))).await?;
        agent.stop().await
    })
}
