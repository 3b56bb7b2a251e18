//! The version of this program, and the resources that its process uses.
//!
//! The names are those of the Prometheus client libraries, so that dashboards recognize them. The figures are
//! for Linux. On other systems they are absent, as are unreadable figures.

use std::fs;
use std::str::FromStr;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

/// Registers the metrics.
pub fn register(registry: &mut Registry) {
    let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
    registry.register("almanac_build", "Version of this program", version);
    registry.register_collector(Box::new(ProcessFigures { started_at: started_at() }));
}

/// The figures of this process, taken at the scrape.
#[derive(Debug)]
struct ProcessFigures {
    /// The time of the boot: constant, and expensive to read on large machines.
    started_at: Option<f64>,
}

impl Collector for ProcessFigures {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let mut add = |name: &str, help: &str, metric: &dyn EncodeMetric| {
            metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
        };
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        if let Some(seconds) = processor_seconds(&stat) {
            let help = "Total user and system CPU time, in seconds";
            add("process_cpu_seconds", help, &ConstCounter::new(seconds))?;
        }
        if let Some(bytes) = resident_bytes(&stat) {
            let help = "Resident memory, in bytes";
            add("process_resident_memory_bytes", help, &ConstGauge::new(bytes))?;
        }
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            // One descriptor is that of the directory listing itself.
            let open = i64::try_from(open.count().saturating_sub(1)).unwrap_or(i64::MAX);
            add("process_open_fds", "Open file descriptors", &ConstGauge::new(open))?;
        }
        let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        if let Some(most) = most_files(&limits) {
            let help = "Maximum number of open file descriptors";
            add("process_max_fds", help, &ConstGauge::new(most))?;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let tasks = i64::try_from(runtime.metrics().num_alive_tasks()).unwrap_or(i64::MAX);
            let help = "Tasks of the process: watches, turns, writes and connections";
            add("almanac_tasks", help, &ConstGauge::new(tasks))?;
        }
        if let Some(at) = self.started_at {
            let help = "Start time of this process, in seconds since the epoch";
            add("process_start_time_seconds", help, &ConstGauge::new(at))?;
        }
        Ok(())
    }
}

/// A field of `/proc/self/stat`, by its number in the manual. The second field is the name of the
/// program, which may contain anything but ends with the last parenthesis.
fn field<Number: FromStr>(stat: &str, number: usize) -> Option<Number> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

fn processor_seconds(stat: &str) -> Option<f64> {
    let ticks = field::<u32>(stat, 14)?.checked_add(field(stat, 15)?)?;
    Some(f64::from(ticks) / ticks_a_second()?)
}

fn resident_bytes(stat: &str) -> Option<i64> {
    let page = i64::try_from(rustix::param::page_size()).ok()?;
    field::<i64>(stat, 24)?.checked_mul(page)
}

fn ticks_a_second() -> Option<f64> {
    let ticks = u32::try_from(rustix::param::clock_ticks_per_second()).ok()?;
    (ticks > 0).then_some(f64::from(ticks))
}

fn started_at() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let machine = fs::read_to_string("/proc/stat").ok()?;
    let booted: f64 = machine.lines().find_map(|line| line.strip_prefix("btime "))?.parse().ok()?;
    Some(booted + field::<f64>(&stat, 22)? / ticks_a_second()?)
}

/// The soft limit, which is the first number; `None` for `unlimited`.
fn most_files(limits: &str) -> Option<i64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    /// The text of a scrape of the registered metrics.
    pub(crate) fn exported(register: impl FnOnce(&mut Registry)) -> String {
        let (mut registry, mut text) = (Registry::default(), String::new());
        register(&mut registry);
        encode(&mut text, &registry).expect("encode the metrics");
        text
    }

    #[test]
    fn the_version_is_exported() {
        let line = concat!("almanac_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1");
        let text = exported(register);
        assert!(text.lines().any(|it| it == line), "{text}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn resource_usage_is_exported_under_the_conventional_names() {
        let text = exported(register);
        let value = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().expect("a number")
        };
        let now = jiff::Timestamp::now().as_duration().as_secs_f64();
        let age = now - value("process_start_time_seconds");
        assert!((-5.0..86400.0).contains(&age), "{age} s old");
        assert!(value("process_resident_memory_bytes") > 100_000.0);
        assert!(value("process_cpu_seconds_total") >= 0.0);
        let open = value("process_open_fds");
        assert!(open >= 1.0 && open < value("process_max_fds"), "{open}");
    }

    #[test]
    fn a_program_may_have_any_name() {
        let stat = "7 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 2 0 900 4096 25 1";
        assert_eq!(processor_seconds(stat), ticks_a_second().map(|ticks| 200.0 / ticks));
        assert_eq!(field(stat, 22), Some(900_u32));
        assert_eq!(field(stat, 24), Some(25_u32));
        assert_eq!(field::<u32>("", 24), None);
    }
}
