//! `almanac.toml`: the user's settings for the files of a directory.
//!
//! ```toml
//! exclude = ["/tests", "*.example.yaml"]
//!
//! [[place]]
//! name = "prod"
//! directories = ["clusters/prod", "apps/*/prod"]
//!
//! [lint]
//! ignore = ["clock-change"]
//!
//! [diff]
//! kustomize = ["overlays/prod"]
//! helm = ["charts/shop=values-prod.yaml"]
//! [display]
//! zone = "Europe/Berlin"
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use almanac_api::finding::Code;
use almanac_calendar::Zone;
use anyhow::Context as _;
use serde::{Deserialize, Deserializer, de};

use crate::zone_name::{LOCAL, why_invalid};

const FILE: &str = "almanac.toml";

/// The contents of one `almanac.toml`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// The patterns to exclude in this directory and those below it, as lines of a `.gitignore`.
    #[serde(default)]
    pub(super) exclude: Vec<String>,
    /// The places; without this list, places are detected.
    #[serde(default)]
    pub(super) place: Vec<PlaceSetting>,
    /// The settings of `almanac lint` in this directory.
    pub(crate) lint: Option<LintSetting>,
    /// The directories that `almanac diff` renders.
    pub(crate) diff: Option<DiffSetting>,
    /// The display of instants.
    pub(crate) display: Option<DisplaySetting>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DisplaySetting {
    /// The name of the zone.
    #[serde(deserialize_with = "zone")]
    pub(crate) zone: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlaceSetting {
    pub(super) name: String,
    pub(super) directories: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LintSetting {
    /// The findings that are not reported.
    #[serde(default, deserialize_with = "codes")]
    pub(crate) ignore: Vec<Code>,
}

/// The directories to render, in the form of the flags of the same names.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiffSetting {
    #[serde(default)]
    pub(crate) kustomize: Vec<String>,
    #[serde(default)]
    pub(crate) helm: Vec<String>,
}

/// Reads the nearest file with settings of interest, in this directory or around it, up to the root of the repository.
pub(crate) fn around(
    folder: &Path,
    is_of_interest: impl Fn(&Settings) -> bool,
) -> anyhow::Result<Option<(PathBuf, Settings)>> {
    for folder in folder.ancestors() {
        if let Some(found) = within(folder)?
            && is_of_interest(&found.1)
        {
            return Ok(Some(found));
        }
        if folder.join(".git").exists() {
            break;
        }
    }
    Ok(None)
}

/// Reads the settings in this directory; `None` without a file.
pub(super) fn within(folder: &Path) -> anyhow::Result<Option<(PathBuf, Settings)>> {
    let path = folder.join(FILE);
    if !path.is_file() {
        return Ok(None);
    }
    let cannot = || format!("failed to read {}", path.display());
    let text = fs::read_to_string(&path).with_context(cannot)?;
    let settings = toml::from_str(&text).with_context(cannot)?;
    Ok(Some((path, settings)))
}

/// A name is checked where it is read, so that the error has its line.
fn zone<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if name != LOCAL {
        Zone::named(&name).map_err(|error| de::Error::custom(why_invalid(&name, &error)))?;
    }
    Ok(name)
}

fn codes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Code>, D::Error> {
    let names: Vec<String> = Vec::deserialize(deserializer)?;
    let code = |name: &String| Code::ALL.iter().copied().find(|code| code.name() == name);
    let unknown = |name: &String| {
        de::Error::custom(format!(
            "no finding has the code {name:?}; docs/findings.md lists all codes"
        ))
    };
    names.iter().map(|name| code(name).ok_or_else(|| unknown(name))).collect()
}
