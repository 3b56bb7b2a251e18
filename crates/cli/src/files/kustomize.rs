//! A kustomization, as `kubectl kustomize` builds it, and as `kubectl apply -k` would apply it.

use std::process::Command;

use anyhow::{Context as _, ensure};

/// Builds a kustomization. Only for a directory that the user names: kustomize may start programs and use the network.
pub(super) fn build(folder: &str) -> anyhow::Result<Vec<u8>> {
    let cannot = || format!("failed to build the kustomization {folder:?}");
    let output = Command::new("kubectl")
        .args(["kustomize", folder])
        .output()
        .context("failed to run kubectl")
        .with_context(cannot)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {}", cannot(), why_it_failed(&stderr));
    Ok(output.stdout)
}

/// The message of kubectl for a failure, without its warnings and without the form of its logs:
/// `E1122 01:32:47.422826 23803 run.go:72] "command failed" err="…"`.
pub(crate) fn why_it_failed(stderr: &str) -> String {
    let is_log = |line: &str| {
        line.starts_with(['I', 'W', 'E', 'F'])
            && line.get(1..5).is_some_and(|date| date.bytes().all(|it| it.is_ascii_digit()))
    };
    let is_warning = |line: &&str| {
        line.starts_with("# Warning") || (is_log(line) && !line.starts_with(['E', 'F']))
    };
    let without_form = |line: &str| {
        let logged = line.split_once("] ").filter(|_| is_log(line)).map(|(_, logged)| logged);
        let quoted = logged.and_then(|it| it.split_once(" err=")).map(|(_, quoted)| quoted);
        let error = quoted.and_then(|it| serde_json::from_str(it).ok());
        error.unwrap_or_else(|| logged.unwrap_or(line).trim_start_matches("error: ").to_owned())
    };
    let lines = stderr.trim().lines().filter(|line| !is_warning(line)).map(without_form);
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::why_it_failed;

    #[test]
    fn a_failure_of_kubectl_is_reported_without_warnings_and_log_prefix() {
        for (stderr, expected) in [
            (
                "# Warning: 'commonLabels' is deprecated.\n\
                 E1122 01:32:47.422826   23803 run.go:72] \"command failed\" err=\"unknown field \\\"foo\\\"\"\n",
                "unknown field \"foo\"",
            ),
            (
                "W1122 01:32:47.4 1 loader.go:222] Config not found\nerror: no such file\n",
                "no such file",
            ),
            ("E1122 01:32:47.4 1 run.go:72] it failed\n", "it failed"),
            ("error: two\nlines\n", "two\nlines"),
        ] {
            assert_eq!(why_it_failed(stderr), expected);
        }
    }
}
