//! The certificate over several lives: while it and its authority are replaced, no call fails.

use std::collections::BTreeSet;

use almanac_harness::TestResult;
use anyhow::Context as _;
use serde_json::Value;

use crate::reading::get;
use crate::webhook::desk::{CONFIGURATION, Desk, at_the_desk, await_refusal, cron};

const SECRET: [&str; 4] = ["-n", "almanac-system", "secret", "almanac-webhook"];

async fn kept(desk: &Desk<'_>, key: &str) -> anyhow::Result<String> {
    let secret = get(&desk.kubectl, &SECRET).await?;
    Ok(secret["data"][key].as_str().context("it is not kept")?.to_owned())
}

#[test]
fn no_call_fails_while_certificates_and_authorities_are_replaced() -> TestResult {
    at_the_desk(&["--certificate-lifetime=15s"], async |desk| {
        await_refusal(desk).await?;
        // From now on, a certificate that is not trusted is an error.
        desk.set_failure_policy("Fail").await?;
        let (mut shown, mut authorities) = (BTreeSet::new(), BTreeSet::new());
        let mut round = 0;
        while authorities.len() < 2 || shown.len() < 5 {
            let applied = desk.apply(&cron(&format!("web-{}", round % 5), "0 8 * * *")).await?;
            assert!(applied.is_done, "in round {round}: {}", applied.said);
            // The API server keeps its connections.
            desk.call_with_published_authorities().await?;
            shown.insert(kept(desk, "tls.crt").await?);
            authorities.insert(kept(desk, "ca.crt").await?);
            round += 1;
            assert!(
                round < 2000,
                "{} certificates, {} authorities",
                shown.len(),
                authorities.len()
            );
        }
        Ok(())
    })
}

#[test]
fn what_is_emptied_or_overwritten_comes_back() -> TestResult {
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
