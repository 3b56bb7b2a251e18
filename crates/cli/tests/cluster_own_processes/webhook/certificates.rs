//! The certificate over several replacements: while the certificate and its CA are replaced, no request fails.

use std::collections::BTreeSet;

use almanac_harness::{Kubectl, Observation, OwnTest, PATIENCE, TestResult, await_condition};
use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::documented::{shell, shell_blocks};
use crate::reading::get;
use crate::webhook::desk::{CONFIGURATION, Desk, at_a_desk, at_the_desk, await_refusal, cron};

const SECRET: [&str; 4] = ["-n", "almanac-system", "secret", "almanac-webhook"];

async fn kept(desk: &Desk<'_>, key: &str) -> anyhow::Result<String> {
    let secret = get(&desk.kubectl, &SECRET).await?;
    Ok(secret["data"][key].as_str().context("the Secret lacks the key")?.to_owned())
}

#[test]
fn no_request_fails_while_certificates_and_cas_are_replaced() -> TestResult {
    at_the_desk(&["--certificate-lifetime=15s"], async |desk| {
        await_refusal(desk).await?;
        // From now on, an untrusted certificate is an error.
        desk.set_failure_policy("Fail").await?;
        let (mut certificates, mut authorities) = (BTreeSet::new(), BTreeSet::new());
        let mut round = 0;
        while authorities.len() < 2 || certificates.len() < 5 {
            let applied = desk.apply(&cron(&format!("web-{}", round % 5), "0 8 * * *")).await?;
            assert!(applied.is_done, "in round {round}: {}", applied.stderr);
            // The API server keeps its connections.
            desk.call_with_published_authorities().await?;
            certificates.insert(kept(desk, "tls.crt").await?);
            authorities.insert(kept(desk, "ca.crt").await?);
            round += 1;
            assert!(
                round < 2000,
                "{} certificates, {} authorities",
                certificates.len(),
                authorities.len()
            );
        }
        Ok(())
    })
}

#[test]
fn emptied_or_overwritten_secrets_and_bundles_are_restored() -> TestResult {
    at_the_desk(&["--certificate-lifetime=15s"], async |desk| {
        await_refusal(desk).await?;
        let before = kept(desk, "ca.crt").await?;
        let [namespace_flag, namespace, kind, name] = SECRET;
        let emptied = r#"{"data": {"ca.key": "Z2FyYmFnZQ==", "tls.crt": ""}}"#;
        let patch = [namespace_flag, namespace, "patch", kind, name, "--type=merge", "-p", emptied];
        desk.kubectl.run(&patch).await?;
        let [kind, name] = CONFIGURATION;
        let removed = r#"[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]"#;
        desk.kubectl.run(&["patch", kind, name, "--type=json", "-p", removed]).await?;
        await_refusal(desk).await?;
        assert_ne!(kept(desk, "ca.crt").await?, before);
        let configuration: Value = get(&desk.kubectl, &CONFIGURATION).await?;
        assert!(configuration["webhooks"][0]["clientConfig"]["caBundle"].is_string());
        Ok(())
    })
}

#[test]
fn a_deleted_secret_is_restored_unchanged() -> TestResult {
    at_the_desk(&["--certificate-lifetime=60s"], async |desk| {
        await_refusal(desk).await?;
        let before = [kept(desk, "ca.crt").await?, kept(desk, "tls.crt").await?];
        let [namespace_flag, namespace, kind, name] = SECRET;
        desk.kubectl.run(&[namespace_flag, namespace, "delete", kind, name]).await?;
        await_condition("the Secret to be created again", PATIENCE, async || {
            let now = [kept(desk, "ca.crt").await.ok(), kept(desk, "tls.crt").await.ok()];
            Ok(Observation::from_bool(now.iter().all(Option::is_some), format!("{now:?}")))
        })
        .await?;
        assert_eq!([kept(desk, "ca.crt").await?, kept(desk, "tls.crt").await?], before);
        Ok(())
    })
}

const RESTRICTED: (&str, &str) = ("docs/webhook.md", "Without permission on its configuration");

#[test]
fn an_administrator_can_copy_the_ca_instead_of_granting_a_permission() -> TestResult {
    let restrict = async |own: &OwnTest, kubectl: &Kubectl| {
        let blocks = shell_blocks(RESTRICTED.0, RESTRICTED.1)?;
        let output = shell(own, kubectl, &blocks[0]).await?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    };
    at_a_desk(restrict, &["--certificate-lifetime=60s"], async |desk| {
        let applied = desk.apply(&cron("wrong", "0 0 * *")).await?;
        assert!(
            applied.is_done,
            "the certificate is trusted before its CA was copied: {}",
            applied.stderr
        );
        let blocks = shell_blocks(RESTRICTED.0, RESTRICTED.1)?;
        let [_, copy] = &blocks[..] else { anyhow::bail!("other blocks: {blocks:?}") };
        let output = desk.shell(copy).await?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        await_refusal(desk).await?;
        desk.call_with_published_authorities().await
    })
}
