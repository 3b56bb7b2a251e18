//! The documents are correct: every command in a ```` ```console ```` block of README.md and below `docs` is run, and
//! its output must equal the output in the document.
//!
//! A line `$ almanac …` (or `$ cargo run --release -- …`) is a command, and the lines after it are
//! its output, errors included. Commands in ```` ```sh ```` blocks are not run; `cargo xtask arch`
//! checks those for the task runner. To write the real output into the documents, run the tests
//! with `UPDATE_DOCS=1` and look at the difference.

use std::fs;
use std::iter;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};

const BINARY: &str = env!("CARGO_BIN_EXE_almanac");
const FENCE: &str = "```console";
const FROM_SOURCE: &str = "cargo run --release --";

/// A command in a document.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    /// The line of the command, counted from 1.
    line: usize,
    command: String,
    /// The lines of its output, counted from 0.
    output: Range<usize>,
}

#[test]
fn every_console_command_in_the_documents_prints_the_documented_output() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    let mut differences = Vec::new();
    for path in documents(&root)? {
        let name = path.strip_prefix(&root)?.display().to_string();
        let document =
            fs::read_to_string(&path).with_context(|| format!("failed to read {name}"))?;
        let mut lines: Vec<_> = document.lines().map(str::to_owned).collect();
        let examples = examples(&document).with_context(|| name.clone())?;
        ensure!(name != "README.md" || !examples.is_empty(), "README.md shows no command");
        // From the last to the first, so that an update does not move the remaining examples.
        for example in examples.into_iter().rev() {
            let Example { line, command, output } = example;
            let shown = text(&lines[output.clone()]);
            let printed = run(&root, &command).with_context(|| format!("{name}:{line}"))?;
            if update {
                lines.splice(output, printed.lines().map(str::to_owned));
            } else if shown != printed {
                let place = format!("{name}:{line}: $ {command}");
                let both = format!("--- the document shows\n{shown}--- it prints\n{printed}");
                differences.push(format!("{place}\n{both}"));
            }
        }
        if update {
            fs::write(&path, text(&lines))?;
        }
    }
    differences.reverse();
    let differences = differences.join("\n");
    assert!(differences.is_empty(), "{differences}\nUPDATE_DOCS=1 writes them anew");
    Ok(())
}

/// README.md, which must exist, and the pages of `docs/`.
fn documents(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = vec![root.join("README.md")];
    for folder in ["docs", "docs/failures"] {
        for entry in fs::read_dir(root.join(folder)).context("failed to list the documents")? {
            paths.push(entry?.path());
        }
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    Ok(paths)
}

enum Block {
    Outside,
    /// A command of Almanac, and the number of examples before it.
    Console(usize),
    Other,
}

fn examples(document: &str) -> anyhow::Result<Vec<Example>> {
    let mut examples = Vec::<Example>::new();
    let mut block = Block::Outside;
    let mut lines = (1..).zip(document.lines());
    while let Some((number, line)) = lines.next() {
        let is_fence = line.starts_with("```");
        match block {
            Block::Outside if line == FENCE => block = Block::Console(examples.len()),
            Block::Outside if line.trim_start().starts_with(FENCE) => {
                bail!("line {number}: a console block opens with `{FENCE}` alone, not indented");
            }
            Block::Outside if is_fence => block = Block::Other,
            Block::Console(_) | Block::Other if is_fence => block = Block::Outside,
            Block::Outside | Block::Other => {}
            Block::Console(before) => {
                if let Some(start) = line.strip_prefix("$ ") {
                    let (command, last) = whole_command((number, start), &mut lines)?;
                    examples.push(Example { line: number, command, output: last..last });
                } else if let Some(example) = examples.get_mut(before..).and_then(<[_]>::last_mut) {
                    example.output.end = number;
                } else {
                    bail!("line {number}: output without a command (`$ …`) above it");
                }
            }
        }
    }
    ensure!(matches!(block, Block::Outside), "the last block does not end");
    Ok(examples)
}

/// A command that may continue after a backslash at the end of a line, and the number of its last line.
fn whole_command<'a>(
    (mut last, start): (usize, &str),
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
) -> anyhow::Result<(String, usize)> {
    let mut command = start.to_owned();
    while command.ends_with('\\') {
        command.pop();
        let (number, line) = lines.next().context("the last command does not end")?;
        command.push_str(line.trim_start());
        last = number;
    }
    Ok((command, last))
}

/// The terminal output of a command that succeeds. (A document shows a failing command as `$ almanac …; echo "exit
/// code $?"`.)
fn run(root: &Path, command: &str) -> anyhow::Result<String> {
    let command = match command.strip_prefix(FROM_SOURCE) {
        Some(arguments) => format!("almanac{arguments}"),
        None => command.to_owned(),
    };
    ensure!(
        command.split(' ').next() == Some("almanac"),
        "`{command}` is neither `almanac …` nor `{FROM_SOURCE} …`; a block marked `sh` is not run"
    );
    let folder = Path::new(BINARY).parent().context("the binary has no folder")?.to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(iter::once(folder).chain(std::env::split_paths(&path)))?;
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(root)
        .env("PATH", path)
        // The output must be the same on every machine: without color, with a usual width, without the zone of the
        // host.
        .envs([("NO_COLOR", "1"), ("COLUMNS", "100"), ("TZ", "UTC"), ("LC_ALL", "C.UTF-8")])
        .env_remove("ALMANAC_ZONE")
        .stdin(Stdio::null())
        .output()
        .context("failed to start sh")?;
    let printed = String::from_utf8(output.stdout).context("the output is not UTF-8")?;
    // A terminal displays both line endings in the same way.
    let printed = printed.replace("\r\n", "\n");
    ensure!(output.status.success(), "`{command}` ended with {}:\n{printed}", output.status);
    Ok(printed)
}

fn text(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

#[test]
fn a_command_is_followed_by_its_output() -> anyhow::Result<()> {
    let document = "# A\n```console\n$ almanac a\none\n\ntwo\n$ almanac b\n```\n$ almanac no\n";
    let expected = [
        Example { line: 3, command: "almanac a".to_owned(), output: 3..6 },
        Example { line: 7, command: "almanac b".to_owned(), output: 7..7 },
    ];
    assert_eq!(examples(document)?, expected);
    Ok(())
}

#[test]
fn a_command_may_span_several_lines() -> anyhow::Result<()> {
    let document = "```console\n$ almanac a \\\n    --b \\\n    --c\nout\n```\n";
    let expected = [Example { line: 2, command: "almanac a --b --c".to_owned(), output: 4..5 }];
    assert_eq!(examples(document)?, expected);
    Ok(())
}

#[test]
fn other_blocks_are_not_run() -> anyhow::Result<()> {
    assert_eq!(examples("```sh\n$ almanac a\n```\n```\n$ almanac b\n```\n")?, []);
    Ok(())
}

#[test]
fn a_block_that_would_be_skipped_is_an_error() {
    for (document, says) in [
        ("a\n  ```console\n  $ almanac a\n  ```\n", "line 2: a console block opens with"),
        ("```console ignore\n$ almanac a\n```\n", "line 1: a console block opens with"),
        ("```console\noutput\n```\n", "line 2: output without a command"),
        ("```console\n$ almanac a\n```\n```console\nb\n```\n", "line 5: output without a command"),
        ("```console\n$ almanac a\n", "the last block does not end"),
        ("```console\n$ almanac a \\", "the last command does not end"),
    ] {
        let error = examples(document).expect_err(document).to_string();
        assert!(error.starts_with(says), "{document}\n{error}");
    }
}

#[test]
fn a_command_of_another_program_is_an_error() {
    for command in ["kubectl get pods", "almanac-other"] {
        let error = run(Path::new("."), command).expect_err(command).to_string();
        assert!(error.starts_with(&format!("`{command}` is neither ")), "{error}");
    }
}
