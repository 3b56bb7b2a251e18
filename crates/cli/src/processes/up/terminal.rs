//! The output of `almanac up`: the kubeconfig, commands to try, a line for each event, and the countdown to the next
//! action.

use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::time::Duration;

use almanac_calendar::Zone;
use almanac_local::environment;
use anstream::{AutoStream, ColorChoice};
use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};

use super::event_feed::ReportedEvent;
use super::next_actions::{MAX_LISTED, Next};
use super::programs::Programs;
use super::running_cluster::RunningCluster;
use crate::invisible::printable;
use crate::shell_word::quoted;
use crate::shortening::on_one_line;
use crate::text_width;
use crate::wall_clock;
use crate::wrapping::hanging;

/// Clears the line of the cursor and all lines below. A terminal that has become narrower may have broken the countdown
/// into several lines.
const CLEAR: &str = "\r\x1b[J";

/// The printer for the output.
pub(super) struct Terminal<'a> {
    output: RefCell<&'a mut dyn Write>,
    is_quiet: bool,
    /// Whether a line can be redrawn.
    is_live: bool,
    has_countdown: Cell<bool>,
}

impl<'a> Terminal<'a> {
    pub(super) fn new(output: &'a mut dyn Write, is_quiet: bool) -> Self {
        // Without the sequence that clears lines, no line can be redrawn.
        let is_plain = AutoStream::choice(&io::stdout()) == ColorChoice::Never;
        let is_live = io::stdout().is_terminal() && !is_plain && !is_quiet;
        Self { output: RefCell::new(output), is_quiet, is_live, has_countdown: Cell::new(false) }
    }

    /// Prints a step of the start.
    pub(super) fn print_step(&self, step: &str) -> anyhow::Result<()> {
        self.line(step)
    }

    /// Prints that the start has succeeded, the path of the kubeconfig, and commands to try.
    pub(super) fn print_ready(
        &self,
        running_cluster: &RunningCluster,
        programs: &Programs,
        after: Duration,
        policy_time: Option<Timestamp>,
    ) -> anyhow::Result<()> {
        let kubeconfig = running_cluster.kubeconfig().display().to_string();
        if self.is_quiet {
            let mut output = self.output.borrow_mut();
            writeln!(output, "{kubeconfig}")?;
            return Ok(output.flush()?);
        }
        // If kubectl is on the `PATH`, its name suffices.
        let kubectl = running_cluster
            .kubectl()
            .ok()
            .filter(|_| environment::program_on_path("kubectl").is_none());
        let kubectl = kubectl.map_or_else(|| "kubectl".to_owned(), path_word);
        let from = policy_time
            .map(|at| format!(" --from {}", wall_clock::whole_second(at)))
            .unwrap_or_default();
        self.line(&format!(
            "Everything runs, after {:.1} s. In another terminal:\n",
            after.as_secs_f64()
        ))?;
        self.whole_line(&format!("  export KUBECONFIG={}", quoted(&kubeconfig)))?;
        self.whole_line(&format!("  {kubectl} get cronfederatedhpas -A"))?;
        self.whole_line(&format!("  {} forecast -A{from}\n", own_name()))?;
        if let Some(port) = programs.prometheus_port() {
            self.line(&format!("Prometheus is at http://127.0.0.1:{port}."))?;
        }
        self.line(&match running_cluster.kept_in() {
            Some(dir) => {
                format!(
                    "Ctrl-C ends everything; the data of the cluster stays in {}.\n",
                    dir.display()
                )
            }
            None => "Ctrl-C ends everything.\n".to_owned(),
        })
    }

    /// Prints the next actions.
    pub(super) fn print_list(&self, heading: &str, listed: &[Next]) -> anyhow::Result<()> {
        let line = |it: &Next| format!("  {}  {}\n", clock_time(it.at), it.what);
        let more = if listed.len() > MAX_LISTED { "and so on\n" } else { "" };
        let listed: String = listed.iter().take(MAX_LISTED).map(line).collect();
        self.line(&format!("{heading}\n{listed}{more}"))
    }

    /// Prints an event.
    pub(super) fn print_event(&self, event: &ReportedEvent) -> anyhow::Result<()> {
        let at = clock_time(event.at);
        let mark = if event.is_warning { "! " } else { "" };
        self.line(&format!("{at}  {mark}{}", printable(&event.what)))
    }

    /// Prints the next action, unless the terminal can draw a countdown.
    pub(super) fn print_next(&self, next: &[Next], now: Timestamp) -> anyhow::Result<()> {
        if self.is_live {
            return Ok(());
        }
        match next.first() {
            Some(first) => self.line(&format!("next, {}", in_words(first, next.len(), now))),
            None => self.line("next: nothing"),
        }
    }

    /// Draws the countdown.
    pub(super) fn count_down(&self, next: &[Next], now: Timestamp) -> anyhow::Result<()> {
        let Some(first) = next.first().filter(|_| self.is_live) else { return Ok(()) };
        // A full last column may start a new line, which is not cleared.
        let width = text_width::for_stdout().saturating_sub(1);
        let line = on_one_line(&in_words(first, next.len(), now), width);
        self.has_countdown.set(true);
        let mut output = self.output.borrow_mut();
        // The cursor stays at the start, above the broken parts of a line.
        write!(output, "{CLEAR}{line}\r")?;
        Ok(output.flush()?)
    }

    /// Prints that the shutdown starts.
    pub(super) fn print_end(&self, running_cluster: &RunningCluster) -> anyhow::Result<()> {
        self.line(match running_cluster.kept_in() {
            Some(_) => "Ending. The next start continues from here.",
            None => "Ending.",
        })
    }

    /// Prints a line, broken at the current width of the terminal.
    fn line(&self, line: &str) -> anyhow::Result<()> {
        self.whole_line(&broken(line, text_width::for_stdout()))
    }

    /// Prints a line unbroken, such as a command to copy.
    fn whole_line(&self, line: &str) -> anyhow::Result<()> {
        if self.is_quiet {
            return Ok(());
        }
        let mut output = self.output.borrow_mut();
        let cleared = if self.has_countdown.take() { CLEAR } else { "" };
        let result = writeln!(output, "{cleared}{line}").and_then(|()| output.flush());
        result.context("failed to print the events")
    }
}

fn broken(lines: &str, width: usize) -> String {
    lines.split('\n').flat_map(|line| hanging(line, width)).collect::<Vec<_>>().join("\n")
}

/// The next action in words: `Fri 09:00:00, in 1m 20s: Deployment shop/web → 8: CronFederatedHPA shop/web busy fires`.
fn in_words(first: &Next, count: usize, now: Timestamp) -> String {
    let at = clock_time(first.at);
    let remaining = first.at.duration_since(now).max(SignedDuration::ZERO);
    let remaining = SignedDuration::from_secs(remaining.as_secs());
    let more = if count > 1 { format!(", and {} more", count - 1) } else { String::new() };
    format!("{at}, in {remaining:#}: {}{more}", first.what)
}

fn clock_time(at: Timestamp) -> String {
    wall_clock::formatted(Zone::utc(), at, "%a %H:%M:%S")
}

fn path_word(path: &Path) -> String {
    quoted(&path.display().to_string()).into_owned()
}

/// The name of this program in a shell.
fn own_name() -> String {
    let on_path = environment::program_on_path("almanac").is_some();
    let own = std::env::current_exe().ok().filter(|_| !on_path);
    own.as_deref().map_or_else(|| "almanac".to_owned(), path_word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text_width::display_width;

    #[test]
    fn printed_events_fit_the_width_of_the_terminal() {
        let name = "n".repeat(63);
        let listed =
            format!("What will happen:\n  Fri 09:00:00  Deployment shop/{name} → 8: busy fires\n");
        for width in [1, 10, 20, 40, 60, 80, 200] {
            let lines = broken(&listed, width);
            assert!(lines.ends_with('\n'), "{lines}");
            let words: Vec<&str> = lines.split_whitespace().collect();
            assert_eq!(words, listed.split_whitespace().collect::<Vec<_>>());
            for line in lines.lines().filter(|line| display_width(line) > width) {
                assert!(!line.trim().contains(' '), "{width}: {line}");
            }
        }
    }

    #[test]
    fn the_countdown_stays_on_one_line() {
        let at = Timestamp::UNIX_EPOCH;
        let next =
            Next { at, what: format!("Deployment shop/{} → 8: busy fires", "n".repeat(253)) };
        for width in [1, 10, 60, 80] {
            assert!(display_width(&on_one_line(&in_words(&next, 2, at), width)) <= width);
        }
    }

    #[test]
    fn the_cursor_stays_before_the_countdown_to_clear_it_fully() {
        let at = Timestamp::UNIX_EPOCH;
        let mut drawn = Vec::new();
        let terminal = Terminal {
            output: RefCell::new(&mut drawn),
            is_quiet: false,
            is_live: true,
            has_countdown: Cell::new(false),
        };
        terminal.count_down(&[Next { at, what: "it fires".to_owned() }], at).unwrap();
        terminal.line("it has fired").unwrap();
        let drawn = String::from_utf8(drawn).unwrap();
        let expected = "\r\x1b[JThu 00:00:00, in 0s: it fires\r\r\x1b[Jit has fired\n";
        assert_eq!(drawn, expected);
    }
}
