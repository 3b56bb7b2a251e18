//! `almanac.toml`: what somebody says of the files of a directory.
//!
//! ```toml
//! [[place]]
//! name = "prod"
//! directories = ["clusters/prod", "apps/*/prod"]
//!
//! [lint]
//! ignore = ["clock-change"]
//!
//! [display]
//! zone = "Europe/Berlin"
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use almanac_api::finding::Code;
use almanac_calendar::Zone;
use anyhow::Context as _;
use serde::{Deserialize, Deserializer, de};

use crate::display_zone::LOCAL;

const FILE: &str = "almanac.toml";

/// What one such file says.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// The places, if they are not to be found out.
    #[serde(default)]
    pub(super) place: Vec<PlaceSetting>,
    /// What `almanac lint` does in this directory.
    pub(crate) lint: Option<LintSetting>,
    /// How instants are displayed.
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
    /// The findings that are not told.
    #[serde(default, deserialize_with = "codes")]
    pub(crate) ignore: Vec<Code>,
}

/// Reads the file in this directory, or in the nearest around it, that says something of what is of interest; up to the
/// root of the repository.
pub(crate) fn around(
    folder: &Path,
    is_of_interest: impl Fn(&Settings) -> bool,
) -> anyhow::Result<Option<(PathBuf, Settings)>> {
    for folder in folder.ancestors() {
        let path = folder.join(FILE);
        if path.is_file() {
            let cannot = || format!("failed to read {}", path.display());
            let text = fs::read_to_string(&path).with_context(cannot)?;
            let settings = toml::from_str(&text).with_context(cannot)?;
            if is_of_interest(&settings) {
                return Ok(Some((path, settings)));
            }
        }
        if folder.join(".git").exists() {
            break;
        }
    }
    Ok(None)
}

/// A name is checked where it is read, so that the error has its line.
fn zone<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if name != LOCAL {
        Zone::named(&name).map_err(de::Error::custom)?;
    }
    Ok(name)
}

fn codes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Code>, D::Error> {
    let names: Vec<String> = Vec::deserialize(deserializer)?;
    let code = |name: &String| Code::ALL.iter().copied().find(|code| code.name() == name);
    let unknown = |name: &String| {
        de::Error::custom(format!(
            "there is no finding with the code {name:?}; docs/findings.md lists them"
        ))
    };
    names.iter().map(|name| code(name).ok_or_else(|| unknown(name))).collect()
}
