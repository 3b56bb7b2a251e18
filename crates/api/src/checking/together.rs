//! Checks objects against each other: an object defined twice, and two writers of one target. One of the writers may
//! belong to another project.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use almanac_engine::cron_scaling::CronScaling;
use almanac_engine::{Family, Identity, Slim, Target};

use super::object::CheckedObject;
use crate::finding::{Code, FieldPath, Finding, Path};

/// Checks the objects of one cluster against each other. Each object has a number, and each finding has the number of
/// its object. `place` returns the location of an object for findings about another object, or an empty string if the
/// name suffices.
pub fn check_together<'a>(
    objects: impl IntoIterator<Item = (usize, &'a CheckedObject)>,
    place: impl Fn(usize) -> String,
) -> Vec<(usize, Finding)> {
    let mut findings: Vec<(usize, Finding)> = Vec::new();
    let mut first_of: BTreeMap<&Identity, usize> = BTreeMap::new();
    let mut writers: BTreeMap<&Identity, Vec<(usize, &Identity)>> = BTreeMap::new();
    let mut exempt: BTreeSet<&Identity> = BTreeSet::new();
    for (index, object) in objects {
        let Some(identity) = &object.identity else { continue };
        if let Some(&first) = first_of.get(identity) {
            findings.push((index, defined_twice(identity, &place(first))));
            continue;
        }
        first_of.insert(identity, index);
        exempt.extend(Some(identity).filter(|_| object.is_marked));
        // Cron rules with the same target do not conflict as long as they fire at different times, but nothing ensures
        // that.
        if let Some(target) = sole_target(object) {
            writers.entry(target.identity()).or_default().push((index, identity));
        }
    }
    for (target, writers) in writers.iter().filter(|(target, _)| !exempt.contains(*target)) {
        let Some((&(first, writer), others)) = writers.split_first() else { continue };
        for &(other, _) in others {
            let finding = two_writers(target, writer, &place(first))
                .with_fix("scale the target with only one of them");
            findings.push((other, finding.with_other(writer.clone())));
        }
    }
    findings
}

/// Checks the objects of one cluster against the scalers of other projects in that cluster. `writers` maps a target to
/// the name and the location of its scaler.
pub(super) fn check_against_foreign<'a>(
    objects: impl IntoIterator<Item = (usize, &'a CheckedObject)>,
    writers: &BTreeMap<Identity, (String, String)>,
) -> Vec<(usize, Finding)> {
    let ours = objects.into_iter().filter(|(_, object)| object.kind.is_ours());
    let finding = |(index, object): (usize, &CheckedObject)| {
        let target = sole_target(object)?.identity();
        let (writer, place) = writers.get(target)?;
        let finding = two_writers(target, writer, place).with_fix(foreign_fix(object));
        Some((index, finding))
    };
    ours.filter_map(finding).collect()
}

/// The target that no other object may scale as well. An exempt or suspended object scales nothing.
fn sole_target(object: &CheckedObject) -> Option<&Target> {
    let shares = object.kind.family().is_some_and(Family::shares_targets);
    let policy = match &object.slim {
        Some(Slim::CronScaling(it)) => it.policy.as_deref(),
        _ => None,
    };
    let is_suspended = policy.is_some_and(CronScaling::is_suspended);
    object.scales.as_ref().filter(|_| !shares && !object.is_marked && !is_suspended)
}

/// The fix for an object whose target another project scales. Only cron rules can set the bounds of the target's
/// autoscaler.
fn foreign_fix(object: &CheckedObject) -> &'static str {
    match object.kind.family() {
        Some(Family::CronScaling) => {
            "scale the target with only one of them; cron rules can set the bounds of an autoscaler instead"
        }
        _ => "scale the target with only one of them",
    }
}

/// The finding about an object with the name of an earlier object, whose location is `first`.
pub(super) fn defined_twice(identity: &Identity, first: &str) -> Finding {
    let message = format!("{identity} is defined twice, first at {first}");
    Finding::new(Code::DuplicateObject, FieldPath::default(), message)
        .with_fix("remove one of them, or rename it")
}

/// A location as a part of a sentence; empty without a location.
pub(super) fn at(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(", at {place}") }
}

fn two_writers(target: &Identity, writer: impl Display, place: &str) -> Finding {
    let spec = Path::Root.key("spec");
    let message = format!(
        "{target} is already scaled by {writer}{}; each undoes the other's work",
        at(place)
    );
    Finding::new(Code::TwoWriters, spec.key("scaleTargetRef"), message)
}
