//! What the user says about places: `almanac.toml`, and arguments.
//!
//! ```toml
//! [[place]]
//! name = "prod"
//! directories = ["clusters/prod", "apps/*/prod"]
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use almanac_api::checking::{Layout, Place};
use almanac_api::reading::Folder;
use anyhow::{Context as _, ensure};
use serde::Deserialize;

const FILE: &str = "almanac.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    place: Vec<PlaceSetting>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlaceSetting {
    name: String,
    directories: Vec<String>,
}

/// Reads the file in this folder or in the nearest around it, up to the root of the repository.
pub(super) fn read(here: &Path, asked: &[String]) -> anyhow::Result<Layout> {
    let only = asked.iter().map(|text| (text.clone(), Folder::of(&here.join(text)))).collect();
    let mut layout = Layout { here: Folder::of(here), only, ..Layout::default() };
    let Some(path) = nearest(here) else { return Ok(layout) };
    let cannot = || format!("failed to read {}", path.display());
    let text = fs::read_to_string(&path).with_context(cannot)?;
    let settings: Settings = toml::from_str(&text).with_context(cannot)?;
    let base = path.parent().unwrap_or(here);
    for PlaceSetting { name, directories } in settings.place {
        let place = || format!("{}: the place {name:?}", path.display());
        let found: Result<Vec<Vec<Folder>>, _> =
            directories.iter().map(|pattern| matching(base, pattern)).collect();
        let folders: Vec<Folder> = found.with_context(place)?.concat();
        ensure!(!folders.is_empty(), "{}: none of its directories exists", place());
        layout.fixed.push(Place { name, folders });
    }
    Ok(layout)
}

fn nearest(here: &Path) -> Option<PathBuf> {
    for folder in here.ancestors() {
        let path = folder.join(FILE);
        if path.is_file() {
            return Some(path);
        }
        if folder.join(".git").exists() {
            return None;
        }
    }
    None
}

/// The folders that a pattern stands for.
fn matching(base: &Path, pattern: &str) -> anyhow::Result<Vec<Folder>> {
    let escaped = glob::Pattern::escape(&base.display().to_string());
    let found = glob::glob(&format!("{escaped}/{pattern}"));
    let found = found.with_context(|| format!("failed to read the pattern {pattern:?}"))?;
    Ok(found
        .filter_map(Result::ok)
        .filter(|path| path.is_dir())
        .map(|it| Folder::of(&it))
        .collect())
}
