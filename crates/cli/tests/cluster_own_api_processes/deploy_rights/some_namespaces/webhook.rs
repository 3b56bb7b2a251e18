//! The webhook, limited to some namespaces. The program of the test replaces its pods, since there are no images
//! here; everything else is as in the page.

use std::sync::atomic::{AtomicUsize, Ordering};

use almanac_harness::ProgramPort;

use super::*;
use crate::documented::{shell, shell_blocks};

pub(super) const ACCOUNT: &str = "system:serviceaccount:almanac-system:almanac-webhook";

const NAME: &str = "almanac-webhook";

static PROBES: AtomicUsize = AtomicUsize::new(0);

/// A policy with this name and this schedule, for the Deployment with the same name.
fn policy(name: &str, target: &str, schedule: &str) -> Value {
    let mut policy = cron(target, "apps/v1", "Deployment", &json!({"targetReplicas": 4}));
    policy["metadata"]["name"] = json!(name);
    policy["spec"]["rules"][0]["schedule"] = json!(schedule);
    policy
}

/// The kubectl that applies objects, and its control plane.
struct Desk<'a> {
    test: &'a OwnTest,
    kubectl: &'a Kubectl,
}

impl Desk<'_> {
    /// Whether kubectl applied an object, and the output of kubectl.
    async fn apply(&self, namespace: &str, object: &Value) -> anyhow::Result<(bool, String)> {
        let script =
            format!("kubectl -n {namespace} apply --server-side -f - <<'END'\n{object}\nEND");
        let output = shell(self.test, self.kubectl, &script).await?;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok((output.status.success(), stderr))
    }

    /// Applies an invalid policy, a different policy each time.
    async fn apply_wrong(&self, namespace: &str) -> anyhow::Result<(bool, String)> {
        let name = format!("wrong-{}", PROBES.fetch_add(1, Ordering::Relaxed));
        self.apply(namespace, &policy(&name, &name, "0 0 * *")).await
    }

    /// The API server sends no review of objects outside the listed namespaces, and the webhook checks none.
    async fn nothing_else_is_checked(&self, webhook: &Program) -> TestResult {
        for namespace in [HARBOR, SEA] {
            let (is_done, stderr) = self.apply_wrong(namespace).await?;
            ensure!(is_done && stderr.is_empty(), "{namespace}: {stderr}");
        }
        let everything = json!([{"op": "remove", "path": "/webhooks/0/namespaceSelector"}]);
        self.change_configuration(&everything).await?;
        let request_count = async || {
            let (_, text) = webhook.get("/metrics").await?;
            let line = text.lines().find(|it| it.contains("reviews_total{answer=\"allowed\"}"));
            anyhow::Ok(line.unwrap_or_default().to_owned())
        };
        let before = request_count().await?;
        await_condition("a review of another namespace", PATIENCE, async || {
            let (is_done, stderr) = self.apply_wrong(SEA).await?;
            ensure!(is_done && stderr.is_empty(), "{stderr}");
            let now = request_count().await?;
            Ok(Observation::from_bool(now != before, now))
        })
        .await
    }

    async fn change_configuration(&self, changes: &Value) -> TestResult {
        let changes = changes.to_string();
        let patch = ["patch", "validatingwebhookconfiguration", "almanac-namespaced"];
        self.kubectl.run(&[&patch[..], &["--type=json", "-p", &changes]].concat()).await?;
        Ok(())
    }
}

pub(super) async fn checks_what_is_listed(test: &OwnTest, kubectl: &Kubectl) -> TestResult {
    let desk = Desk { test, kubectl };
    let units = format!("{ROOT}/deploy/units-crds");
    kubectl.run(&["apply", "--server-side", "-f", &units]).await?;
    kubectl.run(&ESTABLISHED).await?;
    let blocks = shell_blocks(PAGE, "The webhook")?;
    let [install, configure] = &blocks[..] else { anyhow::bail!("other blocks: {blocks:?}") };
    let run = async |script: &str| {
        let output = shell(test, kubectl, script).await?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success() && !stderr.contains("Warning"), "{script}: {stderr}");
        anyhow::Ok(())
    };
    run(install).await?;
    // A new replica creates the certificate after two checks.
    kubectl.run(&["-n", NAMESPACE, "delete", "secret", NAME]).await?;
    let account = test.service_account(NAMESPACE, NAME).await?;
    let port = ProgramPort::take()?;
    let mut arguments = arguments_of(kubectl, [NAMESPACE, "deployment", NAME], 0).await?;
    arguments.retain(|it| !it.starts_with("--webhook-listen"));
    arguments.push(format!("--webhook-listen=127.0.0.1:{}", port.number()));
    arguments.push("--certificate-names=127.0.0.1".to_owned());
    arguments.push("--certificate-lifetime=60s".to_owned());
    let webhook = start(&arguments, &account.kubeconfig(), SignedDuration::ZERO)?;
    webhook.await_ready().await?;
    run(configure).await?;
    // The API server calls a port of this machine in place of the Service.
    let url = format!("https://127.0.0.1:{}/validate", port.number());
    let places = [0, 1].map(|index| format!("/webhooks/{index}/clientConfig"));
    let changes = places.iter().flat_map(|place| {
        let gone = json!({"op": "remove", "path": format!("{place}/service")});
        [gone, json!({"op": "add", "path": format!("{place}/url"), "value": url})]
    });
    desk.change_configuration(&changes.collect()).await?;

    await_condition("a wrong policy to be refused", PATIENCE, async || {
        let (is_done, stderr) = desk.apply_wrong(SHOP).await?;
        let holds = !is_done && stderr.contains("a cron expression has five fields");
        Ok(Observation::from_bool(holds, stderr))
    })
    .await?;
    let (is_done, stderr) = desk.apply(WAREHOUSE, &policy("evening", "web", "0 20 * * *")).await?;
    ensure!(is_done && stderr.is_empty(), "{stderr}");
    await_condition("the other policy to be reported", PATIENCE, async || {
        let morning = policy("morning", "web", "0 8 * * *");
        let (is_done, stderr) = desk.apply(WAREHOUSE, &morning).await?;
        let expected =
            "Warning: spec.scaleTargetRef: Deployment.apps warehouse/web is already scaled";
        Ok(Observation::from_bool(is_done && stderr.contains(expected), stderr))
    })
    .await?;
    let refused = agent::configure(kubectl, NAMESPACE, "26:00").await;
    let refused = refused.err().context("wrong levels could be applied")?.to_string();
    ensure!(refused.contains("hours run from 00 to 23"), "{refused}");
    desk.nothing_else_is_checked(&webhook).await?;
    stop(webhook).await?;
    let listed = [SHOP, WAREHOUSE, NAMESPACE];
    let roles = [(SHOP, NAME), (NAMESPACE, "almanac-webhook-certificate")];
    uses_only_its_permissions((test, kubectl), ACCOUNT, &listed, &roles).await
}
