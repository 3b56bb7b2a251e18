//! When time alone could next change what cron rules want.

use almanac_engine::cron_scaling::{CronScaling, Memory};
use jiff::{SignedDuration, Timestamp};

/// The first instant after another one at which a rule fires, is tried again or becomes too late.
pub(crate) fn first_occasion(
    policy: &CronScaling,
    memory: &Memory,
    after: Timestamp,
) -> Option<Timestamp> {
    let mut occasions = Vec::new();
    for (rule, memory) in policy.rules.iter().zip(&memory.rules) {
        if !rule.suspended {
            occasions.extend(rule.firings.next(after.max(memory.handled)));
        }
        if let Some(pending) = &memory.pending {
            let delay = SignedDuration::from_secs(i64::from(rule.max_delay_seconds));
            let too_late = delay + SignedDuration::from_nanos(1);
            occasions.extend(pending.at.checked_add(too_late).ok());
            occasions.extend(pending.applying.is_none().then_some(pending.retry_at));
        }
    }
    occasions.into_iter().filter(|at| *at > after).min()
}
