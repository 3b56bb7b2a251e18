//! Measures the time to read and check 10,000 objects in 1,000 files, on one core, and the peak of the memory.
//!
//! Not measured with criterion: the subject is one run of a new process, with cold caches of its own. The benchmark
//! prints the figures of the first run, followed by the best of five.

#![allow(
    missing_docs,
    clippy::expect_used,
    reason = "a benchmark has no readers of its documentation, and fails by panicking"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use almanac_api::checking::{CheckContext, CheckedReading, Layout, check_everything};
use almanac_api::reading::{Reading, Source, read_objects};
use almanac_benches::generated_objects;
use jiff::Timestamp;

const FILES: usize = 1_000;
const OBJECTS_A_FILE: usize = 10;

fn main() {
    let folder = tempfile::tempdir().expect("create a directory");
    let folder = folder.path();
    let bytes = generated_objects::write(folder, FILES, OBJECTS_A_FILE).expect("write the files");
    let before = peak_memory();
    let first = read_and_check(folder);
    let peak = peak_memory();
    let best = (0..5).map(|_| read_and_check(folder).0).min().expect("five runs have a minimum");
    let (total, reading, checking) = first;
    println!("{FILES} files, {} objects, {:.1} MB", FILES * OBJECTS_A_FILE, megabytes(bytes));
    println!(
        "read and checked in {total:.2?} (read {reading:.2?}, checked {checking:.2?}); best of five {best:.2?}"
    );
    match (before, peak) {
        (Some(before), Some(peak)) => {
            println!(
                "peak memory {:.0} MB, of which {:.0} MB before reading",
                megabytes(peak),
                megabytes(before)
            );
        }
        _ => println!("peak memory is not known on this system"),
    }
}

fn read_and_check(folder: &Path) -> (Duration, Duration, Duration) {
    let begun = Instant::now();
    let mut reading = Reading::default();
    for entry in std::fs::read_dir(folder).expect("list the directory") {
        let path = entry.expect("list the directory").path();
        let bytes = std::fs::read(&path).expect("read the file");
        read_objects(&mut reading, Source::from_bytes(path.display().to_string(), bytes));
    }
    let read = begun.elapsed();
    let now = Timestamp::constant(1_767_571_200, 0);
    let context = CheckContext::new("default", now);
    let CheckedReading { objects: checked, findings, .. } =
        check_everything(&reading, context, &Layout::default());
    let total = begun.elapsed();
    assert_eq!(
        (checked.len(), findings.len()),
        (FILES * OBJECTS_A_FILE, 0),
        "{:?}",
        findings.first()
    );
    assert!(checked.iter().all(|object| object.slim.is_some() || object.scales.is_some()));
    (total, read, total.saturating_sub(read))
}

/// The peak memory of this process in bytes, where the system reports it.
fn peak_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[expect(clippy::cast_precision_loss, reason = "for printing")]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}
