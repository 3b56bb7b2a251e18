//! `cargo xtask bench`: the criterion benchmarks, in the distribution profile.
//!
//! The benchmarks print figures and never pass or fail by time.

use anyhow::ensure;

use super::Recipe;
use crate::run::{Run, Step};

pub(super) const RECIPE: Recipe = Recipe {
    name: "bench",
    about: "The benchmarks (distribution profile)",
    options: &["filter"],
    run,
};

fn run(run: &mut Run) -> anyhow::Result<()> {
    // Named one by one: `cargo bench` alone also starts the unit tests, whose harness rejects criterion's options.
    let mut benches: Vec<_> = run
        .workspace
        .targets("bench")
        .map(|(member, bench)| (member.name.clone(), bench.name.clone()))
        .collect();
    ensure!(!benches.is_empty(), "there is nothing to run: no package has a benchmark");
    // The name of a benchmark selects all its cases; any other text selects among the cases of all benchmarks.
    let mut filter = run.arguments.filter.clone();
    if let Some(name) = filter.take_if(|name| benches.iter().any(|(_, bench)| bench == name)) {
        benches.retain(|(_, bench)| *bench == name);
    }
    for (package, bench) in benches {
        let step =
            Step::cargo(&["bench", "--profile", "dist", "--package", &package, "--bench", &bench]);
        let step = match &filter {
            Some(filter) => step.with(["--", filter]),
            None => step,
        };
        run.step(&format!("bench {bench}"), &step);
    }
    Ok(())
}
