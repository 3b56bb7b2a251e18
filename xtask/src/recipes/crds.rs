//! `cargo xtask crds`: regenerates `deploy/crds`, `deploy/hub-crds` and the page of findings from the code.

use super::Recipe;
use crate::run::{Run, Step};

pub(super) const RECIPE: Recipe = Recipe {
    name: "crds",
    about: "Rewrite deploy/crds, deploy/hub-crds and docs/findings.md from the code",
    options: &[],
    run,
};

#[expect(clippy::unnecessary_wraps, reason = "the type of every recipe")]
fn run(run: &mut Run) -> anyhow::Result<()> {
    let crds = ["run", "--quiet", "--package", "almanac", "--", "crds", "--out", "deploy/crds"];
    run.step("crds", &Step::cargo(&crds));
    let mut of_a_hub = crds.to_vec();
    of_a_hub.splice(6.., ["--controllers", "placement", "--out", "deploy/hub-crds"]);
    run.step("hub-crds", &Step::cargo(&of_a_hub));
    let page =
        Step::cargo(&["test", "--quiet", "--package", "almanac-api", "--test", "findings_page"]);
    run.step("findings", &page.variable("ALMANAC_UPDATE", "1"));
    Ok(())
}
