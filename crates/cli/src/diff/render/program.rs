//! A program that renders a directory. It is found in `PATH`, and runs with an environment of its own and limited
//! memory. Once it takes too long or prints too much, it is ended with its whole process group.
//!
//! No system keeps a program from the network without rights that a checker should not need. So this is best effort:
//! git may use no protocol, and HTTP goes to a proxy that does not exist.

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

/// The most bytes of its output.
pub(super) const MOST: usize = FILE_BYTES;

/// The most bytes that are kept of its standard error.
const MOST_SAID: usize = 1 << 16;

/// The most bytes of memory that a program may write to: a few kilobytes of YAML can stand for gigabytes. Address space
/// alone is not limited, as Go reserves more of it than it uses.
#[cfg(target_os = "linux")]
const MEMORY: u64 = 2 << 30;

/// The interval of the checks whether a program that has closed its output has ended.
const PAUSE: Duration = Duration::from_millis(5);

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

/// How it has ended.
pub(super) enum Ending {
    Printed(Vec<u8>),
    /// With its messages.
    Failed(String),
    TooSlow,
    TooMuch,
}

/// A part of the output that was read.
enum Output {
    Printed(Vec<u8>),
    Said(Vec<u8>),
}

impl Program {
    /// The one that builds kustomizations.
    pub(super) fn kustomize() -> anyhow::Result<Program> {
        if let Some(path) = found("kustomize") {
            let arguments = &["build", "--load-restrictor", "LoadRestrictionsRootOnly"];
            return Ok(Program { path, arguments });
        }
        if let Some(path) = found("kubectl") {
            let arguments = &["kustomize", "--load-restrictor", "LoadRestrictionsRootOnly"];
            return Ok(Program { path, arguments });
        }
        bail!(
            "failed to find kustomize or kubectl in PATH; install one of them, as described \
             at https://kubernetes.io/docs/tasks/tools"
        )
    }

    /// The one that renders charts.
    pub(super) fn helm() -> anyhow::Result<Program> {
        let message = "failed to find helm in PATH; install it, as described at https://helm.sh/docs/intro/install";
        let path = found("helm").context(message)?;
        Ok(Program { path, arguments: &["template"] })
    }

    /// Runs it in a directory.
    pub(super) fn run(
        &self,
        arguments: &[OsString],
        folder: &Path,
        empty: &Path,
        limit: Duration,
    ) -> anyhow::Result<Ending> {
        let cannot = || format!("failed to run {}", self.path.display());
        let mut command = Command::new(&self.path);
        command.args(self.arguments).args(arguments).current_dir(folder).env_clear();
        command.env("PATH", env::join_paths(searched()).with_context(cannot)?);
        command.envs(EMPTY.map(|name| (name, empty))).envs(OFFLINE);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let deadline = Instant::now() + limit;
        let mut running = Running::start(&mut command).with_context(cannot)?;
        let outputs = (running.child.stdout.take(), running.child.stderr.take());
        let (Some(mut printed), Some(mut said)) = outputs else { bail!(cannot()) };
        let (sender, received) = mpsc::channel();
        let other = sender.clone();
        // They end with the pipe. A process that has left the group may hold it open, so they are not waited for.
        thread::spawn(move || sender.send(Output::Printed(start_of(&mut printed, MOST))));
        thread::spawn(move || {
            let start = start_of(&mut said, MOST_SAID);
            // It is not to wait for a reader.
            let _ = io::copy(&mut said, &mut io::sink());
            other.send(Output::Said(start))
        });
        let (mut all, mut errors) = (None, None);
        while all.is_none() || errors.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            match received.recv_timeout(left) {
                Ok(Output::Printed(bytes)) if bytes.len() > MOST => return Ok(Ending::TooMuch),
                Ok(Output::Printed(bytes)) => all = Some(bytes),
                Ok(Output::Said(bytes)) => errors = Some(bytes),
                Err(_) => return Ok(Ending::TooSlow),
            }
        }
        while !running.has_ended().with_context(cannot)? {
            if Instant::now() >= deadline {
                return Ok(Ending::TooSlow);
            }
            thread::sleep(PAUSE);
        }
        let is_success = running.end().with_context(cannot)?;
        let said = String::from_utf8_lossy(&errors.unwrap_or_default()).into_owned();
        Ok(if is_success { Ending::Printed(all.unwrap_or_default()) } else { Ending::Failed(said) })
    }
}

/// The start of what is read, and one byte more if there is more.
fn start_of(input: &mut impl Read, most: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    // If reading fails, the program was cut off, and its end is reported.
    let _ = input.take(most as u64 + 1).read_to_end(&mut bytes);
    bytes
}

/// The directories of `PATH`, but for those that are meant from the current one: that may be the tree.
fn searched() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).filter(|it| it.is_absolute()).collect()
}

fn found(name: &str) -> Option<PathBuf> {
    searched().into_iter().map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// A program that does not outlive its run, nor this process, with all that it has started, as far as that has not left
/// its group.
struct Running {
    child: Child,
    /// `None` once it was ended.
    cleanup: Option<Cleanup>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl Running {
    /// Ends it and its group; whether it had succeeded before.
    fn end(&mut self) -> io::Result<bool> {
        // Once it has been waited for, its number may belong to another process, which must not get a signal.
        if let Some(cleanup) = self.cleanup.take() {
            kill(Pid::from_child(&self.child));
            drop(cleanup);
        }
        Ok(self.child.wait()?.success())
    }

    fn start(command: &mut Command) -> anyhow::Result<Running> {
        let (child, cleanup) = cleanup::registered(|| {
            let child = command.process_group(0).spawn()?;
            let group = Pid::from_child(&child);
            limit_memory(group);
            Ok((child, move || kill(group)))
        })?;
        Ok(Running { child, cleanup: Some(cleanup) })
    }

    /// Whether it has ended, which leaves its number to it.
    fn has_ended(&mut self) -> io::Result<bool> {
        let states = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(Pid::from_child(&self.child)), states)?.is_some())
    }
}

/// Limits the memory of a program, and of all that it starts from then on.
#[cfg(target_os = "linux")]
fn limit_memory(program: Pid) {
    use rustix::process::{Resource, Rlimit, prlimit};
    let limit = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    // It fails only where a lower limit is in force already.
    let _ = prlimit(Some(program), Resource::Data, limit);
}

#[cfg(not(target_os = "linux"))]
fn limit_memory(_: Pid) {}

/// Kills the group of a program.
fn kill(group: Pid) {
    let _ = kill_process_group(group, Signal::KILL);
}
