//! A case: a zone, a year and a schedule on one line, sufficient to run the case again.

use std::fmt;
use std::str::FromStr;

use almanac_oracle::{Schedule, zone_names};

/// The variable that makes the comparison run one case alone.
pub(crate) const CASE: &str = "ALMANAC_ORACLE_CASE";

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) zone: String,
    pub(crate) year: i64,
    pub(crate) schedule: Schedule,
}

impl Case {
    /// A command that runs this case alone.
    pub(crate) fn rerun(&self) -> String {
        // No schedule of ours has a single quote in it, so the shell does not change the line.
        format!("{CASE}='{self}' cargo test -p almanac-oracle --test comparison every_zone")
    }

    /// A hash of the case, so that its instants are the same in every run.
    pub(crate) fn own_seed(&self) -> u64 {
        hash(&self.to_string())
    }
}

/// FNV-1a: stable over runs, machines and versions.
pub(crate) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.zone, self.year, self.schedule)
    }
}

impl FromStr for Case {
    type Err = String;

    fn from_str(line: &str) -> Result<Case, String> {
        let mut parts = line.splitn(3, ' ');
        let (Some(zone), Some(year), Some(schedule)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(format!("a case is \"ZONE YEAR SCHEDULE\", not \"{line}\""));
        };
        if !zone_names().contains(&zone) {
            return Err(format!("no zone is called \"{zone}\" in \"{line}\""));
        }
        let year = year.parse().map_err(|_| format!("no year in \"{line}\""))?;
        let schedule = schedule.parse().map_err(|error| format!("{error} in \"{line}\""))?;
        Ok(Case { zone: zone.to_owned(), year, schedule })
    }
}

/// The cases in a file: one on each line; `#` starts a comment.
pub(crate) fn cases_of(text: &str) -> Vec<Case> {
    text.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|line| line.parse().unwrap_or_else(|error| panic!("{error}")))
        .collect()
}
