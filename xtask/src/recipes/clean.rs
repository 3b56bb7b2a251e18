//! `cargo xtask clean --clusters`: removes the control planes that were built for tests, through the program that
//! manages their directories and locks. `cargo clean` removes everything else.

use anyhow::ensure;

use super::Recipe;
use crate::run::{Run, Step};

pub(super) const RECIPE: Recipe = Recipe {
    name: "clean",
    about: "Remove the control planes that were built (with --clusters)",
    options: &["clusters"],
    run,
};

fn run(run: &mut Run) -> anyhow::Result<()> {
    ensure!(run.arguments.clusters, "name what to remove: `cargo xtask clean --clusters`");
    let remove =
        ["run", "--quiet", "--package", "almanac-harness", "--bin", "control-plane", "clean"];
    run.step("remove", &Step::cargo(&remove));
    Ok(())
}
