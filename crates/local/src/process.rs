//! One program as a process that a test can kill, stop, continue and start again, and that never
//! outlives the test process. The caller chooses the program and its flags, and checks its readiness.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use rustix::io::retry_on_intr;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

use crate::await_condition::{Observation, await_condition};

/// Starts every program. The shell leaves a watcher with the read end of a pipe, and then becomes
/// the program, so that the program has the process id of the shell. When the owner of the write end dies, in any way,
/// the kernel closes the pipe. The `read` of the watcher fails, and the watcher kills the program, even if stopped,
/// and all processes of its group. A line on the pipe makes the watcher exit.
/// The shell prints `watched` once the watcher runs: a shell that is stopped before leaves no watcher.
const WATCHED: &str = r#"exec 3<&0
{ read -r farewell <&3 || kill -s KILL -- -$$; } >/dev/null 2>&1 &
echo watched
exec "$0" "$@" 3<&- </dev/null >&2"#;

const FORMER_ENDS_WITHIN: Duration = Duration::from_secs(20);

/// The command of a program with a watcher, which owns the standard input of the command.
pub(crate) fn watched(program: &Path) -> Command {
    watched_by(WATCHED, program)
}

/// The command of a program that another script starts.
pub(crate) fn watched_by(script: &str, program: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script).arg(program).stdin(Stdio::piped());
    // A Ctrl-C at the terminal ends the run, and the end of the run ends its programs.
    command.process_group(0);
    command
}

/// A program that can be restarted, with its arguments and its log.
#[derive(Debug)]
pub struct Process {
    name: String,
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    folder: PathBuf,
    running: Mutex<Option<RunningProcess>>,
    /// The status with which the program last ended by itself; `None` while it runs and after it was killed.
    end: Mutex<Option<ExitStatus>>,
}

#[derive(Debug)]
struct RunningProcess {
    child: Child,
    watcher: ChildStdin,
}

impl Process {
    /// Starts the program. Its output goes to `<name>.log` in the directory, which is also its
    /// working directory and its home.
    pub fn start(
        name: &str,
        program: &Path,
        arguments: Vec<String>,
        folder: &Path,
    ) -> Result<Self> {
        Self::start_in_environment(name, program, arguments, Vec::new(), folder)
    }

    /// Starts the program with variables in addition to those of the test process.
    pub fn start_in_environment(
        name: &str,
        program: &Path,
        arguments: Vec<String>,
        environment: Vec<(String, String)>,
        folder: &Path,
    ) -> Result<Self> {
        let process = Self {
            name: name.to_owned(),
            program: program.to_owned(),
            arguments,
            environment,
            folder: folder.to_owned(),
            running: Mutex::new(None),
            end: Mutex::new(None),
        };
        process.start_again()?;
        Ok(process)
    }

    /// Restarts the program with the same arguments and data. The program must not be running.
    pub fn start_again(&self) -> Result<()> {
        let mut running = self.lock();
        if running.is_some() {
            bail!("{} is running already", self.name);
        }
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log())
            .with_context(|| format!("failed to open {}", self.log().display()))?;
        // The program keeps the lock as long as it lives, even if this process ends.
        ensure!(
            log.try_lock().is_ok(),
            "an earlier {} still writes to {}",
            self.name,
            self.log().display()
        );
        let mut child = watched(&self.program)
            .args(&self.arguments)
            .current_dir(&self.folder)
            .env("HOME", &self.folder)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .with_context(|| format!("failed to start {}", self.program.display()))?;
        let watcher = child.stdin.take().context("the process has no standard input")?;
        let stdout = child.stdout.take().context("the process has no standard output")?;
        *running = Some(RunningProcess { child, watcher });
        self.note_end(None);
        // The shell responds within milliseconds, so blocking the runtime is acceptable.
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        ensure!(line == "watched\n", "failed to start the watcher of {}: {line:?}", self.name);
        Ok(())
    }

    /// The process id while the program runs.
    pub fn id(&self) -> Option<u32> {
        self.lock().as_ref().map(|running| running.child.id())
    }

    /// Kills the program (SIGKILL) and waits until the kernel has removed it. If it does not run, the call
    /// succeeds.
    pub fn kill(&self) -> Result<()> {
        let Some(mut running) = self.lock().take() else {
            return Ok(());
        };
        running.child.kill().with_context(|| format!("failed to kill {}", self.name))?;
        running.child.wait().with_context(|| format!("failed to wait for {}", self.name))?;
        dismiss(running.watcher);
        Ok(())
    }

    /// Stops the program immediately (SIGSTOP): it keeps its connections and sends no response. The signal
    /// reaches one thread after the other, so this waits until the last thread has stopped.
    pub fn pause(&self) -> Result<()> {
        let id = self.signal(Signal::STOP)?;
        // If the program ends now, `check_alive` and `kill` detect that.
        let states = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let state = retry_on_intr(|| waitid(WaitId::Pid(id), states))
            .with_context(|| format!("failed to wait for {} to stop", self.name))?;
        ensure!(
            state.is_some_and(|state| state.stopped()),
            "{} ended instead of stopping",
            self.name
        );
        Ok(())
    }

    /// Continues the program (SIGCONT).
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT).map(drop)
    }

    /// Sends SIGTERM without waiting for the end of the process.
    pub fn ask_to_end(&self) -> Result<()> {
        self.signal(Signal::TERM).map(drop)
    }

    /// Sends SIGINT to the process group of the program, as a terminal does at Ctrl-C.
    pub fn interrupt(&self) -> Result<()> {
        let id = self.process_id()?;
        kill_process_group(id, Signal::INT)
            .with_context(|| format!("failed to interrupt {}", self.name))
    }

    /// The status with which the program ended by itself; `None` while it runs. Fails if the program was killed.
    pub fn check_end(&self) -> Result<Option<ExitStatus>> {
        let mut running = self.lock();
        let Some(process) = running.as_mut() else {
            let end = *self.end.lock().unwrap_or_else(PoisonError::into_inner);
            return end.map(Some).with_context(|| format!("{} is not running", self.name));
        };
        let end = process.child.try_wait()?;
        if end.is_some() {
            self.note_end(end);
            if let Some(ended) = running.take() {
                dismiss(ended.watcher);
            }
        }
        Ok(end)
    }

    /// Fails, with the end of the log, if the program should be running and has ended.
    pub fn check_alive(&self) -> Result<()> {
        let Some(status) = self.check_end()? else {
            return Ok(());
        };
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exited with {code}"),
            (None, Some(signal)) => format!("was ended by signal {signal}"),
            (None, None) => String::from("ended"),
        };
        Err(anyhow!(
            "{} {how}; the end of {}:\n{}",
            self.name,
            self.log().display(),
            crate::log_tail::tail_of(&self.log(), 20)
        ))
    }

    /// The file with the output of the program.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }

    fn signal(&self, signal: Signal) -> Result<Pid> {
        let id = self.process_id()?;
        kill_process(id, signal)
            .with_context(|| format!("failed to send {signal:?} to {}", self.name))?;
        Ok(id)
    }

    fn process_id(&self) -> Result<Pid> {
        let id = self.id().with_context(|| format!("{} is not running", self.name))?;
        let id = i32::try_from(id).ok().and_then(Pid::from_raw);
        id.with_context(|| format!("{} has no process id", self.name))
    }

    fn note_end(&self, end: Option<ExitStatus>) {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = end;
    }

    /// A test that panicked while it held the lock left a consistent value behind.
    fn lock(&self) -> MutexGuard<'_, Option<RunningProcess>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // If this fails, closing the pipe makes the watcher kill the program.
        let _ = self.kill();
    }
}

/// Handles the end of a program whose status was read. Its process id may soon belong to another process, so the
/// watcher must exit without killing.
pub(crate) fn dismiss(mut watcher: ChildStdin) {
    let _ = watcher.write_all(b"farewell\n");
}

/// Waits for the end of all programs that an earlier run started with logs in this directory. The programs end soon
/// after that run; until then, they use its ports and its data.
pub(crate) async fn await_former(folder: &Path) -> Result<()> {
    let what = format!("the programs of an earlier run in {} to end", folder.display());
    await_condition(&what, FORMER_ENDS_WITHIN, async || {
        for entry in std::fs::read_dir(folder)? {
            let file = entry?.path();
            let is_log = file.extension().is_some_and(|extension| extension == "log");
            if is_log && File::open(&file)?.try_lock().is_err() {
                return Ok(Observation::NotYet(format!("{} is in use", file.display())));
            }
        }
        Ok(Observation::Holds(()))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::await_condition::PATIENCE;

    fn shell(folder: &Path, script: &str) -> Process {
        let arguments = vec!["-c".to_owned(), script.to_owned()];
        Process::start("shell", Path::new("/bin/sh"), arguments, folder).expect("a shell")
    }

    #[tokio::test]
    async fn closing_the_pipe_kills_even_a_stopped_process() {
        let folder = tempfile::tempdir().expect("a directory");
        let process = shell(folder.path(), "while :; do sleep 1; done");
        process.pause().expect("stop the process");
        let RunningProcess { mut child, watcher } = process.lock().take().expect("running");
        drop(watcher);
        let signal = await_condition("the process to be killed", PATIENCE, async || {
            Ok(match child.try_wait()? {
                Some(status) => Observation::Holds(status.signal()),
                None => Observation::NotYet("alive".into()),
            })
        })
        .await
        .expect("the process is killed");
        assert_eq!(signal, Some(9));
    }
}
