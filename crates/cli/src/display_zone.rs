//! The time zone to display, from `--zone`, else `ALMANAC_ZONE`, else `almanac.toml`.
//!
//! If none of them names a zone, the command uses the zone that all policies share, else UTC. No zone changes the
//! meaning of a schedule.

use std::env;

use almanac_calendar::Zone;
use anyhow::Context as _;

use crate::files::settings;
use crate::zone_name::named;

const VARIABLE: &str = "ALMANAC_ZONE";

/// The first zone that the flag, the environment or the settings name.
pub(crate) fn chosen(flag: Option<&str>) -> anyhow::Result<Option<Zone>> {
    if let Some(name) = flag {
        return Ok(Some(named("--zone", name)?));
    }
    if let Some(name) = env::var_os(VARIABLE).filter(|it| !it.is_empty()) {
        return Ok(Some(named(VARIABLE, &name.to_string_lossy())?));
    }
    let here = env::current_dir().context("failed to find the current directory")?;
    let around = settings::around(&here, |it| it.display.is_some())?;
    let Some((path, Some(display))) = around.map(|(path, it)| (path, it.display)) else {
        return Ok(None);
    };
    let zone = named("[display] zone", &display.zone);
    Ok(Some(zone.with_context(|| path.display().to_string())?))
}
