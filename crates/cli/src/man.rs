//! `almanac man`: the manual, with a page for the program and one for each command, generated from the
//! help.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::argument_error::ArgumentError;
use crate::outcome::exit_codes_without_findings;
use crate::version::VERSION;

/// Print a manual page, or write all pages into a directory
#[derive(Args)]
#[command(after_help = concat!("Examples:
  almanac man forecast | man -l -
  almanac man --out ~/.local/share/man/man1

", exit_codes_without_findings!()))]
pub(crate) struct ManArguments {
    /// The command to print the page of [default: almanac itself]
    #[arg(value_name = "COMMAND")]
    about: Option<String>,

    /// Write a page for almanac and one for each command into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "about")]
    out: Option<PathBuf>,
}

pub(crate) fn run(
    arguments: &ManArguments,
    command: Command,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    // The command `help` adds nothing to the pages.
    let mut command = command.disable_help_subcommand(true);
    command.build();
    if let Some(folder) = &arguments.out {
        fs::create_dir_all(folder)
            .with_context(|| format!("failed to create the directory {}", folder.display()))?;
        for page in [&command].into_iter().chain(command.get_subcommands()) {
            let path = folder.join(Man::new(page.clone()).get_filename());
            fs::write(&path, text_of(page)?)
                .with_context(|| format!("failed to write {}", path.display()))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let page = match &arguments.about {
        None => &command,
        Some(name) => command.find_subcommand(name).ok_or_else(|| {
            let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let message = format!("unknown command; the commands are {}", names.join(", "));
            ArgumentError::whole("COMMAND", name, message)
        })?,
    };
    output.write_all(&text_of(page)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Renders a page; its last line names the version.
fn text_of(page: &Command) -> anyhow::Result<Vec<u8>> {
    let man = Man::new(page.clone()).source(format!("almanac {}", *VERSION));
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    let is_whole = page.has_subcommands();
    if is_whole {
        man.render_subcommands_section(&mut text)?;
    }
    let mut roff = sections_after_options(page);
    if !is_whole {
        roff.control("SH", ["SEE ALSO"]);
        roff.text([bold("almanac"), roman("(1)")]);
    }
    roff.to_writer(&mut text)?;
    Ok(text)
}

/// The help below the options: sections with a heading each, whose lines stay unchanged.
fn sections_after_options(page: &Command) -> Roff {
    let mut roff = Roff::new();
    let help = page.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut is_open = false;
    for line in help.lines() {
        if let Some(heading) = line.strip_suffix(':').filter(|it| !it.starts_with(' ')) {
            if is_open {
                roff.control("fi", []);
            }
            // Other man pages have the same heading style.
            let heading = heading.to_uppercase().replace("EXIT CODES", "EXIT STATUS");
            roff.control("SH", [heading.as_str()]);
            roff.control("nf", []);
            is_open = true;
        } else if !line.is_empty() {
            roff.text([roman(line.trim_start())]);
        }
    }
    if is_open {
        roff.control("fi", []);
    }
    roff
}
