//! A short-lived program that prints its result and exits. Like every other program, it never outlives the process that
//! started it, and a Ctrl-C at the terminal does not reach it. The caller interprets the result.

use std::io;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use crate::process::{dismiss, watched_by};

/// Starts the program with a watcher, like long-running programs, but with an output of its own.
const WATCHED_SCRIPT: &str = r#"exec 3<&0
{ read -r farewell <&3 || kill -s KILL -- -$$; } >/dev/null 2>&1 &
exec "$0" "$@" 3<&- </dev/null"#;

/// The command of the program, for [`answer_of`] after arguments are added. The program has an empty standard
/// input.
#[must_use]
pub fn question_to(program: &Path) -> Command {
    watched_by(WATCHED_SCRIPT, program)
}

/// Waits for the end of the program, and returns its output.
pub fn answer_of(question: Command) -> io::Result<Output> {
    let (child, watcher) = spawn(question)?;
    let answer = child.wait_with_output()?;
    dismiss(watcher);
    Ok(answer)
}

/// Waits for the end of the program without blocking the runtime. Dropping the future kills the program.
pub async fn await_answer_of(question: Command) -> io::Result<Output> {
    let (child, watcher) = spawn(question)?;
    let answer = tokio::task::spawn_blocking(move || child.wait_with_output()).await??;
    dismiss(watcher);
    Ok(answer)
}

/// The program, and the input of its watcher, which kills the program if the input closes without a line.
fn spawn(mut question: Command) -> io::Result<(Child, ChildStdin)> {
    let mut child = question.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let watcher =
        child.stdin.take().ok_or_else(|| io::Error::other("the program has no watcher"))?;
    Ok((child, watcher))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_the_output_and_the_exit_status_of_the_program() {
        let mut question = question_to(Path::new("/bin/sh"));
        question.args(["-c", "echo said; echo wrong >&2; cat; exit 3"]);
        let answer = answer_of(question).unwrap();
        assert_eq!(answer.stdout, b"said\n");
        assert_eq!(answer.stderr, b"wrong\n");
        assert_eq!(answer.status.code(), Some(3));
    }

    #[test]
    fn a_program_ends_with_its_parent() {
        let mut question = question_to(Path::new("/bin/sh"));
        question.args(["-c", "echo begun; exec sleep 600"]);
        let mut child = question.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut output = io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        io::BufRead::read_line(&mut output, &mut line).unwrap();
        assert_eq!(line, "begun\n");
        // The kernel closes the pipe in the same way when the parent is killed.
        drop(child.stdin.take());
        assert!(!child.wait().unwrap().success());
    }
}
