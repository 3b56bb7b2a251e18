//! The contents of a side of a comparison, as git or a directory lists it: files, links, submodules, and where a link
//! leads.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;

use super::path_of;

/// No system follows more links on the way to a file.
const MOST_LINKS: usize = 40;

/// The contents of a side.
#[derive(Default)]
pub(in crate::diff) struct Tree {
    /// The name of the side.
    pub(in crate::diff) name: String,
    /// Whether it is the working tree.
    pub(in crate::diff) is_on_disk: bool,
    pub(in crate::diff) files: BTreeMap<PathBuf, Content>,
    /// The target of each link.
    pub(in crate::diff) links: BTreeMap<PathBuf, PathBuf>,
    pub(in crate::diff) submodules: Vec<PathBuf>,
    top: PathBuf,
}

/// Where the content of a file is.
pub(in crate::diff) enum Content {
    /// In the repository, under this name.
    Object(String),
    OnDisk(PathBuf),
}

/// A line of git.
pub(super) struct Listed {
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

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::diff) enum PathResolution {
    /// To this path, which has no link in it.
    Inside(PathBuf),
    /// Out of the repository, through this link.
    Outside(PathBuf),
    /// Round in circles.
    Nowhere,
}

/// `<mode> <type> <object>\t<path>`, of a commit.
pub(super) fn of_commit(line: &[u8]) -> Option<Listed> {
    let (words, path) = parted(line)?;
    let [mode, _, object] = words[..] else { return None };
    Some(Listed { path, mode: Mode::of(mode), content: Content::Object(object.to_owned()) })
}

/// `<tag> <mode> <object> <stage>\t<path>`, of the index. The working tree has what counts, but for what a sparse
/// checkout leaves out.
pub(super) fn of_index(line: &[u8], top: &Path) -> Option<Listed> {
    let (words, path) = parted(line)?;
    let [tag, mode, object, _] = words[..] else { return None };
    let mode = Mode::of(mode);
    if mode == Mode::Submodule {
        return Some(Listed { path, mode, content: Content::Object(object.to_owned()) });
    }
    let is_left_out = tag == "S" && fs::symlink_metadata(top.join(&path)).is_err();
    if is_left_out {
        return Some(Listed { path, mode, content: Content::Object(object.to_owned()) });
    }
    on_disk(path, top)
}

/// A path of the working tree.
pub(super) fn of_disk(path: &[u8], top: &Path) -> Option<Listed> {
    on_disk(path_of(path), top)
}

fn on_disk(path: PathBuf, top: &Path) -> Option<Listed> {
    let full = top.join(&path);
    let kind = fs::symlink_metadata(&full).ok()?.file_type();
    let mode = match () {
        () if kind.is_symlink() => Mode::Link,
        () if kind.is_file() => Mode::File,
        // Such as a repository of its own.
        () => return None,
    };
    Some(Listed { path, mode, content: Content::OnDisk(full) })
}

fn parted(line: &[u8]) -> Option<(Vec<&str>, PathBuf)> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let head = std::str::from_utf8(&line[..tab]).ok()?;
    Some((head.split_ascii_whitespace().collect(), path_of(&line[tab + 1..])))
}

impl Mode {
    fn of(mode: &str) -> Mode {
        match mode {
            "120000" => Mode::Link,
            "160000" => Mode::Submodule,
            _ => Mode::File,
        }
    }
}

impl Tree {
    /// The tree of a list; `read` gets the contents of objects.
    pub(super) fn of(
        name: &str,
        top: &Path,
        listed: Vec<Listed>,
        read: impl FnOnce(&[&str]) -> anyhow::Result<Vec<Vec<u8>>>,
    ) -> anyhow::Result<Tree> {
        let (mut files, mut links, mut submodules) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let mut of_objects = Vec::new();
        for Listed { path, mode, content } in listed.into_iter().filter(|it| is_safe(&it.path)) {
            match (mode, content) {
                (Mode::File, content) => _ = files.insert(path, content),
                (Mode::Submodule, _) => submodules.push(path),
                (Mode::Link, Content::OnDisk(full)) => {
                    if let Ok(target) = fs::read_link(full) {
                        links.insert(path, target);
                    }
                }
                (Mode::Link, Content::Object(object)) => of_objects.push((path, object)),
            }
        }
        let objects: Vec<&str> = of_objects.iter().map(|(_, object)| &**object).collect();
        let targets = read(&objects)?.into_iter().map(|content| path_of(&content));
        links.extend(of_objects.into_iter().map(|(path, _)| path).zip(targets));
        // A tree that was made manually may have files below a link.
        let is_below_link = |path: &Path| path.ancestors().skip(1).any(|it| links.contains_key(it));
        files.retain(|path, _| !is_below_link(path));
        let (name, top) = (name.to_owned(), top.to_owned());
        Ok(Tree { name, is_on_disk: false, files, links, submodules, top })
    }

    /// All that lies in a directory, by name: what a link says, not what it leads to.
    pub(in crate::diff) fn of_directory(name: &str, top: &Path) -> anyhow::Result<Tree> {
        let of_top = || format!("failed to list {}", top.display());
        let top = top.canonicalize().with_context(of_top)?;
        let (mut listed, mut open) = (Vec::new(), vec![PathBuf::new()]);
        while let Some(folder) = open.pop() {
            let cannot = || format!("failed to list {}", top.join(&folder).display());
            for entry in fs::read_dir(top.join(&folder)).with_context(cannot)? {
                let entry = entry.with_context(cannot)?;
                let path = folder.join(entry.file_name());
                let is_folder = entry.file_type().with_context(cannot)?.is_dir();
                if is_folder && is_safe(&path) {
                    open.push(path);
                } else {
                    listed.extend(on_disk(path, &top));
                }
            }
        }
        let mut tree = Tree::of(name, &top, listed, |_| Ok(Vec::new()))?;
        tree.is_on_disk = true;
        Ok(tree)
    }

    /// Nothing at all.
    pub(in crate::diff) fn empty(name: &str) -> Tree {
        let (name, top) = (name.to_owned(), PathBuf::from("/"));
        Tree { name, is_on_disk: true, top, ..Tree::default() }
    }

    /// Where a path leads if all links on the way are followed.
    pub(in crate::diff) fn resolve(&self, path: &Path) -> PathResolution {
        let mut left = names(path);
        let (mut at, mut followed, mut last_link) = (PathBuf::new(), 0, path.to_owned());
        while let Some(name) = left.pop_front() {
            if name == ".." {
                if !at.pop() {
                    return PathResolution::Outside(last_link);
                }
                continue;
            }
            at.push(&name);
            let Some(target) = self.links.get(&at) else { continue };
            followed += 1;
            if followed > MOST_LINKS {
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
            rest.append(&mut left);
            left = rest;
        }
        PathResolution::Inside(at)
    }

    /// The links that lead to something that differs, or to a folder in which something does.
    pub(super) fn differing_links(&self, differing: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        let leads = |link: &&PathBuf| {
            let PathResolution::Inside(inside) = self.resolve(link) else { return false };
            let below = differing.range(inside.clone()..).next();
            below.is_some_and(|it| it.starts_with(&inside))
        };
        self.links.keys().filter(leads).cloned().collect()
    }

    /// Whether a path leads to a file or a folder, as the repository itself always is one.
    pub(in crate::diff) fn has_at(&self, path: &Path) -> bool {
        let has = |resolution: PathResolution| matches!(resolution, PathResolution::Inside(inside) if self.has(&inside));
        path.as_os_str().is_empty() || has(self.resolve(path))
    }

    /// Whether there is such a file or folder, which is not behind a link.
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

/// A tree that was made manually may hold any names.
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
    fn a_path_leads_where_the_system_would_go() {
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
