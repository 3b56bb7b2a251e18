//! Semantic versions, as Kubernetes reads and orders them.

use std::borrow::Cow;
use std::cmp::Ordering;

/// A version, without its build metadata, which has no part in the order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Version {
    pub(crate) major: u64,
    pub(crate) minor: u64,
    pub(crate) patch: u64,
    pre: Vec<Identifier>,
}

/// A part of what comes before a release, such as `rc` and `1` of `-rc.1`. Numbers come before text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Identifier {
    Number(u64),
    Text(String),
}

impl Version {
    /// A version in full; `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Version> {
        let mut parts = text.splitn(3, '.');
        Version::from_parts(parts.next()?, parts.next()?, parts.next()?, number)
    }

    /// A version that may begin with a `v`, have leading zeros, and lack the last numbers.
    pub(crate) fn parse_leniently(text: &str) -> Option<Version> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts = text.splitn(3, '.');
        let (major, minor, rest) = (parts.next()?, parts.next(), parts.next());
        let rest = rest.unwrap_or("0");
        let is_without_patch = rest.len() > 1 && rest.starts_with(['+', '-']);
        let rest = if is_without_patch { format!("0{rest}").into() } else { Cow::Borrowed(rest) };
        Version::from_parts(major, minor.unwrap_or("0"), &rest, lenient_number)
    }

    /// A version by its parts, given how numbers are read.
    fn from_parts(
        major: &str,
        minor: &str,
        rest: &str,
        number: fn(&str) -> Option<u64>,
    ) -> Option<Version> {
        let (rest, build) = split_at(rest, '+');
        let (patch, pre) = split_at(rest, '-');
        let is_build = |part: &str| !part.is_empty() && part.bytes().all(is_of_identifier);
        if !build.is_none_or(|build| build.split('.').all(is_build)) {
            return None;
        }
        let pre: Option<Vec<_>> =
            pre.into_iter().flat_map(|pre| pre.split('.').map(identifier)).collect();
        Some(Version {
            major: number(major)?,
            minor: number(minor)?,
            patch: number(patch)?,
            pre: pre?,
        })
    }
}

impl Version {
    /// The steps to go through it.
    pub(crate) fn steps(&self) -> usize {
        let of_identifier = |identifier: &Identifier| match identifier {
            Identifier::Number(_) => 1,
            Identifier::Text(text) => 1 + text.len() / 16,
        };
        self.pre.iter().map(of_identifier).sum::<usize>() / 4
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Version) -> Ordering {
        let numbers = |it: &Version| (it.major, it.minor, it.patch);
        let by_pre = || match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            _ => self.pre.cmp(&other.pre),
        };
        numbers(self).cmp(&numbers(other)).then_with(by_pre)
    }
}

fn split_at(text: &str, separator: char) -> (&str, Option<&str>) {
    text.split_once(separator).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn is_of_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn number(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && (text == "0" || !text.starts_with('0'))).then(|| text.parse().ok())?
}

fn identifier(text: &str) -> Option<Identifier> {
    if text.is_empty() || !text.bytes().all(is_of_identifier) {
        return None;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return number(text).map(Identifier::Number);
    }
    Some(Identifier::Text(text.to_owned()))
}

fn lenient_number(text: &str) -> Option<u64> {
    match text.trim_start_matches('0') {
        "" if !text.is_empty() => Some(0),
        digits => number(digits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_the_order_of_semantic_versioning() {
        let ordered = [
            "0.9.0",
            "1.0.0-1",
            "1.0.0-2",
            "1.0.0-10",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-beta",
            "1.0.0",
            "1.0.10",
            "1.30.0",
        ];
        let parsed: Vec<Version> = ordered.iter().filter_map(|it| Version::parse(it)).collect();
        assert_eq!(parsed.len(), ordered.len());
        assert!(parsed.is_sorted_by(|one, next| one < next));
        assert_eq!(Version::parse("1.0.0+one"), Version::parse("1.0.0+two"));
    }

    #[test]
    fn a_version_has_three_numbers_without_leading_zeros_unless_it_is_read_leniently() {
        for bad in
            ["", "1", "1.2", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "v1.2.3", "1.2.x", "1.2.3.4"]
        {
            assert_eq!(Version::parse(bad), None, "{bad}");
        }
        for (lenient, full) in [
            ("v1.30", "1.30.0"),
            ("1", "1.0.0"),
            ("01.002.3", "1.2.3"),
            ("v00.0.000", "0.0.0"),
            ("1.2.-rc", "1.2.0-rc"),
            ("1.2.00+b", "1.2.0"),
        ] {
            assert_eq!(Version::parse_leniently(lenient), Version::parse(full), "{lenient}");
        }
        for bad in
            ["", "v", "1.2-rc.1", "1+b", "vv1.2.3", "1..2", "1.2.", "1.2.-", "1.2.0x", "1.2.x-rc"]
        {
            assert_eq!(Version::parse_leniently(bad), None, "{bad}");
        }
        let prerelease = Version::parse_leniently("v1.30.1-rc.1+build.5");
        assert_eq!(prerelease, Version::parse("1.30.1-rc.1"));
    }
}
