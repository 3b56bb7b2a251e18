//! The versions of Kubernetes: the tested versions, the oldest versions that Almanac starts on, and the versions that
//! change a check. Documents and commands use these versions; a test compares them.

use std::fmt::{self, Display};
use std::str::FromStr;

/// A minor version of Kubernetes, such as `1.37`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubernetesMinor(u16);

impl KubernetesMinor {
    /// The versions that every release is tested on, the oldest first. Every test run uses the newest version.
    pub const TESTED: [Self; 3] = [Self(35), Self(36), Self(37)];

    /// The oldest version that the controllers, the webhook and the extender start on, without a promise.
    pub const OLDEST: Self = Self(33);

    /// The oldest version that the agent starts on, without a promise.
    pub const OLDEST_OF_AGENT: Self = Self(30);

    /// From this version on, an autoscaler accepts a lower bound of 0, if it has an object or external metric.
    pub const SCALES_TO_ZERO: Self = Self(37);

    /// The version in the `major` and `minor` of a server, such as `1` and `37+`.
    #[must_use]
    pub fn from_server(major: &str, minor: &str) -> Option<Self> {
        let digits = minor.trim_end_matches(|character: char| !character.is_ascii_digit());
        (major == "1").then(|| digits.parse().ok().map(Self)).flatten()
    }
}

impl Display for KubernetesMinor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "1.{}", self.0)
    }
}

impl FromStr for KubernetesMinor {
    type Err = String;

    /// Parses `1.37`, and ignores a patch version: `v1.37.2`.
    fn from_str(text: &str) -> Result<Self, String> {
        let version = text.strip_prefix('v').unwrap_or(text);
        let mut parts = version.split('.');
        let numbers = [parts.next(), parts.next(), parts.next().or(Some("0"))];
        let numbers = numbers
            .map(|part| part.filter(|it| it.bytes().all(|it| it.is_ascii_digit()))?.parse().ok());
        match (numbers, parts.next()) {
            ([Some(1_u16), Some(minor), Some(_)], None) => Ok(Self(minor)),
            _ => Err(format!(
                "{text:?} is not a version of Kubernetes; write it as {}",
                Self::TESTED[2]
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_with_or_without_its_patch_version() {
        for text in ["1.37", "v1.37", "1.37.2", "v1.37.0"] {
            assert_eq!(text.parse(), Ok(KubernetesMinor::SCALES_TO_ZERO), "{text}");
        }
        for text in ["", "1", "2.1", "1.x", "1.37.", "1.+7", "1.37.2.1", "1.99999999", "newest"] {
            let error = text.parse::<KubernetesMinor>().unwrap_err();
            assert!(error.ends_with("write it as 1.37"), "{error}");
        }
    }

    #[test]
    fn the_version_of_a_server_may_have_a_suffix() {
        let version = KubernetesMinor::from_server;
        assert_eq!(version("1", "37"), Some(KubernetesMinor::SCALES_TO_ZERO));
        assert_eq!(version("1", "33+"), Some(KubernetesMinor::OLDEST));
        assert_eq!(version("1", ""), None);
        assert_eq!(version("2", "37"), None);
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let nine: KubernetesMinor = "1.9".parse().unwrap();
        assert!(nine < KubernetesMinor::OLDEST_OF_AGENT);
        assert!(KubernetesMinor::OLDEST < KubernetesMinor::TESTED[0]);
        assert_eq!(KubernetesMinor::TESTED.map(|it| it.to_string()), ["1.35", "1.36", "1.37"]);
    }
}
