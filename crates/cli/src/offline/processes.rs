//! The commands that a build without the feature `cluster` lacks. The help omits these commands. Running one of them
//! reports how to get a build with it.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Command, Subcommand};
use jiff::Timestamp;

use crate::cluster::{FIX, KUBECONFIG};

#[derive(Subcommand)]
pub(crate) enum ProcessCommand {
    Controller(Words),
    Agent(Words),
    Extender(Words),
    Webhook(Words),
    Up(Words),
}

/// Not in this build
#[derive(Args)]
#[command(hide = true, disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct Words {
    /// The rest of the command line, which this build ignores
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<OsString>,
}

impl ProcessCommand {
    pub(crate) fn run(&self, _: Timestamp, _: &mut impl Write) -> anyhow::Result<ExitCode> {
        let name = match self {
            Self::Controller(_) => "controller",
            Self::Agent(_) => "agent",
            Self::Extender(_) => "extender",
            Self::Webhook(_) => "webhook",
            Self::Up(_) => "up",
        };
        bail!("failed to run {name}: this build reads files only; {FIX}")
    }
}

/// The command line with a note in the help of the program and of each command that reads a cluster by default.
pub(crate) fn described(command: Command) -> Command {
    let described = |command: Command| {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        command
            .after_help(format!("This build reads files only; to read a cluster, {FIX}.\n\n{help}"))
    };
    let may_read_cluster =
        |command: &Command| command.get_arguments().any(|it| it.get_id() == KUBECONFIG);
    described(command).mut_subcommands(|command| {
        if may_read_cluster(&command) { described(command) } else { command }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arguments, Command as Typed, command_line};
    use clap::Parser as _;

    fn failure_of(words: &[&str]) -> String {
        match Arguments::try_parse_from(words) {
            Err(error) => error.to_string(),
            Ok(Arguments { command: Typed::Process(command), .. }) => {
                let ended = command.run(Timestamp::UNIX_EPOCH, &mut Vec::new());
                ended.unwrap_err().to_string()
            }
            Ok(_) => panic!("{words:?} is another command"),
        }
    }

    #[test]
    fn a_missing_command_states_how_to_get_it() {
        for name in ["controller", "agent", "extender", "webhook", "up"] {
            for rest in [&["--help"][..], &["-V"], &["--context", "staging", "more"]] {
                assert_eq!(
                    failure_of(&[&["almanac", name], rest].concat()),
                    format!(
                        "failed to run {name}: this build reads files only; build almanac with its \
                         default features"
                    )
                );
            }
        }
    }

    #[test]
    fn a_flag_of_a_cluster_states_how_to_read_one() {
        for command in ["forecast", "explain", "next", "when"] {
            let message = failure_of(&["almanac", command, "shop", "--context", "staging"]);
            let fix = "this build reads files only; to read a cluster, build almanac with its \
                       default features";
            assert!(message.contains(fix), "{command}: {message}");
        }
    }

    #[test]
    fn the_help_offers_nothing_that_needs_a_cluster() {
        let mut command = command_line();
        command.build();
        for command in command.get_subcommands_mut() {
            let reads = ["forecast", "explain", "next", "when"].contains(&command.get_name());
            let help = command.render_long_help().to_string();
            assert!(!help.contains("--kubeconfig"), "{help}");
            assert_eq!(help.contains("This build reads files only"), reads, "{help}");
        }
        let help = command.render_help().to_string();
        assert!(help.contains("This build reads files only") && !help.contains("controller"));
    }
}
