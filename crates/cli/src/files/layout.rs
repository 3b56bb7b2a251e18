//! The places that the user specifies: `almanac.toml`, and arguments.

use std::path::Path;

use almanac_api::checking::{Layout, Place};
use almanac_api::reading::Folder;
use anyhow::{Context as _, ensure};

use super::settings::{self, PlaceSetting};
use crate::pattern;

/// The places that the settings around this directory name, and the selected places.
pub(super) fn read(here: &Path, requested: &[String]) -> anyhow::Result<Layout> {
    let only =
        requested.iter().map(|text| (text.clone(), Folder::from_path(&here.join(text)))).collect();
    let mut layout = Layout { here: Folder::from_path(here), only, ..Layout::default() };
    let around = settings::around(here, |it| !it.place.is_empty())?;
    let Some((path, settings)) = around else { return Ok(layout) };
    let base = path.parent().unwrap_or(here);
    for PlaceSetting { name, directories } in settings.place {
        let place = || format!("{}: the place {name:?}", path.display());
        let matches: Result<Vec<Vec<Folder>>, _> =
            directories.iter().map(|pattern| matching(base, pattern)).collect();
        let folders: Vec<Folder> = matches.with_context(place)?.concat();
        ensure!(!folders.is_empty(), "{}: none of its directories exists", place());
        layout.fixed.push(Place { name, folders });
    }
    Ok(layout)
}

/// The directories that a pattern matches.
fn matching(base: &Path, pattern: &str) -> anyhow::Result<Vec<Folder>> {
    let paths = pattern::paths(base, pattern).map_err(anyhow::Error::msg);
    let paths = paths.with_context(|| format!("failed to read the pattern {pattern:?}"))?;
    Ok(paths.filter(|path| path.is_dir()).map(|it| Folder::from_path(&it)).collect())
}
