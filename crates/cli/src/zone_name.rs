//! The zone of a name for display: an IANA name, or the word for the zone of this machine. `display_zone` chooses the
//! name.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use almanac_calendar::{Zone, ZoneError, ZoneErrorKind};

use crate::argument_error::{ArgumentError, quoted};

/// The word for the zone of this machine.
pub(crate) const LOCAL: &str = "local";

/// The link to the zone of the machine.
const LOCALTIME: &str = "/etc/localtime";
/// The file with the name of the zone, on some systems.
const NAME_FILE: &str = "/etc/timezone";

/// The names of UTC in the time zone database.
const NAMES_OF_UTC: [&str; 7] =
    ["Etc/UCT", "Etc/UTC", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu"];

/// The maximum number of parts in a name, such as `America/Argentina/Salta`.
const PARTS: usize = 3;

/// The zone of this name, or of this machine.
pub(crate) fn named(argument: &'static str, name: &str) -> Result<Zone, ArgumentError> {
    if name != LOCAL {
        let wrong = |error| ArgumentError::whole(argument, name, why_invalid(name, &error));
        return Zone::named(name).map(with_one_name).map_err(wrong);
    }
    let setting = env::var_os("TZ").map(|it| it.to_string_lossy().into_owned());
    let found = machine_zone(setting.as_deref(), Path::read_link, || fs::read_to_string(NAME_FILE));
    found.map(with_one_name).map_err(|why| {
        let message = format!(
            "the time zone of this machine is unknown: {why}; write an IANA name such as \
             Europe/Berlin"
        );
        ArgumentError::whole(argument, name, message)
    })
}

/// The reason that a string is not a zone for display. Unlike for schedules, the default is not UTC but usually the
/// zone of the policies.
pub(crate) fn why_invalid(name: &str, error: &ZoneError) -> String {
    match error.kind() {
        ZoneErrorKind::Local => {
            format!(
                "{} is not an IANA name; for the zone of this machine, write {LOCAL}",
                quoted(name)
            )
        }
        ZoneErrorKind::Empty => format!(
            "no zone is named; write an IANA name such as Europe/Berlin, or {LOCAL} for that of this machine"
        ),
        _ => error.to_string(),
    }
}

/// UTC for each alias of UTC, so that an alias is never displayed next to UTC as another zone.
fn with_one_name(zone: Zone) -> Zone {
    if NAMES_OF_UTC.contains(&zone.name()) { Zone::utc() } else { zone }
}

/// The zone of a machine by its `TZ`, or else by the files in `/etc`, as other programs find it.
fn machine_zone(
    setting: Option<&str>,
    read_link: impl Fn(&Path) -> io::Result<PathBuf>,
    read_name: impl Fn() -> io::Result<String>,
) -> Result<Zone, String> {
    let path = match setting.map(|it| it.strip_prefix(':').unwrap_or(it)) {
        Some("") => return Ok(Zone::utc()),
        Some(name) if !name.starts_with('/') => {
            let unknown = || format!("TZ is {}, which is not an IANA name", quoted(name));
            return Zone::find(name).ok_or_else(unknown);
        }
        Some(path) => Path::new(path),
        None => Path::new(LOCALTIME),
    };
    if let Some(zone) = in_path(path) {
        return Ok(zone);
    }
    let path_text = path.display();
    match read_link(path) {
        Ok(target) => in_path(&target).ok_or_else(|| {
            format!("{path_text} links to {}, which is not an IANA name", target.display())
        }),
        // A machine without this link is in UTC.
        Err(error) if error.kind() == io::ErrorKind::NotFound && cfg!(unix) => Ok(Zone::utc()),
        Err(error) => {
            let name = read_name().ok().filter(|_| setting.is_none());
            let zone = name.and_then(|name| Zone::find(name.trim()));
            zone.ok_or_else(|| format!("failed to read the link {path_text}: {error}"))
        }
    }
}

/// The zone whose name ends a path, as in `/usr/share/zoneinfo/Europe/Berlin`.
fn in_path(path: &Path) -> Option<Zone> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    (1..=PARTS.min(parts.len()))
        .rev()
        .find_map(|count| Zone::find(&parts[parts.len() - count..].join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked(setting: Option<&str>, target: &str) -> Result<String, String> {
        let link = |_: &Path| Ok(PathBuf::from(target));
        machine_zone(setting, link, || Ok(String::new())).map(|zone| zone.name().to_owned())
    }

    fn without_link(kind: io::ErrorKind, name: &str) -> Result<String, String> {
        let link = |_: &Path| Err(kind.into());
        machine_zone(None, link, || Ok(name.to_owned())).map(|zone| zone.name().to_owned())
    }

    #[test]
    fn a_machine_has_the_zone_of_its_variable_or_of_its_link() {
        let berlin = "/usr/share/zoneinfo/Europe/Berlin";
        for (setting, expected) in [
            (None, "Europe/Berlin"),
            (Some("Asia/Tokyo"), "Asia/Tokyo"),
            (Some(":Asia/Tokyo"), "Asia/Tokyo"),
            (Some(""), "UTC"),
            (Some("/usr/share/zoneinfo/Asia/Tokyo"), "Asia/Tokyo"),
            (Some(":/etc/localtime"), "Europe/Berlin"),
        ] {
            assert_eq!(linked(setting, berlin).as_deref(), Ok(expected), "{setting:?}");
        }
        let longest = "/var/db/timezone/zoneinfo/America/Argentina/Buenos_Aires";
        assert_eq!(linked(None, longest).as_deref(), Ok("America/Argentina/Buenos_Aires"));
        assert_eq!(linked(None, "../usr/share/zoneinfo/posix/UTC").as_deref(), Ok("UTC"));
    }

    #[test]
    fn a_machine_without_a_link_has_the_zone_that_a_file_names_or_utc() {
        assert_eq!(without_link(io::ErrorKind::NotFound, "").as_deref(), Ok("UTC"));
        let copied = without_link(io::ErrorKind::InvalidInput, "Europe/Paris\n");
        assert_eq!(copied.as_deref(), Ok("Europe/Paris"));
    }

    #[test]
    fn utc_has_one_name() {
        for name in NAMES_OF_UTC {
            assert_eq!(named("--zone", name).unwrap(), Zone::utc(), "{name}");
        }
        assert_eq!(named("--zone", "Europe/London").unwrap().name(), "Europe/London");
    }

    #[test]
    fn an_unknown_zone_of_the_machine_is_an_error_with_the_reason() {
        let rule = linked(Some("CET-1CEST"), "").unwrap_err();
        assert_eq!(rule, "TZ is `CET-1CEST`, which is not an IANA name");
        let elsewhere = linked(None, "/mnt/localtime").unwrap_err();
        assert!(elsewhere.contains("links to /mnt/localtime"), "{elsewhere}");
        let copied = without_link(io::ErrorKind::InvalidInput, "Mars/Olympus").unwrap_err();
        assert!(copied.starts_with("failed to read the link /etc/localtime"), "{copied}");
    }
}
