//! The table of recipes, and the command line that is built from the table.
//!
//! To add a recipe: write `recipes/NAME.rs` with a `RECIPE`, and add it to the two lists below.
//! `--help`, completion of names and the check of the documents follow from the table.

mod arch;
mod bench;
mod clean;
mod crds;
mod fuzz;
mod lint;
mod peers;
mod test;
mod words;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser};

use crate::run::Run;

const RECIPES: &[Recipe] = &[
    lint::RECIPE,
    words::RECIPE,
    arch::RECIPE,
    test::RECIPE,
    crds::RECIPE,
    bench::RECIPE,
    fuzz::RECIPE,
    peers::RECIPE,
    clean::RECIPE,
];

/// A recipe of the task runner.
pub(crate) struct Recipe {
    pub(crate) name: &'static str,
    /// The description in `--help`.
    pub(crate) about: &'static str,
    /// The options that this recipe accepts; any other option is an error.
    pub(crate) options: &'static [&'static str],
    /// A failed step is recorded in the [`Run`]; an error means that the recipe could not continue.
    pub(crate) run: fn(&mut Run) -> anyhow::Result<()>,
}

/// The parsed command line.
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", about = "Almanac's task runner")]
pub(crate) struct Arguments {
    /// The recipes, in this order
    #[arg(required = true, value_name = "RECIPE", value_parser = names())]
    names: Vec<String>,
    /// With `test`: leave out the tests that need a real cluster
    #[arg(long)]
    pub(crate) quick: bool,
    /// With `test`: each test tries its thorough number (see CONTRIBUTING.md); takes hours. With `fuzz`: 10 minutes for
    /// each target
    #[arg(long, conflicts_with = "quick")]
    pub(crate) thorough: bool,
    /// With `test` and `bench`: only what has TEXT in its name; with `fuzz`: only the target TEXT
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// With `test`: how many programs of real-cluster tests run at a time, and half as many others; 2 a processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// With `test`: the version of Kubernetes for real-cluster tests, such as 1.36; the newest unless given
    #[arg(long, value_name = "VERSION", conflicts_with = "quick")]
    pub(crate) kubernetes_version: Option<String>,
    /// With `clean`: the control planes that were built, and what was prepared for them
    #[arg(long)]
    pub(crate) clusters: bool,
    /// With `fuzz`: how many seconds each target runs; 60 unless given, 600 with --thorough
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) seconds: Option<u32>,
    #[command(flatten)]
    pub(crate) words: words::Options,
}

impl Arguments {
    /// Rejects an option that none of the named recipes accepts.
    pub(crate) fn check(&self) -> Result<(), clap::Error> {
        let given = [
            ("quick", self.quick),
            ("thorough", self.thorough),
            ("filter", self.filter.is_some()),
            ("jobs", self.jobs.is_some()),
            ("kubernetes-version", self.kubernetes_version.is_some()),
            ("clusters", self.clusters),
            ("seconds", self.seconds.is_some()),
            ("summary", self.words.summary),
            ("write-baseline", self.words.write_baseline),
            ("compare", self.words.compare.is_some()),
            (words::PATHS, !self.words.paths.is_empty()),
        ];
        for (option, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
            if !self.recipes().iter().any(|recipe| recipe.options.contains(&option)) {
                let takers: Vec<_> = RECIPES
                    .iter()
                    .filter(|recipe| recipe.options.contains(&option))
                    .map(|recipe| format!("`{}`", recipe.name))
                    .collect();
                let message = format!("--{option} goes with {} only", takers.join(" and "));
                return Err(Self::command().error(ErrorKind::ArgumentConflict, message));
            }
        }
        Ok(())
    }

    /// The number of programs of real-cluster tests that run at the same time.
    pub(crate) fn jobs(&self) -> usize {
        self.jobs.map_or_else(|| 2 * processors(), usize::from)
    }

    pub(crate) fn recipes(&self) -> Vec<&'static Recipe> {
        self.names
            .iter()
            .filter_map(|name| RECIPES.iter().find(|recipe| recipe.name == name))
            .collect()
    }
}

pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

fn names() -> PossibleValuesParser {
    RECIPES
        .iter()
        .map(|recipe| PossibleValue::new(recipe.name).help(recipe.about))
        .collect::<Vec<_>>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        let arguments = Arguments::try_parse_from(line.split(' '))?;
        arguments.check()?;
        Ok(arguments)
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn recipes_run_in_the_order_given() {
        let arguments = parse("xtask lint arch test --quick").unwrap();
        let names: Vec<_> = arguments.recipes().iter().map(|recipe| recipe.name).collect();
        assert_eq!(names, ["lint", "arch", "test"]);
        assert!(arguments.quick);
    }

    #[test]
    fn an_option_no_named_recipe_takes_is_an_error() {
        let error = parse("xtask lint --quick").err().unwrap().to_string();
        assert!(error.contains("--quick goes with `test` only"), "{error}");
        assert!(parse("xtask lint test --quick").is_ok());
        assert!(parse("xtask bench --filter cron").is_ok());
    }

    #[test]
    fn paths_follow_two_dashes_and_go_with_words_only() {
        let arguments = parse("xtask words --summary -- docs crates/api").unwrap();
        assert_eq!(arguments.words.paths, ["docs", "crates/api"]);
        let error = parse("xtask arch -- docs").err().unwrap().to_string();
        assert!(error.contains("-- PATH goes with `words` only"), "{error}");
    }

    #[test]
    fn an_unknown_recipe_is_an_error() {
        assert!(parse("xtask linnt").is_err());
    }
}
