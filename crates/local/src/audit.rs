//! The audit log of an API server, which records each change and its author: the audit policy and the flags. Other
//! modules read the log.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::json;

/// The verbs of requests that change something.
pub const WRITE_VERBS: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

/// The path of the audit log of the control plane in a directory.
pub(crate) fn log_in(folder: &Path) -> PathBuf {
    folder.join("audit.jsonl")
}

fn policy_in(folder: &Path) -> PathBuf {
    folder.join("audit-policy.json")
}

/// The flags that make the API server write the log.
pub(crate) fn flags(folder: &Path) -> [String; 2] {
    [
        format!("--audit-policy-file={}", policy_in(folder).display()),
        format!("--audit-log-path={}", log_in(folder).display()),
    ]
}

/// Writes the policy: all changes, and the reads of these users.
pub(crate) fn write_policy(folder: &Path, reads_of: &[String]) -> Result<()> {
    let mut rules =
        vec![json!({"level": "Metadata", "verbs": WRITE_VERBS}), json!({"level": "None"})];
    if !reads_of.is_empty() {
        rules.insert(0, json!({"level": "Metadata", "users": reads_of}));
    }
    let policy = json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived", "ResponseStarted"],
        "rules": rules,
    });
    let file = policy_in(folder);
    std::fs::write(&file, policy.to_string())
        .with_context(|| format!("failed to write {}", file.display()))
}
