//! The names of tests that do not run, from their sources, because programs that cannot run may not be built.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::source;
use crate::workspace::Workspace;

/// Prints the name of every test of some files as not run, and returns the number of tests.
pub(super) fn list(
    workspace: &Workspace,
    sort: &str,
    files: &[String],
    why: &str,
) -> anyhow::Result<usize> {
    let mut tests = Vec::new();
    for (member, target) in workspace.targets("test") {
        if !files.contains(&target.name) {
            continue;
        }
        for file in files_of(&target.source)? {
            let failed = || format!("failed to read {}", file.display());
            let text = fs::read_to_string(&file).with_context(failed)?;
            let found = source::test_names(&text).with_context(failed)?;
            tests.extend(found.iter().map(|it| format!("{} {}: {it}", member.name, target.name)));
        }
    }
    println!("\n== {sort}: {} NOT RUN ({why})", tests.len());
    for test in &tests {
        println!("   not run: {test}");
    }
    Ok(tests.len())
}

/// The file of an integration test and the files of its modules: next to a `main.rs`, or in a directory with the name
/// of the file.
fn files_of(source: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let is_main = source.file_name().is_some_and(|name| name == "main.rs");
    let folder = if is_main { source.with_file_name("") } else { source.with_extension("") };
    let mut files = vec![source.to_owned()];
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop().filter(|folder| folder.is_dir()) {
        let failed = || format!("failed to read {}", folder.display());
        for entry in fs::read_dir(&folder).with_context(failed)? {
            let path = entry.with_context(failed)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path != source && path.extension().is_some_and(|it| it == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_in_the_modules_of_a_test_are_its_tests() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path();
        fs::create_dir_all(folder.join("cluster_x/inner")).unwrap();
        for file in ["cluster_x/main.rs", "cluster_x/one.rs", "cluster_x/inner/two.rs", "y.rs"] {
            fs::write(folder.join(file), "").unwrap();
        }
        let found = files_of(&folder.join("cluster_x/main.rs")).unwrap();
        let alone = files_of(&folder.join("y.rs")).unwrap();
        let names: Vec<_> = found.iter().map(|it| it.file_name().unwrap()).collect();
        assert_eq!(names, ["two.rs", "main.rs", "one.rs"]);
        assert_eq!(alone.len(), 1);
    }
}
