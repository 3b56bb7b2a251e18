//! Malicious input: the agent neither crashes nor changes other objects.

use std::fmt::Write as _;

use almanac_api::slim::{ORIGINAL_QOS_LEVEL, QOS_APPLIED, QOS_LEVEL, QOS_POLICY};
use almanac_harness::TestResult;
use serde_json::json;

use crate::agent::stage::at_place;
use crate::agent::test_namespace::{AFTER, INSIDE, OF_THE_DESIGN, daily, own, under};

/// The maximum size of a `ConfigMap`.
const MEBIBYTE: usize = 1 << 20;

/// Ten thousand policies, and as many comments as fit.
fn ten_thousand_policies(target: i64) -> String {
    let mut text = "globalConfig:\n timeBasedQoSPolicies:\n".to_owned();
    for number in 0..10_000 {
        let _ = writeln!(
            text,
            " - {{startTime: \"09:00\", endTime: \"17:00\", selector: {{matchLabels: {{app: a{number}}}}}, \
             targetQoSLevel: {target}}}"
        );
    }
    let comments = (MEBIBYTE - text.len() - 100) / 10;
    text + &"# comment\n".repeat(comments)
}

/// A document with nested aliases of itself.
fn bomb() -> String {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..40 {
        let before = format!("*a{}", level - 1);
        let _ = writeln!(text, "a{level}: &a{level} [{}]", [&*before; 9].join(", "));
    }
    text + "globalConfig: {timeBasedQoSPolicies: *a39}\n"
}

#[test]
fn a_config_map_of_a_megabyte_with_ten_thousand_policies_applies() -> TestResult {
    at_place("megabyte", 1, async |test_namespace| {
        let design = (&*test_namespace.name, OF_THE_DESIGN);
        test_namespace.write_config(design, &ten_thousand_policies(-1)).await?;
        test_namespace.pod("first", "a0", "1").await?;
        test_namespace.pod("last", "a9999", "").await?;
        test_namespace.pod("other", "a10000", "1").await?;
        let agent = test_namespace.start(INSIDE, &[]).await?;
        let inside = [
            ("first", under("policy-0", "-1", "1")),
            ("last", under("policy-9999", "-1", "")),
            ("other", own("1")),
        ];
        test_namespace.await_pods(&inside).await?;
        agent.await_metric("almanac_qos_policies_loaded 10000").await?;
        // Unreadable input is rejected, however long reading takes, and however large the input is.
        let many_mistakes = ten_thousand_policies(3);
        for (rejections, text) in [
            (1, &*many_mistakes),
            (2, &*bomb()),
            (3, &"[".repeat(500_000)),
            (4, "globalConfig: \u{7}"),
        ] {
            test_namespace.write_config(design, text).await?;
            agent
                .await_metric(&format!("almanac_qos_config_rejections_total {rejections}"))
                .await?;
            agent.await_done().await?;
        }
        test_namespace.ensure_pods(&inside).await?;
        test_namespace
            .await_event(OF_THE_DESIGN, "Warning ConfigRejected: config.yaml, line 3: ")
            .await?;
        test_namespace.write_config(design, &ten_thousand_policies(2)).await?;
        test_namespace.await_pods(&[("first", under("policy-0", "2", "1"))]).await?;
        agent.await_done().await?;
        // The agent had the memory limit of the manifest.
        agent.program.check_running()?;
        test_namespace.ensure_written(&[("first", 2), ("last", 2)]).await?;
        agent.stop().await
    })
}

#[test]
fn invalid_annotations_are_kept_as_the_users_or_removed() -> TestResult {
    at_place("rubbish", 1, async |test_namespace| {
        let huge = "9".repeat(100_000);
        let odd = "\u{1f552} -1\n\t\"'{}";
        let unselected = json!({"app": "nobodys"});
        let marked = |level: Option<&str>, original: Option<&str>, applied: Option<&str>| json!({QOS_LEVEL: level, ORIGINAL_QOS_LEVEL: original, QOS_APPLIED: applied, QOS_POLICY: "gone"});
        // The annotations that remain on each pod once no policy applies.
        let marks = [
            ("no-original", marked(Some("2"), None, None), own("2")),
            ("not-applied", marked(Some("-1"), Some("1"), None), own("1")),
            ("only-applied", marked(None, None, Some("-1")), own("")),
            ("edited", marked(Some(odd), Some("1"), Some("-1")), own(odd)),
            ("huge-original", marked(Some("-1"), Some(&huge), Some("-1")), own(&huge)),
            ("none-original", marked(Some("-1"), Some(""), Some("-1")), own("")),
        ];
        for (name, annotations, _) in &marks {
            let given = annotations.as_object().into_iter().flatten();
            let given = given.filter(|(_, value)| !value.is_null());
            let given =
                serde_json::Value::Object(given.map(|(k, v)| (k.clone(), v.clone())).collect());
            test_namespace.pod_with(name, unselected.clone(), given, 0).await?;
        }
        let levels = [
            ("words", "rubbish"),
            ("huge", &huge),
            ("odd", odd),
            ("number", "99999999999999999999"),
        ];
        for (name, level) in levels {
            test_namespace.pod(name, "batch", level).await?;
        }
        // Selects any pod without a label of this name, so every pod.
        let mut everything = daily("everything", "", -1);
        everything["selector"] =
            json!({"matchExpressions": [{"key": "nobody", "operator": "DoesNotExist"}]});
        test_namespace.configure(&[]).await?;
        let agent = test_namespace.start(INSIDE, &[]).await?;
        let restored = marks.map(|(name, _, expected)| (name, expected));
        test_namespace.await_pods(&restored).await?;
        agent.await_done().await?;
        test_namespace.ensure_pods(&levels.map(|(name, level)| (name, own(level)))).await?;
        test_namespace.ensure_written(&restored.clone().map(|(name, _)| (name, 1))).await?;
        test_namespace.configure(&[everything]).await?;
        test_namespace
            .await_pods(&levels.map(|(name, level)| (name, under("everything", "-1", level))))
            .await?;
        let original =
            |levels: &serde_json::Value| levels[QOS_LEVEL].as_str().unwrap_or_default().to_owned();
        let all =
            restored.clone().map(|(name, own)| (name, under("everything", "-1", &original(&own))));
        test_namespace.await_pods(&all).await?;
        agent.await_done().await?;
        agent.stop().await?;
        let agent = test_namespace.start(AFTER, &[]).await?;
        test_namespace.await_pods(&levels.map(|(name, level)| (name, own(level)))).await?;
        test_namespace.await_pods(&restored).await?;
        agent.await_done().await?;
        agent.stop().await
    })
}
