//! Two revisions of a git repository as the sides of a comparison, read with the git program.
//!
//! A revision is written into a temporary directory, as far as its files may hold objects; the working tree and the
//! index are never touched. A single revision is compared with the working tree as it is. The repository is the one
//! around the current directory, whatever variables of the environment say: in a hook, git sets some that would
//! name another index.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufReader, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use almanac_api::reading::FILE_BYTES;
use anyhow::{Context as _, bail, ensure};

use super::side::{Sides, Where};
use crate::argument_error::{ArgumentError, quoted};
use crate::files::Viewpoint;

const ARGUMENT: &str = "--git";

/// What git sets for its hooks and aliases, or a person for one command.
const OF_ENVIRONMENT: [&str; 12] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
];

/// What stands in a file of which Git LFS has the content.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The repository.
struct Repository {
    top: PathBuf,
}

/// A file of a revision.
struct Entry {
    path: PathBuf,
    mode: Mode,
    object: String,
    size: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    File,
    Link,
    Submodule,
}

/// The sides that `A..B`, `A...B` or `A` name, with only these paths if there are any.
pub(super) fn sides(revisions: &str, paths: &[String]) -> anyhow::Result<Sides> {
    if revisions.is_empty() {
        // As a variable of a pipeline that is not set; it must not pass for a comparison.
        let message = "name a revision, such as main, or two, such as main...HEAD";
        return Err(ArgumentError::whole("--git", revisions, message).into());
    }
    let repository = Repository::around_here()?;
    let here = std::env::current_dir().context("failed to find the current directory")?;
    let paths = paths.iter().map(|path| repository.inside(&here, path));
    let paths = paths.collect::<anyhow::Result<Vec<PathBuf>>>()?;
    let name = |side: &str| if side.is_empty() { "HEAD".to_owned() } else { side.to_owned() };
    let (old, new) = if let Some((old, new)) = revisions.split_once("...") {
        let (old, new) = (name(old), name(new));
        let base = repository.merge_base(&old, &new)?;
        (repository.written(&old, &base, &paths)?, repository.side(&new, &paths)?)
    } else if let Some((old, new)) = revisions.split_once("..") {
        (repository.side(&name(old), &paths)?, repository.side(&name(new), &paths)?)
    } else {
        (repository.side(&name(revisions), &paths)?, repository.working_tree(&paths))
    };
    if !paths.is_empty() && old.paths.is_empty() && new.paths.is_empty() {
        let text =
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ");
        let message =
            "neither side has such a file or directory; paths are taken from the current directory";
        return Err(ArgumentError::whole("PATH", &text, message).into());
    }
    Ok(Sides([old, new]))
}

/// Git, without what the environment says of a repository.
fn git(folder: Option<&Path>) -> Command {
    let mut git = Command::new("git");
    for name in OF_ENVIRONMENT {
        git.env_remove(name);
    }
    git.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    git.stdin(Stdio::null());
    if let Some(folder) = folder {
        git.arg("-C").arg(folder);
    }
    git
}

/// What git prints, or what it says went wrong.
fn output(mut command: Command) -> anyhow::Result<Result<Vec<u8>, String>> {
    let output =
        command.output().context("failed to run git; install it, or name two directories")?;
    if output.status.success() {
        return Ok(Ok(output.stdout));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().trim_start_matches("fatal: ").trim_start_matches("error: ");
    Ok(Err(said.lines().next().unwrap_or_default().to_owned()))
}

impl Repository {
    fn around_here() -> anyhow::Result<Repository> {
        let mut command = git(None);
        command.args(["rev-parse", "--show-toplevel"]);
        match output(command)? {
            Ok(said) => Ok(Repository { top: path_of(said.strip_suffix(b"\n").unwrap_or(&said)) }),
            Err(said) => bail!(
                "failed to find a git repository around the current directory: {said}; run it in a working \
                 tree, or name two directories without --git"
            ),
        }
    }

    /// A path as the repository has it.
    fn inside(&self, here: &Path, path: &str) -> anyhow::Result<PathBuf> {
        let here = here.canonicalize().unwrap_or_else(|_| here.to_owned());
        let top = self.top.canonicalize().unwrap_or_else(|_| self.top.clone());
        let mut full = PathBuf::new();
        for component in here.join(path).components() {
            match component {
                Component::ParentDir => _ = full.pop(),
                Component::CurDir => {}
                other => full.push(other),
            }
        }
        let inside = full.strip_prefix(&top).or_else(|_| full.strip_prefix(&self.top));
        let outside = || ArgumentError::whole("PATH", path, "is not inside the git repository");
        Ok(inside.map_err(|_| outside())?.to_owned())
    }

    /// The commit that a revision names.
    fn commit(&self, revision: &str) -> anyhow::Result<String> {
        let mut command = git(Some(&self.top));
        let name = format!("{revision}^{{commit}}");
        command.args(["rev-parse", "--verify", "--quiet", "--end-of-options", &name]);
        if let Ok(said) = output(command)? {
            return Ok(String::from_utf8_lossy(&said).trim().to_owned());
        }
        let hint = if self.is_shallow()? {
            "the clone is shallow: fetch it, such as with fetch-depth: 0 or git fetch --unshallow"
        } else {
            "name a branch, a tag or a commit, such as main..HEAD, and fetch it first if it is not here"
        };
        let message = format!("{} is not a commit of this repository; {hint}", quoted(revision));
        Err(ArgumentError::whole(ARGUMENT, revision, message).into())
    }

    fn is_shallow(&self) -> anyhow::Result<bool> {
        let mut command = git(Some(&self.top));
        command.args(["rev-parse", "--is-shallow-repository"]);
        Ok(output(command)?.is_ok_and(|said| said.starts_with(b"true")))
    }

    fn merge_base(&self, old: &str, new: &str) -> anyhow::Result<String> {
        let (one, other) = (self.commit(old)?, self.commit(new)?);
        let mut command = git(Some(&self.top));
        command.args(["merge-base", &one, &other]);
        if let Ok(said) = output(command)? {
            return Ok(String::from_utf8_lossy(&said).trim().to_owned());
        }
        let hint = if self.is_shallow()? {
            "the clone is shallow: fetch more of it, such as with fetch-depth: 0"
        } else {
            "compare them directly, with two dots"
        };
        let message = format!("they have no commit in common; {hint}");
        Err(ArgumentError::whole(ARGUMENT, &format!("{old}...{new}"), message).into())
    }

    fn side(&self, revision: &str, paths: &[PathBuf]) -> anyhow::Result<Where> {
        let commit = self.commit(revision)?;
        self.written(revision, &commit, paths)
    }

    /// The working tree as it is.
    fn working_tree(&self, paths: &[PathBuf]) -> Where {
        let all = [PathBuf::new()];
        let asked = if paths.is_empty() { &all[..] } else { paths };
        let full = asked.iter().map(|path| joined(&self.top, path));
        let paths = full.filter(|path| path.exists()).collect();
        let viewpoint = viewpoint(&self.top);
        Where { name: "the working tree".to_owned(), paths, viewpoint, written: None }
    }

    /// A commit, written into a temporary directory.
    fn written(&self, name: &str, commit: &str, paths: &[PathBuf]) -> anyhow::Result<Where> {
        let written = tempfile::Builder::new().prefix("almanac-diff-").tempdir();
        let written = written.context("failed to make a temporary directory")?;
        let root = written.path().canonicalize().context("failed to make a temporary directory")?;
        // What is above is not part of the repository.
        fs::create_dir(root.join(".git")).context("failed to write a temporary directory")?;
        let entries = self.entries(commit)?;
        let wanted = wanted(name, &entries, paths)?;
        self.write(name, &wanted, &root)?;
        let all = [PathBuf::new()];
        let asked = if paths.is_empty() { &all[..] } else { paths };
        let full = asked.iter().map(|path| joined(&root, path));
        let paths = full.filter(|path| path.exists()).collect();
        let viewpoint = viewpoint(&root);
        Ok(Where { name: name.to_owned(), paths, viewpoint, written: Some(written) })
    }

    /// All files of a commit.
    fn entries(&self, commit: &str) -> anyhow::Result<Vec<Entry>> {
        let mut command = git(Some(&self.top));
        command.args(["ls-tree", "-r", "-l", "-z", "--full-tree", commit]);
        let listed = match output(command)? {
            Ok(listed) => listed,
            Err(said) => bail!("failed to list the files of {commit}: {said}"),
        };
        let lines = listed.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        Ok(lines.filter_map(entry).collect())
    }

    /// Writes files, each where it belongs.
    fn write(&self, name: &str, wanted: &[&Entry], root: &Path) -> anyhow::Result<()> {
        let mut command = git(Some(&self.top));
        command.args(["cat-file", "--batch"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut running = command.spawn().context("failed to run git")?;
        let (input, output) = (running.stdin.take(), running.stdout.take());
        let (Some(mut input), Some(output)) = (input, output) else { bail!("failed to run git") };
        let cannot = || format!("failed to read the files of {name}");
        let written = thread::scope(|scope| {
            let objects = wanted.iter().map(|entry| format!("{}\n", entry.object));
            let objects: String = objects.collect();
            // It ends early if nobody reads what comes of it.
            scope.spawn(move || _ = input.write_all(objects.as_bytes()));
            let mut output = BufReader::new(output);
            wanted.iter().try_for_each(|entry| {
                let content = next_object(&mut output).with_context(cannot)?;
                write_file(name, entry, &content, root)
            })
        });
        let _ = running.kill();
        let _ = running.wait();
        written
    }
}

fn viewpoint(root: &Path) -> Viewpoint {
    let root = root.to_owned();
    Viewpoint { here: root.clone(), root: root.clone(), unnamed: root, fixed: Vec::new() }
}

/// A path below a folder, which is the folder itself if there is none.
fn joined(folder: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { folder.to_owned() } else { folder.join(path) }
}

/// `<mode> <type> <object> <size>\t<path>`.
fn entry(line: &[u8]) -> Option<Entry> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let (head, path) = (std::str::from_utf8(&line[..tab]).ok()?, &line[tab + 1..]);
    let mut words = head.split_ascii_whitespace();
    let (mode, _, object, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let mode = match mode {
        "120000" => Mode::Link,
        "160000" => Mode::Submodule,
        _ => Mode::File,
    };
    let path = path_of(path);
    // A tree that somebody has made by hand may hold any names.
    let is_safe = |part: Component<'_>| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        _ => false,
    };
    if !path.components().all(is_safe) {
        return None;
    }
    Some(Entry { path, mode, object: object.to_owned(), size: size.parse().unwrap_or_default() })
}

/// The files that are written: those that may hold objects, or say how files belong together.
fn wanted<'a>(
    name: &str,
    entries: &'a [Entry],
    paths: &[PathBuf],
) -> anyhow::Result<Vec<&'a Entry>> {
    let asks =
        |entry: &Entry| paths.is_empty() || paths.iter().any(|path| entry.path.starts_with(path));
    let mut left_out = 0;
    for submodule in entries.iter().filter(|entry| entry.mode == Mode::Submodule) {
        if paths.iter().any(|path| path.starts_with(&submodule.path)) {
            let text = submodule.path.display().to_string();
            let message = "is a submodule; run almanac diff in it, with its own revisions";
            return Err(ArgumentError::whole("PATH", &text, message).into());
        }
        left_out += usize::from(asks(submodule));
    }
    if left_out > 0 {
        let submodules = if left_out == 1 { "submodule is" } else { "submodules are" };
        anstream::eprintln!("note: {left_out} {submodules} not read of {name}");
    }
    let files: BTreeMap<&Path, &Entry> = entries.iter().map(|it| (&*it.path, it)).collect();
    let is_wanted = |entry: &&Entry| {
        let is_of_all = matches!(
            entry.path.file_name().and_then(OsStr::to_str),
            Some("almanac.toml" | ".gitignore" | ".almanacignore" | "Kustomization")
        );
        let may_hold_objects =
            matches!(entry.path.extension().and_then(OsStr::to_str), Some("yaml" | "yml" | "json"));
        entry.mode != Mode::Submodule
            && (is_of_all || asks(entry) && (may_hold_objects || is_named(entry, paths)))
    };
    // What a link leads to is read where it lies.
    let is_file = |entry: &&Entry| files.get(&*entry.path).is_some_and(|it| it.mode == Mode::File);
    Ok(entries.iter().filter(is_wanted).filter(is_file).collect())
}

fn is_named(entry: &Entry, paths: &[PathBuf]) -> bool {
    paths.contains(&entry.path)
}

/// The content of the next object that `git cat-file --batch` prints.
fn next_object(output: &mut impl std::io::BufRead) -> anyhow::Result<Vec<u8>> {
    let mut head = String::new();
    output.read_line(&mut head)?;
    let size = head.trim_end().rsplit(' ').next().and_then(|size| size.parse::<usize>().ok());
    let Some(size) = size else { bail!("git has no such object: {}", head.trim_end()) };
    let mut content = Vec::new();
    output.by_ref().take(size as u64).read_to_end(&mut content)?;
    ensure!(content.len() == size, "git ended early");
    let mut newline = [0];
    output.read_exact(&mut newline)?;
    Ok(content)
}

fn write_file(name: &str, entry: &Entry, content: &[u8], root: &Path) -> anyhow::Result<()> {
    let path = root.join(&entry.path);
    let cannot =
        || format!("failed to write {} of {name} into a temporary directory", entry.path.display());
    if content.starts_with(LFS_POINTER) {
        bail!(
            "{} of {name} is kept in Git LFS, so the repository has only a pointer to it; check both revisions out, \
             such as with git worktree, and name the two directories without --git",
            entry.path.display()
        );
    }
    fs::create_dir_all(path.parent().unwrap_or(root)).with_context(cannot)?;
    let mut file = File::create(&path).with_context(cannot)?;
    if entry.size > FILE_BYTES as u64 {
        // It is only told that it is too large.
        return file.set_len(entry.size).with_context(cannot);
    }
    file.write_all(content).with_context(cannot)
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}
