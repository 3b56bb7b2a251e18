//! The `almanac` program: parses the arguments and runs the command.
//!
//! Each command is a module of its own. This module reads the clock, once unless the command watches a cluster, and
//! converts errors to exit codes. `outcome` defines the codes.
//!
//! No module decides anything about a policy. Without the feature `cluster`, the program reads files only, and is built
//! without `almanac-shell`, `almanac-controllers` and `almanac-local`; `offline` has the replacements.
//!
//! # Where to change what
//!
//! The file of a command contains its arguments and its question; each output format is a file in the directory of
//! the same name. Colors, widths and line breaks are shared.
//!
//! | to change | go to |
//! |---|---|
//! | an entry or a column of `next` | `next/entry.rs` has the values, `next/text.rs`, `next/csv.rs`, `next/json.rs`, `next/ics.rs` and `next/lines.rs` (for `almanac up`) the formats |
//! | the drawing of a series | `forecast/drawn.rs`, then `forecast/text.rs`, `forecast/svg.rs`, `forecast/html.rs` with the scripts in `src/forecast/page` |
//! | highlights of a forecast; pods drawn as one | `forecast/highlights.rs`, `forecast/agreeing.rs` |
//! | the words of `diff` | `diff/words.rs`; sides and revisions: `diff/side.rs`, `diff/git.rs` |
//! | the directories that `diff` renders, and its limits | `diff/render.rs`, `diff/render/kustomization.rs`, `diff/render/program.rs` |
//! | codes and locations of findings over time | `lint/over_time.rs` |
//! | findings in each format, exit codes | `findings.rs`, `outcome.rs` and `docs/command-line.md` |
//! | the files to read; `almanac.toml`; `-k` | `files.rs`, `files/settings.rs`, `files/kustomize.rs` |
//! | the grouping of places | `input/grouping.rs` |
//! | reads of a cluster; watches of `--watch` | `cluster.rs`, `cluster/changes.rs`, `watching.rs` |
//! | the distinction of paths and names | `subject/paths.rs`; a schedule for `when`: `when/typed.rs` |
//! | instants, periods and zones on the command line | `moment.rs`, `period.rs`, `display_zone.rs`, `zone_name.rs` |
//! | widths, line breaks, cut names | `text_width.rs`, `wrapping.rs`, `shortening.rs`, `formulas.rs`, `drawing.rs` |
//! | flags of other tools | `usage_error.rs` |
//! | the help and its examples | the file of the command, `option_order.rs`; `tests/offline/help.rs` runs the examples |
//! | shell completion | `completion.rs`, and `add = …` at the argument |
//! | controller, agent, extender, webhook | `processes.rs` and its directory; providers of nodes: `processes/controller/simulated_nodes.rs` |
//! | `almanac up` and its demo | `processes/up.rs`, `processes/up/demo.rs` |
//!
//! Three rules apply to a new value in the entries of `next`:
//!
//! - `joined` in `next.rs` compares whole events except for their targets. So pods with different values are separate entries.
//! - `unique_parts` in `next/ics.rs` must not contain the value. The parts form the `UID`, and a calendar would
//!   contain the event twice.
//! - CSV and ICS have no expected texts: assert in `tests/offline/forecast/formats.rs`.
//!
//! `tests/offline` runs the program on files. `ALMANAC_UPDATE=1` writes its expected texts, `UPDATE_DOCS=1` the output
//! in the documents; review both as a diff. The JSON, CSV and exit codes are contracts, described in `docs/forecast.md`
//! and `docs/command-line.md`.

mod argument_error;
mod cleanup;
mod clock_changes;
#[cfg_attr(not(feature = "cluster"), path = "offline/cluster.rs")]
mod cluster;
mod color;
mod completion;
mod crds;
mod cron_jobs;
mod csv;
#[cfg(test)]
mod deep_inputs;
mod destination;
mod diff;
mod display_zone;
mod drawing;
mod explain;
mod files;
mod findings;
mod forecast;
mod formulas;
mod ics;
mod input;
mod input_arguments;
mod invisible;
mod level_format;
mod lint;
mod man;
mod markup;
mod moment;
mod next;
mod option_order;
mod outcome;
mod pattern;
mod period;
#[cfg_attr(not(feature = "cluster"), path = "offline/processes.rs")]
mod processes;
mod selector;
mod shell_word;
mod shortening;
mod stretches;
mod subject;
mod text_width;
mod usage_error;
mod validate;
mod version;
mod wall_clock;
mod watching;
mod when;
mod wrapping;
mod written_at;
mod yaml;
mod zone_name;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::outcome::{COULD_NOT_RUN, exit_codes};
use crate::processes::ProcessCommand;
use crate::version::VERSION;
use crate::wall_clock::present;

/// Capacity that follows the clock, for Kubernetes.
#[derive(Parser)]
#[command(
    name = "almanac",
    version = VERSION.as_str(),
    propagate_version = true,
    arg_required_else_help = true,
    after_help = exit_codes!()
)]
struct Arguments {
    #[command(flatten)]
    color: color::ColorArguments,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Forecast(forecast::ForecastArguments),
    Explain(explain::ExplainArguments),
    Next(next::NextArguments),
    Diff(diff::DiffArguments),
    When(when::WhenArguments),
    Lint(lint::LintArguments),
    Validate(validate::ValidateArguments),
    Crds(crds::CrdsArguments),
    #[command(flatten)]
    Process(ProcessCommand),
    Completion(completion::CompletionArguments),
    Man(man::ManArguments),
    Version(version::VersionArguments),
}

fn main() -> ExitCode {
    completion::answer_shell(command_line);
    let words: Vec<OsString> = env::args_os().collect();
    let program = words.first().map(Path::new).and_then(Path::file_stem).unwrap_or_default();
    if program == completion::FOR_KUBECTL {
        // A failed completion returns no candidates.
        let _ = completion::answer_kubectl(command_line(), words, &mut io::stdout());
        return ExitCode::SUCCESS;
    }
    let colors = color::choice_in(&words);
    let mut command = command_line().color(colors).term_width(text_width::for_stdout());
    if program == "kubectl-almanac" {
        command = as_plugin(command);
    }
    let matches = command.try_get_matches_from_mut(&words);
    let arguments = match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => usage_error::explained(error, &command, &words).exit(),
    };
    arguments.color.apply();
    let now = present();
    let has_colors = anstream::stdout().current_choice() != anstream::ColorChoice::Never;
    let stdout: Box<dyn io::Write> = if has_colors {
        Box::new(anstream::stdout().lock())
    } else {
        Box::new(color::Plain::new(io::stdout().lock()))
    };
    let mut output = io::BufWriter::new(stdout);
    let done = match &arguments.command {
        Command::Forecast(arguments) => forecast::run(arguments, now, &mut output),
        Command::Explain(arguments) => explain::run(arguments, now, &mut output),
        Command::Next(arguments) => next::run(arguments, now, &mut output),
        Command::Diff(arguments) => diff::run(arguments, now, &mut output),
        Command::When(arguments) => when::run(arguments, now, &mut output),
        Command::Lint(arguments) => lint::run(arguments, now, &mut output),
        Command::Validate(arguments) => validate::run(arguments, now, &mut output),
        Command::Crds(arguments) => crds::run(arguments, &mut output),
        Command::Process(command) => command.run(now, &mut output),
        Command::Completion(arguments) => completion::run(arguments, &mut output),
        Command::Man(arguments) => man::run(arguments, command_line(), &mut output),
        Command::Version(arguments) => version::run(arguments, &mut output),
    };
    match done.and_then(|code| Ok(output.flush().map(|()| code)?)) {
        Ok(code) => code,
        // The reader of the output has closed the pipe.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            drawing::report(&argument_error::render(&error, text_width::for_stderr()));
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}

/// The command line of this build.
fn command_line() -> clap::Command {
    processes::described(option_order::ordered(Arguments::command()))
}

/// The command line of the kubectl plugin, whose help has the name of the plugin.
fn as_plugin(command: clap::Command) -> clap::Command {
    let command = command.bin_name("kubectl almanac");
    command.mut_subcommands(|command| {
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        command.after_help(examples.replace("almanac ", "kubectl almanac "))
    })
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        let of_json = || cause.downcast_ref().and_then(serde_json::Error::io_error_kind);
        cause.downcast_ref().map(io::Error::kind).or_else(of_json)
    };
    error.chain().any(|cause| kind(cause) == Some(io::ErrorKind::BrokenPipe))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use clap::error::ErrorKind;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn an_argument_that_would_be_ignored_is_an_error() {
        for arguments in [
            ["--cron", "@daily", "--end", "hours=3"],
            ["--daily", "09:00-17:00", "--end", "hours=3"],
            ["--cron", "@daily", "--daily", "09:00-17:00"],
            ["--cron", "@daily", "--start", "hours=3"],
        ] {
            let line = ["almanac", "when"].into_iter().chain(arguments);
            let error = Arguments::try_parse_from(line).err();
            let kind = error.map(|error| error.kind());
            assert_eq!(kind, Some(ErrorKind::ArgumentConflict), "{arguments:?}");
        }
    }
}
