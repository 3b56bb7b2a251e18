//! `--watch`: prints the output of a command again whenever it changes, until Ctrl-C.
//!
//! The output changes when objects of the cluster do, or when its first action has passed. The cluster is read again
//! after each watch event, and once a minute for objects without a watch: [`crate::cluster`] lists them.

use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use jiff::{SignedDuration, Timestamp};

use crate::argument_error::ArgumentError;
use crate::cluster::Changes;
use crate::drawing;
use crate::input_arguments::InputArguments;
use crate::wall_clock::present;

const ARGUMENT: &str = "--watch";

/// The minimum time between two readings of a cluster.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// The delay after a reading, as a multiple of its duration.
const SHARE: u32 = 5;
/// The maximum time between two readings.
const MAX_INTERVAL: Duration = Duration::from_mins(1);
/// The maximum delay between two attempts.
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// An event at an instant has passed once a clock shows the next second.
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// The sequence that clears the screen.
const CLEAR: &[u8] = b"\x1b[2J\x1b[H";

/// The form of successive outputs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For a user: on a terminal, the new output replaces the previous output; elsewhere it follows a line with the
    /// instant.
    Text,
    /// A line for each output.
    JsonLines,
    /// A document for each output.
    Yaml,
}

/// An output with its notes, and the instant of its first action.
pub(crate) struct Drawn {
    pub(crate) bytes: Vec<u8>,
    pub(crate) notes: Vec<u8>,
    pub(crate) next: Option<Timestamp>,
}

/// An error if files are named, because files are read once.
pub(crate) fn check(read: &InputArguments) -> Result<(), ArgumentError> {
    let message = "watches a cluster, but files are named; remove one of them";
    if read.are_files() { Err(ArgumentError::whole(ARGUMENT, "", message)) } else { Ok(()) }
}

/// An error for a format without successive outputs.
pub(crate) fn has_no_form() -> ArgumentError {
    ArgumentError::whole(ARGUMENT, "", "prints text, json or yaml; choose one of them with -o")
}

/// Prints outputs until an interrupt. `render` computes the output for an instant.
pub(crate) fn watch(
    mut changes: Changes,
    form: Form,
    output: &mut impl Write,
    render: impl Fn(Timestamp) -> anyhow::Result<Drawn>,
) -> anyhow::Result<ExitCode> {
    let mut since = present();
    let mut drawn = render(since)?;
    print(&drawn, form, None, output)?;
    let (mut delay, mut backoff) = (MIN_INTERVAL, None);
    loop {
        thread::sleep(backoff.unwrap_or(delay));
        if backoff.is_none() {
            changes.wait(until_next(&drawn).min(MAX_INTERVAL));
        }
        let (reading, at) = (Instant::now(), present());
        match again(&drawn, since, at, &render) {
            Ok(None) => backoff = None,
            Ok(Some(new)) => {
                (drawn, since, backoff) = (new, at, None);
                print(&drawn, form, Some(at), output)?;
            }
            Err(error) => {
                let next = backoff.map_or(MIN_INTERVAL, |last| (last * 2).min(MAX_BACKOFF));
                let seconds = next.as_secs();
                drawing::report(&format!("note: {error:#}; next attempt in {seconds} s"));
                backoff = Some(next);
            }
        }
        delay = MIN_INTERVAL.max(reading.elapsed() * SHARE);
    }
}

/// The current output, if it differs from the printed one: the first action has passed, or the output for that
/// instant has changed.
fn again(
    drawn: &Drawn,
    drawn_at: Timestamp,
    now: Timestamp,
    render: impl Fn(Timestamp) -> anyhow::Result<Drawn>,
) -> anyhow::Result<Option<Drawn>> {
    let has_passed = drawn.next.is_some_and(|next| next < now);
    if !has_passed && render(drawn_at)?.bytes == drawn.bytes {
        return Ok(None);
    }
    render(now).map(Some)
}

/// The time until the first action has passed.
fn until_next(drawn: &Drawn) -> Duration {
    let Some(next) = drawn.next else { return MAX_INTERVAL };
    let length = next.duration_since(present()).saturating_add(SECOND);
    Duration::try_from(length).unwrap_or(Duration::ZERO)
}

/// Prints an output. `at` is the instant of the change; `None` for the first output.
fn print(
    drawn: &Drawn,
    form: Form,
    at: Option<Timestamp>,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    match (form, at) {
        (Form::Text, _) if io::stdout().is_terminal() => {
            output.flush()?;
            // This bypasses the writer of the output, which removes such sequences if there are no colors.
            io::stdout().write_all(CLEAR)?;
            io::stdout().flush()?;
        }
        (Form::Text, Some(at)) => writeln!(output, "\n--- {at}")?,
        (Form::Yaml, Some(_)) => writeln!(output, "---")?,
        (Form::Text | Form::Yaml, None) | (Form::JsonLines, _) => {}
    }
    if form == Form::JsonLines {
        output.write_all(on_a_line(&drawn.bytes)?.as_bytes())?;
        writeln!(output)?;
    } else {
        output.write_all(&drawn.bytes)?;
    }
    output.flush()?;
    // If standard error is closed, the notes are lost.
    let _ = drawing::standard_error().write_all(&drawn.notes);
    Ok(())
}

/// A JSON document without the white space between its parts.
fn on_a_line(document: &[u8]) -> anyhow::Result<String> {
    let Ok(document) = str::from_utf8(document) else { bail!("the output is not valid UTF-8") };
    let (mut is_text, mut is_escaped) = (false, false);
    let is_kept = |letter: &char| {
        let is_kept = is_text || !letter.is_ascii_whitespace();
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_text = !is_text,
            _ => {}
        }
        is_kept
    };
    Ok(document.chars().filter(is_kept).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const THEN: &str = "2026-11-26T12:00:00Z";

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn drawn(text: &str, next: Option<&str>) -> Drawn {
        Drawn { bytes: text.as_bytes().to_vec(), notes: Vec::new(), next: next.map(at) }
    }

    #[test]
    fn a_document_on_a_line_is_the_same_document() {
        let document =
            json!({"a": [1, 2.5, null], "b c": {"d": "e \"f\\\" \n g\\"}, "h": "ü\u{2028}"});
        let line = on_a_line(format!("{document:#}\n").as_bytes()).unwrap();
        assert!(!line.contains(['\n', '\r']), "{line}");
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), document);
    }

    #[test]
    fn an_output_is_new_if_objects_change_or_an_event_has_passed() {
        let next = Some("2026-11-26T13:00:00Z");
        let printed_at = |now: &str, rendered: &str| {
            let render = |from: Timestamp| Ok(drawn(&format!("{rendered} {from}"), next));
            let before = drawn(&format!("before {THEN}"), next);
            let again = again(&before, at(THEN), at(now), render).unwrap();
            again.map(|it| String::from_utf8(it.bytes).unwrap())
        };
        assert_eq!(printed_at("2026-11-26T12:59:00Z", "before"), None, "only the time has passed");
        assert_eq!(
            printed_at("2026-11-26T13:00:00Z", "before"),
            None,
            "an event at this instant has not passed"
        );
        let passed = printed_at("2026-11-26T13:00:01Z", "before");
        assert_eq!(passed.as_deref(), Some("before 2026-11-26T13:00:01Z"));
        let changed = printed_at("2026-11-26T12:00:01Z", "after");
        assert_eq!(changed.as_deref(), Some("after 2026-11-26T12:00:01Z"));
    }

    #[test]
    fn successive_outputs_are_separated() {
        let printed = |form| {
            let mut printed = Vec::new();
            print(&drawn("[\n 1\n]\n", None), form, None, &mut printed).unwrap();
            print(&drawn("[\n 2\n]\n", None), form, Some(at(THEN)), &mut printed).unwrap();
            String::from_utf8(printed).unwrap()
        };
        assert_eq!(printed(Form::JsonLines), "[1]\n[2]\n");
        assert_eq!(printed(Form::Yaml), "[\n 1\n]\n---\n[\n 2\n]\n");
        // On a terminal, an output replaces the previous output.
        if !io::stdout().is_terminal() {
            assert_eq!(printed(Form::Text), format!("[\n 1\n]\n\n--- {THEN}\n[\n 2\n]\n"));
        }
    }
}
