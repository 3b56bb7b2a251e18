//! The findings about `CronJobs` over time. The reader of the files computes the instants at which a `CronJob` starts
//! Jobs.

use jiff::{SignedDuration, Timestamp};

use super::clock_changes::clock_change_finding;
use super::everything::CheckedReading;
use crate::finding::{Code, Finding, Span};
use crate::reading::{CronJob, PlacedFinding, Reading, Starts};

/// The period in which the next start is searched.
const TWO_YEARS: SignedDuration = SignedDuration::from_hours(24 * 366 * 2);

/// The findings about the `CronJobs` over time, except clock changes.
#[must_use]
pub fn cron_jobs_over_time(
    reading: &Reading,
    everything: &CheckedReading,
    from: Timestamp,
) -> Vec<PlacedFinding> {
    let of_job = |job| over_time(job, from).map(|(at, finding)| placed(job, at, finding));
    everything.cron_jobs(reading).flat_map(of_job).collect()
}

/// The effects of clock changes on the `CronJobs` in `[from, to)`. A `CronJob` with the same starts in every hour has
/// no effects: a skipped hour does not elapse.
pub(super) fn clock_changes<'a>(
    reading: &'a Reading,
    everything: &'a CheckedReading,
    (from, to): (Timestamp, Timestamp),
) -> impl Iterator<Item = PlacedFinding> + 'a {
    everything.cron_jobs(reading).filter_map(move |job| {
        let Starts::At(firings) = &job.starts else { return None };
        let effects: Vec<_> = firings.clock_effects(from, to).collect();
        let finding = clock_change_finding(firings.zone(), &effects, CronJob::schedule_field())?;
        (!job.is_suspended() && !job.is_hourly).then(|| placed(job, job.schedule_at, finding))
    })
}

fn over_time(job: &CronJob, from: Timestamp) -> impl Iterator<Item = (Span, Finding)> {
    let at_schedule = |code, message: String, fix| {
        let finding = Finding::new(code, CronJob::schedule_field(), message).with_fix(fix);
        (job.schedule_at, finding)
    };
    let suspended = job.suspended_at.map(|at| {
        let message = "starts nothing: it is suspended";
        let finding = Finding::new(Code::Suspended, CronJob::suspend_field(), message);
        (at, finding.with_fix("remove it if it is not needed any more"))
    });
    let firings = match &job.starts {
        Starts::At(firings) if !job.is_suspended() => Some(firings),
        Starts::At(_) | Starts::Every(_) | Starts::Never | Starts::Unusable => None,
    };
    let until = from.saturating_add(TWO_YEARS).unwrap_or(Timestamp::MAX);
    let never = firings.filter(|it| it.between(from, until).next().is_none()).map(|firings| {
        let last = firings.previous(from);
        let last = last.map_or(String::new(), |it| format!("; it last fired at {it}"));
        let fix = "correct the schedule, or remove it if its time is over";
        at_schedule(Code::NeverFires, format!("never fires within two years{last}"), fix)
    });
    let assumed = firings.filter(|_| !job.names_zone && !job.is_hourly).map(|firings| {
        let message = format!(
            "the CronJob names no timeZone, so it follows that of the kube-controller-manager, taken as {}",
            firings.zone()
        );
        let fix = "write the intended zone as timeZone, such as Etc/UTC";
        at_schedule(Code::AssumedZone, message, fix)
    });
    suspended.into_iter().chain(never).chain(assumed)
}

fn placed(job: &CronJob, at: Span, finding: Finding) -> PlacedFinding {
    PlacedFinding::new(job.source, Some(at), finding)
}
