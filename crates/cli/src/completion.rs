//! `almanac completion`: the scripts with which a shell completes command lines, and the responses to them.
//!
//! The scripts call the program itself, so the candidates always match what this program accepts. kubectl calls the
//! plugin by another name, `kubectl_complete-almanac`, and reads responses of its own form.

#[cfg_attr(not(feature = "cluster"), path = "offline/kubeconfig.rs")]
mod kubeconfig;
mod line;
mod names;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::iter;
use std::process::ExitCode;

use almanac_calendar::Zone;
use anyhow::Context as _;
use clap::{Args, Command, ValueEnum};
use clap_complete::CompletionCandidate;
use clap_complete::env::{CompleteEnv, Shells};

#[cfg(feature = "cluster")]
pub(crate) use self::kubeconfig::contexts;
pub(crate) use self::names::{compared, namespaces, objects_and_paths};
use crate::outcome::exit_codes_without_findings;
use crate::zone_name::LOCAL;

/// Print a shell completion script
///
/// The script calls almanac, which must be on the PATH. It also works for the kubectl plugin: link almanac
/// as kubectl-almanac and as kubectl_complete-almanac.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = concat!("Examples:
  source <(almanac completion bash)                                  # in ~/.bashrc
  source <(almanac completion zsh)                                   # in ~/.zshrc, after compinit
  almanac completion fish > ~/.config/fish/completions/almanac.fish
  almanac completion powershell | Out-String | Invoke-Expression     # in $PROFILE

As a plugin of kubectl, which completes with its own script:
  ln -s \"$(which almanac)\" ~/.local/bin/kubectl-almanac
  ln -s \"$(which almanac)\" ~/.local/bin/kubectl_complete-almanac

", exit_codes_without_findings!())
)]
pub(crate) struct CompletionArguments {
    /// The shell
    shell: Shell,
}

#[derive(Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    #[value(alias = "pwsh")]
    Powershell,
}

/// The name by which kubectl calls the completion of the plugin.
pub(crate) const FOR_KUBECTL: &str = "kubectl_complete-almanac";

/// The variable by which a script requests candidates.
const VARIABLE: &str = "ALMANAC_COMPLETE";

const NAME: &str = "almanac";

/// zsh runs a file loaded by its name at the first completion, so the file must respond to it.
const ZSH_LOADED_BY_NAME: &str =
    "[[ $funcstack[1] == _almanac ]] && _clap_dynamic_completer_almanac \"$@\"\ntrue\n";

/// Passes what is typed on as arguments. The script of `clap_complete` evaluates it, so that completion would run the
/// commands in it.
const POWERSHELL: &str = include_str!("completion/almanac.ps1");

pub(crate) fn run(
    arguments: &CompletionArguments,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let (shell, more) = match arguments.shell {
        Shell::Bash => ("bash", ""),
        Shell::Zsh => ("zsh", ZSH_LOADED_BY_NAME),
        Shell::Fish => ("fish", ""),
        Shell::Powershell => {
            output.write_all(POWERSHELL.as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let shells = Shells::builtins();
    let shell = shells.completer(shell).context("unknown shell")?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, NAME, NAME, NAME, &mut script)?;
    output.write_all(&script)?;
    output.write_all(more.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// If a shell has called the program, responds to the shell and exits.
pub(crate) fn answer_shell(command: fn() -> Command) {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

/// Responds to kubectl. The last word is the word to complete.
pub(crate) fn answer_kubectl(
    mut command: Command,
    words: Vec<OsString>,
    output: &mut impl Write,
) -> io::Result<()> {
    /// The flags in the last line for kubectl: no file names in addition to the candidates, and no space after a path
    /// that continues.
    const NO_FILES: u8 = 4;
    const NO_SPACE: u8 = 2;
    let last = words.len().saturating_sub(1);
    let folder = env::current_dir().ok();
    let offered = clap_complete::engine::complete(&mut command, words, last, folder.as_deref())?;
    let mut directive = NO_FILES;
    for candidate in &offered {
        let value = candidate.get_value().to_string_lossy();
        if value.ends_with(['/', '=']) {
            directive |= NO_SPACE;
        }
        let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
        match help.lines().next() {
            Some(help) => writeln!(output, "{value}\t{help}")?,
            None => writeln!(output, "{value}")?,
        }
    }
    writeln!(output, ":{directive}")
}

/// The zones that can be displayed.
pub(crate) fn displayed_zones() -> Vec<CompletionCandidate> {
    let local = CompletionCandidate::new(LOCAL).help(Some("that of this machine".into()));
    iter::once(local).chain(zones()).collect()
}

/// All time zones of the database.
pub(crate) fn zones() -> Vec<CompletionCandidate> {
    Zone::all().map(|zone| CompletionCandidate::new(zone.name())).collect()
}
