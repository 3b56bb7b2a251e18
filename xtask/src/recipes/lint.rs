//! `cargo xtask lint`: formatting, clippy, rustdoc, the words, and the rules for dependencies.
//!
//! Advisories are not checked, because their database is not available everywhere.

mod dependencies;

use super::{Recipe, words};
use crate::run::{Run, Step};

pub(super) const RECIPE: Recipe = Recipe {
    name: "lint",
    about: "Formatting, clippy, rustdoc, words, cargo-deny",
    options: &[],
    run,
};

fn run(run: &mut Run) -> anyhow::Result<()> {
    run.step("formatting", &Step::cargo(&["fmt", "--all", "--check"]));
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    run.step("clippy", &Step::cargo(&clippy));
    // The build for files only has code of its own. The default features exclude that code.
    let offline =
        ["clippy", "--package", "almanac", "--no-default-features", "--features", "offline"];
    run.step("clippy of the offline build", &Step::cargo(&offline).with(["--", "-D", "warnings"]));
    // With the examples, the dependencies have the same features as for clippy.
    let rustdoc = ["doc", "--workspace", "--no-deps", "--lib", "--bins", "--examples"];
    let rustdoc = Step::cargo(&rustdoc);
    run.step("rustdoc", &rustdoc.variable("RUSTDOCFLAGS", "-D warnings"));
    words::check(run, &words::Options::default())?;
    dependencies::check(run)
}
