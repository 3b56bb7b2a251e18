//! `cargo xtask fuzz`: runs each coverage-guided fuzz target of `fuzz/` for some time, one at a time.
//!
//! Requires nightly Rust and cargo-fuzz. `fuzz/corpus` keeps the inputs that reach new code, and `fuzz/artifacts` those
//! that fail. Neither is committed.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

use super::Recipe;
use crate::run::{Run, Step};

pub(super) const RECIPE: Recipe = Recipe {
    name: "fuzz",
    about: "Fuzz every parser, or the one that --filter names (requires nightly Rust and cargo-fuzz)",
    options: &["filter", "seconds", "thorough"],
    run,
};

/// The time for each target, without and with `--thorough`.
const SECONDS: u32 = 60;
const SECONDS_IF_THOROUGH: u32 = 600;

/// An input that takes more than 10 s or 2 GiB is a failure.
const LIMITS: [&str; 2] = ["-timeout=10", "-rss_limit_mb=2048"];

/// The version that the targets are known to build with.
const CARGO_FUZZ: &str = "0.13.2";

fn run(run: &mut Run) -> anyhow::Result<()> {
    let root = run.workspace.root.clone();
    let filter = run.arguments.filter.clone();
    let targets = targets(&root, filter.as_deref())?;
    require_cargo_fuzz()?;
    let build = cargo_fuzz("build").with(&filter);
    if !run.step("build the fuzz targets", &build) {
        return Ok(());
    }
    let usual = if run.arguments.thorough { SECONDS_IF_THOROUGH } else { SECONDS };
    let time = format!("-max_total_time={}", run.arguments.seconds.unwrap_or(usual));
    for target in targets {
        let (corpus, seeds) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
        let dir = root.join(&corpus);
        fs::create_dir_all(&dir).with_context(|| format!("failed to create {}", dir.display()))?;
        let length = format!("-max_len={}", most_bytes(&target));
        let step = cargo_fuzz("run").with([&*target, &*corpus, &*seeds, "--", &*time, &*length]);
        let step = step.with(LIMITS).with(["-print_final_stats=1"]);
        run.step(&format!("fuzz {target}"), &step);
    }
    Ok(())
}

/// A subcommand of cargo-fuzz. The code is safe, so a sanitizer only slows it down.
fn cargo_fuzz(subcommand: &str) -> Step {
    Step::new("rustup", &["run", "nightly", "cargo", "fuzz", subcommand, "--sanitizer", "none"])
}

fn require_cargo_fuzz() -> anyhow::Result<()> {
    let step = Step::new("rustup", &["run", "nightly", "cargo", "fuzz", "--version"]);
    let output = step.command().output();
    ensure!(
        output.is_ok_and(|output| output.status.success()),
        "failed to start cargo-fuzz with nightly Rust; install them: rustup toolchain install \
         nightly && cargo install --locked --version {CARGO_FUZZ} cargo-fuzz"
    );
    Ok(())
}

/// The maximum input size in bytes. A file contains several objects; a query has at most 4096 characters.
fn most_bytes(target: &str) -> usize {
    if target == "yaml" { 65_536 } else { 4_096 }
}

/// The sorted names of all targets, or only the name in the filter.
fn targets(root: &Path, filter: Option<&str>) -> anyhow::Result<Vec<String>> {
    let dir = root.join("fuzz/fuzz_targets");
    let failed = || format!("failed to read {}", dir.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&dir).with_context(failed)? {
        let name = entry.with_context(failed)?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".rs").map(str::to_owned));
    }
    names.sort();
    let Some(filter) = filter else { return Ok(names) };
    let known = names.join(", ");
    names.retain(|name| name == filter);
    ensure!(!names.is_empty(), "failed to find the fuzz target {filter}; name one of {known}");
    Ok(names)
}
