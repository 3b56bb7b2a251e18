//! The end of a command: the exit codes, with the same meaning for all commands.

use std::process::ExitCode;

use almanac_api::finding::{Code, Severity};
use almanac_api::reading::PlacedFinding;
use clap::{Args, ValueEnum};

/// The exit codes in the help of every command.
macro_rules! exit_codes {
    () => {
        "Exit codes:
  0    success, and no finding at or above --fail-on
  1    findings at or above --fail-on
  2    failure: an argument is invalid, or a file or the cluster could not be read
  130  interrupted"
    };
}

/// The exit codes of commands without findings.
macro_rules! exit_codes_without_findings {
    () => {
        "Exit codes:
  0    success
  2    failure: an argument is invalid, or a file or the cluster could not be read"
    };
}

pub(crate) use {exit_codes, exit_codes_without_findings};

/// The exit code of a failure.
pub(crate) const COULD_NOT_RUN: u8 = 2;

/// The severity on which a command fails.
#[derive(Args, Clone, Copy, Default)]
pub(crate) struct FailOn {
    /// Exit with 1 on findings of at least this severity
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t)]
    fail_on: Threshold,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Threshold {
    #[default]
    Error,
    Warning,
    Info,
    Never,
}

impl FailOn {
    /// Whether the severity is the default.
    pub(crate) fn is_usual(self) -> bool {
        self.fail_on == Threshold::default()
    }

    /// The exit code for these findings.
    pub(crate) fn code(self, findings: &[PlacedFinding]) -> ExitCode {
        // The result for an unread file is unknown.
        if findings.iter().any(|placed| placed.finding.code == Code::UnreadableFile) {
            return ExitCode::from(COULD_NOT_RUN);
        }
        let fails = findings.iter().any(|placed| self.fails_on(placed.finding.severity()));
        ExitCode::from(u8::from(fails))
    }

    /// Whether the command fails on a finding of this severity.
    pub(crate) fn fails_on(self, severity: Severity) -> bool {
        // The most severe value is the smallest.
        match self.fail_on {
            Threshold::Error => severity <= Severity::Error,
            Threshold::Warning => severity <= Severity::Warning,
            Threshold::Info => severity <= Severity::Info,
            Threshold::Never => false,
        }
    }
}
