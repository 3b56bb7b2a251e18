//! Text is as wide as the terminal, and 100 columns wide without one.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use unicode_width::UnicodeWidthStr as _;

use crate::real_terminal::{self, Rows, Screen};

const WIDTHS: [usize; 3] = [60, 80, 200];

const PRESENT: &str = "2026-11-20T12:00:00Z";

/// Commands about the examples of the repository.
const OF_EXAMPLES: [&[&str]; 8] = [
    &["forecast", "-f", "examples", "--from", PRESENT],
    &["next", "-f", "examples", "--from", PRESENT],
    &["when", "-f", "examples", "--from", PRESENT],
    &["explain", "-f", "examples", "metricsproducer/office-hours", "--at", PRESENT],
    &["explain", "-f", "examples", "web", "--at", PRESENT],
    &["diff", "docs/weekend.yaml", "examples/office-hours/deployment.yaml", "--from", PRESENT],
    &["lint", "examples", "--from", PRESENT],
    &["validate", "examples", "--from", PRESENT],
];

/// Commands about policies with long names and wide characters, one of which is invalid.
const OF_LONG_NAMES: [&[&str]; 8] = [
    &["forecast", "-f", "new", "--from", PRESENT],
    &["next", "-f", "new", "--from", PRESENT],
    &["when", "-f", "new", "--from", PRESENT],
    &["explain", "-f", "new", "cronfhpa/hours", "--at", PRESENT],
    &["diff", "old", "new", "--from", PRESENT],
    &["diff", "old", "broken", "--from", PRESENT],
    &["lint", "broken", "--from", PRESENT],
    &["validate", "broken", "--from", PRESENT],
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn almanac(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null()).env_remove("COLUMNS");
    command.env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8");
    command
}

fn policy(name: &str, target: &str, schedule: &str, replicas: u32) -> String {
    let namespace = "s".repeat(63);
    format!(
        "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\n\
         metadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  \
         scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {target}}}\n  rules:\n  \
         - {{name: 営業時間が始まる🚀, schedule: \"{schedule}\", targetReplicas: {replicas}, \
         timeZone: America/Argentina/ComodRivadavia}}\n  \
         - {{name: \"fru\u{308}h-{}\", schedule: \"0 20 * * *\", targetReplicas: 2}}\n---\n",
        "e".repeat(20)
    )
}

fn long_names(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("width").join(test);
    let _ = fs::remove_dir_all(&folder);
    for (side, schedule, replicas) in
        [("old", "0 8 * * *", 10), ("new", "0 8 * * *", 12), ("broken", "0 8 * *", 12)]
    {
        let (one, other) = (format!("{}a", "t".repeat(252)), format!("{}b", "t".repeat(252)));
        let all = [
            policy("hours", "shop", "0 9 * * *", replicas),
            policy(&"n".repeat(63), &one, schedule, replicas),
            policy(&"m".repeat(253), &other, "0 8 * * *", replicas),
        ];
        fs::create_dir_all(folder.join(side)).unwrap();
        fs::write(folder.join(side).join("hours.yaml"), all.concat()).unwrap();
    }
    folder
}

/// Asserts that only a line of one word is wider than the terminal.
#[track_caller]
fn assert_fits(text: &str, width: usize, arguments: &[&str]) {
    assert!(!text.is_empty(), "{arguments:?} prints nothing");
    for line in text.lines().filter(|line| line.width() > width) {
        assert_eq!(line.split_whitespace().count(), 1, "{arguments:?} at {width}: {line}\n{text}");
    }
}

fn printed(folder: &Path, arguments: &[&str], columns: Option<usize>) -> String {
    let mut command = almanac(folder, arguments);
    if let Some(columns) = columns {
        command.env("COLUMNS", columns.to_string());
    }
    let output = command.output().unwrap();
    assert_ne!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_command_fits_60_80_and_200_columns() {
    let folders = [(root(), OF_EXAMPLES), (long_names("commands"), OF_LONG_NAMES)];
    for (folder, commands) in &folders {
        for arguments in commands {
            for width in WIDTHS {
                assert_fits(&printed(folder, arguments, Some(width)), width, arguments);
            }
        }
    }
}

#[test]
fn without_a_terminal_the_width_is_100_columns() {
    let folder = long_names("piped");
    for arguments in OF_LONG_NAMES {
        assert_fits(&printed(&folder, arguments, None), 100, arguments);
        assert_eq!(printed(&folder, arguments, None), printed(&folder, arguments, Some(100)));
    }
    assert_fits(&printed(&root(), &["--help"], None), 100, &["--help"]);
}

#[test]
fn a_file_has_100_columns_on_every_terminal() {
    let folder = long_names("file");
    let piped = printed(&folder, OF_LONG_NAMES[0], None);
    on_a_terminal(&folder, &[OF_LONG_NAMES[0], &["--out", "forecast.txt"]].concat(), 60);
    assert_eq!(fs::read_to_string(folder.join("forecast.txt")).unwrap(), piped);
}

#[test]
fn nothing_panics_in_very_few_columns() {
    let folder = long_names("narrow");
    for arguments in OF_LONG_NAMES {
        for width in [1, 10, 20, 40] {
            assert!(!printed(&folder, arguments, Some(width)).is_empty(), "{arguments:?}");
        }
    }
}

#[test]
fn the_terminal_width_takes_precedence_over_the_columns_variable() {
    let folder = long_names("terminal");
    let commands = OF_LONG_NAMES.into_iter().chain([&["--help"][..], &["lint", "--help"]]);
    for arguments in commands {
        for width in WIDTHS {
            assert_fits(&on_a_terminal(&folder, arguments, width), width, arguments);
        }
    }
    let of = |width| on_a_terminal(&folder, OF_LONG_NAMES[0], width);
    let widest = |text: &str| text.lines().filter(|it| it.contains('┤')).map(str::width).max();
    let widths = WIDTHS.map(|width| widest(&of(width)));
    assert!(widths.is_sorted() && widths[0] > Some(40) && widths[2] > Some(150), "{widths:?}");
}

#[test]
fn notes_follow_the_terminal_in_every_command() {
    let folder = long_names("notes");
    for side in ["old", "broken"] {
        fs::remove_dir_all(folder.join(side)).unwrap();
    }
    let chart = folder.join("charts").join("c".repeat(20));
    fs::create_dir_all(chart.join("templates")).unwrap();
    fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: shop\nversion: 1.0.0\n").unwrap();
    let text = policy("{{ .Values.name }}", "shop", "0 8 * * *", 3);
    fs::write(chart.join("templates").join("hours.yaml"), text).unwrap();
    for arguments in [
        &["forecast", "-f", ".", "--from", PRESENT][..],
        &["next", "-f", ".", "--from", PRESENT],
        &["when", "-f", ".", "--from", PRESENT],
        &["explain", "-f", ".", "cronfhpa/hours", "--at", PRESENT],
    ] {
        let stderr = noted_on_a_terminal(&folder, arguments, 60);
        assert!(stderr.contains("is a Helm chart"), "{arguments:?}: {stderr}");
        assert_fits(&stderr, 60, arguments);
    }
}

/// The output of a command on a terminal of this number of columns. `COLUMNS` has another value, as after a resize.
fn on_a_terminal(folder: &Path, arguments: &[&str], width: usize) -> String {
    shown_on_a_terminal(folder, arguments, width, |command, terminal| {
        command.stdout(terminal).stderr(Stdio::null())
    })
}

/// The standard error of a command on a terminal of this number of columns.
fn noted_on_a_terminal(folder: &Path, arguments: &[&str], width: usize) -> String {
    shown_on_a_terminal(folder, arguments, width, |command, terminal| {
        command.stderr(terminal).stdout(Stdio::null())
    })
}

/// The output of a command on a terminal that it is connected to.
fn shown_on_a_terminal(
    folder: &Path,
    arguments: &[&str],
    width: usize,
    connect: fn(&mut Command, OwnedFd) -> &mut Command,
) -> String {
    let (mut terminal, inner) = real_terminal::open(u16::try_from(width).unwrap()).unwrap();
    let mut command = almanac(folder, arguments);
    connect(command.env("COLUMNS", "37").env("TERM", "xterm"), inner);
    let mut child = command.spawn().unwrap();
    // Only the child has the other side of the terminal open, so reading ends with the child.
    drop(command);
    let mut shown = Vec::new();
    let mut part = [0; 4096];
    while let Ok(count @ 1..) = terminal.read(&mut part) {
        shown.extend_from_slice(&part[..count]);
    }
    child.wait().unwrap();
    String::from_utf8(shown).unwrap().replace("\r\n", "\n")
}

/// The rows since a countdown of 30 columns was drawn again in 20 of them.
fn drawn_again(on_resize: Rows, first: &str, second: &str) -> Vec<String> {
    let mut screen = Screen::new(40, on_resize);
    screen.show(format!("\u{1b}[1mbegun\u{1b}[0m\r\n{first}").as_bytes()).unwrap();
    screen.resize(20);
    for byte in second.bytes() {
        // A character or an escape sequence may arrive in two parts.
        screen.show(&[byte]).unwrap();
    }
    screen.since_resize()
}

#[test]
fn the_screen_model_shows_the_rows_that_a_countdown_leaves() {
    let long = "in 12 seconds: it fires → soon";
    // The cursor is after the text, and one row is cleared.
    let (first, second) = (format!("\r\u{1b}[2K{long}"), "\r\u{1b}[2Kin 11 s: it → soon");
    let rows = drawn_again(Rows::Rewrapped, &first, second);
    assert_eq!(rows, ["in 12 seconds: it fi", "in 11 s: it → soon"]);
    assert_eq!(drawn_again(Rows::Cut, &first, second), ["in 11 s: it → soon"]);
    // The cursor is before the text, and everything after the cursor is cleared.
    let (first, second) = (format!("\r\u{1b}[J{long}\r"), "\r\u{1b}[Jin 11 s: it → soon\r");
    for on_resize in [Rows::Rewrapped, Rows::Cut] {
        assert_eq!(drawn_again(on_resize, &first, second), ["in 11 s: it → soon"]);
    }
    let mut screen = Screen::new(5, Rows::Cut);
    screen.show(b"12345\r\n123456\r\n").unwrap();
    assert_eq!(screen.overflowed(), ["12345"]);
    assert!(screen.show(b"\x1b[2A").is_err());
}
