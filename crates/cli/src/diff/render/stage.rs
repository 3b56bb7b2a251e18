//! The files of a side that are rendered, in a temporary directory: plain files only. A symbolic link to a file of the
//! side becomes what it leads to; any other one is refused.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use almanac_api::reading::FILE_BYTES;
use anyhow::{Context as _, anyhow};

use super::Failure;
use crate::diff::git::laid_out::{IS_POINTER, is_pointer, start_of};
use crate::diff::git::tree::{Content, PathResolution, Tree};
use crate::diff::git::{Each, Repository};

/// The most bytes that are copied.
const MOST: u64 = 256 << 20;

const CANNOT_WRITE: &str = "failed to write a temporary directory";

/// The contents of a side, and the repository that has its objects, if it has any.
pub(in crate::diff) struct Origin<'a> {
    pub(in crate::diff) tree: &'a Tree,
    pub(in crate::diff) repository: Option<&'a Repository>,
}

/// The files to copy.
pub(super) struct Stage<'a> {
    origin: &'a Origin<'a>,
    files: BTreeMap<PathBuf, Staged<'a>>,
}

enum Staged<'a> {
    AsItIs(&'a Content),
    Written(Vec<u8>),
}

/// Where the files are copied to.
struct Copies<'a> {
    root: &'a Path,
    tree: &'a Tree,
    /// How many bytes may still be copied.
    left: u64,
}

impl<'a> Stage<'a> {
    pub(super) fn new(origin: &'a Origin<'a>) -> Stage<'a> {
        Stage { origin, files: BTreeMap::new() }
    }

    pub(super) fn tree(&self) -> &'a Tree {
        self.origin.tree
    }

    /// Takes in all that lies in a directory.
    pub(super) fn take_in(&mut self, dir: &Path) -> Result<(), Failure> {
        let tree = self.tree();
        if tree.resolve(dir) != PathResolution::Inside(dir.to_owned()) {
            return Err(refused(
                dir,
                "has a symbolic link on the way to it",
                "name the directory itself",
            ));
        }
        let files = tree.files.range(dir.to_owned()..);
        for (path, content) in files.take_while(|(path, _)| path.starts_with(dir)) {
            self.files.entry(path.clone()).or_insert(Staged::AsItIs(content));
        }
        let links = tree.links.range(dir.to_owned()..);
        for (path, _) in links.take_while(|(path, _)| path.starts_with(dir)) {
            self.take_file(path)?;
        }
        Ok(())
    }

    /// Takes in a file, or what a link to one leads to.
    pub(super) fn take_file(&mut self, path: &Path) -> Result<(), Failure> {
        let content = self.content(path)?;
        self.files.entry(path.to_owned()).or_insert(Staged::AsItIs(content));
        Ok(())
    }

    /// Puts a text in the place of a file.
    pub(super) fn write(&mut self, path: &Path, text: String) {
        self.files.insert(path.to_owned(), Staged::Written(text.into_bytes()));
    }

    /// The text of a file.
    pub(super) fn text(&self, path: &Path) -> Result<String, Failure> {
        let bytes = self.bytes(self.content(path)?)?;
        if bytes.len() > FILE_BYTES {
            let what = format!("is larger than {} MiB", FILE_BYTES >> 20);
            return Err(refused(path, &what, "split it"));
        }
        String::from_utf8(bytes).map_err(|_| refused(path, "is not UTF-8", "save it as UTF-8"))
    }

    fn content(&self, path: &Path) -> Result<&'a Content, Failure> {
        let tree = self.tree();
        match tree.resolve(path) {
            PathResolution::Inside(inside) => tree.files.get(&inside).ok_or_else(|| {
                refused(path, "is not a file of this side", "name a file that is there")
            }),
            PathResolution::Outside(_) | PathResolution::Nowhere => Err(refused(
                path,
                "is a symbolic link that leads to no file of this side",
                "replace the link with a file",
            )),
        }
    }

    /// The content of a file, and one byte too many if it is too large.
    fn bytes(&self, content: &Content) -> anyhow::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let most = FILE_BYTES as u64 + 1;
        match content {
            Content::Object(object) => self.read(&[&**object], &mut |_, content| {
                let read = content.take(most).read_to_end(&mut bytes);
                read.map(drop).context("failed to read the files of a revision")
            })?,
            Content::OnDisk(path) => {
                let read = File::open(path).and_then(|it| it.take(most).read_to_end(&mut bytes));
                read.with_context(|| format!("failed to read {}", path.display()))?;
            }
        }
        Ok(bytes)
    }

    fn read(&self, objects: &[&str], each: &mut Each<'_>) -> anyhow::Result<()> {
        self.origin.repository.map_or(Ok(()), |it| it.contents(objects, each))
    }

    /// Copies everything.
    pub(super) fn lay_out(&self, root: &Path) -> Result<(), Failure> {
        let mut copies = Copies { root, tree: self.tree(), left: MOST };
        let (mut objects, mut paths) = (Vec::new(), Vec::new());
        for (path, staged) in &self.files {
            match staged {
                Staged::AsItIs(Content::Object(object)) => {
                    objects.push(&**object);
                    paths.push(path);
                }
                Staged::AsItIs(Content::OnDisk(there)) => {
                    let opened = File::open(there).and_then(|it| Ok((it.metadata()?.len(), it)));
                    let cannot = || format!("failed to read {}", there.display());
                    let (size, mut file) = opened.with_context(cannot)?;
                    copies.write(path, size, &mut file)?;
                }
                Staged::Written(_) => {}
            }
        }
        let (mut paths, mut failure) = (paths.into_iter(), None);
        let read = self.read(&objects, &mut |size, content| {
            let Some(path) = paths.next() else { return Ok(()) };
            copies.write(path, size, content).map_err(|why| {
                failure = Some(why);
                anyhow!("failed to copy {}", path.display())
            })
        });
        // It says why nothing more was read.
        failure.map_or(Ok(()), Err)?;
        read?;
        // Last, where a disk takes another name for the same.
        for (path, staged) in &self.files {
            if let Staged::Written(bytes) = staged {
                copies.write(path, bytes.len() as u64, &mut bytes.as_slice())?;
            }
        }
        Ok(())
    }
}

impl Copies<'_> {
    /// Copies a file of `size` bytes, none of them if that is too much.
    fn write(&mut self, path: &Path, size: u64, content: &mut dyn Read) -> Result<(), Failure> {
        let Some(left) = self.left.checked_sub(size) else {
            let message = format!("its files are larger than {} MiB in all", MOST >> 20);
            return Err(Failure::Content(message, "render a smaller directory"));
        };
        self.left = left;
        let start = start_of(content).context(CANNOT_WRITE)?;
        if is_pointer(&start) {
            return Err(refused(path, IS_POINTER, self.tree.fix_of_pointer()));
        }
        let full = self.root.join(path);
        let made = full.parent().map_or(Ok(()), fs::create_dir_all);
        // A file on the disk may have grown.
        let mut content = start.as_slice().chain(content).take(size);
        let written = made.and_then(|()| io::copy(&mut content, &mut File::create(&full)?));
        written.context(CANNOT_WRITE)?;
        Ok(())
    }
}

/// A problem with a path, and the fix.
pub(super) fn refused(path: &Path, what: &str, fix: &'static str) -> Failure {
    Failure::Content(format!("{} {what}", path.display()), fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that must not be read.
    struct Untouched;

    impl Read for Untouched {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("it is read")
        }
    }

    #[test]
    fn what_is_too_large_is_refused_before_it_is_read() {
        let tree = Tree::empty("old");
        let mut copies = Copies { root: Path::new("nowhere"), tree: &tree, left: 10 };
        let written = copies.write(Path::new("a.yaml"), 11, &mut Untouched);
        assert!(matches!(written, Err(Failure::Content(..))));
    }
}
