//! The rules for dependencies (deny.toml), which cargo-deny checks. The check runs only if an input has changed since
//! the check last passed.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::run::{Run, Step};
use crate::workspace::Workspace;

/// A fixed version, because other versions may report different findings.
const CARGO_DENY: &str = "0.20.2";

pub(super) fn check(run: &mut Run) -> anyhow::Result<()> {
    let folder = tools_folder()?.join(format!("cargo-deny-{CARGO_DENY}"));
    let stamp = folder.join("passed").join(fingerprint(&run.workspace)?);
    if stamp.exists() {
        println!("\n== dependencies: unchanged since cargo-deny {CARGO_DENY} passed");
        return Ok(());
    }
    let Some(cargo_deny) = cargo_deny(run, &folder) else { return Ok(()) };
    let checks = ["check", "bans", "licenses", "sources"];
    if run.step("dependencies", &Step::new(&cargo_deny, &checks)) {
        let saved = fs::create_dir_all(folder.join("passed")).and_then(|()| fs::write(&stamp, ""));
        saved.with_context(|| format!("failed to write {}", stamp.display()))?;
    }
    Ok(())
}

/// A hash of all files that cargo-deny reads.
fn fingerprint(workspace: &Workspace) -> anyhow::Result<String> {
    let mut files = vec![workspace.root.join("Cargo.toml"), workspace.root.join("Cargo.lock")];
    files.push(workspace.root.join("deny.toml"));
    files.extend(workspace.members.iter().map(|member| member.manifest_path.clone()));
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        let bytes =
            fs::read(&file).with_context(|| format!("failed to read {}", file.display()))?;
        (workspace.relative(&file), bytes).hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// cargo-deny in the required version: the program on the PATH, else a copy in the directory of tools, which is
/// installed if missing.
fn cargo_deny(run: &mut Run, folder: &Path) -> Option<String> {
    let folder = folder.to_string_lossy();
    let own = format!("{folder}/bin/cargo-deny");
    if let Some(found) = ["cargo-deny", &own].into_iter().find(|program| is_wanted(program)) {
        return Some(found.to_owned());
    }
    println!("\ncargo-deny {CARGO_DENY} is not installed; building it takes a minute or two, once");
    // Without optimization, cargo-deny builds three times as fast, and still checks in under a second.
    let install = Step::cargo(&["install", "--debug", "--locked", "--version", CARGO_DENY]);
    let install = install.with(["--root", &folder, "cargo-deny"]);
    run.step("install cargo-deny", &install).then_some(own)
}

fn is_wanted(program: &str) -> bool {
    let expected = format!("cargo-deny {CARGO_DENY}");
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == expected.as_bytes())
}

/// The directory of tools: outside `target/`, so that `cargo clean` keeps the tools.
fn tools_folder() -> anyhow::Result<PathBuf> {
    let named = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = named.or_else(|| env::home_dir().map(|home| home.join(".cache")));
    let cache = cache.context("failed to find a cache directory: set XDG_CACHE_HOME or HOME")?;
    Ok(cache.join("almanac/tools"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_changed_manifest_changes_the_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("x.toml");
        for file in ["Cargo.toml", "Cargo.lock", "deny.toml", "x.toml"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let package =
            json!({ "name": "x", "manifest_path": manifest, "dependencies": [], "targets": [] });
        let workspace = json!({ "workspace_root": folder.path(), "packages": [package] });
        let workspace: Workspace = serde_json::from_value(workspace).unwrap();
        let before = fingerprint(&workspace).unwrap();
        assert_eq!(before, fingerprint(&workspace).unwrap());
        fs::write(&manifest, "[dependencies]").unwrap();
        assert_ne!(before, fingerprint(&workspace).unwrap());
    }
}
