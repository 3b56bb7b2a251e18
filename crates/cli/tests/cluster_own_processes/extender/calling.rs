//! The responses to clients: kube-scheduler with invalid requests, and clients that are not replicas.

use std::time::Duration;

use almanac_harness::TestResult;
use almanac_shell::server::{Forwarder, ServerRequest, ServerResponse};
use anyhow::Context as _;
use serde_json::{Value, json};

use crate::extender::stage::{deployment, on_stage, pod, policy, unit_nodes};

/// Sends a request to an extender at this port of this machine.
pub(crate) async fn call(
    port: u16,
    path: &str,
    body: &str,
    token: Option<&str>,
) -> anyhow::Result<ServerResponse> {
    let forwarder = Forwarder::new(None, 1024 * 1024)?;
    let (path, body) = (path.to_owned(), body.to_owned().into());
    let call = ServerRequest { path, body, token: token.map(str::to_owned) };
    Ok(forwarder.forward(&format!("127.0.0.1:{port}"), call, Duration::from_secs(20)).await?)
}

/// The response of a successful request, as JSON.
fn json_of(response: &ServerResponse) -> anyhow::Result<Value> {
    anyhow::ensure!(response.status == 200, "{response:?}");
    serde_json::from_slice(&response.body).context("no JSON")
}

fn text_of(response: &ServerResponse) -> String {
    String::from_utf8_lossy(&response.body).trim().to_owned()
}

#[test]
fn a_malformed_request_gets_an_error_and_the_next_one_succeeds() -> TestResult {
    on_stage(&[unit_nodes("best", 2)], async |stage, scene| {
        let namespace = &scene.namespace;
        let port = stage.extender(stage.deciding().await?).scheduler_port.number();
        let pod_argument =
            format!(r#""Pod":{{"metadata":{{"name":"x","namespace":"{namespace}","uid":"u"}}}}"#);
        let gone = format!("the pod {namespace}/x with this UID does not exist");
        let [best_0, best_1] = ["best-0", "best-1"].map(|name| scene.node(name));
        let whole_nodes = format!(r#"{{{pod_argument},"Nodes":{{"items":[]}},"NodeNames":null}}"#);
        for (path, body, status, words) in [
            ("/filter", "", 400, "the body is not a valid ExtenderArgs: EOF while parsing"),
            (
                "/filter",
                "{\"Pod\":",
                400,
                "the body is not a valid ExtenderArgs: EOF while parsing",
            ),
            ("/filter", "\u{0}\u{1}", 400, "the body is not a valid ExtenderArgs: expected value"),
            ("/filter", r#"{"Pod":null,"NodeNames":["a"]}"#, 400, "Pod is missing"),
            ("/filter", &whole_nodes, 400, "set nodeCacheCapable to true"),
            ("/prioritize", "[]", 400, "the body is not a valid ExtenderArgs"),
            ("/preempt", r#"{"NodeNameToVictims":{}}"#, 400, "set nodeCacheCapable to true"),
            ("/bind", r#"{"PodName":"x"}"#, 400, "PodNamespace is missing"),
            ("/version", "{}", 404, "try /filter, /prioritize, /preempt or /bind"),
        ] {
            let response = call(port, path, body, None).await?;
            let text = text_of(&response);
            assert!(
                response.status == status && text.contains(words),
                "{path} {body}: {response:?}"
            );
        }
        let deep = "[".repeat(200_000);
        assert_eq!(call(port, "/filter", &deep, None).await?.status, 400);

        let request = format!(r#"{{{pod_argument},"NodeNames":["{best_0}"]}}"#);
        let unknown = json_of(&call(port, "/filter", &request, None).await?)?;
        assert_eq!(unknown["Error"], *gone);
        let binding = |name: &str, uid: &str, node: &str| {
            json!({"PodName": name, "PodNamespace": namespace, "PodUID": uid, "Node": node})
                .to_string()
        };
        let bound = json_of(&call(port, "/bind", &binding("x", "u", &best_0), None).await?)?;
        assert_eq!(bound["Error"], *gone);

        scene.govern(&policy("shop", "required", &[("best", 1, Some(1))])).await?;
        scene.apply(&deployment("shop", 1)).await?;
        scene.await_spread("shop", &["best"], &[1, 0]).await?;
        let mut late = pod("late", "shop");
        // No scheduler is responsible for the pod.
        late["spec"]["schedulerName"] = json!("nobody");
        scene.apply(&late).await?;
        let uid =
            scene.kubectl.run(&["get", "pod", "late", "-o", "jsonpath={.metadata.uid}"]).await?;
        let ghost = json_of(&call(port, "/bind", &binding("late", &uid, "ghost"), None).await?)?;
        assert_eq!(ghost["Error"], "the node ghost does not exist");
        let other = json_of(&call(port, "/bind", &binding("late", "other", &best_0), None).await?)?;
        assert_eq!(other["Error"], gone.replace("/x ", "/late "));
        let full = json_of(&call(port, "/bind", &binding("late", &uid, &best_0), None).await?)?;
        let words = format!("unit \"best\" of ResourcePolicy {namespace}/shop is full: 1 of 1");
        assert!(full["Error"].as_str().is_some_and(|it| it.starts_with(&words)), "{full}");
        let argument = json!({
            "Pod": {"metadata": {"name": "late", "namespace": namespace, "uid": uid}},
            "NodeNames": [best_0, best_1, "ghost"],
        });
        let filtered = json_of(&call(port, "/filter", &argument.to_string(), None).await?)?;
        assert_eq!(filtered["NodeNames"], json!([]), "{filtered}");
        let ghost = filtered["FailedNodes"]["ghost"].as_str();
        assert!(ghost.is_some_and(|it| it.starts_with("the node is still unknown")), "{filtered}");
        assert!(filtered["FailedAndUnresolvableNodes"][&best_1].is_string(), "{filtered}");
        Ok(())
    })
}

#[test]
fn only_replicas_may_forward_requests() -> TestResult {
    on_stage(&[unit_nodes("best", 1)], async |stage, scene| {
        scene.apply(&pod("x", "shop")).await?;
        scene.await_spread("shop", &["best"], &[1, 0]).await?;
        let kubectl = &stage.kubectl;
        let port = stage.extender(stage.deciding().await?).peer_port.number();
        let request =
            r#"{"Pod":{"metadata":{"name":"y","namespace":"default","uid":"u"}},"NodeNames":[]}"#;
        let ours = std::fs::read_to_string(stage.token())?;
        let audience = ["create", "token", "default", "--audience=almanac.dev/extender"];
        let of_another = kubectl.run(&audience).await?;
        let account = ["-n", "almanac-scheduler", "create", "token", "almanac-scheduler"];
        let for_the_api = kubectl.run(&account).await?;
        for (token, status, words) in [
            (None, 403, "the request has no token, and requests are forwarded only among replicas"),
            (Some("nonsense"), 403, "the token does not belong to a replica"),
            (Some(of_another.trim()), 403, "the token does not belong to a replica"),
            (Some(for_the_api.trim()), 403, "the token does not belong to a replica"),
            (Some(&*ours), 200, "the pod default/y with this UID does not exist"),
        ] {
            let response = call(port, "/filter", request, token).await?;
            assert!(
                response.status == status && text_of(&response).contains(words),
                "{response:?}"
            );
        }
        Ok(())
    })
}
