//! The CPU time of processes.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::figures::count;

/// Processes by name, with the CPU time they had used at the time of the snapshot.
pub(crate) struct Processes {
    began: Instant,
    processes: Vec<(&'static str, u32, Duration)>,
}

impl Processes {
    pub(crate) fn look(processes: &[(&'static str, u32)]) -> Result<Self> {
        let look = |(name, id): &(&'static str, u32)| Ok((*name, *id, processor_time(*id)?));
        let processes: Result<Vec<_>> = processes.iter().map(look).collect();
        Ok(Self { began: Instant::now(), processes: processes? })
    }

    /// The time since the snapshot.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The CPU time of each process since the snapshot.
    pub(crate) fn used(&self) -> Result<Vec<(&'static str, Duration)>> {
        let used = |(name, id, before): &(&'static str, u32, Duration)| {
            Ok((*name, processor_time(*id)?.saturating_sub(*before)))
        };
        self.processes.iter().map(used).collect()
    }

    /// A line with the CPU time of each process since the snapshot, and the share of all CPUs.
    pub(crate) fn line(&self) -> Result<String> {
        let elapsed = self.elapsed().as_secs_f64();
        let processors = count(std::thread::available_parallelism()?.get());
        let used = self.used()?.into_iter().map(|(name, time)| {
            let time = time.as_secs_f64();
            format!("{name} {time:.1} s ({:.0} %)", 100.0 * time / elapsed / processors)
        });
        let used: Vec<_> = used.collect();
        Ok(format!("{} of {elapsed:.1} s on {processors} processors", used.join(", ")))
    }
}

/// User and system time: the 14th and 15th field of its `stat`.
fn processor_time(id: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
    let (_, after_name) = stat.rsplit_once(')').context("no name in stat")?;
    let mut ticks = 0;
    for field in after_name.split_ascii_whitespace().skip(11).take(2) {
        ticks += field.parse::<u64>()?;
    }
    Ok(Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second()))
}
