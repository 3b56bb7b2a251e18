//! `cargo xtask lint`: formatting, clippy, rustdoc, and the rules for dependencies.
//!
//! Advisories are left out: their database cannot be fetched everywhere.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use super::Recipe;
use crate::run::{Run, Step};

/// Another version may judge differently, so everyone uses this one.
const CARGO_DENY: &str = "0.20.2";

pub(super) const RECIPE: Recipe =
    Recipe { name: "lint", about: "Formatting, clippy, rustdoc, cargo-deny", options: &[], run };

fn run(run: &mut Run) -> anyhow::Result<()> {
    run.step("formatting", &Step::cargo(&["fmt", "--all", "--check"]));
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    run.step("clippy", &Step::cargo(&clippy));
    let rustdoc = Step::cargo(&["doc", "--workspace", "--no-deps"]);
    run.step("rustdoc", &rustdoc.variable("RUSTDOCFLAGS", "-D warnings"));
    if let Some(cargo_deny) = cargo_deny(run)? {
        let checks = ["check", "bans", "licenses", "sources"];
        run.step("dependencies", &Step::new(&cargo_deny, &checks));
    }
    Ok(())
}

/// The cargo-deny of the wanted version: the one on the PATH, else our own, installed if need be.
fn cargo_deny(run: &mut Run) -> anyhow::Result<Option<String>> {
    let folder = tools_folder()?.join(format!("cargo-deny-{CARGO_DENY}"));
    let folder = folder.to_string_lossy();
    let own = format!("{folder}/bin/cargo-deny");
    if let Some(found) = ["cargo-deny", &own].into_iter().find(|program| is_wanted(program)) {
        return Ok(Some(found.to_owned()));
    }
    println!("\ncargo-deny {CARGO_DENY} is not installed; building it takes a minute or two, once");
    // Unoptimised it builds three times as fast, and still checks in under a second.
    let install = Step::cargo(&["install", "--debug", "--locked", "--version", CARGO_DENY]);
    let install = install.with(["--root", &folder, "cargo-deny"]);
    Ok(run.step("install cargo-deny", &install).then_some(own))
}

fn is_wanted(program: &str) -> bool {
    let wanted = format!("cargo-deny {CARGO_DENY}");
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == wanted.as_bytes())
}

/// Where tools are kept: outside `target/`, so that they outlive a `cargo clean`.
fn tools_folder() -> anyhow::Result<PathBuf> {
    let named = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = named.or_else(|| env::home_dir().map(|home| home.join(".cache")));
    let cache = cache.context("failed to find a cache directory: set XDG_CACHE_HOME or HOME")?;
    Ok(cache.join("almanac/tools"))
}
