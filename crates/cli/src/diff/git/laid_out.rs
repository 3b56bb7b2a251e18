//! One side in a temporary directory, as far as it is read.
//!
//! First everything is there that decides what is read: names, links, and the files that say what is left out or how
//! folders belong together. Then the same walk as through any folder says which files are read, and these get their
//! content. Links lead to what they lead to in the repository; one that leads out of it is an error where it would be
//! read, since what lies there is no part of a revision. So is a file of which there is only a pointer.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use almanac_api::reading::FILE_BYTES;
use anyhow::{Context as _, bail, ensure};

use super::Repository;
use super::tree::{Content, PathResolution, Tree};
use crate::argument_error::ArgumentError;
use crate::cleanup::TemporaryDir;
use crate::diff::side::SideFiles;
use crate::files::{OUR_IGNORE_FILE, Viewpoint, may_hold_objects, that_are_read};
use crate::invisible::printable;

/// The problem of a file whose content is in Git LFS.
pub(in crate::diff) const IS_POINTER: &str = "is kept in Git LFS, and here is only a pointer to it";

/// What such a file begins with.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The part of a side to read.
#[derive(Clone, Copy)]
pub(super) struct CheckoutRequest<'a> {
    /// Only these files and folders, if there are any.
    pub(super) paths: &'a [PathBuf],
    /// The patterns of what is left out.
    pub(super) exclude: &'a [String],
}

/// The part of a tree to lay out.
struct Wanted<'a> {
    /// The files to lay out.
    files: BTreeMap<&'a Path, &'a Content>,
    /// The links that lead out of the repository, and where they would be read if they did not.
    outward: BTreeSet<&'a Path>,
}

impl Repository {
    /// Lays out what is read of a side.
    pub(super) fn laid_out(
        &self,
        tree: &Tree,
        request: CheckoutRequest<'_>,
    ) -> anyhow::Result<SideFiles> {
        let written = TemporaryDir::new("almanac-diff-")?;
        let root = written.path().canonicalize().context("failed to make a temporary directory")?;
        check_surroundings(&root)?;
        // The directories above are not part of the repository.
        fs::create_dir(root.join(".git")).context("failed to write a temporary directory")?;
        let named = tree.named(request.paths)?;
        let submodules = tree.submodules_below(&named)?;
        let wanted = tree.wanted(&named)?;
        let paths = self.lay_out(tree, &wanted, request.paths, &root)?;
        let viewpoint = Viewpoint {
            here: root.clone(),
            root: root.clone(),
            unnamed: root.clone(),
            reads_ignored: true,
            ..Viewpoint::default()
        };
        // Instead of a submodule, a single file is laid out. Whether that file is read shows whether the submodule
        // would be.
        let stands_for = |submodule: &Path| root.join(submodule).join("submodule.yaml");
        for submodule in &submodules {
            let path = stands_for(submodule);
            let written = with_folder(&path).and_then(|()| File::create(&path).map(drop));
            written.with_context(|| tree.cannot_write(submodule))?;
        }
        let read = that_are_read(&paths, &viewpoint, request.exclude)?;
        for submodule in &submodules {
            let removed = fs::remove_file(stands_for(submodule));
            removed.with_context(|| tree.cannot_write(submodule))?;
        }
        let is_read = |it: &PathBuf| read.contains(&stands_for(it));
        let submodules: Vec<PathBuf> = submodules.into_iter().filter(is_read).collect();
        if !submodules.is_empty() {
            let are = if submodules.len() == 1 { "submodule is" } else { "submodules are" };
            let count = submodules.len();
            crate::drawing::report(&format!("note: {count} {are} not read of {}", tree.name));
        }
        self.fill(tree, &wanted, &read, &root)?;
        let name = tree.name.clone();
        Ok(SideFiles { name, paths, viewpoint, submodules, written: Some(written) })
    }

    /// Lays out names, links and settings; returns which of the paths there are.
    fn lay_out(
        &self,
        tree: &Tree,
        wanted: &Wanted<'_>,
        request: &[PathBuf],
        root: &Path,
    ) -> anyhow::Result<Vec<PathBuf>> {
        let mut settings = Vec::new();
        for (path, content) in &wanted.files {
            let full = root.join(path);
            let written = match content {
                Content::OnDisk(there) => link(there, &full),
                Content::Object(object) => {
                    if is_setting(path) {
                        settings.push((&**object, full.clone()));
                    }
                    with_folder(&full).and_then(|()| File::create(&full).map(drop))
                }
            };
            written.with_context(|| tree.cannot_write(path))?;
        }
        for path in &wanted.outward {
            let full = root.join(path);
            let written = with_folder(&full).and_then(|()| File::create(&full).map(drop));
            written.with_context(|| tree.cannot_write(path))?;
        }
        if wanted.files.keys().any(|path| path.file_name() == Some(OsStr::new("almanac.toml"))) {
            // Its patterns are of folders.
            let folders: BTreeSet<&Path> = tree.files.keys().filter_map(|it| it.parent()).collect();
            folders.into_iter().try_for_each(|folder| {
                fs::create_dir_all(root.join(folder)).with_context(|| tree.cannot_write(folder))
            })?;
        }
        let mut there = Vec::new();
        let all = [PathBuf::new()];
        for path in if request.is_empty() { &all[..] } else { request } {
            let PathResolution::Inside(inside) = tree.resolve(path) else { continue };
            if !tree.files.contains_key(&inside)
                && (path.as_os_str().is_empty() || tree.has(&inside))
            {
                let folder = joined(root, &inside);
                fs::create_dir_all(folder).with_context(|| tree.cannot_write(path))?;
            }
            if tree.has_at(path) {
                there.push(joined(root, path));
            }
        }
        for path in tree.links.keys() {
            if let PathResolution::Inside(inside) = tree.resolve(path)
                && !inside.starts_with(".git")
            {
                let written = link(&joined(root, &inside), &root.join(path));
                written.with_context(|| tree.cannot_write(path))?;
            }
        }
        let objects: Vec<&str> = settings.iter().map(|(object, _)| *object).collect();
        let mut places = settings.iter().map(|(_, full)| full);
        self.contents(&objects, &mut |_, content| {
            let Some(full) = places.next() else { return Ok(()) };
            let written = File::create(full).and_then(|mut file| io::copy(content, &mut file));
            written.map(drop).context("failed to write a temporary directory")
        })?;
        Ok(there)
    }

    /// Gives the files that are read their content.
    fn fill(
        &self,
        tree: &Tree,
        wanted: &Wanted<'_>,
        read: &[PathBuf],
        root: &Path,
    ) -> anyhow::Result<()> {
        let (mut objects, mut places) = (Vec::new(), Vec::new());
        for path in read {
            let path = path.strip_prefix(root).unwrap_or(path);
            if wanted.outward.contains(path) {
                bail!(tree.leads_out(path));
            }
            let PathResolution::Inside(inside) = tree.resolve(path) else { continue };
            match wanted.files.get(&*inside) {
                Some(Content::Object(object)) => {
                    objects.push(&**object);
                    places.push(inside);
                }
                Some(Content::OnDisk(there)) => {
                    // An unreadable file becomes a finding later.
                    let start = File::open(there).and_then(|mut file| start_of(&mut file));
                    let start = start.unwrap_or_default();
                    tree.check_pointer(&inside, &start)?;
                }
                None => {}
            }
        }
        let mut places = places.iter();
        self.contents(&objects, &mut |size, content| {
            let Some(path) = places.next() else { return Ok(()) };
            let start = start_of(content).with_context(|| tree.cannot_write(path))?;
            tree.check_pointer(path, &start)?;
            let written = write_file(&root.join(path), size, &mut start.as_slice().chain(content));
            written.with_context(|| tree.cannot_write(path))
        })
    }
}

impl Tree {
    /// The requested paths, and where they lead.
    fn named(&self, request: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
        let mut named = Vec::new();
        for path in request {
            match self.resolve(path) {
                PathResolution::Inside(inside) => named.push(inside),
                PathResolution::Outside(link) => bail!(self.leads_out(&link)),
                PathResolution::Nowhere => {}
            }
            named.push(path.clone());
        }
        if request.is_empty() {
            named.push(PathBuf::new());
        }
        Ok(named)
    }

    /// The files that may be read, or that say which are.
    fn wanted(&self, named: &[PathBuf]) -> anyhow::Result<Wanted<'_>> {
        let asks = |path: &Path| named.iter().any(|it| path.starts_with(it));
        let may_be_read = |path: &Path| {
            asks(path) && (may_hold_objects(path) || named.iter().any(|it| it == path))
        };
        let mut wanted = Wanted { files: BTreeMap::new(), outward: BTreeSet::new() };
        for (path, content) in &self.files {
            if is_setting(path) || may_be_read(path) {
                wanted.files.insert(path, content);
            }
        }
        for path in self.links.keys() {
            let applies = || {
                let folder = path.parent().unwrap_or(Path::new(""));
                is_setting(path) && (asks(path) || named.iter().any(|it| it.starts_with(folder)))
            };
            if !may_be_read(path) && !applies() {
                continue;
            }
            match self.resolve(path) {
                PathResolution::Inside(inside) => {
                    let there = self.files.get_key_value(&inside);
                    wanted.files.extend(there.map(|(path, content)| (&**path, content)));
                }
                PathResolution::Outside(_) if applies() => bail!(self.leads_out(path)),
                PathResolution::Outside(_) => _ = wanted.outward.insert(path),
                PathResolution::Nowhere => {}
            }
        }
        Ok(wanted)
    }

    /// The submodules below the requested paths, none of which may be in one.
    fn submodules_below(&self, named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
        if let Some(submodule) =
            self.submodules.iter().find(|it| named.iter().any(|path| path.starts_with(it)))
        {
            let text = shown(submodule);
            let message = "is a submodule; run almanac diff in it, with its own revisions";
            return Err(ArgumentError::whole("PATH", &text, message).into());
        }
        let is_below = |it: &&PathBuf| named.iter().any(|path| it.starts_with(path));
        Ok(self.submodules.iter().filter(is_below).cloned().collect())
    }

    fn check_pointer(&self, path: &Path, content: &[u8]) -> anyhow::Result<()> {
        let (path, name) = (shown(path), &self.name);
        ensure!(
            !is_pointer(content),
            "{path} of {name} {IS_POINTER}; leave it out with --exclude, or {}",
            self.fix_of_pointer()
        );
        Ok(())
    }

    /// The fix for a file of which there is only a pointer.
    pub(in crate::diff) fn fix_of_pointer(&self) -> &'static str {
        if self.is_on_disk {
            "run git lfs pull"
        } else {
            "check both revisions out, such as with git worktree, and name the two directories without --git"
        }
    }

    fn leads_out(&self, path: &Path) -> anyhow::Error {
        let link = match self.resolve(path) {
            PathResolution::Outside(link) => link,
            PathResolution::Inside(_) | PathResolution::Nowhere => path.to_owned(),
        };
        let target = self.links.get(&link).map_or_else(String::new, |it| shown(it));
        anyhow::anyhow!(
            "{} of {} is a symbolic link to {target}, which is not in the repository, so no revision has what it \
             leads to; leave the link out with --exclude, or name two directories without --git",
            shown(&link),
            self.name
        )
    }

    fn cannot_write(&self, path: &Path) -> String {
        format!("failed to write {} of {} into a temporary directory", shown(path), self.name)
    }
}

/// A path in a message. Control characters in a file name must not break the line, as the log of a pipeline may read a
/// line as a command.
fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// Files that decide which files are read and how they belong together, and that do not have the name of a YAML file.
fn is_setting(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name == Some(OUR_IGNORE_FILE)
        || matches!(name, Some("almanac.toml" | "Chart.yaml" | "Kustomization"))
}

/// An ignore file above a temporary directory must not exclude files in it.
fn check_surroundings(root: &Path) -> anyhow::Result<()> {
    for folder in root.ancestors().skip(1) {
        let file = folder.join(OUR_IGNORE_FILE);
        ensure!(
            !file.exists(),
            "the temporary directory {} lies below {}, which would leave out files of it; set TMPDIR to a directory \
             outside of {}",
            root.display(),
            file.display(),
            folder.display()
        );
    }
    Ok(())
}

/// A path below a folder, which is the folder itself if there is none.
fn joined(folder: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { folder.to_owned() } else { folder.join(path) }
}

fn with_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn write_file(path: &Path, size: u64, content: &mut dyn Read) -> io::Result<()> {
    let mut file = File::create(path)?;
    if size > FILE_BYTES as u64 {
        // Only its size is reported, as too large.
        return file.set_len(size);
    }
    io::copy(content, &mut file).map(drop)
}

/// The first bytes of a file, which show whether it is a pointer of Git LFS.
pub(in crate::diff) fn start_of(content: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    content.take(LFS_POINTER.len() as u64).read_to_end(&mut start)?;
    Ok(start)
}

pub(in crate::diff) fn is_pointer(start: &[u8]) -> bool {
    start.starts_with(LFS_POINTER)
}

fn link(target: &Path, at: &Path) -> io::Result<()> {
    with_folder(at)?;
    symlink(target, at)
}
