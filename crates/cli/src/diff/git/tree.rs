//! The contents of a side of a comparison, as listed by git or read from a directory: files, links with their targets,
//! and submodules.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;

use super::path_of;

/// The maximum number of links that a system follows on the way to a file.
const MAX_LINKS: usize = 40;

/// The paths of a side, and the source of each file's content.
#[derive(Default)]
pub(in crate::diff) struct Tree {
    /// The name of the side.
    pub(in crate::diff) name: String,
    /// Whether the side is the working tree.
    pub(in crate::diff) is_on_disk: bool,
    pub(in crate::diff) files: BTreeMap<PathBuf, Content>,
    /// The symbolic links, with their targets.
    pub(in crate::diff) links: BTreeMap<PathBuf, PathBuf>,
    pub(in crate::diff) submodules: Vec<PathBuf>,
    top: PathBuf,
}

/// The source of the content of a file.
pub(in crate::diff) enum Content {
    /// An object of the repository, with this name.
    Object(String),
    OnDisk(PathBuf),
}

/// A parsed line that git lists.
pub(super) struct ListedPath {
    path: PathBuf,
    mode: Mode,
    content: Content,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    File,
    Link,
    Submodule,
}

/// The result of resolving a path.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::diff) enum PathResolution {
    /// A path inside the repository, without links.
    Inside(PathBuf),
    /// A target outside the repository, through this link.
    Outside(PathBuf),
    /// A cycle of links.
    Nowhere,
}

/// Parses a line of a commit: `<mode> <type> <object>\t<path>`.
pub(super) fn from_commit(line: &[u8]) -> Option<ListedPath> {
    let (words, path) = parted(line)?;
    let [mode, _, object] = words[..] else { return None };
    Some(ListedPath {
        path,
        mode: Mode::from_text(mode),
        content: Content::Object(object.to_owned()),
    })
}

/// Parses a line of the index: `<tag> <mode> <object> <stage>\t<path>`. The working tree contains the files, except
/// for those that a sparse checkout skips.
pub(super) fn from_index(line: &[u8], top: &Path) -> Option<ListedPath> {
    let (words, path) = parted(line)?;
    let [tag, mode, object, _] = words[..] else { return None };
    let mode = Mode::from_text(mode);
    if mode == Mode::Submodule {
        return Some(ListedPath { path, mode, content: Content::Object(object.to_owned()) });
    }
    let is_skipped = tag == "S" && fs::symlink_metadata(top.join(&path)).is_err();
    if is_skipped {
        return Some(ListedPath { path, mode, content: Content::Object(object.to_owned()) });
    }
    on_disk(path, top)
}

/// Parses a path of the working tree.
pub(super) fn from_disk(path: &[u8], top: &Path) -> Option<ListedPath> {
    on_disk(path_of(path), top)
}

fn on_disk(path: PathBuf, top: &Path) -> Option<ListedPath> {
    let full = top.join(&path);
    let kind = fs::symlink_metadata(&full).ok()?.file_type();
    let mode = match () {
        () if kind.is_symlink() => Mode::Link,
        () if kind.is_file() => Mode::File,
        // Such as a nested repository.
        () => return None,
    };
    Some(ListedPath { path, mode, content: Content::OnDisk(full) })
}

fn parted(line: &[u8]) -> Option<(Vec<&str>, PathBuf)> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let head = std::str::from_utf8(&line[..tab]).ok()?;
    Some((head.split_ascii_whitespace().collect(), path_of(&line[tab + 1..])))
}

impl Mode {
    fn from_text(text: &str) -> Mode {
        match text {
            "120000" => Mode::Link,
            "160000" => Mode::Submodule,
            _ => Mode::File,
        }
    }
}

impl Tree {
    /// The tree of the listed paths; `read` returns the contents of objects.
    pub(super) fn from_list(
        name: &str,
        top: &Path,
        listed: Vec<ListedPath>,
        read: impl FnOnce(&[&str]) -> anyhow::Result<Vec<Vec<u8>>>,
    ) -> anyhow::Result<Tree> {
        let (mut files, mut links, mut submodules) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let mut links_of_objects = Vec::new();
        for ListedPath { path, mode, content } in listed.into_iter().filter(|it| is_safe(&it.path))
        {
            match (mode, content) {
                (Mode::File, content) => _ = files.insert(path, content),
                (Mode::Submodule, _) => submodules.push(path),
                (Mode::Link, Content::OnDisk(full)) => {
                    if let Ok(target) = fs::read_link(full) {
                        links.insert(path, target);
                    }
                }
                (Mode::Link, Content::Object(object)) => links_of_objects.push((path, object)),
            }
        }
        let objects: Vec<&str> = links_of_objects.iter().map(|(_, object)| &**object).collect();
        let targets = read(&objects)?.into_iter().map(|content| path_of(&content));
        links.extend(links_of_objects.into_iter().map(|(path, _)| path).zip(targets));
        // A manually created tree may contain files below a link.
        let is_below_link = |path: &Path| path.ancestors().skip(1).any(|it| links.contains_key(it));
        files.retain(|path, _| !is_below_link(path));
        let (name, top) = (name.to_owned(), top.to_owned());
        Ok(Tree { name, is_on_disk: false, files, links, submodules, top })
    }

    /// All entries of a directory, by name. Links are listed with their targets, and are not followed.
    pub(in crate::diff) fn from_directory(name: &str, top: &Path) -> anyhow::Result<Tree> {
        let of_top = || format!("failed to list {}", top.display());
        let top = top.canonicalize().with_context(of_top)?;
        let (mut listed, mut pending) = (Vec::new(), vec![PathBuf::new()]);
        while let Some(dir) = pending.pop() {
            let cannot = || format!("failed to list {}", top.join(&dir).display());
            for entry in fs::read_dir(top.join(&dir)).with_context(cannot)? {
                let entry = entry.with_context(cannot)?;
                let path = dir.join(entry.file_name());
                let is_dir = entry.file_type().with_context(cannot)?.is_dir();
                if is_dir && is_safe(&path) {
                    pending.push(path);
                } else {
                    listed.extend(on_disk(path, &top));
                }
            }
        }
        let mut tree = Tree::from_list(name, &top, listed, |_| Ok(Vec::new()))?;
        tree.is_on_disk = true;
        Ok(tree)
    }

    /// A tree without files.
    pub(in crate::diff) fn empty(name: &str) -> Tree {
        let (name, top) = (name.to_owned(), PathBuf::from("/"));
        Tree { name, is_on_disk: true, top, ..Tree::default() }
    }

    /// Resolves a path, following all links on the way.
    pub(in crate::diff) fn resolve(&self, path: &Path) -> PathResolution {
        let mut remaining = names(path);
        let (mut at, mut followed, mut last_link) = (PathBuf::new(), 0, path.to_owned());
        while let Some(name) = remaining.pop_front() {
            if name == ".." {
                if !at.pop() {
                    return PathResolution::Outside(last_link);
                }
                continue;
            }
            at.push(&name);
            let Some(target) = self.links.get(&at) else { continue };
            followed += 1;
            if followed > MAX_LINKS {
                return PathResolution::Nowhere;
            }
            last_link.clone_from(&at);
            at.pop();
            let mut rest = if target.is_absolute() {
                let Ok(inside) = target.strip_prefix(&self.top) else {
                    return PathResolution::Outside(last_link);
                };
                at = PathBuf::new();
                names(inside)
            } else {
                names(target)
            };
            rest.append(&mut remaining);
            remaining = rest;
        }
        PathResolution::Inside(at)
    }

    /// The links to differing files, or to directories that contain differing files.
    pub(super) fn differing_links(&self, differing: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        let leads = |link: &&PathBuf| {
            let PathResolution::Inside(inside) = self.resolve(link) else { return false };
            let below = differing.range(inside.clone()..).next();
            below.is_some_and(|it| it.starts_with(&inside))
        };
        self.links.keys().filter(leads).cloned().collect()
    }

    /// Whether a path leads to a file or a directory. The root of the repository always exists.
    pub(in crate::diff) fn has_at(&self, path: &Path) -> bool {
        let has = |resolution: PathResolution| matches!(resolution, PathResolution::Inside(inside) if self.has(&inside));
        path.as_os_str().is_empty() || has(self.resolve(path))
    }

    /// Whether a file or directory exists at this path, without following links.
    pub(in crate::diff) fn has(&self, path: &Path) -> bool {
        fn is_first_below<T>(all: &BTreeMap<PathBuf, T>, path: &Path) -> bool {
            all.range(path.to_owned()..).next().is_some_and(|(it, _)| it.starts_with(path))
        }
        is_first_below(&self.files, path)
            || is_first_below(&self.links, path)
            || self.submodules.iter().any(|it| it.starts_with(path))
    }
}

fn names(path: &Path) -> VecDeque<OsString> {
    let components = path.components().filter(|it| *it != Component::CurDir);
    components.map(|it| it.as_os_str().to_owned()).collect()
}

/// Whether a path contains only safe names. A manually created tree may contain any names.
fn is_safe(path: &Path) -> bool {
    path.components().all(|part| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(OsStr::new(".git")),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(links: &[(&str, &str)]) -> Tree {
        let links = links.iter().map(|(at, to)| (PathBuf::from(at), PathBuf::from(to))).collect();
        Tree { links, top: PathBuf::from("/top"), ..Tree::default() }
    }

    #[test]
    fn a_path_resolves_as_in_the_file_system() {
        let tree = tree(&[
            ("now", "v2"),
            ("v2/shop.yaml", "../base/shop.yaml"),
            ("base", "v1/base"),
            ("absolute", "/top/v1/a.yaml"),
            ("out.yaml", "v1/../../secret.yaml"),
            ("far.yaml", "/etc/passwd"),
            ("via", "far.yaml"),
            ("one", "other"),
            ("other", "one"),
        ]);
        let inside = |path: &str| PathResolution::Inside(PathBuf::from(path));
        let outside = |path: &str| PathResolution::Outside(PathBuf::from(path));
        for (path, resolution) in [
            ("plain/a.yaml", inside("plain/a.yaml")),
            ("now/shop.yaml", inside("v1/base/shop.yaml")),
            ("now/../b.yaml", inside("b.yaml")),
            ("absolute", inside("v1/a.yaml")),
            ("out.yaml", outside("out.yaml")),
            ("via", outside("far.yaml")),
            ("one/a.yaml", PathResolution::Nowhere),
        ] {
            assert_eq!(tree.resolve(Path::new(path)), resolution, "{path}");
        }
    }
}
