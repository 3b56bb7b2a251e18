//! Random hubs, and their changes. Hubs are small or large, and unusual, but an API server would admit them.
//!
//! The hubs concentrate where mistakes are likely: a few instants at which all scores and tolerations expire, few names
//! and values so that they coincide, equal amounts in different notations, ties. Some placements have an invalid spec.

mod hub;
mod placement;

use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::Objects;
use crate::objects::{Key, key_of};

/// A hub, and its changes over time.
#[derive(Clone, Debug)]
pub struct Course {
    /// The initial objects.
    pub objects: Objects,
    /// The later steps.
    pub steps: Vec<Step>,
}

/// Some changes, followed by a turn of a placement.
#[derive(Clone, Debug)]
pub struct Step {
    /// The changes.
    pub changes: Vec<Change>,
    /// The namespace and name of the placement.
    pub placement: (String, String),
    /// The instant of its turn.
    pub now: Timestamp,
}

/// A change that users and other controllers make.
#[derive(Clone, Debug)]
pub enum Change {
    /// An object is created or replaced.
    Put(Value),
    /// An object is deleted.
    Remove(Key),
}

impl Change {
    /// Applies the change.
    pub fn make(&self, objects: &mut Objects) {
        match self {
            Change::Put(object) => objects.put(object.clone()),
            Change::Remove(key) => objects.remove(key),
        }
    }
}

/// The size of a random hub.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// A few clusters.
    Small,
    /// Some dozens of clusters, more than a decision can name, or up to 250.
    Large,
}

/// A random course with this seed.
#[must_use]
pub fn course(rng: &mut Rng, size: Size) -> Course {
    let count = match size {
        Size::Small => rng.usize(1..=8),
        Size::Large => match rng.u8(0..4) {
            0 => rng.usize(9..40),
            1 => rng.usize(95..106),
            _ => rng.usize(110..=250),
        },
    };
    let clusters = hub::names(rng, count);
    let mut objects = hub::sets(rng);
    objects.extend(clusters.iter().map(|name| hub::cluster(rng, name)));
    objects.extend(clusters.iter().flat_map(|name| hub::scores(rng, name)).collect::<Vec<_>>());
    let placements = placement::placements(rng, count);
    objects.extend(hub::earlier_decisions(rng, &placements, &clusters));
    objects.extend(placements.iter().cloned());
    rng.shuffle(&mut objects);
    let most = if size == Size::Small { 6 } else { 3 };
    let steps = (0..rng.usize(1..=most)).map(|_| {
        let happens = if rng.u8(0..3) == 0 { rng.usize(1..4) } else { 0 };
        let changes = (0..happens).map(|_| change(rng, &objects, &clusters, &placements)).collect();
        let (_, namespace, name) = key_of(pick(rng, &placements));
        let early =
            if percent(rng, 15) { SignedDuration::from_nanos(1) } else { SignedDuration::ZERO };
        Step { changes, placement: (namespace, name), now: instant(rng) - early }
    });
    let steps = steps.collect();
    Course { objects: Objects::new(objects), steps }
}

fn change(rng: &mut Rng, objects: &[Value], clusters: &[String], placements: &[Value]) -> Change {
    let cluster = pick(rng, clusters).clone();
    match rng.u8(0..10) {
        0..=3 => Change::Put(hub::cluster(rng, &cluster)),
        4 | 5 => match hub::scores(rng, &cluster).into_iter().next() {
            Some(scores) => Change::Put(scores),
            None => Change::Put(hub::cluster(rng, &cluster)),
        },
        6 => {
            let count = clusters.len();
            let place = key_of(pick(rng, placements));
            Change::Put(placement::placement(rng, count, &place.1, &place.2))
        }
        7 => match hub::earlier_decisions(rng, placements, clusters).pop() {
            Some(decision) => Change::Put(decision),
            None => Change::Put(hub::cluster(rng, &cluster)),
        },
        _ => match key_of(pick(rng, objects)) {
            (kind, ..) if kind == "Placement" => Change::Put(hub::cluster(rng, &cluster)),
            key => Change::Remove(key),
        },
    }
}

/// One of a few instants, near enough to each other that expiries coincide.
fn instant(rng: &mut Rng) -> Timestamp {
    const SECONDS: [i64; 12] = [-86_400, -3600, -60, -1, 0, 0, 1, 30, 60, 120, 3600, 86_400];
    // 2026-03-01T12:00:00Z
    let noon = Timestamp::from_second(1_772_366_400).unwrap_or(Timestamp::UNIX_EPOCH);
    noon + SignedDuration::from_secs(SECONDS[rng.usize(0..SECONDS.len())])
}

fn pick<'a, Item>(rng: &mut Rng, items: &'a [Item]) -> &'a Item {
    &items[rng.usize(0..items.len())]
}

/// `true` in `percent` of a hundred cases.
fn percent(rng: &mut Rng, percent: u8) -> bool {
    rng.u8(0..100) < percent
}
