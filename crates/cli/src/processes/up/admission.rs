//! The admission webhook beside a control plane of our own: what it keeps its certificate in, and its configuration,
//! which is that of `deploy/webhook` with an address of this machine.

use anyhow::Context as _;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::place::{FIELD_MANAGER, NAMESPACE};

const SECRET: &str = "almanac-webhook";
const KIND: &str = "kind: ValidatingWebhookConfiguration";
const MANIFEST: &str = include_str!("../../../../../deploy/webhook/webhook.yaml");

/// Makes the namespace of Almanac's own objects, and the Secret, which the webhook fills where it runs.
pub(super) async fn prepare(client: &Client, has_webhook: bool) -> anyhow::Result<()> {
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    Api::<Namespace>::all(client.clone())
        .patch(NAMESPACE, &parameters, &Patch::Apply(namespace))
        .await
        .with_context(|| format!("failed to apply the namespace {NAMESPACE}"))?;
    if !has_webhook {
        return Ok(());
    }
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": SECRET, "namespace": NAMESPACE},
    });
    Api::<Secret>::namespaced(client.clone(), NAMESPACE)
        .patch(SECRET, &parameters, &Patch::Apply(secret))
        .await
        .with_context(|| format!("failed to apply the Secret {NAMESPACE}/{SECRET}"))?;
    Ok(())
}

/// The configuration that has the API server ask at this port of the machine. It says nothing of the authority of the
/// certificate, which is what the webhook wrote.
pub(super) fn configuration(port: u16) -> String {
    let configuration = MANIFEST.split("\n---\n").filter(|it| it.contains(KIND));
    let lines =
        configuration.flat_map(str::lines).map(|line| match line.split_once("service: {") {
            Some((indent, _)) => format!("{indent}url: https://127.0.0.1:{port}/validate\n"),
            None => format!("{line}\n"),
        });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_validating_webhook_of_the_manifest_is_called_at_the_port_and_nothing_else_changes() {
        let configuration = configuration(12_345);
        let urls = configuration.matches("    url: https://127.0.0.1:12345/validate\n").count();
        assert_eq!(urls, MANIFEST.matches("path: /validate,").count());
        assert!(urls > 0 && !configuration.contains("service:"), "{configuration}");
        for line in configuration.lines().filter(|line| !line.contains("url: ")) {
            assert!(MANIFEST.contains(line), "{line}");
        }
    }
}
