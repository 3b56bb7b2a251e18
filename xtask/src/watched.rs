//! Starts programs whose whole process group ends with the task runner, even if the task runner is killed. The caller
//! chooses the programs.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};

/// The shell starts a watcher that reads from a pipe, and then becomes the program, in a process group of its own. When
/// the write end of the pipe is closed, the watcher kills the group. A line on the pipe makes the watcher exit.
const SCRIPT: &str = r#"exec 3<&0
{ read -r farewell <&3 || kill -s KILL -- -$$; } >/dev/null 2>&1 &
exec "$@" 3<&- </dev/null"#;

/// A started program; dropping the value kills the program.
pub(crate) struct Watcher(ChildStdin);

impl Watcher {
    /// Records that the program has ended: the system may reuse its process id.
    pub(crate) fn dismiss(mut self) {
        let _ = self.0.write_all(b"farewell\n");
    }
}

/// Starts a program, with empty standard input, whose output goes to a file.
pub(crate) fn start(command: &Command, output: File) -> io::Result<(Child, Watcher)> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", SCRIPT, "sh"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell.process_group(0).stdin(Stdio::piped()).stderr(output.try_clone()?).stdout(output);
    let mut child = shell.spawn()?;
    let pipe = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    Ok((child, Watcher(pipe)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> (Child, Watcher, File) {
        let file = tempfile::tempfile().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let (child, watcher) = start(&command, file.try_clone().unwrap()).unwrap();
        (child, watcher, file)
    }

    #[test]
    fn a_dropped_watcher_kills_the_program_and_its_children() {
        let (mut child, watcher, _file) = shell("sleep 600 & wait");
        drop(watcher);
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_dismissed_watcher_exits() {
        use std::io::{Read as _, Seek as _};
        let (mut child, watcher, mut file) = shell("echo out; echo err >&2; cat; exit 3");
        assert_eq!(child.wait().unwrap().code(), Some(3));
        watcher.dismiss();
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "out\nerr\n");
    }
}
