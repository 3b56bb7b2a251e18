//! `cargo xtask crds`: regenerates `deploy/crds`, `deploy/hub-crds`, `deploy/units-crds` and the page of findings from the code.

use super::Recipe;
use crate::run::{Run, Step};

pub(super) const RECIPE: Recipe = Recipe {
    name: "crds",
    about: "Rewrite deploy/crds, deploy/hub-crds, deploy/units-crds and docs/findings.md from the code",
    options: &[],
    run,
};

#[expect(clippy::unnecessary_wraps, reason = "the type of every recipe")]
fn run(run: &mut Run) -> anyhow::Result<()> {
    let crds = ["run", "--quiet", "--package", "almanac", "--", "crds", "--out", "deploy/crds"];
    run.step("crds", &Step::cargo(&crds));
    for (controller, step, folder) in
        [("placement", "hub-crds", "deploy/hub-crds"), ("units", "units-crds", "deploy/units-crds")]
    {
        let mut apart = crds.to_vec();
        apart.splice(6.., ["--controllers", controller, "--out", folder]);
        run.step(step, &Step::cargo(&apart));
    }
    let page =
        ["test", "--quiet", "--package", "almanac-api", "--test", "objects", "findings_page"];
    let page = Step::cargo(&page);
    run.step("findings", &page.variable("ALMANAC_UPDATE", "1"));
    Ok(())
}
