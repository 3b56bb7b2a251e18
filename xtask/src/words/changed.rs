//! The lines that differ from the commit that last changed a file, to narrow down the cause of new findings. Without
//! git, the set is empty.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The paths and numbers of the lines added since the commit that last changed the file.
pub(crate) fn since_change_of(file: &str, root: &Path) -> BTreeSet<(String, usize)> {
    let commit = git(root, &["log", "-1", "--format=%H", "--", file]).unwrap_or_default();
    let commit = commit.trim();
    if commit.is_empty() {
        return BTreeSet::new();
    }
    let prefixes = ["--src-prefix=a/", "--dst-prefix=b/"];
    let mut arguments = vec!["diff", "--unified=0", "--no-color", "--no-ext-diff"];
    arguments.extend(prefixes);
    arguments.push(commit);
    added_lines(&git(root, &arguments).unwrap_or_default())
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Reads a diff without context.
fn added_lines(diff: &str) -> BTreeSet<(String, usize)> {
    let mut path = "";
    let mut lines = BTreeSet::new();
    // Lines of the files start with a sign in the diff, and can look like a header.
    let mut remaining = 0;
    for line in diff.lines() {
        if remaining > 0 {
            remaining -= usize::from(line.starts_with(['+', '-']));
        } else if let Some(file) = line.strip_prefix("+++ b/") {
            path = file;
        } else if let Some((removed, added)) = line.strip_prefix("@@ -").and_then(ranges) {
            remaining = removed.1 + added.1;
            lines.extend((added.0..added.0 + added.1).map(|number| (path.to_owned(), number)));
        }
    }
    lines
}

/// The starts and lengths of `1,2 +3,4 @@…`. An absent length is one.
fn ranges(header: &str) -> Option<((usize, usize), (usize, usize))> {
    let (removed, rest) = header.split_once(" +")?;
    let (added, _) = rest.split_once(" @@")?;
    let range = |text: &str| match text.split_once(',') {
        Some((start, length)) => Some((start.parse().ok()?, length.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    Some((range(removed)?, range(added)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_lines_have_the_numbers_of_the_new_file() {
        let diff = "diff --git a/a.md b/a.md\n--- a/a.md\n+++ b/a.md\n@@ -1,2 +1 @@\n-x\n-- y\n\
                    +++ b/other.md\n@@ -9,0 +9,2 @@ fn f() {\n+x\n+y\n\
                    diff --git a/b.md b/b.md\n--- a/b.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
        let expected = [("a.md", 1), ("a.md", 9), ("a.md", 10)];
        let expected = expected.map(|(path, number)| (path.to_owned(), number));
        assert_eq!(added_lines(diff), BTreeSet::from(expected));
    }
}
