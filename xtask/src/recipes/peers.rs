//! `cargo xtask peers`: records the results of Kubernetes' own HPA controller and CEL libraries again. Tests compare
//! our results with the record.
//!
//! Requires Go. The comparison itself is an ordinary test, and reads only the record.

use super::Recipe;
use crate::run::{Run, Step};

pub(super) const RECIPE: Recipe = Recipe {
    name: "peers",
    about: "Re-record the results of Kubernetes' own HPA controller and CEL (requires Go)",
    options: &[],
    run,
};

#[expect(clippy::unnecessary_wraps, reason = "the type of every recipe")]
fn run(run: &mut Run) -> anyhow::Result<()> {
    run.step("record", &Step::cargo(&["run", "--quiet", "--package", "almanac-peers"]));
    Ok(())
}
