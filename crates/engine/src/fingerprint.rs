//! A short, stable hash of a string. A later process recognizes by it whether the string is unchanged.
//!
//! The status of objects stores it, so it must not change between releases, machines or processes. It protects against
//! mistakes, not against malice. The modules that compose the input define it: `cron_scaling/fingerprint.rs` for a
//! rule, and the binary for findings in SARIF and events in calendars.

use std::fmt;
use std::str::FromStr;

/// Sixteen hexadecimal digits that represent an object as written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint of a list of strings. `["ab", "c"]` and `["a", "bc"]` differ.
    #[must_use]
    pub fn from_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        // FNV-1a, 64 bits: simple enough to stay the same forever. Each part is closed with a byte
        // that occurs in no UTF-8 text.
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0100_0000_01b3;
        let mut hash = OFFSET;
        for part in parts {
            for byte in part.bytes().chain([0xff]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
            }
        }
        Self(hash)
    }

    /// The fingerprint of an empty list, which represents an absent value.
    #[must_use]
    pub fn empty() -> Self {
        Self::from_parts(std::iter::empty())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The string is not the sixteen lower-case hexadecimal digits of a [`Fingerprint`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotAFingerprint;

impl FromStr for Fingerprint {
    type Err = NotAFingerprint;

    fn from_str(text: &str) -> Result<Self, NotAFingerprint> {
        let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if text.len() != 16 || !digits {
            return Err(NotAFingerprint);
        }
        u64::from_str_radix(text, 16).map(Self).map_err(|_| NotAFingerprint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_never_changes_between_releases() {
        assert_eq!(Fingerprint::from_parts(["0 8 * * *", "UTC"]).to_string(), "934f7ed3cedef691");
    }

    #[test]
    fn the_boundaries_between_parts_matter() {
        assert_ne!(Fingerprint::from_parts(["ab", "c"]), Fingerprint::from_parts(["a", "bc"]));
        assert_ne!(Fingerprint::from_parts(["a", ""]), Fingerprint::from_parts(["a"]));
    }

    #[test]
    fn a_printed_fingerprint_reads_back_and_anything_else_is_rejected() {
        let fingerprint = Fingerprint::from_parts(["x"]);
        assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
        for mangled in ["", "12", "+123456789abcdef", "0123456789ABCDEF", "0123456789abcdef0"] {
            assert_eq!(mangled.parse::<Fingerprint>(), Err(NotAFingerprint), "{mangled:?}");
        }
    }
}
