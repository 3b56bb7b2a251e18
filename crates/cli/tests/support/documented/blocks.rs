//! The commands of a section of a document.

use std::fs;
use std::path::Path;

use anyhow::ensure;

/// The root directory of the repository.
pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The ```` ```sh ```` blocks of a section of a document; fails if the section has none.
pub(crate) fn shell_blocks(document: &str, heading: &str) -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(Path::new(ROOT).join(document))?;
    let section = text.split("\n## ").find(|section| section.lines().next() == Some(heading));
    let blocks = section.unwrap_or_default().split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|block| Some(block.split_once("```")?.0.to_owned()));
    let blocks: Vec<String> = blocks.collect();
    ensure!(!blocks.is_empty(), "{document} has no commands under {heading:?}");
    Ok(blocks)
}
