//! Runs the program in a separate directory of a test, and checks its result. Each test fills its directory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn from_output(output: &Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Ran {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.stdout, self.stderr))
    }

    /// Standard output, followed by standard error.
    pub(crate) fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Ran {
        assert_eq!(self.code, Some(code), "{}", self.all());
        self
    }

    /// Asserts the exit code, and that the output contains each of these parts.
    #[track_caller]
    pub(crate) fn assert_output(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.all());
        assert_has(&self.all(), parts);
    }

    /// Asserts that standard output contains each of these parts.
    #[track_caller]
    pub(crate) fn assert_stdout(&self, parts: &[&str]) {
        assert_has(&self.stdout, parts);
    }

    /// Asserts that standard error contains each of these parts.
    #[track_caller]
    pub(crate) fn assert_stderr(&self, parts: &[&str]) {
        assert_has(&self.stderr, parts);
    }
}

#[track_caller]
fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

/// An empty directory for one test of a group.
pub(crate) fn empty_directory(group: &str, test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(group).join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Writes files, each at its path below a directory.
pub(crate) fn write(directory: &Path, files: &[(&str, &str)]) {
    for (file, text) in files {
        let path = directory.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The program in a directory, without colors, and with each message in one line.
pub(crate) fn almanac(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    command.current_dir(directory).stdin(Stdio::null()).args(arguments);
    command.env("NO_COLOR", "1").env("COLUMNS", "1000").env_remove("ALMANAC_ZONE");
    command
}

/// Runs git with a user and without the settings of this machine, and returns the output.
#[track_caller]
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(directory).env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_CONFIG_SYSTEM", "/dev/null");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]);
    let ran = Ran::from_output(&command.args(arguments).output().unwrap());
    assert_eq!(ran.code, Some(0), "git {arguments:?}: {}", ran.stderr);
    ran.stdout.trim_end().to_owned()
}

/// Commits files to a repository, together with all other changes in it.
pub(crate) fn commit(folder: &Path, files: &[(&str, &str)]) {
    write(folder, files);
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "--allow-empty", "-m", "change"]);
}

/// Compares with a golden file of these tests, or writes it with `ALMANAC_UPDATE=1`.
#[track_caller]
pub(crate) fn assert_written_down(file: impl AsRef<Path>, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/offline").join(file);
    if std::env::var_os("ALMANAC_UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{} differs; ALMANAC_UPDATE=1 rewrites it", path.display());
}

/// The items of a list of JSON.
#[track_caller]
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value}"))
}

/// The value of a JSON string.
#[track_caller]
pub(crate) fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}"))
}
