//! A program that renders a directory. Almanac finds the program in `PATH`, and runs it with a separate environment and
//! limited memory. A program that exceeds the time limit or the output limit is killed with its whole process group.
//!
//! To deny a program the network, every system requires rights that a checker should not need. So the denial is best
//! effort: git may use no protocol, and HTTP goes to a proxy that does not exist.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use almanac_api::reading::FILE_BYTES;
use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::cleanup::{self, Cleanup};

/// The maximum number of bytes of the output.
pub(super) const MAX_OUTPUT_BYTES: usize = FILE_BYTES;

/// The maximum number of stored bytes of standard error.
const MAX_ERROR_BYTES: usize = 1 << 16;

/// The maximum number of bytes of memory that a program may write: a few kilobytes of YAML can expand to gigabytes. The
/// address space is unlimited, since Go reserves more than it uses.
#[cfg(target_os = "linux")]
const MEMORY: u64 = 2 << 30;

/// The interval of the checks for the end of a program that has closed its output.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// Variables that name an empty directory: settings, plugins, caches.
const EMPTY: [&str; 10] = [
    "HOME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "HELM_CACHE_HOME",
    "HELM_CONFIG_HOME",
    "HELM_DATA_HOME",
    "HELM_PLUGINS",
    "TMPDIR",
];

/// Variables that keep programs from a network. Nothing listens on the port of the proxy.
const OFFLINE: [(&str, &str); 8] = [
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("HTTP_PROXY", "http://127.0.0.1:9"),
    ("HTTPS_PROXY", "http://127.0.0.1:9"),
    ("http_proxy", "http://127.0.0.1:9"),
    ("https_proxy", "http://127.0.0.1:9"),
    ("LC_ALL", "C"),
];

pub(super) struct Program {
    path: PathBuf,
    arguments: &'static [&'static str],
}

/// The outcome of a run of the program.
pub(super) enum Outcome {
    Printed(Vec<u8>),
    /// The program failed with this standard error.
    Failed(String),
    TooSlow,
    TooMuch,
}

/// An output of the program, read by a thread.
enum Output {
    Printed(Vec<u8>),
    Errors(Vec<u8>),
}

impl Program {
    /// The program that builds kustomizations.
    pub(super) fn kustomize() -> anyhow::Result<Program> {
        if let Some(path) = find_program("kustomize") {
            let arguments = &["build", "--load-restrictor", "LoadRestrictionsRootOnly"];
            return Ok(Program { path, arguments });
        }
        if let Some(path) = find_program("kubectl") {
            let arguments = &["kustomize", "--load-restrictor", "LoadRestrictionsRootOnly"];
            return Ok(Program { path, arguments });
        }
        bail!(
            "failed to find kustomize or kubectl in PATH; install one of them, as described \
             at https://kubernetes.io/docs/tasks/tools"
        )
    }

    /// The program that renders charts.
    pub(super) fn helm() -> anyhow::Result<Program> {
        let message = "failed to find helm in PATH; install it, as described at https://helm.sh/docs/intro/install";
        let path = find_program("helm").context(message)?;
        Ok(Program { path, arguments: &["template"] })
    }

    /// Runs the program in a directory.
    pub(super) fn run(
        &self,
        arguments: &[OsString],
        dir: &Path,
        empty_dir: &Path,
        limit: Duration,
    ) -> anyhow::Result<Outcome> {
        let cannot = || format!("failed to run {}", self.path.display());
        let mut command = Command::new(&self.path);
        command.args(self.arguments).args(arguments).current_dir(dir).env_clear();
        command.env("PATH", env::join_paths(search_path()).with_context(cannot)?);
        command.envs(EMPTY.map(|name| (name, empty_dir))).envs(OFFLINE);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let deadline = Instant::now() + limit;
        let mut running = RunningProgram::start(&mut command).with_context(cannot)?;
        let outputs = (running.child.stdout.take(), running.child.stderr.take());
        let (Some(mut stdout), Some(mut stderr)) = outputs else { bail!(cannot()) };
        let (sender, received) = mpsc::channel();
        let other = sender.clone();
        // The threads end with the pipe. A process that has left the group may keep it open, so they are not joined.
        thread::spawn(move || {
            sender.send(Output::Printed(start_of(&mut stdout, MAX_OUTPUT_BYTES)))
        });
        thread::spawn(move || {
            let start = start_of(&mut stderr, MAX_ERROR_BYTES);
            // The program must not block on a full pipe.
            let _ = io::copy(&mut stderr, &mut io::sink());
            other.send(Output::Errors(start))
        });
        let (mut all, mut errors) = (None, None);
        while all.is_none() || errors.is_none() {
            let remaining = deadline.saturating_duration_since(Instant::now());
            match received.recv_timeout(remaining) {
                Ok(Output::Printed(bytes)) if bytes.len() > MAX_OUTPUT_BYTES => {
                    return Ok(Outcome::TooMuch);
                }
                Ok(Output::Printed(bytes)) => all = Some(bytes),
                Ok(Output::Errors(bytes)) => errors = Some(bytes),
                Err(_) => return Ok(Outcome::TooSlow),
            }
        }
        while !running.has_ended().with_context(cannot)? {
            if Instant::now() >= deadline {
                return Ok(Outcome::TooSlow);
            }
            thread::sleep(CHECK_INTERVAL);
        }
        let is_success = running.end().with_context(cannot)?;
        let errors = String::from_utf8_lossy(&errors.unwrap_or_default()).into_owned();
        Ok(if is_success {
            Outcome::Printed(all.unwrap_or_default())
        } else {
            Outcome::Failed(errors)
        })
    }
}

/// The first `most` bytes of an input, and one more byte if the input is longer.
fn start_of(input: &mut impl Read, most: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    // If reading fails, the program has lost its pipe, and Almanac reports its exit.
    let _ = input.take(most as u64 + 1).read_to_end(&mut bytes);
    bytes
}

/// The absolute directories of `PATH`. A relative directory could be in the tree.
fn search_path() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).filter(|it| it.is_absolute()).collect()
}

fn find_program(name: &str) -> Option<PathBuf> {
    search_path().into_iter().map(|dir| dir.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// A running program, killed with its process group on drop and at the end of this process.
struct RunningProgram {
    child: Child,
    /// `None` after the exit.
    cleanup: Option<Cleanup>,
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl RunningProgram {
    /// Kills the program and its group; returns whether the program had already succeeded.
    fn end(&mut self) -> io::Result<bool> {
        // After the wait, another process may reuse the process ID, and must not get a signal.
        if let Some(cleanup) = self.cleanup.take() {
            kill(Pid::from_child(&self.child));
            drop(cleanup);
        }
        Ok(self.child.wait()?.success())
    }

    fn start(command: &mut Command) -> anyhow::Result<RunningProgram> {
        let (child, cleanup) = cleanup::registered(|| {
            let child = command.process_group(0).spawn()?;
            let group = Pid::from_child(&child);
            limit_memory(group);
            Ok((child, move || kill(group)))
        })?;
        Ok(RunningProgram { child, cleanup: Some(cleanup) })
    }

    /// Whether the program has exited. Its process ID stays reserved.
    fn has_ended(&mut self) -> io::Result<bool> {
        let states = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(Pid::from_child(&self.child)), states)?.is_some())
    }
}

/// Limits the memory of a program, and of the programs that it starts later.
#[cfg(target_os = "linux")]
fn limit_memory(program: Pid) {
    use rustix::process::{Resource, Rlimit, prlimit};
    let limit = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    // The call fails only if a lower limit is already set.
    let _ = prlimit(Some(program), Resource::Data, limit);
}

#[cfg(not(target_os = "linux"))]
fn limit_memory(_: Pid) {}

/// Kills the group of a program.
fn kill(group: Pid) {
    let _ = kill_process_group(group, Signal::KILL);
}
