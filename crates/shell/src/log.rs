//! Logs: one line a happening, JSON for machines or plain for people.

use std::io::IsTerminal as _;

use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// How a line looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

/// Begins to log to standard error. Only the first call of a process counts.
pub fn begin(format: Format, level: Level) {
    // What the libraries below have to say is of use only when something is wrong with them.
    let level = LevelFilter::from_level(level);
    let theirs = level.min(LevelFilter::WARN);
    let targets = Targets::new().with_default(theirs).with_targets(
        ["almanac", "almanac_shell", "almanac_controllers"].map(|ours| (ours, level)),
    );
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let begun = match format {
        Format::Json => {
            let lines = lines.json().flatten_event(true).with_span_list(false);
            tracing_subscriber::registry().with(targets).with(lines).try_init()
        }
        Format::Text => {
            tracing_subscriber::registry().with(targets).with(lines.with_target(false)).try_init()
        }
    };
    drop(begun);
}
