//! `cargo xtask fuzz`: runs each coverage-guided fuzz target of `fuzz/` for some time, one at a time.
//!
//! Requires nightly Rust and cargo-fuzz. What a target finds is kept in `fuzz/corpus`, and what fails in
//! `fuzz/artifacts`; neither is committed.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

use super::Recipe;
use crate::run::{Run, Step};

pub(super) const RECIPE: Recipe = Recipe {
    name: "fuzz",
    about: "Fuzz every parser, or the one that --filter names (requires nightly Rust and cargo-fuzz)",
    options: &["filter", "seconds"],
    run,
};

/// No text that a user writes needs more; one that does is a failure.
const LIMITS: [&str; 3] = ["-timeout=10", "-rss_limit_mb=1024", "-max_len=4096"];

fn run(run: &mut Run) -> anyhow::Result<()> {
    let root = run.workspace.root.clone();
    let filter = run.arguments.filter.as_deref();
    let targets = targets(&root, filter)?;
    ensure!(!targets.is_empty(), "there is no such target in fuzz/fuzz_targets");
    let version = Step::new("rustup", &["run", "nightly", "cargo", "fuzz", "--version"]);
    if run.captured("cargo-fuzz", &version)?.is_none() {
        eprintln!(
            "install it: rustup toolchain install nightly && cargo install --locked cargo-fuzz"
        );
        return Ok(());
    }
    let time = format!("-max_total_time={}", run.arguments.seconds());
    for target in targets {
        let (corpus, seeds) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
        let folder = root.join(&corpus);
        fs::create_dir_all(&folder)
            .with_context(|| format!("failed to create {}", folder.display()))?;
        // The code is safe, so that a sanitizer would only slow it down.
        let fuzz = ["run", "nightly", "cargo", "fuzz", "run", "--sanitizer", "none"];
        let step = Step::new("rustup", &fuzz).with([&*target, &*corpus, &*seeds, "--", &*time]);
        let step = step.with(LIMITS).with(["-print_final_stats=1"]);
        run.step(&format!("fuzz {target}"), &step);
    }
    Ok(())
}

/// The names of the targets, in their order.
fn targets(root: &Path, filter: Option<&str>) -> anyhow::Result<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let failed = || format!("failed to read {}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(failed)? {
        let name = entry.with_context(failed)?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".rs").map(str::to_owned));
    }
    names.retain(|name| filter.is_none_or(|filter| name == filter));
    names.sort();
    Ok(names)
}
