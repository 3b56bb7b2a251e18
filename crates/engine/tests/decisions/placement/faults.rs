//! Proof that the checker can fail: decisions with one fault each, and the check that must catch
//! each of them.

use std::sync::Arc;

use almanac_checker::{Fault, check_placement, prove};
use almanac_engine::placement::{Decision, Input, PlacementDecision, decide, gather};
use almanac_engine::{Action, Identity};
use almanac_fixtures::placements::placement_name;
use jiff::Timestamp;

use super::properties::case;
use crate::support::NANOSECOND;
use crate::support::property::{fail, failures};

type Spoil = fn(&Input<'_>, Timestamp, &mut Decision);

fn object(input: &Input<'_>, name: &str) -> Identity {
    Identity::new(input.identity.group(), "PlacementDecision", input.identity.namespace(), name)
}

const FAULTS: [Fault<Spoil>; 23] = [
    ("select a cluster twice", "is selected twice", |_, _, it| {
        it.clusters.extend(it.clusters.first().cloned());
    }),
    ("select an unknown cluster", "is selected, but may not be", |_, _, it| {
        it.clusters.push("unknown".into());
    }),
    ("select a cluster that may not be", "is selected, but may not be", |input, _, it| {
        it.clusters = input.candidates.iter().map(|it| Arc::clone(it.name)).collect();
    }),
    ("select one cluster less", "clusters are selected, and", |_, _, it| drop(it.clusters.pop())),
    ("select a cluster of a lower rank", "comes before it", |input, _, it| {
        let mut others = input.candidates.iter().filter(|other| !it.clusters.contains(other.name));
        if let (Some(other), Some(last)) = (others.next_back(), it.clusters.last_mut()) {
            *last = Arc::clone(other.name);
        }
    }),
    ("report no addition", "as added and removed", |_, _, it| it.added.clear()),
    ("report no removal", "as added and removed", |_, _, it| it.removed.clear()),
    ("put all clusters into one group", "the groups are", |_, _, it| {
        if let [first, others @ ..] = &mut it.groups[..] {
            for other in others {
                first.clusters.append(&mut other.clusters);
            }
        }
    }),
    ("divide clusters otherwise", "the groups are", |_, _, it| {
        it.groups.iter_mut().for_each(|group| group.clusters.reverse());
    }),
    ("name groups otherwise", "the groups are", |_, _, it| {
        it.groups.iter_mut().for_each(|group| group.name = "other".into());
    }),
    ("give a group two decisions", "clusters are in 2 decisions", |_, _, it| {
        it.groups.iter_mut().for_each(|group| group.decisions.push("other".into()));
    }),
    ("leave a cluster out of all groups", "the groups are", |_, _, it| {
        it.groups.iter_mut().for_each(|group| drop(group.clusters.pop()));
    }),
    ("number decisions from two", "not numbered from one", |_, _, it| {
        it.groups[0].decisions[0] = "web-decision-2".into();
    }),
    ("write 101 clusters", "has 101 clusters", |_, _, it| {
        for action in &mut it.actions {
            if let Action::WriteDecision { content, .. } = action {
                content.clusters = (0..101).map(|number| format!("c{number}").into()).collect();
            }
        }
    }),
    ("write twice", "is written as it is", |_, _, it| {
        it.actions =
            it.actions.iter().flat_map(|action| [action.clone(), action.clone()]).collect();
    }),
    ("remove what is not there", "is not there", |input, _, it| {
        it.actions.push(Action::RemoveDecision { decision: object(input, "other") });
    }),
    ("publish a number", "is not for a placement", |input, _, it| {
        it.actions.push(Action::Publish { schedule: input.identity.clone(), value: 1 });
    }),
    ("empty a decision before others are written", "is missing after", |input, _, it| {
        for decision in input.decisions.keys() {
            let (decision, content) = ((*decision).clone(), Box::<PlacementDecision>::default());
            it.actions.insert(0, Action::WriteDecision { decision, content });
        }
    }),
    ("write nothing", "comes of it instead of", |_, _, it| it.actions.clear()),
    ("wake now", "which is over", |_, now, it| it.wake_at = Some(now)),
    ("wake when nothing ends", "when nothing ends", |_, now, it| {
        it.wake_at = Some(now + NANOSECOND);
    }),
    ("sleep past a score", "when a score of", |_, _, it| {
        it.wake_at = it.wake_at.map(|at| at + NANOSECOND);
    }),
    ("never wake", "which may be selected changes", |_, _, it| it.wake_at = None),
];

#[test]
fn every_fault_is_caught_by_its_check() {
    prove(&["placement.rs"], &FAULTS, |spoil| {
        let spoil = *spoil;
        failures(500, case(), move |case| {
            let world = case.world(false);
            let input = gather(world.view(), &placement_name("web").identity).unwrap();
            let mut decision = decide(&input, case.now);
            spoil(&input, case.now, &mut decision);
            let violations = check_placement(&input, case.now, &decision);
            if violations.is_empty() { Ok(()) } else { Err(fail(violations.to_string())) }
        })
    });
}
