//! `cargo xtask peers`: asks the code of Kubernetes anew what our autoscaler is compared with.
//!
//! Takes Go. The comparison itself is a test like others, and reads only what was recorded.

use super::Recipe;
use crate::run::{Run, Step};

pub(super) const RECIPE: Recipe = Recipe {
    name: "peers",
    about: "Record anew what the code of Kubernetes answers (takes Go)",
    options: &[],
    run,
};

#[expect(clippy::unnecessary_wraps, reason = "the type of every recipe")]
fn run(run: &mut Run) -> anyhow::Result<()> {
    run.step("record", &Step::cargo(&["run", "--quiet", "--package", "almanac-peers"]));
    Ok(())
}
