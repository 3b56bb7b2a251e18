//! A thousand concurrent pods: several schedulers filter and bind at the same time, and three units accept a hundred
//! pods each.
//!
//! Schedulers that filtered before others were bound learn at the binding that a unit is full, and filter again.

use std::sync::Arc;
use std::time::Duration;

use almanac_engine::Identity;
use almanac_engine::units::{
    BindOutcome, Elapsed, FilterOutcome, Ledger, Node, NodeId, Pod, ReservationId, Verdict,
};
use almanac_fixtures::trials;
use fastrand::Rng;

use super::again;
use crate::support::{
    LEASE, LONGEST_BIND, at, node, pod, pod_name, policy_name, required, second, unit,
};

const PODS: usize = 1_000;
const NODES: usize = 30;
const UNITS: [&str; 3] = ["a", "b", "c"];

struct Herd {
    rng: Rng,
    ledger: Ledger,
    now: Elapsed,
    nodes: Vec<(Arc<str>, NodeId)>,
    /// Pods that no scheduler handles at the moment.
    pending: Vec<(Identity, Arc<str>)>,
    /// The decisions: pod, UID, node.
    decided: Vec<(Identity, Arc<str>, Arc<str>)>,
    /// The requests sent to the API server.
    posted: Vec<(Identity, Arc<str>, Arc<str>, ReservationId)>,
    bound: Vec<(Identity, Arc<str>)>,
    refused: usize,
}

impl Herd {
    fn new(seed: u64) -> Herd {
        let mut ledger = Ledger::alone();
        let units: Vec<_> = (0..)
            .zip(UNITS)
            .map(|(place, name)| unit(name, 3 - place, 100, &format!("unit={name}")))
            .collect();
        ledger.set_policy(&policy_name("p"), required(units), None);
        let nodes = (0..NODES).map(|number| {
            let name: Arc<str> = format!("node-{number}").into();
            ledger.set_node(&name, &node_of(number));
            let id = ledger.node(&name).unwrap();
            (name, id)
        });
        let nodes = nodes.collect();
        let pending = (0..PODS).map(|number| {
            (pod_name(&format!("pod-{number:03}")), Arc::from(format!("uid-{number}")))
        });
        let pending: Vec<(Identity, Arc<str>)> = pending.collect();
        for (name, uid) in &pending {
            ledger.set_pod(name, &Pod { uid: Some(Arc::clone(uid)), ..pod("app=a") });
        }
        Herd {
            rng: Rng::with_seed(seed),
            ledger,
            now: at(0),
            nodes,
            pending,
            decided: Vec::new(),
            posted: Vec::new(),
            bound: Vec::new(),
            refused: 0,
        }
    }

    fn stampede(mut self) -> (usize, usize, Vec<usize>) {
        let candidates: Vec<NodeId> = self.nodes.iter().map(|(_, id)| *id).collect();
        while self.bound.len() < 300 {
            self.now = self.now + Duration::from_millis(1);
            match self.rng.u8(..3) {
                0 => self.decide(&candidates),
                1 => self.reserve(),
                _ => self.settle(),
            }
        }
        // The remaining pods find every unit full.
        for (name, uid) in std::mem::take(&mut self.pending) {
            let outcome = self.ledger.filter(&name, Some(&uid), &candidates, self.now, LEASE);
            let FilterOutcome::ByNode(verdicts) = outcome else { panic!("{outcome:?}") };
            assert!(candidates.iter().all(|node| verdicts.get(Some(*node)) == Verdict::Full));
        }
        let in_unit = |place: usize| {
            let nodes = self.nodes.iter().enumerate().filter(|(number, _)| number % 3 == place);
            let names: Vec<&Arc<str>> = nodes.map(|(_, (name, _))| name).collect();
            self.bound.iter().filter(|(_, node)| names.contains(&node)).count()
        };
        (self.bound.len(), self.refused, (0..3).map(in_unit).collect())
    }

    fn decide(&mut self, candidates: &[NodeId]) {
        if self.pending.is_empty() {
            return;
        }
        let place = self.rng.usize(..self.pending.len());
        let (name, uid) = self.pending.swap_remove(place);
        // Some schedulers send requests without a lease, as after its expiry.
        let lease = if self.rng.bool() { LEASE } else { Duration::ZERO };
        let outcome = self.ledger.filter(&name, Some(&uid), candidates, self.now, lease);
        let FilterOutcome::ByNode(verdicts) = outcome else {
            panic!("{name} is not ruled on by node")
        };
        let chosen: Vec<&Arc<str>> = self
            .nodes
            .iter()
            .filter(|(_, id)| verdicts.get(Some(*id)) == Verdict::Chosen)
            .map(|(name, _)| name)
            .collect();
        match self.rng.choice(chosen) {
            Some(node) => self.decided.push((name, uid, Arc::clone(node))),
            None => self.pending.push((name, uid)),
        }
    }

    fn reserve(&mut self) {
        if self.decided.is_empty() {
            return;
        }
        let place = self.rng.usize(..self.decided.len());
        let (name, uid, node) = self.decided.swap_remove(place);
        let read = Pod { uid: Some(Arc::clone(&uid)), ..pod("app=a") };
        let number: usize = node.strip_prefix("node-").unwrap().parse().unwrap();
        let found = node_of(number);
        let reserved = self.ledger.reserve((&name, &read), (&node, &found), self.now, LONGEST_BIND);
        if let Ok(id) = reserved {
            self.ledger.confirm(id, self.now, LONGEST_BIND).unwrap();
            self.posted.push((name, uid, node, id));
        } else {
            self.refused += 1;
            self.pending.push((name, uid));
        }
    }

    fn settle(&mut self) {
        if self.posted.is_empty() {
            return;
        }
        let place = self.rng.usize(..self.posted.len());
        let (name, uid, node, id) = self.posted.swap_remove(place);
        if self.rng.u8(..20) == 0 {
            self.ledger.settle(id, BindOutcome::Failed);
            self.pending.push((name, uid));
            return;
        }
        self.ledger.settle(id, BindOutcome::Posted);
        // The watch may be late: then the reservation counts.
        if self.rng.bool() {
            let bound = Some(second(0));
            let node = Some(Arc::clone(&node));
            self.ledger.set_pod(&name, &Pod { uid: Some(uid), node, bound, ..pod("app=a") });
        }
        self.bound.push((name, node));
    }
}

fn node_of(number: usize) -> Node {
    node(&format!("unit={}", UNITS[number % 3]))
}

#[test]
fn a_thousand_concurrent_pods_fill_three_units_exactly() {
    let name = "a_thousand_concurrent_pods_fill_three_units_exactly";
    let first = trials::seed(name);
    let mut refused = 0;
    for herd in 0..trials::size("ALMANAC_UNITS_HERDS", 1_000, 10_000) {
        let seed = first.wrapping_add(herd);
        let (bound, refusals, units) = Herd::new(seed).stampede();
        let again = again("ALMANAC_UNITS_HERDS=1", seed, name);
        assert_eq!((bound, &units[..]), (300, &[100; 3][..]), "{again}");
        refused += refusals;
    }
    assert!(refused > 0, "no two schedulers ever met");
}
