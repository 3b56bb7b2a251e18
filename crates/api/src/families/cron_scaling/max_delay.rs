//! The maximum delay of a missed firing.
//!
//! The delay stays below the shortest time between two firings, so that a firing ends before the next firing is due.

use almanac_calendar::Firings;
use jiff::SignedDuration;

use crate::finding::{Code, Finding, Path};
use crate::objects::CronFederatedHPARule;

/// The default maximum delay of a missed firing.
const USUAL_SECONDS: u32 = 300;

/// Returns the effective maximum delay of a rule.
pub(super) fn check_max_delay(
    rule: &CronFederatedHPARule,
    firings: Option<&Firings>,
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> u32 {
    let field = path.key("maxDelaySeconds");
    if let Some(written) = rule.max_delay_seconds.filter(|written| *written < 1) {
        let why = "must be greater than or equal to 1";
        findings.push(Finding::invalid(Code::OutOfRange, &field, written, why));
        return USUAL_SECONDS;
    }
    let written = rule.max_delay_seconds.and_then(|written| u32::try_from(written).ok());
    // No two firings are closer than a minute, so a shorter delay need not be compared with the
    // calendar.
    if let Some(written) = written.filter(|written| *written < 60) {
        return written;
    }
    let desired = written.unwrap_or(USUAL_SECONDS);
    let limit = SignedDuration::from_secs(i64::from(desired));
    let closest = firings.and_then(|firings| firings.closest_within(limit));
    let Some(interval) = closest.and_then(|interval| u32::try_from(interval.as_secs()).ok()) else {
        return desired;
    };
    if let Some(written) = rule.max_delay_seconds {
        let why = format!(
            "must be smaller than {interval}, the shortest time between two firings of this rule"
        );
        findings.push(
            Finding::invalid(Code::MaxDelay, &field, written, &why)
                .with_fix(format!("write {} or less", interval - 1)),
        );
        return desired;
    }
    interval - 1
}
