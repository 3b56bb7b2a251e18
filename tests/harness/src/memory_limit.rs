//! A limit on the memory of a program, enforced by the kernel as for a container: the kernel kills a program that
//! exceeds the limit.
//!
//! The limit is a cgroup. It requires permission to create a cgroup below that of the test, with the memory controller.
//! Otherwise the peak memory reported by the kernel is compared with the limit instead. That is stricter: the peak
//! includes memory that could have been reclaimed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result, ensure};

use crate::Program;

/// The prefix of the names of the cgroups that tests create.
const PREFIX: &str = "almanac-test-";

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A memory limit for one program. The limit must outlive the program.
#[derive(Debug)]
pub struct MemoryLimit {
    bytes: u64,
    group: Option<PathBuf>,
}

impl MemoryLimit {
    /// Creates a limit of `bytes`.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let group = make_group(bytes);
        if let Err(error) = &group {
            eprintln!(
                "no control group limits the memory, the peak is measured instead: {error:#}"
            );
        }
        Self { bytes, group: group.ok() }
    }

    /// Starts a program under the limit, as [`Program::start_listening`] does without.
    pub fn start_listening(
        &self,
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Program> {
        let Some(group) = &self.group else {
            return Program::start_listening(program, arguments, environment);
        };
        // The shell enters the group and then becomes the program.
        let enter = r#"echo $$ >"$0" && exec "$@""#;
        let members = group.join("cgroup.procs");
        let text = |path: &Path| path.to_str().map(str::to_owned).context("the path must be UTF-8");
        let (members, program) = (text(&members)?, text(program)?);
        let mut all = vec!["-c", enter, &members, &program];
        all.extend(arguments);
        Program::start_listening(Path::new("/bin/sh"), &all, environment)
    }

    /// The peak memory of the program in bytes. Fails if the program has been killed for any reason, or has exceeded
    /// the limit.
    pub fn check(&self, program: &Program) -> Result<u64> {
        program.check_running()?;
        let peak = program.peak_resident_memory()?;
        let is_held_to = self.group.is_some() || peak <= self.bytes;
        ensure!(is_held_to, "it had {peak} bytes in RAM, {} are allowed", self.bytes);
        Ok(peak)
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        if let Some(group) = &self.group {
            // Leftovers are removed by the next run.
            let _ = fs::remove_dir(group);
        }
    }
}

fn make_group(bytes: u64) -> Result<PathBuf> {
    let (parent, limits) = parent()?;
    sweep(&parent);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let group = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
    let at = || format!("failed to limit memory in {}", group.display());
    fs::create_dir(&group).with_context(at)?;
    let limited = limits.iter().try_for_each(|(file, limit)| {
        let limit = limit.unwrap_or(bytes).to_string();
        match fs::write(group.join(file), limit) {
            // The file does not exist on a kernel without swap.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && *file != limits[0].0 => {
                Ok(())
            }
            written => written,
        }
    });
    if let Err(error) = limited {
        let _ = fs::remove_dir(&group);
        return Err(error).with_context(at);
    }
    Ok(group)
}

type Limits = &'static [(&'static str, Option<u64>)];

/// The directory where a group can be created, and the contents of its files. A file without a value gets the requested
/// limit.
fn parent() -> Result<(PathBuf, Limits)> {
    let groups =
        fs::read_to_string("/proc/self/cgroup").context("failed to find this process's cgroup")?;
    let own = |is_it: fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            is_it(controllers).then(|| path.trim_start_matches('/').to_owned())
        })
    };
    if let Some(path) = own(|controllers| controllers.split(',').any(|it| it == "memory")) {
        let parent = Path::new("/sys/fs/cgroup/memory").join(path);
        return Ok((parent, &[("memory.limit_in_bytes", None)]));
    }
    let path = own(str::is_empty).context("there are no control groups")?;
    let parent = Path::new("/sys/fs/cgroup").join(path);
    // A group with member processes cannot enable controllers, except for the root.
    fs::write(parent.join("cgroup.subtree_control"), "+memory")
        .with_context(|| format!("failed to limit memory below {}", parent.display()))?;
    Ok((parent, &[("memory.max", None), ("memory.swap.max", Some(0))]))
}

/// Removes the groups of ended test processes.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|it| it.strip_prefix(PREFIX)?.split('-').next());
        if id.is_some_and(|id| !Path::new("/proc").join(id).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use almanac_local::{Observation, PATIENCE, await_condition};

    #[tokio::test]
    async fn a_program_beyond_its_memory_limit_fails() {
        let limit = MemoryLimit::new(16 << 20);
        // The shell keeps the read data in a variable.
        let hoard = "hoard=$(head -c 50000000 /dev/zero | tr '\\0' x); while :; do sleep 1; done";
        let shell = Path::new("/bin/sh");
        let program = limit.start_listening(shell, &["-c", hoard], &[]).expect("start the program");
        let refused = await_condition("it to be found out", PATIENCE, async || {
            Ok(match limit.check(&program) {
                Ok(peak) => Observation::NotYet(format!("{peak} bytes")),
                Err(error) => {
                    // An ending process has no memory that the test could read.
                    let message = error.to_string();
                    let is_about_memory =
                        message.contains("signal 9") || message.contains("are allowed");
                    Observation::from_bool(is_about_memory, message)
                }
            })
        });
        refused.await.expect("detect the killed program");
    }

    #[tokio::test]
    async fn a_program_within_its_memory_limit_keeps_running() {
        let limit = MemoryLimit::new(16 << 20);
        let shell = Path::new("/bin/sh");
        let idle = ["-c", "while :; do sleep 1; done"];
        let program = limit.start_listening(shell, &idle, &[]).expect("start the program");
        assert!(limit.check(&program).expect("the program runs within its limit") < 16 << 20);
    }
}
