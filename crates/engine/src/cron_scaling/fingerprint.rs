//! The fingerprint of a rule: how it is composed, and how it is read from a status, in every version.
//!
//! Statuses outlive releases. A rule whose fingerprint differs from the stored one is a new rule, so a change here can
//! make every rule of a cluster new at an upgrade. `crates/api/tests/objects/statuses/fingerprints.txt` has
//! fingerprints as releases have stored them; its lines are never changed or removed.
//!
//! A version is a list of parts in this order. No part is moved, removed or rewritten:
//!
//! | version | as stored | parts |
//! |---|---|---|
//! | 1 | `0123456789abcdef` | group, kind, namespace and name of the target; schedule as written; zone; replicas; minimum; maximum; `suspended`. A part that the rule does not set is empty. |
//!
//! - **To add a field** that changes what a rule sets or when it fires, append a part `name=value`. Leave the part out
//!   if the field is absent or has its default. Then all existing rules keep their parts, and so their fingerprints.
//!   Add lines to the golden file for rules that set it.
//! - **To remove a field**, leave its part, empty.
//! - **To change what a part means**, add a version: a row above, stored as `v2:0123456789abcdef`. Compare a stored
//!   fingerprint with that of its own version, and write the new version only when the rule is next written.
//!
//! `almanac-api` determines the stored string and its field in a status.

use almanac_calendar::Zone;

use super::DesiredScale;
use crate::{Fingerprint, Identity};

/// The content and the schedule of a rule: all inputs of the fingerprint.
#[derive(Clone, Copy, Debug)]
pub struct RuleContent<'a> {
    /// The object that the rule changes.
    pub target: &'a Identity,
    /// The expression as written.
    pub schedule: &'a str,
    /// The time zone of the schedule.
    pub zone: Zone,
    /// The value that each firing sets.
    pub desired: DesiredScale,
    /// Whether the rule is suspended.
    pub suspended: bool,
}

impl RuleContent<'_> {
    /// The fingerprint in the version that is written.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let number = |value: Option<u32>| value.map(|value| value.to_string()).unwrap_or_default();
        let [replicas, min, max] = match self.desired {
            DesiredScale::Replicas(replicas) => [Some(replicas), None, None],
            DesiredScale::Bounds(bounds) => [None, bounds.min(), bounds.max()],
        }
        .map(number);
        Fingerprint::from_parts([
            self.target.group(),
            self.target.kind(),
            self.target.namespace(),
            self.target.name(),
            self.schedule,
            self.zone.name(),
            &replicas,
            &min,
            &max,
            if self.suspended { "suspended" } else { "" },
        ])
    }
}

/// Reads a stored fingerprint. A fingerprint of an earlier version counts as `now`, the fingerprint of the current
/// rule. `None` if the string is malformed.
///
/// A fingerprint in a version that this release does not support cannot be compared, so the rule is assumed to be
/// unchanged: a release must never make an old rule a new one.
#[must_use]
pub fn stored_fingerprint(text: &str, now: Fingerprint) -> Option<Fingerprint> {
    text.parse().ok().or_else(|| {
        let (version, digits) = text.strip_prefix('v')?.split_once(':')?;
        let is_whole = version.parse::<u32>().is_ok() && digits.parse::<Fingerprint>().is_ok();
        is_whole.then_some(now)
    })
}
