//! `docs/compatibility.md`: the example of each difference of placements prints the documented output, and each such
//! difference has an example. `almanac-expressions` tests those of expressions, and `almanac-peers` those of
//! autoscalers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// The shared objects of the other files.
const HUB: &str = "hub.yaml";

fn folder() -> PathBuf {
    Path::new(ROOT).join("docs/compatibility")
}

/// The last cell of each row in the tables of differences.
fn examples(page: &str) -> Vec<&str> {
    let rows = page.lines().filter(|it| it.starts_with("| ") && !it.ends_with("| example |"));
    let cells = rows.filter_map(|it| Some(it.strip_suffix(" |")?.rsplit_once(" | ")?.1));
    cells
        .flat_map(|cell| match cell.split_once("), `") {
            // A file and the name of a test.
            Some((file, _)) => vec![&cell[..=file.len()], &cell[file.len() + 3..]],
            None => vec![cell],
        })
        .collect()
}

/// The file of an example; `None` for the name of a test.
fn file_of(example: &str) -> Option<&str> {
    example.strip_suffix(')')?.split_once("](compatibility/").map(|(_, file)| file)
}

/// Runs the commands at the start of a file. The output of each command must contain the lines after it, in this
/// order.
fn run(file: &str) -> anyhow::Result<()> {
    let text = fs::read_to_string(folder().join(file))?;
    let lines: Vec<&str> = text.lines().map_while(|it| it.strip_prefix("# ")).collect();
    let is_command = |line: &&str| line.starts_with("$ almanac ");
    ensure!(lines.first().is_some_and(is_command), "it begins with no command");
    let mut commands = lines.chunk_by(|_, next| !is_command(next));
    commands.try_for_each(|lines| run_command(file, lines))
}

fn run_command(file: &str, lines: &[&str]) -> anyhow::Result<()> {
    let (command, expected) = lines.split_first().context("it has no command")?;
    let command = command.strip_prefix("$ almanac ").context("it has no command")?;
    let mut almanac = Command::new(env!("CARGO_BIN_EXE_almanac"));
    let output =
        almanac.current_dir(folder()).args(command.split(' ')).env("COLUMNS", "1000").output()?;
    let printed = String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?;
    let mut rest = &*printed;
    ensure!(command.contains(file) && !expected.is_empty(), "it shows no output of its own");
    for line in expected {
        let found = rest.split_once(line);
        rest = found.with_context(|| format!("{line:?} is missing in:\n{printed}"))?.1;
    }
    Ok(())
}

#[test]
fn the_example_of_each_difference_prints_the_documented_output() -> anyhow::Result<()> {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/compatibility.md"))?;
    let files: BTreeSet<&str> = examples(&page).into_iter().filter_map(file_of).collect();
    for file in &files {
        run(file).with_context(|| file.to_string())?;
    }
    let there = fs::read_dir(folder())?
        .map(|it| Ok(it?.file_name().to_string_lossy().into_owned()))
        .collect::<anyhow::Result<BTreeSet<String>>>()?;
    let mut expected: BTreeSet<String> = files.into_iter().map(str::to_owned).collect();
    expected.insert(HUB.to_owned());
    ensure!(there == expected, "the page names {expected:?}, and there are {there:?}");
    Ok(())
}

#[test]
fn each_difference_has_an_example_or_the_name_of_a_test() -> anyhow::Result<()> {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/compatibility.md"))?;
    let mut tests = BTreeSet::new();
    collect_tests(&Path::new(ROOT).join("crates"), &mut tests)?;
    let (_, placements) = page.split_once("## Placements").context("no placements")?;
    let placements = placements.split("\n## ").next().unwrap_or_default();
    let (others, expressions) =
        placements.split_once("### Expressions").context("no expressions")?;
    let others = examples(others).into_iter().map(|it| (it, false));
    let examples: Vec<_> =
        others.chain(examples(expressions).into_iter().map(|it| (it, true))).collect();
    ensure!(examples.len() > 40, "{} rows", examples.len());
    for (example, may_be_evaluated) in examples {
        let name = example.strip_prefix('`').and_then(|it| it.strip_suffix('`'));
        let is_expression = may_be_evaluated && example.starts_with('`') && example.contains("` ");
        let is_known = name.is_some_and(|it| tests.contains(it));
        ensure!(is_known || is_expression || file_of(example).is_some(), "{example} is none");
    }
    Ok(())
}

/// The names of functions in the sources of a directory that may be tests.
fn collect_tests(folder: &Path, names: &mut BTreeSet<String>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_tests(&path, names)?;
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path)?;
            let tests = text.split("#[test]").chain(text.split("#[tokio::test")).skip(1);
            let parts = tests.filter_map(|it| it.split_once("fn ")?.1.split_once('('));
            names.extend(parts.map(|(name, _)| name.to_owned()));
        }
    }
    Ok(())
}
