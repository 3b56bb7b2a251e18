//! Summaries of figures, and their output.

use std::time::Duration;

use anyhow::Result;

/// The share of `sorted` durations that took no longer than the result.
pub(crate) fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let last = sorted.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a length is a position in it"
    )]
    let position = ((last as f64) * share).round() as usize;
    sorted.get(position).copied().unwrap_or_default()
}

/// `p50 0.123 s, p99 0.456 s, last 0.789 s`.
pub(crate) fn spread(mut durations: Vec<Duration>) -> String {
    durations.sort_unstable();
    let at = |share| percentile(&durations, share).as_secs_f64();
    format!("p50 {:.2} s, p99 {:.2} s, last {:.2} s", at(0.5), at(0.99), at(1.0))
}

pub(crate) fn megabytes(bytes: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "it is printed with one digit")]
    let bytes = bytes as f64;
    bytes / 1_048_576.0
}

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "there are far fewer than 2^52")]
pub(crate) fn count(number: usize) -> f64 {
    number as f64
}

/// The load of the machine: the average number of runnable processes in the last minute.
pub(crate) fn load() -> Result<String> {
    let load = std::fs::read_to_string("/proc/loadavg")?;
    Ok(load.split(' ').next().unwrap_or_default().to_owned())
}
