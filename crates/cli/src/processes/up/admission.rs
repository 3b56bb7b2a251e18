//! The admission webhook of a control plane of our own: the objects for its certificate, and its configurations. The
//! configurations come from `deploy/webhook`, with an address of this machine.

use anyhow::Context as _;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::running_cluster::{FIELD_MANAGER, NAMESPACE};

const SECRET: &str = "almanac-webhook";
const GROUP: &str = "apiVersion: admissionregistration.k8s.io/v1\n";
const MANIFEST: &str = include_str!("../../../../../deploy/webhook/webhook.yaml");

/// Creates the namespace of Almanac's own objects. For a webhook, also creates the Secret of its certificate.
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

/// The webhook configurations for this port of the machine, and the admission policy for bindings. The webhook adds the
/// CA bundle later.
pub(super) fn configurations(port: u16) -> String {
    let documents = MANIFEST.split("\n---\n").filter(|it| it.contains(GROUP));
    let lines = documents.flat_map(|it| it.lines().chain(["---"])).map(|line| {
        let (Some((indent, _)), Some((_, path))) =
            (line.split_once("service: {"), line.split_once("path: "))
        else {
            return format!("{line}\n");
        };
        let path = path.split(',').next().unwrap_or_default();
        format!("{indent}url: https://127.0.0.1:{port}{path}\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_webhook_of_the_manifest_gets_the_port_and_nothing_else_changes() {
        let configurations = configurations(12_345);
        for path in ["/validate", "/mutate"] {
            let url = format!("    url: https://127.0.0.1:12345{path}\n");
            let expected = MANIFEST.matches(&format!("path: {path},")).count();
            assert!(expected > 0, "{path}");
            assert_eq!(configurations.matches(&url).count(), expected, "{path}");
        }
        assert!(!configurations.contains("service:"), "{configurations}");
        for line in configurations.lines().filter(|line| !line.contains("url: ")) {
            assert!(MANIFEST.contains(line), "{line}");
        }
        let kinds: Vec<&str> =
            configurations.lines().filter_map(|it| it.strip_prefix("kind: ")).collect();
        let expected = [
            "ValidatingWebhookConfiguration",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
        ];
        assert_eq!(kinds, expected);
    }
}
