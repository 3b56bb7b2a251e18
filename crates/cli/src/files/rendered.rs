//! The output of a program that renders a directory, read in addition to the files. Other modules run the program.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use almanac_api::reading::Folder;

use super::Files;
use super::open::NotRead;

/// The output of a program for a directory.
#[derive(Clone)]
pub(crate) struct Rendered {
    /// The name of the place with the rendered objects.
    pub(crate) place: String,
    /// The name of the output in findings.
    pub(crate) source: String,
    /// A unique path below the root, in the directory it was rendered from.
    pub(crate) inside: PathBuf,
    /// The output, or the reason for the failure and the fix.
    pub(crate) content: Result<Arc<[u8]>, (String, &'static str)>,
}

impl Files {
    /// Reads rendered output, which is a place of its own.
    pub(super) fn take_rendered(&mut self, rendered: Rendered, root: &Path) {
        let Rendered { place, source, inside, content } = rendered;
        let inside = Folder::from_path(&root.join(inside));
        self.layout.named.push((place, inside.clone()));
        let content = content.map(|bytes| bytes.to_vec());
        let content = content.map_err(|(message, fix)| NotRead::new(&message, fix));
        self.take(source, Some(inside), content);
    }
}
