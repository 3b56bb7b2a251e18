//! What a program has rendered of a directory, read beside the files. Who runs the program, and whether, is decided
//! elsewhere.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use almanac_api::reading::Folder;

use super::Files;
use super::open::NotRead;

/// What a program rendered of a directory.
#[derive(Clone)]
pub(crate) struct Rendered {
    /// What the place of it is called.
    pub(crate) place: String,
    /// What findings call it.
    pub(crate) source: String,
    /// A name of its own below the root, in the directory it was rendered from.
    pub(crate) inside: PathBuf,
    /// What was printed, or why nothing was, with a fix.
    pub(crate) content: Result<Arc<[u8]>, (String, &'static str)>,
}

impl Files {
    /// Takes what was rendered, which is a place of its own.
    pub(super) fn take_rendered(&mut self, rendered: Rendered, root: &Path) {
        let Rendered { place, source, inside, content } = rendered;
        let inside = Folder::of(&root.join(inside));
        self.layout.named.push((place, inside.clone()));
        let content = content.map(|bytes| bytes.to_vec());
        let content = content.map_err(|(message, fix)| NotRead::said(&message, fix));
        self.take(source, Some(inside), content);
    }
}
