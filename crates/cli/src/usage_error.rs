//! Errors of usage: the replacement for a flag of other tools, and the commands with a format.
//!
//! clap itself suggests similar names.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};

/// Flags of other tools, each with Almanac's flags for the same purpose. The first flag that the command accepts is
/// suggested.
const SYNONYMS: [(&[&str], &[&str]); 17] = [
    (&["until", "till", "end", "before", "stop"], &["to"]),
    (&["since", "start", "begin", "after", "now", "at"], &["from"]),
    (&["from", "on", "when", "time", "instant", "date"], &["at"]),
    (&["duration", "period", "days", "hours", "weeks", "horizon", "range"], &["for"]),
    (&["window"], &["daily", "for"]),
    (&["tz", "timezone", "time-zone"], &["zone"]),
    (&["file", "files", "input", "manifest", "manifests", "path", "dir"], &["filename"]),
    (&["format", "out-format", "output-format"], &["output"]),
    (&["output-file", "write", "save"], &["out"]),
    (&["limit", "max", "number", "lines", "head", "num"], &["count"]),
    (&["label", "labels", "label-selector"], &["selector"]),
    (&["ns"], &["namespace"]),
    (&["all", "all-ns", "every-namespace"], &["all-namespaces"]),
    (&["kube-context", "cluster"], &["context"]),
    (&["kube-config", "config"], &["kubeconfig"]),
    (&["skip", "exclude-path"], &["exclude"]),
    (&["follow", "live", "refresh"], &["watch"]),
];

/// The units of flags of other tools that count the period.
const UNITS: [(&str, &str); 3] = [("days", "d"), ("hours", "h"), ("weeks", "w")];

/// The error of a command line, with the replacement for a known flag of other tools.
pub(crate) fn explained(mut error: Error, program: &Command, words: &[OsString]) -> Error {
    let words: Vec<String> = words.iter().map(|it| it.to_string_lossy().into_owned()).collect();
    let command = words.iter().skip(1).find_map(|word| program.find_subcommand(word));
    let tip = match error.kind() {
        ErrorKind::UnknownArgument => {
            command.and_then(|it| replacement_for_flag(&error, program, it, &words))
        }
        ErrorKind::InvalidValue => commands_with_format(&error, program, command),
        _ => None,
    };
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedValue);
        let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}

/// The replacement for an unknown flag, with the typed value.
fn replacement_for_flag(
    error: &Error,
    program: &Command,
    command: &Command,
    words: &[String],
) -> Option<String> {
    let ContextValue::String(typed) = error.get(ContextKind::InvalidArg)? else { return None };
    let name = typed.strip_prefix("--")?;
    let replacement = |(synonyms, flags): &(&[&str], &[&str])| {
        let is_typed = synonyms.contains(&name);
        flags.iter().find_map(|long| has_flag(command, long)).filter(|_| is_typed)
    };
    let Some(flag) = SYNONYMS.iter().find_map(replacement) else {
        return named_like_a_format(name, command)
            .or_else(|| other_commands_with_flag(name, program));
    };
    let long = flag.get_long()?;
    if !flag.get_action().takes_values() {
        return Some(format!("write --{long}"));
    }
    let value = value_of(typed, words);
    let value = match UNITS.iter().find(|(counted, _)| *counted == name) {
        Some((_, unit)) => value.and_then(|it| with_unit(it, unit)),
        None => value,
    };
    Some(match value {
        Some(value) => {
            let value = shlex::try_quote(&value).map_or_else(|_| value.clone(), Into::into);
            format!("write --{long} {value}")
        }
        None => format!("write --{long}"),
    })
}

/// A number of units as a period; `None` if it is not a whole number.
fn with_unit(value: String, unit: &str) -> Option<String> {
    if value.chars().all(|it| it.is_ascii_digit()) {
        return Some(format!("{value}{unit}"));
    }
    value.parse::<f64>().is_err().then_some(value)
}

/// The option for the format that a flag such as `--json` names.
fn named_like_a_format(name: &str, command: &Command) -> Option<String> {
    let formats = has_flag(command, "output")?.get_possible_values();
    formats.iter().any(|it| it.matches(name, false)).then(|| format!("write -o {name}"))
}

/// The other commands with a flag.
fn other_commands_with_flag(name: &str, program: &Command) -> Option<String> {
    let names = names_of(program, |command| has_flag(command, name).is_some());
    (!names.is_empty()).then(|| format!("--{name} is a flag of {names}"))
}

/// The names of the commands that match, separated by commas.
fn names_of(program: &Command, is_match: impl Fn(&Command) -> bool) -> String {
    let commands = program.get_subcommands().filter(|it| !it.is_hide_set() && is_match(it));
    commands.map(Command::get_name).collect::<Vec<_>>().join(", ")
}

fn has_flag<'a>(command: &'a Command, long: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|it| it.get_long() == Some(long) && !it.is_hide_set())
}

/// The value of a flag, in the same word or in the next.
fn value_of(flag: &str, words: &[String]) -> Option<String> {
    let mut pairs = words.iter().zip(words.iter().skip(1));
    let of_next = pairs.find_map(|(word, next)| (word == flag).then_some(next));
    let of_same = || words.iter().find_map(|it| it.strip_prefix(flag)?.strip_prefix('='));
    let value = of_next.map(String::as_str).filter(|it| !is_flag(it)).or_else(of_same)?;
    (!value.is_empty()).then(|| value.to_owned())
}

/// Whether a word is a flag, and not a value such as `-1h`.
fn is_flag(word: &str) -> bool {
    let name = word.strip_prefix('-').unwrap_or_default();
    name.starts_with(|letter: char| letter == '-' || letter.is_ascii_alphabetic())
}

/// The commands that offer the rejected format.
fn commands_with_format(
    error: &Error,
    program: &Command,
    command: Option<&Command>,
) -> Option<String> {
    let ContextValue::String(argument) = error.get(ContextKind::InvalidArg)? else { return None };
    let ContextValue::String(format) = error.get(ContextKind::InvalidValue)? else { return None };
    if !argument.starts_with("--output") || command.is_none() {
        return None;
    }
    let has_format = |command: &Command| {
        let output = has_flag(command, "output");
        output.is_some_and(|it| {
            it.get_possible_values().iter().any(|value| value.matches(format, false))
        })
    };
    let names = names_of(program, has_format);
    (!names.is_empty()).then(|| format!("-o {format} is a format of {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line;

    fn refused(line: &str) -> String {
        let words: Vec<OsString> =
            shlex::split(line).unwrap().into_iter().map(OsString::from).collect();
        let mut program = command_line();
        let error = program.try_get_matches_from_mut(words.clone()).unwrap_err();
        explained(error, &program, &words).to_string()
    }

    #[test]
    fn a_flag_of_another_tool_suggests_our_flag_with_the_value() {
        for (line, tip) in [
            ("almanac next --until 2026-12-01", "tip: write --to 2026-12-01\n"),
            ("almanac next --until=2026-12-01", "tip: write --to 2026-12-01\n"),
            ("almanac forecast --since 'mon 09:00'", "tip: write --from 'mon 09:00'\n"),
            ("almanac diff a b --tz Asia/Tokyo", "tip: write --zone Asia/Tokyo\n"),
            ("almanac when @daily --days 7", "tip: write --for 7d\n"),
            ("almanac explain shop --from monday", "tip: write --at monday\n"),
            ("almanac forecast --at monday", "tip: write --from monday\n"),
            ("almanac validate --file a.yaml", "tip: write --filename a.yaml\n"),
            ("almanac next --limit 3", "tip: write --count 3\n"),
            ("almanac next --until", "tip: write --to\n"),
            ("almanac next --until --count 3", "tip: write --to\n"),
            ("almanac next --until -o json", "tip: write --to\n"),
            ("almanac next --since -1h", "tip: write --from -1h\n"),
            ("almanac next --days=1.5", "tip: write --for\n"),
            ("almanac next --days 36h", "tip: write --for 36h\n"),
            ("almanac next --window 7d", "tip: write --for 7d\n"),
            ("almanac when --window 09:00-17:00", "tip: write --daily 09:00-17:00\n"),
            ("almanac next --json", "tip: write -o json\n"),
            ("almanac lint --sarif", "tip: write -o sarif\n"),
            ("almanac explain --to monday", "tip: --to is a flag of forecast, next, diff, when\n"),
        ] {
            let refused = refused(line);
            assert!(refused.contains(tip), "{line}: {refused}");
            assert_eq!(refused.matches("tip:").count(), 1, "{refused}");
        }
    }

    #[test]
    #[cfg(feature = "cluster")]
    fn a_flag_for_a_kubeconfig_is_not_one_for_a_context() {
        for flag in ["--kube-config", "--config"] {
            let refused = refused(&format!("almanac next {flag} a"));
            assert!(refused.contains("tip: write --kubeconfig a\n"), "{refused}");
        }
        let context = refused("almanac next --cluster a");
        assert!(context.contains("tip: write --context a\n"), "{context}");
    }

    #[test]
    fn a_flag_of_no_command_gets_no_tip() {
        assert!(!refused("almanac next --no-such-flag").contains("write --"));
        assert!(!refused("almanac crds --until 2026-12-01").contains("write --"));
    }

    #[test]
    fn a_format_of_another_command_names_the_commands_that_have_it() {
        let svg = refused("almanac next -o svg");
        assert!(svg.contains("tip: -o svg is a format of forecast\n"), "{svg}");
        let sarif = refused("almanac forecast -o sarif");
        assert!(sarif.contains("tip: -o sarif is a format of lint, validate\n"), "{sarif}");
        assert!(!refused("almanac forecast -o docx").contains("is a format of"));
    }
}
