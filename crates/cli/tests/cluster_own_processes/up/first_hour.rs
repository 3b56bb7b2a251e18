//! The commands of docs/first-hour.md, as a user types them.

use std::path::Path;
use std::process::Stdio;

use almanac_harness::{Program, TestResult, on_this_machine};
use almanac_local::environment;
use anyhow::{Context as _, ensure};
use tokio::process::Command;

use crate::documented::{ROOT, shell_blocks};
use crate::up::User;

const PAGE: &str = "docs/first-hour.md";

#[test]
fn the_commands_of_the_first_hour_work_as_documented() -> TestResult {
    on_this_machine(async {
        let user = User::new()?;
        let start = &shell_blocks(PAGE, "Start it")?;
        let up = typed(&user, &start[0], "cargo run --release -- ")?;
        up.await_log("The next ten minutes:").await?;
        up.await_log("next, ").await?;
        let exported = &start[1];
        let kubeconfig =
            user.home.path().join(".local/share/almanac/up/kubeconfig").display().to_string();
        ensure!(up.log()?.contains(&format!("export KUBECONFIG={kubeconfig}\n")), "{}", up.log()?);
        for (heading, expected) in [
            ("Look at what is there", "placement.cluster.open-cluster-management.io/shop"),
            ("Ask what will happen, and why", "storefront busy fires"),
            ("Change something", "checkout-mornings"),
        ] {
            for block in shell_blocks(PAGE, heading)? {
                let printed = shell(&user, &up, &format!("{exported}{block}")).await?;
                ensure!(printed.contains(expected), "{block}printed {printed}");
            }
        }
        let status = up.stop().await?;
        ensure!(status.success(), "{status}: {}", up.log()?);
        for block in shell_blocks(PAGE, "Let time pass")? {
            let up = typed(&user, &block, "almanac ")?;
            up.await_log("next, Fri ").await?;
            up.stop().await?;
        }
        user.has_nothing_left().await
    })
}

/// Starts a documented command in the repository, with the program under test.
fn typed(user: &User, block: &str, called_by: &str) -> anyhow::Result<Program> {
    let words = block.trim().strip_prefix(called_by).context("a block with another command")?;
    let words: Vec<String> = words
        .split_whitespace()
        .map(|word| match Path::new(ROOT).join(word) {
            file if file.exists() => file.display().to_string(),
            _ => word.to_owned(),
        })
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    user.runs(&words)
}

/// Runs a script in the repository, as the user, with the printed kubectl; returns its output.
async fn shell(user: &User, up: &Program, script: &str) -> anyhow::Result<String> {
    let log = up.log()?;
    let kubectl =
        log.lines().find_map(|line| line.trim().strip_suffix(" get cronfederatedhpas -A"));
    let kubectl = Path::new(kubectl.context("kubectl was named")?).parent();
    let almanac = Path::new(env!("CARGO_BIN_EXE_almanac")).parent();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = [kubectl, almanac].into_iter().flatten().map(Path::to_owned);
    let path = std::env::join_paths(first.chain(std::env::split_paths(&path)))?;
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", script])
        .current_dir(ROOT)
        .env("PATH", path)
        .env("COLUMNS", "1000")
        .env("HOME", user.home.path())
        .env("ALMANAC_CACHE", environment::cache_folder()?)
        .stdin(Stdio::null())
        .output()
        .await?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{script}failed: {stderr}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
