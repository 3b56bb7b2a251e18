//! `cargo xtask peers`: re-records the results of Kubernetes' own HPA controller and CEL libraries,
//! which ours are compared with.
//!
//! Requires Go. The comparison itself is a test like others, and reads only what was recorded.

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
