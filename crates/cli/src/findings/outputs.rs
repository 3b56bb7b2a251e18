//! The outputs of findings: one output, or several of one run, each with its own format and file.
//!
//! A file appears only once it is complete. The formats decide its content.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use almanac_api::reading::Reading;
use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command, ValueEnum};
use clap_complete::CompletionCandidate;
use clap_complete::engine::{ArgValueCompleter, PathCompleter, ValueCompleter as _};

use super::{Format, Report};
use crate::argument_error::ArgumentError;
use crate::destination::{full, refuse_input, write_to};
use crate::drawing;
use crate::files::write_notes;
use crate::outcome::FailOn;
use crate::text_width;

const ARGUMENT: &str = "--output";

/// Other names of standard output.
const STANDARD_OUTPUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// The file that accepts several outputs.
const NULL_DEVICE: &str = "/dev/null";

/// The outputs of one run.
#[derive(Args)]
pub(crate) struct OutputArguments {
    /// Output format, and with `=FILE` a file to write it to, which appears only once it is complete; may be
    /// repeated, with a file each
    #[arg(
        short,
        long,
        value_name = "FORMAT[=FILE]",
        value_parser = OutputParser,
        default_value = "text",
        add = ArgValueCompleter::new(completions)
    )]
    output: Vec<Output>,
}

/// The format and the destination of an output.
#[derive(Clone)]
struct Output {
    format: Format,
    /// The file; `None` for standard output.
    file: Option<PathBuf>,
}

impl Output {
    /// The value of the argument, as typed.
    fn typed(&self) -> String {
        let name = self.format.to_possible_value();
        let name = name.map(|it| it.get_name().to_owned()).unwrap_or_default();
        match &self.file {
            Some(file) => format!("{name}={}", file.display()),
            None => name,
        }
    }

    /// The advice for a file name that contains another output; `None` for other names.
    fn second_format(&self) -> Option<String> {
        let file = self.file.as_ref()?.to_str()?;
        file.match_indices(',').find_map(|(at, _)| {
            let second = &file[at + 1..];
            let (name, _) = second.split_once('=')?;
            Format::from_str(name, false).ok()?;
            Some(format!("each output has a flag of its own; write -o {second} after this one"))
        })
    }
}

impl OutputArguments {
    /// Rejects outputs that would overwrite each other, before any file is read.
    pub(crate) fn check(&self) -> Result<(), ArgumentError> {
        let mut files: Vec<Option<PathBuf>> = Vec::new();
        for output in &self.output {
            let typed = output.typed();
            if output.file.as_ref().is_some_and(|it| it.as_os_str().is_empty()) {
                let message = format!("no file is named; write one, such as {typed}findings");
                return Err(ArgumentError::whole(ARGUMENT, &typed, message));
            }
            if let Some(message) = output.second_format() {
                return Err(ArgumentError::whole(ARGUMENT, &typed, message));
            }
            let file = output.file.as_deref().map(full);
            if file.as_ref().is_some_and(|it| it.as_os_str() == NULL_DEVICE) {
                continue;
            }
            if files.contains(&file) {
                let message = match file {
                    Some(_) => "another output is written to this file; name another file",
                    None => {
                        "another output is written to standard output; write one of them to a file, such as \
                         -o sarif=findings.sarif"
                    }
                };
                return Err(ArgumentError::whole(ARGUMENT, &typed, message));
            }
            files.push(file);
        }
        Ok(())
    }

    /// Rejects outputs that would overwrite input files, before any output is written.
    pub(crate) fn check_inputs(&self, reading: &Reading) -> Result<(), ArgumentError> {
        let mut outputs = self.output.iter();
        outputs
            .try_for_each(|it| refuse_input(ARGUMENT, &it.typed(), it.file.as_deref(), [reading]))
    }

    /// Writes all outputs: the files first, because standard output may be closed early. A failed output does not
    /// prevent the others. `fail_on` is the severity on which the command fails.
    pub(crate) fn write(
        &self,
        report: &Report,
        fail_on: FailOn,
        output: &mut impl Write,
    ) -> anyhow::Result<()> {
        let (files, standard): (Vec<&Output>, Vec<&Output>) =
            self.output.iter().partition(|it| it.file.is_some());
        let mut first = Ok(());
        for Output { format, file } in files.into_iter().chain(standard) {
            let width = text_width::for_output(file.as_deref());
            let has_colors = *format == Format::Text;
            let result = write_to(file.as_deref(), has_colors, output, |mut output| {
                report.write(*format, width, fail_on, &mut output)
            });
            first = first.and(result);
        }
        if !self.output.iter().any(|it| it.file.is_none() && it.format.has_notes()) {
            // On a terminal, the notes on unread files are below the findings.
            output.flush()?;
            write_notes(&report.notes, &mut drawing::standard_error())?;
        }
        first
    }
}

/// Parses `FORMAT` and `FORMAT=FILE`; `-` as a file is standard output.
#[derive(Clone)]
struct OutputParser;

impl TypedValueParser for OutputParser {
    type Value = Output;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Output, clap::Error> {
        let (format, file) = match split(value) {
            Some((format, file)) => (format, Some(file)),
            None => (value, None),
        };
        let format = EnumValueParser::<Format>::new().parse_ref(command, argument, format)?;
        let is_file = |it: &&OsStr| !STANDARD_OUTPUT.iter().any(|name| *it == OsStr::new(name));
        let file = file.filter(is_file).map(PathBuf::from);
        Ok(Output { format, file })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Format::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}

/// The parts before and after the first `=`. A path need not be UTF-8.
fn split(value: &OsStr) -> Option<(&OsStr, &OsStr)> {
    let bytes = value.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=')?;
    Some((OsStr::from_bytes(&bytes[..at]), OsStr::from_bytes(&bytes[at + 1..])))
}

/// The completions of the typed value: the formats, and after a format the files.
fn completions(begun: &OsStr) -> Vec<CompletionCandidate> {
    let Some(begun) = begun.to_str() else { return Vec::new() };
    if let Some((format, file)) = begun.split_once('=') {
        let files = PathCompleter::any().complete(OsStr::new(file));
        return files.into_iter().map(|it| it.add_prefix(format!("{format}="))).collect();
    }
    let values = Format::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let values = values.filter(|it| it.get_name().starts_with(begun));
    let candidate =
        |it: PossibleValue| CompletionCandidate::new(it.get_name()).help(it.get_help().cloned());
    values.map(candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_offered_formats() {
        let offered = |begun: &str| -> Vec<String> {
            let all = completions(OsStr::new(begun)).into_iter();
            all.map(|it| it.get_value().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(offered("sa"), ["sarif"]);
        assert_eq!(offered("").len(), Format::value_variants().len());
    }
}
