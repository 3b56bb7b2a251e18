//! The project's task runner: `cargo xtask RECIPE...`.
//!
//! This file reads the command line, runs the recipes in the order given and ends with a summary.
//! Each recipe has its own file under `recipes/`.

mod recipes;
mod run;
mod source;
mod watched;
mod words;
mod workspace;

use std::process::ExitCode;

use clap::Parser as _;

use crate::recipes::Arguments;
use crate::run::Run;
use crate::workspace::Workspace;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Err(error) = arguments.check() {
        error.exit();
    }
    match carry_out(arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs every recipe, even after one has failed; returns whether all succeeded.
fn carry_out(arguments: Arguments) -> anyhow::Result<bool> {
    let recipes = arguments.recipes();
    let mut run = Run::new(Workspace::load()?, arguments);
    for recipe in recipes {
        if let Err(error) = (recipe.run)(&mut run) {
            eprintln!("error: {error:#}");
            run.fail(recipe.name, &format!("cargo xtask {}", recipe.name));
        }
    }
    Ok(run.summary())
}
