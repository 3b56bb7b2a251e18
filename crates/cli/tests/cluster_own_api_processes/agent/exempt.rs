//! Exempt pods: by an annotation, by their namespace, and because they terminate or do not come from the API server.

use almanac_harness::TestResult;
use serde_json::{Value, json};

use crate::agent::stage::at_place;
use crate::agent::test_namespace::{
    AFTER, CONFIG_MAP, INSIDE, NAMESPACE, OF_THE_DESIGN, POD, daily, own, pod_object, under,
};

const MARK: &str = "almanac.dev/ignore";

#[test]
fn finished_terminating_mirror_and_kube_system_pods_are_unchanged() -> TestResult {
    at_place("left-alone", 1, async |test_namespace| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        for name in ["finished", "terminating", "plain"] {
            test_namespace.pod(name, "batch", "1").await?;
        }
        let mut mirrored = own("1");
        mirrored["kubernetes.io/config.mirror"] = json!("0123");
        test_namespace.pod_with("mirror", json!({"app": "batch"}), mirrored, 0).await?;
        let runs = |pod: &Value| pod["status"]["phase"] == "Running";
        let finished = (&*test_namespace.name, "finished");
        test_namespace.cluster.await_object(POD, finished, "to run", runs).await?;
        let succeeded = json!({"phase": "Succeeded"});
        test_namespace
            .cluster
            .patch_status(POD, &test_namespace.name, "finished", &succeeded)
            .await?;
        test_namespace.change("terminating", &json!({"finalizers": ["example.org/waits"]})).await?;
        test_namespace.cluster.delete(POD, &test_namespace.name, "terminating").await?;
        let mut of_system = pod_object("left-alone", &json!({"app": "batch"}), &own("1"));
        of_system["spec"]["nodeName"] = json!(test_namespace.node(0)?);
        test_namespace.cluster.create(POD, "kube-system", &of_system).await?;

        let agent = test_namespace.start(INSIDE, &[]).await?;
        test_namespace.await_pods(&[("plain", under("night", "-1", "1"))]).await?;
        agent.await_done().await?;
        agent.await_metric("almanac_qos_pods_managed 1").await?;
        // A pod that terminates while a policy applies is not restored either.
        test_namespace.cluster.patch_status(POD, &test_namespace.name, "plain", &succeeded).await?;
        agent.await_metric("almanac_qos_pods_managed 0").await?;
        test_namespace.configure(&[]).await?;
        agent.await_metric("almanac_qos_policies_loaded 0").await?;
        agent.await_done().await?;
        test_namespace
            .ensure_pods(&[("finished", own("1")), ("mirror", own("1")), ("terminating", own("1"))])
            .await?;
        test_namespace.ensure_written(&[("plain", 1)]).await?;
        assert_eq!(test_namespace.levels_in("kube-system").await?["left-alone"], own("1"));
        test_namespace.change("terminating", &json!({"finalizers": null})).await?;
        agent.stop().await
    })
}

#[test]
fn pods_are_unchanged_until_their_ignore_annotation_is_removed() -> TestResult {
    at_place("marked", 1, async |test_namespace| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        test_namespace.pod("pod", "batch", "1").await?;
        test_namespace.change("pod", &json!({"labels": {MARK: "true"}})).await?;
        test_namespace.pod("plain", "batch", "1").await?;
        let elsewhere = "marked-elsewhere";
        test_namespace.cluster.namespace(elsewhere).await?;
        let mark_namespace = async |mark: Option<&str>| {
            let patch = json!({"metadata": {"annotations": {MARK: mark}}});
            test_namespace.cluster.patch(NAMESPACE, "", elsewhere, &patch).await
        };
        mark_namespace(Some("until Friday")).await?;
        let mut other = pod_object("other", &json!({"app": "batch"}), &own("1"));
        other["spec"]["nodeName"] = json!(test_namespace.node(0)?);
        test_namespace.cluster.create(POD, elsewhere, &other).await?;
        let inside = || under("night", "-1", "1");
        let of_other = async |expected: Value| {
            let is_so = |pod: &Value| crate::agent::test_namespace::levels(pod) == expected;
            let at = (elsewhere, "other");
            test_namespace.cluster.await_object(POD, at, &expected.to_string(), is_so).await
        };

        let agent = test_namespace.start(INSIDE, &[]).await?;
        test_namespace.await_pods(&[("plain", inside())]).await?;
        agent.await_done().await?;
        test_namespace.ensure_pods(&[("pod", own("1"))]).await?;
        of_other(own("1")).await?;
        // The annotations are removed, and added again.
        test_namespace.change("pod", &json!({"labels": {MARK: null}})).await?;
        mark_namespace(None).await?;
        test_namespace.await_pods(&[("pod", inside())]).await?;
        of_other(inside()).await?;
        test_namespace.change("pod", &json!({"annotations": {MARK: "true"}})).await?;
        mark_namespace(Some("true")).await?;
        agent.await_metric("almanac_qos_pods_managed 1").await?;
        // With an annotated ConfigMap, the pods stay unchanged, with any content of the ConfigMap.
        let mark_config = async |mark: Option<&str>| {
            let patch = json!({"metadata": {"annotations": {MARK: mark}}});
            test_namespace
                .cluster
                .patch(CONFIG_MAP, &test_namespace.name, OF_THE_DESIGN, &patch)
                .await
        };
        mark_config(Some("true")).await?;
        agent.await_metric("almanac_qos_pods_managed 0").await?;
        agent.stop().await?;
        let agent = test_namespace.start(AFTER, &[]).await?;
        agent.await_done().await?;
        test_namespace.ensure_pods(&[("pod", inside()), ("plain", inside())]).await?;
        mark_config(None).await?;
        test_namespace.await_pods(&[("plain", own("1"))]).await?;
        agent.await_done().await?;
        test_namespace.ensure_pods(&[("pod", inside())]).await?;
        of_other(inside()).await?;
        test_namespace.change("pod", &json!({"annotations": {MARK: "false"}})).await?;
        mark_namespace(Some("false")).await?;
        test_namespace.await_pods(&[("pod", own("1"))]).await?;
        of_other(own("1")).await?;
        test_namespace.ensure_written(&[("pod", 2), ("plain", 2)]).await?;
        agent.stop().await
    })
}
