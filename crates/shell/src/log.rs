//! Logs: one line per event, as JSON for machines or as text for users.
//!
//! Names and messages also come from users. Characters that would end a line, color it or hide it on a terminal
//! are escaped, so that no input can forge log lines.

#[cfg(test)]
pub(crate) mod warnings;

use std::fmt::{self, Write as _};

use tracing::field::Field;
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The format of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// One JSON object per line.
    Json,
    /// Text for users.
    Text,
}

/// Starts logging to standard error, with or without colors in text. Only the first call of a
/// process counts.
pub fn begin(format: Format, level: Level, colours: bool) {
    // Logs of libraries are useful only as warnings and errors.
    let level = LevelFilter::from_level(level);
    let theirs = level.min(LevelFilter::WARN);
    let targets = Targets::new().with_default(theirs).with_targets(
        ["almanac", "almanac_shell", "almanac_controllers"].map(|ours| (ours, level)),
    );
    let registry = tracing_subscriber::registry().with(targets);
    let begun = match format {
        Format::Json => {
            let lines = tracing_subscriber::fmt::layer().json().flatten_event(true);
            registry.with(lines.with_span_list(false).with_writer(std::io::stderr)).try_init()
        }
        Format::Text => registry.with(text(std::io::stderr, colours)).try_init(),
    };
    drop(begun);
}

/// Writes events as text for users.
fn text<S, W>(writer: W, colours: bool) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let fields = debug_fn(write_field).delimited(" ");
    let lines = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(colours);
    lines.with_target(false).fmt_fields(fields)
}

fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    if field.name() != "message" {
        // Field names come from the source code.
        write!(writer, "{field}=")?;
    }
    write!(Escaping(writer), "{value:?}")
}

/// Writes text, with non-text characters escaped.
struct Escaping<'a, 'b>(&'a mut Writer<'b>);

impl fmt::Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            if is_no_text(letter) {
                write!(self.0, "{}", letter.escape_default())?;
            } else {
                self.0.write_char(letter)?;
            }
        }
        Ok(())
    }
}

/// Control characters, and others that break a line or change its direction.
fn is_no_text(letter: char) -> bool {
    let turns = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}') || turns
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct CapturedOutput(Arc<Mutex<Vec<u8>>>);

    impl io::Write for CapturedOutput {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("the lock is not poisoned").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The log lines of a call, as text.
    fn logged(happens: impl FnOnce()) -> String {
        let captured = CapturedOutput::default();
        let writer = captured.clone();
        let lines = text(move || writer.clone(), false);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), happens);
        let bytes = captured.0.lock().expect("the lock is not poisoned").clone();
        String::from_utf8(bytes).expect("a text log")
    }

    const HOSTILE: &str = "a\n2026 ERROR all is lost\r\u{1b}[2K\u{9b}31m\u{202e}\u{2028}\u{7f}";

    #[test]
    fn user_text_can_neither_break_a_line_nor_control_the_terminal() {
        let lines = logged(|| {
            let span = tracing::info_span!("policy", object = %HOSTILE, name = HOSTILE);
            let _inside = span.enter();
            tracing::info!(rule = %HOSTILE, reason = ?HOSTILE, text = HOSTILE, "fired {HOSTILE}");
        });
        let line = lines.strip_suffix('\n').expect("a complete line");
        assert!(!line.contains(is_no_text), "{line:?}");
        assert_eq!(line.matches(r"a\n2026 ERROR all is lost\r\u{1b}[2K").count(), 6, "{line}");
    }

    #[test]
    fn a_message_and_its_fields_read_as_they_were_written() {
        let lines = logged(|| {
            tracing::warn!(rule = %"früh", code = 409, "failed to \"write\" the status");
        });
        let line = lines.trim_end();
        let expected = r#" WARN failed to "write" the status rule=früh code=409"#;
        assert!(line.ends_with(expected), "{line}");
    }
}
