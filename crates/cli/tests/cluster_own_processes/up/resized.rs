//! `almanac up` on a real terminal whose width changes while it runs.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use almanac_harness::{Observation, PATIENCE, TestResult, await_condition, on_this_machine};
use almanac_local::question_to;
use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::terminal::{self, Rows, Screen};
use crate::up::{SHOP, User};

/// The program on a terminal, and the screens of two kinds of terminals.
struct OnTerminal {
    child: Child,
    terminal: File,
    printed: Receiver<Vec<u8>>,
    screens: [Screen; 2],
}

impl OnTerminal {
    fn start(user: &User, arguments: &[&str], columns: u16) -> anyhow::Result<Self> {
        let (terminal, inner) = terminal::open(columns)?;
        let mut command = question_to(Path::new(env!("CARGO_BIN_EXE_almanac")));
        command.args(arguments).envs(user.environment()?).env("TERM", "xterm");
        command.env_remove("NO_COLOR").stdout(inner.try_clone()?).stderr(inner);
        let child = command.spawn().context("failed to start almanac")?;
        // Only the program has its side of the terminal, so that reading ends with the program.
        drop(command);
        let mut reader = terminal.try_clone()?;
        let (sender, printed) = mpsc::channel();
        thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut part) {
                if sender.send(part[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let screens = [Rows::Rewrapped, Rows::Cut].map(|it| Screen::new(columns.into(), it));
        Ok(Self { child, terminal, printed, screens })
    }

    /// Draws new output on the screens; returns whether the program wrote any.
    fn show(&mut self) -> anyhow::Result<bool> {
        let mut has_come = false;
        while let Ok(bytes) = self.printed.try_recv() {
            has_come = true;
            for screen in &mut self.screens {
                screen.show(&bytes)?;
            }
        }
        Ok(has_come)
    }

    /// Changes the width while the program is stopped, so that its output is for either width and not between them.
    async fn resize(&mut self, columns: u16) -> TestResult {
        let program = Pid::from_child(&self.child);
        kill_process(program, Signal::STOP)?;
        let states = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(program), states)?;
        let mut quiet = 0;
        await_condition("the terminal to be quiet", PATIENCE, async || {
            quiet = if self.show()? { 0 } else { quiet + 1 };
            Ok(Observation::from_bool(quiet == 2, "more has come"))
        })
        .await?;
        terminal::resize(&self.terminal, columns)?;
        for screen in &mut self.screens {
            screen.resize(columns.into());
        }
        Ok(kill_process(program, Signal::CONT)?)
    }

    /// Waits until the rows since the change of the width satisfy a condition, on both screens.
    async fn await_rows(&mut self, what: &str, holds: impl Fn(&[String]) -> bool) -> TestResult {
        await_condition(what, PATIENCE, async || {
            self.show()?;
            let rows = self.screens.each_ref().map(Screen::since_resize);
            let hold = rows.iter().all(|rows| holds(rows));
            Ok(Observation::from_bool(hold, format!("{:#?}", rows.concat())))
        })
        .await
    }

    /// Ends the program, and waits for its last line and for its exit.
    async fn stop(mut self) -> anyhow::Result<ExitStatus> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let is_end = |row: &String| row.starts_with("Ending.");
        self.await_rows("its last line", |rows| rows.last().is_some_and(is_end)).await?;
        for screen in &self.screens {
            let rows = screen.since_resize();
            ensure!(
                !rows.iter().any(|row| is_countdown(row)),
                "a row of the countdown remains: {rows:#?}"
            );
        }
        await_condition("almanac to end", PATIENCE, async || {
            Ok(match self.child.try_wait()? {
                Some(status) => Observation::Holds(status),
                None => Observation::NotYet("it runs".to_owned()),
            })
        })
        .await
    }
}

/// `Fri 08:02:00, in 45s: Deployment default/web → 5: …`
fn is_countdown(row: &str) -> bool {
    row.starts_with("Fri ") && row.get(12..17) == Some(", in ")
}

/// `Fri 08:02:00  CronFederatedHPA default/web  ScaledByRule: …`
fn is_event(row: &str) -> bool {
    row.starts_with("Fri ") && row.get(12..14) == Some("  ")
}

#[test]
fn lines_fit_a_resized_terminal_and_no_row_of_a_countdown_remains() -> TestResult {
    on_this_machine(async {
        let user = User::new()?;
        // One of two rules fires each minute, and a minute lasts six seconds.
        let (shop, _) = SHOP.split_once("  - {name: noon").context("the last rule")?;
        let shop = shop
            .replace("opens, schedule: '5 8", "opens-on-even-minutes, schedule: '*/2 *")
            .replace("calms, schedule: '10 8", "calms-on-odd-minutes, schedule: '1-59/2 *");
        let shop = user.file("shop.yaml", &shop)?;
        let data = user.data().display().to_string();
        let at = ["--at", "2026-11-27T08:00", "--speed", "10"];
        let arguments = [&["up", "--data-dir", &data, "-f", &shop][..], &at].concat();
        let mut up = OnTerminal::start(&user, &arguments, 120)?;
        let counts = |rows: &[String]| rows.last().is_some_and(|row| is_countdown(row));
        up.await_rows("a countdown", counts).await?;
        for columns in [120, 60, 200] {
            up.resize(columns).await?;
            let happens = |rows: &[String]| rows.iter().any(|row| is_event(row)) && counts(rows);
            up.await_rows("an event", happens).await?;
            for screen in &up.screens {
                let rows = screen.since_resize();
                let (countdown, others) = rows.split_last().context("there are rows")?;
                // The continuation of a line is indented by two more columns.
                let is_meant = |row: &String| is_event(row) || row.starts_with("  ");
                ensure!(others.iter().all(is_meant), "{columns} columns: {rows:#?}");
                let too_wide = screen.overflowed();
                ensure!(too_wide.is_empty(), "wider than {columns} columns: {too_wide:#?}");
                let is_whole = countdown.ends_with(" fires");
                ensure!(is_whole == (columns > 60), "{columns} columns: {countdown}");
            }
        }
        let status = up.stop().await?;
        ensure!(status.success(), "{status}");
        user.has_nothing_left().await
    })
}
