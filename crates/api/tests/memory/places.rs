//! The work of checking the files of many clusters is linear in the number of files.
//!
//! As with reading, the work is counted in bytes that are allocated.

use std::path::PathBuf;

use almanac_api::checking::{CheckContext, Layout, check_everything};
use almanac_api::reading::{Folder, Reading, Source, read_objects};
use jiff::Timestamp;

use crate::{ALLOCATOR, alone};

/// A policy and its target in each of `count` directories.
fn clusters(count: usize) -> Reading {
    let policy = "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\n\
                  metadata: {name: hours}\nspec:\n  \
                  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}\n  \
                  rules:\n  - {name: open, schedule: \"0 8 * * *\", targetReplicas: 3}\n";
    let target = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\n\
                  spec: {replicas: 2}\n";
    let mut reading = Reading::default();
    for number in 0..count {
        let folder = PathBuf::from(format!("clusters/c{number}/apps/shop"));
        for (name, text) in [("hours.yaml", policy), ("shop.yaml", target)] {
            let source = Source::new(folder.join(name).display().to_string(), text);
            read_objects(&mut reading, source.in_folder(Folder::from_path(&folder)).discovered());
        }
    }
    reading
}

/// The bytes that are allocated to check these clusters.
fn work(clusters: &Reading, count: usize) -> usize {
    let before = ALLOCATOR.stats().bytes_allocated;
    let context = CheckContext::new("default", Timestamp::UNIX_EPOCH);
    let everything = check_everything(clusters, context, &Layout::default());
    let allocated = ALLOCATOR.stats().bytes_allocated - before;
    assert_eq!((everything.places.count(), everything.findings.len()), (count, 0));
    allocated
}

#[test]
fn checking_many_places_is_linear_in_the_number_of_files() {
    let _alone = alone();
    // Creates the values that the first check creates once per process.
    work(&clusters(10), 10);
    let (small, large) = (work(&clusters(100), 100), work(&clusters(400), 400));
    assert!(large < 6 * small, "100 places take {small} bytes, 400 take {large}");
}
