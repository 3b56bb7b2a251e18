//! The files of a side that are rendered, in a temporary directory: plain files only. A symbolic link to a file of the
//! side becomes a copy of that file; any other link is refused.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use almanac_api::reading::FILE_BYTES;
use anyhow::{Context as _, anyhow};

use super::Failure;
use crate::diff::git::laid_out::{IS_POINTER, is_pointer, start_of};
use crate::diff::git::tree::{Content, PathResolution, Tree};
use crate::diff::git::{ObjectReader, Repository};

/// The maximum number of copied bytes.
const MAX_BYTES: u64 = 256 << 20;

const CANNOT_WRITE: &str = "failed to write a temporary directory";

/// The contents of a side, and the repository of its objects; `None` for a directory.
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
    Unchanged(&'a Content),
    Written(Vec<u8>),
}

/// The writer of the copies, with the remaining capacity.
struct Copies<'a> {
    root: &'a Path,
    tree: &'a Tree,
    /// The number of bytes that may still be copied.
    remaining: u64,
}

impl<'a> Stage<'a> {
    pub(super) fn new(origin: &'a Origin<'a>) -> Stage<'a> {
        Stage { origin, files: BTreeMap::new() }
    }

    pub(super) fn tree(&self) -> &'a Tree {
        self.origin.tree
    }

    /// Adds all files in a directory.
    pub(super) fn add_dir(&mut self, dir: &Path) -> Result<(), Failure> {
        let tree = self.tree();
        if tree.resolve(dir) != PathResolution::Inside(dir.to_owned()) {
            return Err(refused(
                dir,
                "has a symbolic link in its path",
                "name the directory itself",
            ));
        }
        let files = tree.files.range(dir.to_owned()..);
        for (path, content) in files.take_while(|(path, _)| path.starts_with(dir)) {
            self.files.entry(path.clone()).or_insert(Staged::Unchanged(content));
        }
        let links = tree.links.range(dir.to_owned()..);
        for (path, _) in links.take_while(|(path, _)| path.starts_with(dir)) {
            self.add_file(path)?;
        }
        Ok(())
    }

    /// Adds a file. For a link, adds a copy of its target file.
    pub(super) fn add_file(&mut self, path: &Path) -> Result<(), Failure> {
        let content = self.content(path)?;
        self.files.entry(path.to_owned()).or_insert(Staged::Unchanged(content));
        Ok(())
    }

    /// Replaces the content of a file with a string.
    pub(super) fn write(&mut self, path: &Path, text: String) {
        self.files.insert(path.to_owned(), Staged::Written(text.into_bytes()));
    }

    /// The content of a file as a string.
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
                refused(path, "is not a file of this side", "name an existing file")
            }),
            PathResolution::Outside(_) | PathResolution::Nowhere => Err(refused(
                path,
                "is a symbolic link that does not lead to a file of this side",
                "replace the link with a file",
            )),
        }
    }

    /// The content of a file. A file that is too large is cut one byte after the limit.
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

    fn read(&self, objects: &[&str], read_object: &mut ObjectReader<'_>) -> anyhow::Result<()> {
        self.origin.repository.map_or(Ok(()), |it| it.contents(objects, read_object))
    }

    /// Copies all files.
    pub(super) fn lay_out(&self, root: &Path) -> Result<(), Failure> {
        let mut copies = Copies { root, tree: self.tree(), remaining: MAX_BYTES };
        let (mut objects, mut paths) = (Vec::new(), Vec::new());
        for (path, staged) in &self.files {
            match staged {
                Staged::Unchanged(Content::Object(object)) => {
                    objects.push(&**object);
                    paths.push(path);
                }
                Staged::Unchanged(Content::OnDisk(source)) => {
                    let opened = File::open(source).and_then(|it| Ok((it.metadata()?.len(), it)));
                    let cannot = || format!("failed to read {}", source.display());
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
        // This failure is the reason that reading stopped.
        failure.map_or(Ok(()), Err)?;
        read?;
        // Replaced contents come last, since a disk that ignores case may map two names to one file.
        for (path, staged) in &self.files {
            if let Staged::Written(bytes) = staged {
                copies.write(path, bytes.len() as u64, &mut bytes.as_slice())?;
            }
        }
        Ok(())
    }
}

impl Copies<'_> {
    /// Copies a file of `size` bytes; fails before the copy if that exceeds the limit.
    fn write(&mut self, path: &Path, size: u64, content: &mut dyn Read) -> Result<(), Failure> {
        let Some(remaining) = self.remaining.checked_sub(size) else {
            let message = format!("the files are larger than {} MiB in all", MAX_BYTES >> 20);
            return Err(Failure::Content(message, "render a smaller directory"));
        };
        self.remaining = remaining;
        let start = start_of(content).context(CANNOT_WRITE)?;
        if is_pointer(&start) {
            return Err(refused(path, IS_POINTER, self.tree.fix_of_pointer()));
        }
        let full = self.root.join(path);
        let parent = full.parent().map_or(Ok(()), fs::create_dir_all);
        // A file on the disk may have grown.
        let mut content = start.as_slice().chain(content).take(size);
        let result = parent.and_then(|()| io::copy(&mut content, &mut File::create(&full)?));
        result.context(CANNOT_WRITE)?;
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

    /// A reader that panics on use.
    struct Untouched;

    impl Read for Untouched {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("the file is read")
        }
    }

    #[test]
    fn a_file_that_is_too_large_is_refused_before_it_is_read() {
        let tree = Tree::empty("old");
        let mut copies = Copies { root: Path::new("nowhere"), tree: &tree, remaining: 10 };
        let result = copies.write(Path::new("a.yaml"), 11, &mut Untouched);
        assert!(matches!(result, Err(Failure::Content(..))));
    }
}
