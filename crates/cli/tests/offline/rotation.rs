//! A long-running process whose CA file is replaced. The tests of file reading cover the detection of a change; this
//! test covers the reaction of the program. It needs no cluster.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::Command;

/// Only a hanging program takes longer.
const PATIENCE: Duration = Duration::from_mins(2);

/// The key of this CA no longer exists.
const CA: &str = "-----BEGIN CERTIFICATE-----
MIIBfjCCASWgAwIBAgIUeasszSgYxREYr+XGKnIbcK4thKMwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJYXV0aG9yaXR5MCAXDTI2MTEyMTE0MTIyMFoYDzIxMjYxMDI4
MTQxMjIwWjAUMRIwEAYDVQQDDAlhdXRob3JpdHkwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASS06XrcF18X3FqxQeiEklIgZPXUtbxGnejFKh9zVDs2kv0FQNrE/Og
V5PYX7y73e22rKOLU7xGE3P4Yy5HOiwYo1MwUTAdBgNVHQ4EFgQUAdncpWECdIoX
3aGU+is6ioD0HyowHwYDVR0jBBgwFoAUAdncpWECdIoX3aGU+is6ioD0HyowDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiA9GMGK11a8fVmDg4K2DJhe
juXRze0WCAFUIUiLEglYhgIgDsItutQpWuFMMB6Vr0uUT1i0sJ8PVm0sKUyXGbTL
QN0=
-----END CERTIFICATE-----
";

/// No program listens at this server's address.
const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: me}}]
clusters: [{name: here, cluster: {server: 'https://127.0.0.1:9', certificate-authority: ca.crt}}]
users: [{name: me, user: {token: t}}]
";

#[tokio::test]
async fn a_process_shuts_down_for_a_restart_when_the_ca_it_trusts_is_replaced() -> anyhow::Result<()>
{
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rotation");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("ca.crt"), CA)?;
    fs::write(folder.join("kubeconfig"), KUBECONFIG)?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    command.args(["controller", "--kubeconfig=kubeconfig", "--lease-namespace=default"]);
    command.args(["--listen=127.0.0.1:0", "--log-format=text"]).current_dir(&folder);
    let mut process = command.stderr(Stdio::piped()).kill_on_drop(true).spawn()?;
    let mut log = BufReader::new(process.stderr.take().context("it is captured")?);

    let mut begun = String::new();
    while !begun.contains("waiting for the lease") {
        let read = log.read_line(&mut begun).await?;
        ensure!(read > 0, "it ended by itself: {begun}");
    }
    // The usual rotation: the new CA is first added to the old CA.
    fs::write(folder.join("ca.crt"), CA.repeat(2))?;
    let mut rest = String::new();
    tokio::time::timeout(PATIENCE, log.read_to_string(&mut rest)).await.context("it goes on")??;
    let status = process.wait().await?;
    ensure!(!status.success(), "nobody would restart it: {rest}");
    for line in ["WARN shutting down for a restart", "file=ca.crt", "INFO stopped"] {
        ensure!(rest.contains(line), "no {line:?} in {rest}");
    }
    Ok(())
}
