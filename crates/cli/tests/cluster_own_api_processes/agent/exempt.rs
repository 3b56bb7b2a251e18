//! Exempt pods: by an annotation, by their namespace, and because they end or are not from the API server.

use almanac_harness::TestResult;
use serde_json::{Value, json};

use crate::agent::place::{
    AFTER, CONFIG_MAP, INSIDE, NAMESPACE, OF_THE_DESIGN, POD, daily, own, pod_object, under,
};
use crate::agent::stage::at_place;

const MARK: &str = "almanac.dev/ignore";

#[test]
fn finished_terminating_and_mirror_pods_and_those_of_kube_system_keep_what_they_have() -> TestResult
{
    at_place("left-alone", 1, async |place| {
        place.configure(&[daily("night", "batch", -1)]).await?;
        for name in ["finished", "terminating", "plain"] {
            place.pod(name, "batch", "1").await?;
        }
        let mut mirrored = own("1");
        mirrored["kubernetes.io/config.mirror"] = json!("0123");
        place.pod_with("mirror", json!({"app": "batch"}), mirrored, 0).await?;
        let runs = |pod: &Value| pod["status"]["phase"] == "Running";
        let finished = (&*place.name, "finished");
        place.cluster.await_object(POD, finished, "to run", runs).await?;
        let succeeded = json!({"phase": "Succeeded"});
        place.cluster.patch_status(POD, &place.name, "finished", &succeeded).await?;
        place.change("terminating", &json!({"finalizers": ["example.org/waits"]})).await?;
        place.cluster.delete(POD, &place.name, "terminating").await?;
        let mut of_system = pod_object("left-alone", &json!({"app": "batch"}), &own("1"));
        of_system["spec"]["nodeName"] = json!(place.node(0)?);
        place.cluster.create(POD, "kube-system", &of_system).await?;

        let agent = place.start(INSIDE, &[]).await?;
        place.await_pods(&[("plain", under("night", "-1", "1"))]).await?;
        agent.await_done().await?;
        agent.await_metric("almanac_qos_pods_managed 1").await?;
        // One that ends while it is under a policy is not restored either.
        place.cluster.patch_status(POD, &place.name, "plain", &succeeded).await?;
        agent.await_metric("almanac_qos_pods_managed 0").await?;
        place.configure(&[]).await?;
        agent.await_metric("almanac_qos_policies_loaded 0").await?;
        agent.await_done().await?;
        place
            .ensure_pods(&[("finished", own("1")), ("mirror", own("1")), ("terminating", own("1"))])
            .await?;
        place.ensure_written(&[("plain", 1)]).await?;
        assert_eq!(place.levels_in("kube-system").await?["left-alone"], own("1"));
        place.change("terminating", &json!({"finalizers": null})).await?;
        agent.stop().await
    })
}

#[test]
fn what_bears_the_mark_keeps_what_it_has_until_the_mark_is_gone() -> TestResult {
    at_place("marked", 1, async |place| {
        place.configure(&[daily("night", "batch", -1)]).await?;
        place.pod("pod", "batch", "1").await?;
        place.change("pod", &json!({"labels": {MARK: "true"}})).await?;
        place.pod("plain", "batch", "1").await?;
        let elsewhere = "marked-elsewhere";
        place.cluster.namespace(elsewhere).await?;
        let mark_namespace = async |mark: Option<&str>| {
            let patch = json!({"metadata": {"annotations": {MARK: mark}}});
            place.cluster.patch(NAMESPACE, "", elsewhere, &patch).await
        };
        mark_namespace(Some("until Friday")).await?;
        let mut other = pod_object("other", &json!({"app": "batch"}), &own("1"));
        other["spec"]["nodeName"] = json!(place.node(0)?);
        place.cluster.create(POD, elsewhere, &other).await?;
        let inside = || under("night", "-1", "1");
        let of_other = async |expected: Value| {
            let is_so = |pod: &Value| crate::agent::place::levels(pod) == expected;
            let at = (elsewhere, "other");
            place.cluster.await_object(POD, at, &expected.to_string(), is_so).await
        };

        let agent = place.start(INSIDE, &[]).await?;
        place.await_pods(&[("plain", inside())]).await?;
        agent.await_done().await?;
        place.ensure_pods(&[("pod", own("1"))]).await?;
        of_other(own("1")).await?;
        // The marks go, and come back.
        place.change("pod", &json!({"labels": {MARK: null}})).await?;
        mark_namespace(None).await?;
        place.await_pods(&[("pod", inside())]).await?;
        of_other(inside()).await?;
        place.change("pod", &json!({"annotations": {MARK: "true"}})).await?;
        mark_namespace(Some("true")).await?;
        agent.await_metric("almanac_qos_pods_managed 1").await?;
        // The ConfigMap is annotated: the pods stay unchanged, with any content of it.
        let mark_config = async |mark: Option<&str>| {
            let patch = json!({"metadata": {"annotations": {MARK: mark}}});
            place.cluster.patch(CONFIG_MAP, &place.name, OF_THE_DESIGN, &patch).await
        };
        mark_config(Some("true")).await?;
        agent.await_metric("almanac_qos_pods_managed 0").await?;
        agent.stop().await?;
        let agent = place.start(AFTER, &[]).await?;
        agent.await_done().await?;
        place.ensure_pods(&[("pod", inside()), ("plain", inside())]).await?;
        mark_config(None).await?;
        place.await_pods(&[("plain", own("1"))]).await?;
        agent.await_done().await?;
        place.ensure_pods(&[("pod", inside())]).await?;
        of_other(inside()).await?;
        place.change("pod", &json!({"annotations": {MARK: "false"}})).await?;
        mark_namespace(Some("false")).await?;
        place.await_pods(&[("pod", own("1"))]).await?;
        of_other(own("1")).await?;
        place.ensure_written(&[("pod", 2), ("plain", 2)]).await?;
        agent.stop().await
    })
}
