//! Decisions of a placement that ranks by `Balance` after a different placement has selected other clusters.

use almanac_engine::placement::PrioritizerMode;
use almanac_engine::{Agenda, Influences, Outcome, PolicyName, World, turn};
use almanac_fixtures::placements::{
    add_cluster, add_placement, cluster, hub, placement, placement_name,
};
use jiff::{SignedDuration, Timestamp};

use crate::support::monday;

/// Runs all turns up to an instant; returns the instants of a placement's writes.
fn writes(world: &mut World, until: Timestamp) -> Vec<(Timestamp, PolicyName)> {
    let mut agenda = Agenda::default();
    let names: Vec<PolicyName> = world.policies().collect();
    for name in names {
        agenda.set(&name, Some(monday("12:00")));
    }
    let mut influences = Influences::default();
    let mut writes = Vec::new();
    while let Some((at, name)) = agenda.first().filter(|(at, _)| *at <= until) {
        let name = name.clone();
        let turn = turn::take(world, &name, at).unwrap();
        agenda.set(&name, turn.wake_at);
        if turn.done.iter().any(|(_, outcome)| *outcome == Outcome::Done) {
            for (other, due) in influences.after_write(world, &name, at) {
                agenda.bring_forward(&other, due);
            }
            writes.push((at, name));
        }
    }
    writes
}

/// Placements of one of two clusters each, by `Balance` alone, with these weights.
fn world(weights: &[(&str, i64)]) -> World {
    let mut world = hub();
    for name in ["east", "west"] {
        add_cluster(&mut world, name, cluster(""));
    }
    for (name, weight) in weights {
        let spec = placement(Some(1), PrioritizerMode::Exact, &[("Balance", *weight)]);
        add_placement(&mut world, name, spec);
    }
    world
}

#[test]
fn balancing_placements_become_stable_immediately() {
    let mut world = world(&[("a", 1), ("b", 1), ("c", 1), ("d", 1)]);
    let writes = writes(&mut world, monday("23:00"));
    assert!(writes.iter().all(|(at, _)| *at == monday("12:00")), "{writes:?}");
}

#[test]
fn two_unstable_placements_decide_twenty_times_and_then_every_five_minutes() {
    // One placement selects the clusters of the other, and the other avoids these clusters.
    let mut world = world(&[("avoids", 1), ("follows", -1)]);
    let writes = writes(&mut world, monday("13:00"));
    let of = |name: &str| -> Vec<Timestamp> {
        let of = writes.iter().filter(|(_, it)| *it == placement_name(name));
        of.map(|(at, _)| *at).collect()
    };
    for name in ["avoids", "follows"] {
        let all = of(name);
        let at_once = all.iter().filter(|at| **at == monday("12:00")).count();
        assert!((19..=20).contains(&at_once), "{name}: {at_once}");
        let later = &all[at_once..];
        let five_minutes = SignedDuration::from_mins(5);
        let gaps = later.windows(2).map(|two| two[1].duration_since(two[0]));
        assert!(later.len() >= 10 && gaps.into_iter().all(|it| it >= five_minutes), "{later:?}");
    }
}
