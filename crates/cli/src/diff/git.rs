//! Two revisions of a git repository as the sides of a comparison, read with the git program.
//!
//! Both sides are read in the same way. Almanac writes the required files of a revision, or of the working tree as git
//! would commit it, into a temporary directory. The working tree and the index never change. A single revision is
//! compared with the working tree. The repository is the one that contains the current directory. Environment variables
//! of git are ignored: in a hook, git sets variables that would select another index.

pub(super) mod laid_out;
pub(super) mod tree;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context as _, bail, ensure};

use self::laid_out::CheckoutRequest;
use self::tree::Tree;
use super::differing::DifferingFiles;
use super::render::{self, Origin, RenderArguments};
use super::side::Sides;
use crate::argument_error::{ArgumentError, quoted};

const ARGUMENT: &str = "--git";

const CANNOT_READ: &str = "failed to read the files of a revision";

/// The ignored environment variables. Git sets them for its hooks and aliases, and users set them for one command.
const IGNORED_VARIABLES: [&str; 12] = [
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

/// The maximum length in bytes of a symbolic link's target that a system follows.
const MAX_LINK_BYTES: u64 = 4096;

/// Reads an object, given its size in bytes and its content; the reader may stop early.
pub(super) type ObjectReader<'a> = dyn FnMut(u64, &mut dyn Read) -> anyhow::Result<()> + 'a;

/// A git repository, read with the git program.
pub(super) struct Repository {
    top: PathBuf,
}

/// The sides that `A..B`, `A...B` or `A` name, limited to these paths; an empty list selects all paths.
pub(super) fn sides(
    revisions: &str,
    paths: &[String],
    exclude: &[String],
    render: &RenderArguments,
) -> anyhow::Result<Sides> {
    check_named(revisions)?;
    let repository = Repository::around_here()?;
    let here = std::env::current_dir().context("failed to find the current directory")?;
    let paths = paths.iter().map(|path| repository.inside(&here, "PATH", path));
    let paths = paths.collect::<anyhow::Result<Vec<PathBuf>>>()?;
    let name = |side: &str| if side.is_empty() { "HEAD".to_owned() } else { side.to_owned() };
    let (old, new) = match revisions.split_once("..") {
        Some((old, new)) => (old, Some(new)),
        None => (revisions, None),
    };
    let since_split = new.and_then(|it| it.strip_prefix('.'));
    let new = since_split.or(new).map(name);
    let from = match &new {
        Some(new) if since_split.is_some() => repository.merge_base(old, new)?,
        _ => repository.commit(old)?,
    };
    let to = new.as_deref().map(|new| repository.commit(new)).transpose()?;
    // Both sides are listed before any file is written, since the temporary directory may be inside the working tree.
    let first = repository.tree(old, &from)?;
    let second = match (&new, &to) {
        (Some(new), Some(to)) => repository.tree(new, to)?,
        _ => repository.working_tree()?,
    };
    let trees = [first, second];
    let differing = repository.differing(&from, to.as_deref(), &trees)?;
    let flagged = render.targets(&|argument, path| repository.inside(&here, argument, path))?;
    // Without a path, only the rendered directories are compared.
    let is_rendered_alone = paths.is_empty() && !flagged.is_empty();
    let rendered: Vec<PathBuf> = flagged.iter().map(|it| it.dir.clone()).collect();
    let request =
        CheckoutRequest { paths: if is_rendered_alone { &rendered } else { &paths }, exclude };
    let both = [repository.laid_out(&trees[0], request)?, repository.laid_out(&trees[1], request)?];
    let is_nowhere = |path: &&PathBuf| !trees.iter().any(|tree| tree.has_at(path));
    if let Some(path) = paths.iter().find(is_nowhere) {
        let message =
            "neither side has such a file or directory; paths are taken from the current directory";
        return Err(ArgumentError::whole("PATH", &path.display().to_string(), message).into());
    }
    let targets = if flagged.is_empty() {
        render::targets_of_settings(&both[0].viewpoint.root, &paths)?
    } else {
        flagged
    };
    let mut sides = Sides::new(both, differing);
    if is_rendered_alone {
        sides.both.iter_mut().for_each(|side| side.paths.clear());
    }
    let origins = trees.each_ref().map(|tree| Origin { tree, repository: Some(&repository) });
    render::add(&mut sides, targets, &origins, render.limit())?;
    Ok(sides)
}

/// Rejects an argument without a revision, or with dots but no revision before them.
fn check_named(revisions: &str) -> Result<(), ArgumentError> {
    // An unset variable of a pipeline results in an empty string, which must not pass as a comparison.
    let message = if revisions.is_empty() {
        "name a revision, such as main, or two, such as main...HEAD"
    } else if revisions.starts_with("..") {
        "no revision before the dots; name a revision there, such as main or HEAD"
    } else {
        return Ok(());
    };
    Err(ArgumentError::whole(ARGUMENT, revisions, message))
}

/// Git, without the variables of the environment that name a repository.
fn git(dir: Option<&Path>) -> Command {
    let mut git = Command::new("git");
    for name in IGNORED_VARIABLES {
        git.env_remove(name);
    }
    git.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    git.stdin(Stdio::null());
    if let Some(dir) = dir {
        git.arg("-C").arg(dir);
    }
    git
}

/// The output of git, or its error.
fn output(command: &mut Command) -> anyhow::Result<Result<Vec<u8>, String>> {
    let output =
        command.output().context("failed to run git; install it, or name two directories")?;
    if output.status.success() {
        return Ok(Ok(output.stdout));
    }
    let error = String::from_utf8_lossy(&output.stderr);
    let error = error.trim().trim_start_matches("fatal: ").trim_start_matches("error: ");
    Ok(Err(error.lines().next().unwrap_or_default().to_owned()))
}

impl Repository {
    fn around_here() -> anyhow::Result<Repository> {
        match output(git(None).args(["rev-parse", "--show-toplevel"]))? {
            Ok(text) => Ok(Repository { top: path_of(text.strip_suffix(b"\n").unwrap_or(&text)) }),
            Err(error) => bail!(
                "failed to find a git repository around the current directory: {error}; run almanac diff in a working \
                 tree, or name two directories without --git"
            ),
        }
    }

    /// A path relative to the repository.
    fn inside(&self, here: &Path, argument: &'static str, path: &str) -> anyhow::Result<PathBuf> {
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
        let outside = || ArgumentError::whole(argument, path, "is not inside the git repository");
        Ok(inside.map_err(|_| outside())?.to_owned())
    }

    /// The commit that a revision names.
    fn commit(&self, revision: &str) -> anyhow::Result<String> {
        let name = format!("{revision}^{{commit}}");
        let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
        if let Ok(output) = self.output(&arguments)? {
            return Ok(String::from_utf8_lossy(&output).trim().to_owned());
        }
        let hint = if self.is_shallow()? {
            "the clone is shallow: fetch it, such as with fetch-depth: 0 or git fetch --unshallow"
        } else {
            "name a branch, a tag or a commit, such as main..HEAD, and fetch it first if this clone does not contain it"
        };
        let message = format!("{} is not a commit of this repository; {hint}", quoted(revision));
        Err(ArgumentError::whole(ARGUMENT, revision, message).into())
    }

    fn is_shallow(&self) -> anyhow::Result<bool> {
        let output = self.output(&["rev-parse", "--is-shallow-repository"])?;
        Ok(output.is_ok_and(|output| output.starts_with(b"true")))
    }

    fn output(&self, arguments: &[&str]) -> anyhow::Result<Result<Vec<u8>, String>> {
        output(git(Some(&self.top)).args(arguments))
    }

    fn merge_base(&self, old: &str, new: &str) -> anyhow::Result<String> {
        let (one, other) = (self.commit(old)?, self.commit(new)?);
        if let Ok(output) = self.output(&["merge-base", &one, &other])? {
            return Ok(String::from_utf8_lossy(&output).trim().to_owned());
        }
        let hint = if self.is_shallow()? {
            "the clone is shallow: fetch more of it, such as with fetch-depth: 0"
        } else {
            "compare them directly, with two dots"
        };
        let message = format!("the revisions have no commit in common; {hint}");
        Err(ArgumentError::whole(ARGUMENT, &format!("{old}...{new}"), message).into())
    }

    /// The files of a commit.
    fn tree(&self, name: &str, commit: &str) -> anyhow::Result<Tree> {
        let listed =
            self.listed(&["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit])?;
        self.tree_of(name, listed.iter().filter_map(|line| tree::from_commit(line)).collect())
    }

    /// The files of the working tree that git would commit: tracked files, ignored or not, and new files that are not
    /// ignored.
    fn working_tree(&self) -> anyhow::Result<Tree> {
        let tracked = self.listed(&["ls-files", "-z", "-t", "--stage"])?;
        let new = self.listed(&["ls-files", "-z", "--others", "--exclude-standard"])?;
        let tracked = tracked.iter().filter_map(|line| tree::from_index(line, &self.top));
        let new = new.iter().filter_map(|path| tree::from_disk(path, &self.top));
        let mut tree = self.tree_of("the working tree", tracked.chain(new).collect())?;
        tree.is_on_disk = true;
        Ok(tree)
    }

    fn tree_of(&self, name: &str, listed: Vec<tree::ListedPath>) -> anyhow::Result<Tree> {
        Tree::from_list(name, &self.top, listed, |objects| self.link_targets(objects))
    }

    /// The link targets in these objects, in the order of the objects.
    fn link_targets(&self, objects: &[&str]) -> anyhow::Result<Vec<Vec<u8>>> {
        let mut targets = Vec::new();
        self.contents(objects, &mut |size, content| {
            // A target that is too long for any system is treated as a target outside the repository.
            let mut target = if size > MAX_LINK_BYTES { b"/".to_vec() } else { Vec::new() };
            if target.is_empty() {
                content.read_to_end(&mut target).context(CANNOT_READ)?;
            }
            targets.push(target);
            Ok(())
        })?;
        Ok(targets)
    }

    /// The paths that differ between a commit and another commit or the working tree.
    fn differing(
        &self,
        from: &str,
        to: Option<&str>,
        trees: &[Tree; 2],
    ) -> anyhow::Result<DifferingFiles> {
        let usual = [
            "diff",
            "--name-only",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            "--ignore-submodules=dirty",
        ];
        let arguments = [&usual[..], &[from], to.as_slice(), &["--"]].concat();
        let listed = self.listed(&arguments)?.into_iter();
        let mut all: BTreeSet<PathBuf> = listed.map(|path| path_of(&path)).collect();
        let [old, new] = trees;
        // git does not list the new files in the working tree.
        all.extend(new.files.keys().filter(|path| !old.files.contains_key(*path)).cloned());
        let links = trees.iter().flat_map(|tree| tree.differing_links(&all)).collect::<Vec<_>>();
        all.extend(links);
        Ok(DifferingFiles::Listed(all))
    }

    /// The items that git lists, each terminated by a zero byte.
    fn listed(&self, arguments: &[&str]) -> anyhow::Result<Vec<Vec<u8>>> {
        let listed = match self.output(arguments)? {
            Ok(listed) => listed,
            Err(error) => bail!("failed to list the files of the repository: {error}"),
        };
        let lines = listed.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        Ok(lines.map(<[u8]>::to_vec).collect())
    }

    /// Streams the contents of the objects, one after the other, without keeping them in memory.
    pub(super) fn contents(
        &self,
        objects: &[&str],
        read_object: &mut ObjectReader<'_>,
    ) -> anyhow::Result<()> {
        if objects.is_empty() {
            return Ok(());
        }
        let mut command = git(Some(&self.top));
        command.args(["cat-file", "--batch"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut running = command.spawn().context("failed to run git")?;
        let (input, output) = (running.stdin.take(), running.stdout.take());
        let (Some(mut input), Some(output)) = (input, output) else { bail!("failed to run git") };
        let read = thread::scope(|scope| {
            let request = objects.join("\n") + "\n";
            // The write ends early if git stops reading.
            scope.spawn(move || _ = input.write_all(request.as_bytes()));
            let mut output = BufReader::new(output);
            objects.iter().try_for_each(|_| {
                let size = next_size(&mut output).context(CANNOT_READ)?;
                let mut content = Read::take(&mut output, size);
                read_object(size, &mut content)?;
                // The next object starts after the whole content.
                io::copy(&mut content, &mut io::sink()).context(CANNOT_READ)?;
                ensure!(content.limit() == 0, "{CANNOT_READ}: git ended early");
                output.read_exact(&mut [0]).context(CANNOT_READ)
            })
        });
        let _ = running.kill();
        let _ = running.wait();
        read
    }
}

/// The size in bytes of the next object that `git cat-file --batch` prints.
fn next_size(output: &mut impl BufRead) -> anyhow::Result<u64> {
    let mut head = String::new();
    output.read_line(&mut head)?;
    let size = head.trim_end().rsplit(' ').next().and_then(|size| size.parse::<u64>().ok());
    size.with_context(|| format!("git has no such object: {}", head.trim_end()))
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
