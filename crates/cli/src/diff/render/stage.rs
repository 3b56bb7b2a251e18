//! The files of a side that are rendered, in a temporary directory: plain files only. A symbolic link to a file of the
//! side becomes what it leads to; any other one is refused.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::Failure;
use crate::diff::git::tree::{Content, Tree, Way};

/// So many bytes are copied at most.
const MOST: usize = 256 << 20;

/// Reads objects of git by their names.
pub(in crate::diff) type Reader<'a> = dyn Fn(&[&str]) -> anyhow::Result<Vec<Vec<u8>>> + 'a;

/// What a side has, and how its objects are read.
pub(in crate::diff) struct Origin<'a> {
    pub(in crate::diff) tree: &'a Tree,
    pub(in crate::diff) read: &'a Reader<'a>,
}

/// What is copied.
pub(super) struct Stage<'a> {
    origin: &'a Origin<'a>,
    files: BTreeMap<PathBuf, Staged<'a>>,
}

enum Staged<'a> {
    AsItIs(&'a Content),
    Written(Vec<u8>),
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
        if tree.way(dir) != Way::Inside(dir.to_owned()) {
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

    /// What a file holds.
    pub(super) fn text(&self, path: &Path) -> Result<String, Failure> {
        let bytes = self.bytes(self.content(path)?)?;
        String::from_utf8(bytes).map_err(|_| refused(path, "is not UTF-8", "save it as UTF-8"))
    }

    fn content(&self, path: &Path) -> Result<&'a Content, Failure> {
        let tree = self.tree();
        match tree.way(path) {
            Way::Inside(inside) => tree.files.get(&inside).ok_or_else(|| {
                refused(path, "is not a file of this side", "name a file that is there")
            }),
            Way::Outside(_) | Way::Nowhere => Err(refused(
                path,
                "is a symbolic link that leads to no file of this side",
                "replace the link with a file",
            )),
        }
    }

    fn bytes(&self, content: &Content) -> Result<Vec<u8>, Failure> {
        match content {
            Content::Object(object) => {
                Ok((self.origin.read)(&[&**object])?.pop().unwrap_or_default())
            }
            Content::OnDisk(path) => {
                let cannot = || format!("failed to read {}", path.display());
                let file = fs::File::open(path).with_context(cannot)?;
                let mut bytes = Vec::new();
                // One byte more tells that there is more.
                file.take(MOST as u64 + 1).read_to_end(&mut bytes).with_context(cannot)?;
                Ok(bytes)
            }
        }
    }

    /// Copies everything.
    pub(super) fn lay_out(&self, root: &Path) -> Result<(), Failure> {
        let mut left = MOST;
        let mut write = |path: &Path, bytes: &[u8]| -> Result<(), Failure> {
            let Some(rest) = left.checked_sub(bytes.len()) else {
                let message = format!("its files are larger than {} MiB in all", MOST >> 20);
                return Err(Failure::Content(message, "render a smaller directory"));
            };
            left = rest;
            let full = root.join(path);
            let made = full.parent().map_or(Ok(()), fs::create_dir_all);
            let written = made.and_then(|()| fs::write(&full, bytes));
            Ok(written.context("failed to write a temporary directory")?)
        };
        let (mut objects, mut paths) = (Vec::new(), Vec::new());
        for (path, staged) in &self.files {
            match staged {
                Staged::AsItIs(Content::Object(object)) => {
                    objects.push(&**object);
                    paths.push(path);
                }
                Staged::AsItIs(content) => write(path, &self.bytes(content)?)?,
                Staged::Written(_) => {}
            }
        }
        // A few at a time, so that little is in memory at once.
        for (objects, paths) in objects.chunks(64).zip(paths.chunks(64)) {
            for (path, bytes) in paths.iter().zip((self.origin.read)(objects)?) {
                write(path, &bytes)?;
            }
        }
        // Last, where a disk takes another name for the same.
        for (path, staged) in &self.files {
            if let Staged::Written(bytes) = staged {
                write(path, bytes)?;
            }
        }
        Ok(())
    }
}

/// What is wrong with a path, and the fix.
pub(super) fn refused(path: &Path, what: &str, fix: &'static str) -> Failure {
    Failure::Content(format!("{} {what}", path.display()), fix)
}
