//! A control plane that calls the webhook. The program of the test replaces its pods, since no images exist here;
//! everything else is as in the manifest.

use std::cell::Cell;
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};

use almanac_fixtures::objects;
use almanac_harness::{
    AuditedRequest, ControlPlaneOptions, Kubectl, Observation, OwnTest, PATIENCE, Program,
    ProgramPort, TestResult, await_condition, on_own_control_plane,
};
use anyhow::{Context as _, ensure};
use kube::Client;
use serde_json::{Value, json};

use crate::documented::{run_section, shell};
use crate::manifests::arguments_of;
use crate::reading::get;
use crate::rights::{compare, granted, requests_by, used};

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const NAMESPACE: &str = "almanac-system";
const NAME: &str = "almanac-webhook";
const ACCOUNT: &str = "system:serviceaccount:almanac-system:almanac-webhook";
/// The validating webhook configuration of the manifest.
pub(crate) const CONFIGURATION: [&str; 2] = ["validatingwebhookconfiguration", "almanac"];

/// The mutating webhook configuration.
pub(crate) const ADDING: [&str; 2] = ["mutatingwebhookconfiguration", "taints.almanac.dev"];

/// The control plane, and the webhook.
pub(crate) struct Desk<'a> {
    test: &'a OwnTest,
    pub(crate) kubectl: Kubectl,
    pub(crate) webhook: Program,
    files: AtomicUsize,
    /// A resource for which the webhook may lack permission.
    pub(crate) withheld: Cell<&'static str>,
    /// Reserves the port for the webhook, also while the webhook is down.
    port: ProgramPort,
}

/// The result of `kubectl apply`.
pub(crate) struct Applied {
    pub(crate) is_done: bool,
    /// The standard error of kubectl: the error and warnings.
    pub(crate) stderr: String,
}

/// Runs a test with a ready webhook. At the end, checks that the webhook lacked no permission and used all of them.
pub(crate) fn at_the_desk(
    further: &[&str],
    test: impl AsyncFnOnce(&Desk<'_>) -> TestResult,
) -> TestResult {
    at_a_desk(async |_, _| Ok(()), further, test)
}

/// Runs a test with a change after the installation and before the start of the webhook.
pub(crate) fn at_a_desk(
    change: impl AsyncFnOnce(&OwnTest, &Kubectl) -> TestResult,
    further: &[&str],
    test: impl AsyncFnOnce(&Desk<'_>) -> TestResult,
) -> TestResult {
    let options = ControlPlaneOptions::api_only().audited_with_reads_of(ACCOUNT);
    on_own_control_plane(&options, async |own| {
        let kubectl = own.kubectl().await?;
        for what in ["deploy/units-crds", "deploy/hub-crds"] {
            kubectl.run(&["apply", "--server-side", "-f", &format!("{ROOT}/{what}")]).await?;
        }
        run_section(own, &kubectl, ("docs/webhook.md", "Install it")).await?;
        let established = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=90s"];
        kubectl.run(&established).await?;
        kubectl.run(&["create", "namespace", "shop"]).await?;
        let port = ProgramPort::take()?;
        call_the_program(&kubectl, port.number()).await?;
        change(own, &kubectl).await?;
        let account = own.service_account(NAMESPACE, NAME).await?;
        let webhook = start(&kubectl, &account.kubeconfig(), port.number(), further).await?;
        webhook.await_ready().await?;
        let desk = Desk {
            test: own,
            kubectl,
            webhook,
            files: AtomicUsize::new(0),
            withheld: Cell::new(""),
            port,
        };
        test(&desk).await?;
        ensure!(desk.webhook.stop().await?.success(), "it did not end well");
        desk.check_rights().await
    })
}

/// Makes the API server call a port of this machine instead of the Service.
async fn call_the_program(kubectl: &Kubectl, port: u16) -> TestResult {
    for (configuration, expected) in [(CONFIGURATION, 2), (ADDING, 1)] {
        let read = get(kubectl, &configuration).await?;
        let webhooks = read["webhooks"].as_array().map_or(&[][..], Vec::as_slice);
        ensure!(webhooks.len() == expected, "{read}");
        let changes = webhooks.iter().enumerate().map(|(index, webhook)| {
            let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap_or_default();
            let url = format!("https://127.0.0.1:{port}{path}");
            json!({"op": "replace", "path": format!("/webhooks/{index}/clientConfig"), "value": {"url": url}})
        });
        let changes = Value::Array(changes.collect()).to_string();
        let [kind, name] = configuration;
        kubectl.run(&["patch", kind, name, "--type=json", "-p", &changes]).await?;
    }
    Ok(())
}

async fn start(
    kubectl: &Kubectl,
    kubeconfig: &std::path::Path,
    port: u16,
    further: &[&str],
) -> anyhow::Result<Program> {
    let arguments = arguments_of(kubectl, [NAMESPACE, "deployment", NAME], 0).await?;
    let listen = format!("--webhook-listen=127.0.0.1:{port}");
    let arguments = arguments.iter().map(String::as_str);
    let mut all: Vec<&str> = arguments.filter(|it| !it.starts_with("--webhook-listen")).collect();
    let kubeconfig = kubeconfig.display().to_string();
    all.extend(["--kubeconfig", &kubeconfig, &listen, "--certificate-names=127.0.0.1"]);
    all.extend(further);
    Program::start_listening(env!("CARGO_BIN_EXE_almanac").as_ref(), &all, &[])
}

impl Desk<'_> {
    /// A client with all rights.
    pub(crate) fn client(&self) -> Client {
        self.test.client()
    }

    /// Starts the controllers in addition to the webhook.
    pub(crate) fn start_controller(&self) -> anyhow::Result<Program> {
        let kubeconfig = self.test.plane.kubeconfig().display().to_string();
        let kinds = "metrics-producer,cron-federated-hpa,horizontal-autoscaler,placement";
        let arguments = ["controller", "--controllers", kinds, "--kubeconfig", &kubeconfig];
        Program::start_listening(env!("CARGO_BIN_EXE_almanac").as_ref(), &arguments, &[])
    }

    /// Opens a new connection, and trusts only the published CAs.
    pub(crate) async fn call_with_published_authorities(&self) -> TestResult {
        let [kind, name] = CONFIGURATION;
        let file = self.test.plane.folder().join("published.pem");
        let (file, port) = (file.display(), self.port.number());
        let output = self
            .shell(&format!(
                "kubectl get {kind} {name} -o jsonpath='{{.webhooks[0].clientConfig.caBundle}}' | base64 -d > {file}
                 echo '{{\"kind\": \"Config\"}}' > {file}.kubeconfig
                 echo '{{\"kind\": \"AdmissionReview\"}}' | kubectl --kubeconfig={file}.kubeconfig \
                     --server=https://127.0.0.1:{port} --certificate-authority={file} --token=none create --raw /validate -f -"
            ))
            .await?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        // The response states that this is not a review; kubectl prints only the status.
        ensure!(stderr.contains("(BadRequest)"), "{stderr}");
        Ok(())
    }

    /// Runs a script as a person would, with kubectl and the binary under test.
    pub(crate) async fn shell(&self, script: &str) -> anyhow::Result<Output> {
        shell(self.test, &self.kubectl, script).await
    }

    /// Writes an object to a file; returns the path.
    pub(crate) fn write(&self, object: &Value) -> anyhow::Result<String> {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let file = self.test.plane.folder().join(format!("applied-{number}.json"));
        std::fs::write(&file, object.to_string())?;
        Ok(file.display().to_string())
    }

    /// Applies an object.
    pub(crate) async fn apply(&self, object: &Value) -> anyhow::Result<Applied> {
        let file = self.write(object)?;
        let output = self.shell(&format!("kubectl apply --server-side -f {file}")).await?;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(Applied { is_done: output.status.success(), stderr })
    }

    /// The findings of `validate` in an object, as (severity, field, message, fix).
    pub(crate) async fn validate(&self, object: &Value) -> anyhow::Result<Vec<Value>> {
        let file = self.write(object)?;
        let output = self.shell(&format!("almanac validate -o json {file} || [ $? = 1 ]")).await?;
        let report: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        Ok(report["findings"].as_array().cloned().unwrap_or_default())
    }

    /// Rejects or admits all requests without a response of the webhook.
    pub(crate) async fn set_failure_policy(&self, policy: &str) -> TestResult {
        let changes = [0, 1].map(|index| {
            json!({"op": "replace", "path": format!("/webhooks/{index}/failurePolicy"), "value": policy})
        });
        let [kind, name] = CONFIGURATION;
        let changes = json!(changes).to_string();
        self.kubectl.run(&["patch", kind, name, "--type=json", "-p", &changes]).await?;
        Ok(())
    }

    async fn check_rights(&self) -> TestResult {
        let is_withheld =
            |it: &AuditedRequest| it.code == 403 && it.resource == self.withheld.get();
        let is_ours = |it: &AuditedRequest| it.user == ACCOUNT && !is_withheld(it);
        let used = used(&requests_by(self.test, is_ours).await?);
        let roles: [&[&str]; 2] = [&["clusterrole", NAME], &["-n", NAMESPACE, "role", NAME]];
        let mut granted = granted(&self.kubectl, &roles).await?;
        // Only tests that delete the Secret use this method.
        let restore = ("create".to_owned(), String::new(), "secrets".to_owned());
        if !used.contains(&restore) {
            ensure!(granted.remove(&restore), "the webhook cannot restore its Secret");
        }
        compare(&used, &granted);
        Ok(())
    }
}

/// Waits until the API server calls the webhook: a new configuration takes effect after a delay. An unchanged object
/// causes no review, so each attempt has a different object.
pub(crate) async fn await_refusal(desk: &Desk<'_>) -> TestResult {
    await_condition("a wrong object to be refused", PATIENCE, async || {
        let number = desk.files.load(Ordering::Relaxed);
        let applied = desk.apply(&cron(&format!("probe-{number}"), "0 0 * *")).await?;
        Ok(Observation::from_bool(!applied.is_done, applied.stderr))
    })
    .await
}

/// A policy with this schedule.
pub(crate) fn cron(name: &str, schedule: &str) -> Value {
    let target = objects::target("apps/v1", "Deployment", name);
    let rules = json!([objects::rule("up", schedule, 5)]);
    in_shop(objects::cron_federated_hpa(name, &target, &rules))
}

/// An object in the namespace of the test.
pub(crate) fn in_shop(mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!("shop");
    object
}
