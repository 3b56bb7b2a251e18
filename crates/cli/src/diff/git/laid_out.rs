//! One side in a temporary directory, limited to the files that are read.
//!
//! The names, the links and the settings come first, since they decide which files are read. Then Almanac walks the
//! directory as any other, to select the files to read, and writes their content. A link keeps its target in the
//! repository. A link out of the repository is an error if it would be read, since its target is not part of a
//! revision. A file that is only a pointer to Git LFS is an error too.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use almanac_api::reading::FILE_BYTES;
use almanac_engine::counted;
use anyhow::{Context as _, bail, ensure};

use super::Repository;
use super::tree::{Content, PathResolution, Tree};
use crate::argument_error::ArgumentError;
use crate::cleanup::TemporaryDir;
use crate::diff::side::SideFiles;
use crate::files::{OUR_IGNORE_FILE, Viewpoint, may_hold_objects, that_are_read};
use crate::invisible::printable;

/// The problem of a file whose content is in Git LFS.
pub(in crate::diff) const IS_POINTER: &str = "is only a pointer to a file in Git LFS";

/// The start of a pointer to a file in Git LFS.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The part of a side to read.
#[derive(Clone, Copy)]
pub(super) struct CheckoutRequest<'a> {
    /// The only files and directories to read; an empty list selects all.
    pub(super) paths: &'a [PathBuf],
    /// The patterns of excluded files and directories.
    pub(super) exclude: &'a [String],
}

/// The part of a tree to write into the temporary directory.
struct FilesToLayOut<'a> {
    /// The files to write.
    files: BTreeMap<&'a Path, &'a Content>,
    /// The links out of the repository that would be read if their targets were inside.
    outward: BTreeSet<&'a Path>,
}

impl Repository {
    /// Writes the files of a side that are read into a temporary directory.
    pub(super) fn laid_out(
        &self,
        tree: &Tree,
        request: CheckoutRequest<'_>,
    ) -> anyhow::Result<SideFiles> {
        let temporary = TemporaryDir::new("almanac-diff-")?;
        let root =
            temporary.path().canonicalize().context("failed to create a temporary directory")?;
        check_surroundings(&root)?;
        // The directories above are not part of the repository.
        fs::create_dir(root.join(".git")).context("failed to write a temporary directory")?;
        let named = tree.named(request.paths)?;
        let submodules = tree.submodules_below(&named)?;
        let selection = tree.files_to_lay_out(&named)?;
        let paths = self.lay_out(tree, &selection, request.paths, &root)?;
        let viewpoint = Viewpoint {
            here: root.clone(),
            root: root.clone(),
            unnamed: root.clone(),
            reads_ignored: true,
            ..Viewpoint::default()
        };
        // A single file stands for each submodule: the submodule would be read if this file is.
        let placeholder = |submodule: &Path| root.join(submodule).join("submodule.yaml");
        for submodule in &submodules {
            let path = placeholder(submodule);
            let created = create_parent(&path).and_then(|()| File::create(&path).map(drop));
            created.with_context(|| tree.cannot_write(submodule))?;
        }
        let read = that_are_read(&paths, &viewpoint, request.exclude)?;
        for submodule in &submodules {
            let removed = fs::remove_file(placeholder(submodule));
            removed.with_context(|| tree.cannot_write(submodule))?;
        }
        let is_read = |it: &PathBuf| read.contains(&placeholder(it));
        let submodules: Vec<PathBuf> = submodules.into_iter().filter(is_read).collect();
        if !submodules.is_empty() {
            let are = if submodules.len() == 1 { "is" } else { "are" };
            let submodules = counted(submodules.len(), "submodule");
            crate::drawing::report(&format!("note: {submodules} of {} {are} not read", tree.name));
        }
        self.fill(tree, &selection, &read, &root)?;
        let name = tree.name.clone();
        Ok(SideFiles { name, paths, viewpoint, submodules, temporary: Some(temporary) })
    }

    /// Writes names, links and settings; returns the existing paths of the request.
    fn lay_out(
        &self,
        tree: &Tree,
        selection: &FilesToLayOut<'_>,
        request: &[PathBuf],
        root: &Path,
    ) -> anyhow::Result<Vec<PathBuf>> {
        let mut settings = Vec::new();
        for (path, content) in &selection.files {
            let full = root.join(path);
            let result = match content {
                Content::OnDisk(source) => link(source, &full),
                Content::Object(object) => {
                    if is_setting(path) {
                        settings.push((&**object, full.clone()));
                    }
                    create_parent(&full).and_then(|()| File::create(&full).map(drop))
                }
            };
            result.with_context(|| tree.cannot_write(path))?;
        }
        for path in &selection.outward {
            let full = root.join(path);
            let result = create_parent(&full).and_then(|()| File::create(&full).map(drop));
            result.with_context(|| tree.cannot_write(path))?;
        }
        if selection.files.keys().any(|path| path.file_name() == Some(OsStr::new("almanac.toml"))) {
            // The patterns of almanac.toml match directories.
            let dirs: BTreeSet<&Path> = tree.files.keys().filter_map(|it| it.parent()).collect();
            dirs.into_iter().try_for_each(|dir| {
                fs::create_dir_all(root.join(dir)).with_context(|| tree.cannot_write(dir))
            })?;
        }
        let mut existing = Vec::new();
        let all = [PathBuf::new()];
        for path in if request.is_empty() { &all[..] } else { request } {
            let PathResolution::Inside(inside) = tree.resolve(path) else { continue };
            if !tree.files.contains_key(&inside)
                && (path.as_os_str().is_empty() || tree.has(&inside))
            {
                let dir = joined(root, &inside);
                fs::create_dir_all(dir).with_context(|| tree.cannot_write(path))?;
            }
            if tree.has_at(path) {
                existing.push(joined(root, path));
            }
        }
        for path in tree.links.keys() {
            if let PathResolution::Inside(inside) = tree.resolve(path)
                && !inside.starts_with(".git")
            {
                let result = link(&joined(root, &inside), &root.join(path));
                result.with_context(|| tree.cannot_write(path))?;
            }
        }
        let objects: Vec<&str> = settings.iter().map(|(object, _)| *object).collect();
        let mut destinations = settings.iter().map(|(_, full)| full);
        self.contents(&objects, &mut |_, content| {
            let Some(full) = destinations.next() else { return Ok(()) };
            let result = File::create(full).and_then(|mut file| io::copy(content, &mut file));
            result.map(drop).context("failed to write a temporary directory")
        })?;
        Ok(existing)
    }

    /// Writes the content of the files that are read.
    fn fill(
        &self,
        tree: &Tree,
        selection: &FilesToLayOut<'_>,
        read: &[PathBuf],
        root: &Path,
    ) -> anyhow::Result<()> {
        let (mut objects, mut object_paths) = (Vec::new(), Vec::new());
        for path in read {
            let path = path.strip_prefix(root).unwrap_or(path);
            if selection.outward.contains(path) {
                bail!(tree.leads_out(path));
            }
            let PathResolution::Inside(inside) = tree.resolve(path) else { continue };
            match selection.files.get(&*inside) {
                Some(Content::Object(object)) => {
                    objects.push(&**object);
                    object_paths.push(inside);
                }
                Some(Content::OnDisk(source)) => {
                    // An unreadable file becomes a finding later.
                    let start = File::open(source).and_then(|mut file| start_of(&mut file));
                    let start = start.unwrap_or_default();
                    tree.check_pointer(&inside, &start)?;
                }
                None => {}
            }
        }
        let mut object_paths = object_paths.iter();
        self.contents(&objects, &mut |size, content| {
            let Some(path) = object_paths.next() else { return Ok(()) };
            let start = start_of(content).with_context(|| tree.cannot_write(path))?;
            tree.check_pointer(path, &start)?;
            let result = write_file(&root.join(path), size, &mut start.as_slice().chain(content));
            result.with_context(|| tree.cannot_write(path))
        })
    }
}

impl Tree {
    /// The requested paths, and the targets of links among them.
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

    /// The files that may be read, and the settings.
    fn files_to_lay_out(&self, named: &[PathBuf]) -> anyhow::Result<FilesToLayOut<'_>> {
        let is_requested = |path: &Path| named.iter().any(|it| path.starts_with(it));
        let may_be_read = |path: &Path| {
            is_requested(path) && (may_hold_objects(path) || named.iter().any(|it| it == path))
        };
        let mut selection = FilesToLayOut { files: BTreeMap::new(), outward: BTreeSet::new() };
        for (path, content) in &self.files {
            if is_setting(path) || may_be_read(path) {
                selection.files.insert(path, content);
            }
        }
        for path in self.links.keys() {
            let applies = || {
                let parent = path.parent().unwrap_or(Path::new(""));
                is_setting(path)
                    && (is_requested(path) || named.iter().any(|it| it.starts_with(parent)))
            };
            if !may_be_read(path) && !applies() {
                continue;
            }
            match self.resolve(path) {
                PathResolution::Inside(inside) => {
                    let file = self.files.get_key_value(&inside);
                    selection.files.extend(file.map(|(path, content)| (&**path, content)));
                }
                PathResolution::Outside(_) if applies() => bail!(self.leads_out(path)),
                PathResolution::Outside(_) => _ = selection.outward.insert(path),
                PathResolution::Nowhere => {}
            }
        }
        Ok(selection)
    }

    /// The submodules below the requested paths. A requested path inside a submodule is an error.
    fn submodules_below(&self, named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
        if let Some(submodule) =
            self.submodules.iter().find(|it| named.iter().any(|path| path.starts_with(it)))
        {
            let text = path_text(submodule);
            let message = "is a submodule; run almanac diff in it, with its own revisions";
            return Err(ArgumentError::whole("PATH", &text, message).into());
        }
        let is_below = |it: &&PathBuf| named.iter().any(|path| it.starts_with(path));
        Ok(self.submodules.iter().filter(is_below).cloned().collect())
    }

    fn check_pointer(&self, path: &Path, content: &[u8]) -> anyhow::Result<()> {
        let (path, name) = (path_text(path), &self.name);
        ensure!(
            !is_pointer(content),
            "{path} of {name} {IS_POINTER}; exclude it with --exclude, or {}",
            self.fix_of_pointer()
        );
        Ok(())
    }

    /// The fix for a file that is only a pointer to Git LFS.
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
        let target = self.links.get(&link).map_or_else(String::new, |it| path_text(it));
        anyhow::anyhow!(
            "{} of {} is a symbolic link to {target}, outside the repository, so no revision has its target; exclude \
             the link with --exclude, or name two directories without --git",
            path_text(&link),
            self.name
        )
    }

    fn cannot_write(&self, path: &Path) -> String {
        format!("failed to write {} of {} into a temporary directory", path_text(path), self.name)
    }
}

/// A path in a message. Control characters in a file name must not break the line, as the log of a pipeline may read a
/// line as a command.
fn path_text(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// Whether a file decides which files are read or how they belong together, and is not named like a YAML file.
fn is_setting(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name == Some(OUR_IGNORE_FILE)
        || matches!(name, Some("almanac.toml" | "Chart.yaml" | "Kustomization"))
}

/// Fails if an ignore file above a temporary directory could exclude files in that directory.
fn check_surroundings(root: &Path) -> anyhow::Result<()> {
    for dir in root.ancestors().skip(1) {
        let file = dir.join(OUR_IGNORE_FILE);
        ensure!(
            !file.exists(),
            "{} could exclude files in the temporary directory {}; set TMPDIR to a directory outside of {}",
            file.display(),
            root.display(),
            dir.display()
        );
    }
    Ok(())
}

/// A path below a directory; the directory itself if the path is empty.
fn joined(dir: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { dir.to_owned() } else { dir.join(path) }
}

fn create_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn write_file(path: &Path, size: u64, content: &mut dyn Read) -> io::Result<()> {
    let mut file = File::create(path)?;
    if size > FILE_BYTES as u64 {
        // A finding reports that the file is too large, without its content.
        return file.set_len(size);
    }
    io::copy(content, &mut file).map(drop)
}

/// The first bytes of a file, enough to recognize a pointer to Git LFS.
pub(in crate::diff) fn start_of(content: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    content.take(LFS_POINTER.len() as u64).read_to_end(&mut start)?;
    Ok(start)
}

pub(in crate::diff) fn is_pointer(start: &[u8]) -> bool {
    start.starts_with(LFS_POINTER)
}

fn link(target: &Path, at: &Path) -> io::Result<()> {
    create_parent(at)?;
    symlink(target, at)
}
