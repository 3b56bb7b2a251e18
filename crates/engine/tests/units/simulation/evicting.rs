//! Pods that evict others, with several schedulers and late watch events. The evictions do not exceed the caps, the
//! best unit comes first, and no pod stays nominated for a full unit.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use almanac_engine::units::{BindOutcome, Pod, Verdict};
use almanac_fixtures::trials;
use fastrand::Rng;

use super::again;
use crate::support::{Scene, on, pod, prefer, unit};

const NODES: usize = 12;
const PODS: usize = 30;
/// The caps of the units `a` and `b`, in the order of their priority.
const CAPS: [u32; 2] = [4, 3];

/// Each node has capacity for one pod, and a pod without a policy uses it at first.
struct Eviction {
    rng: Rng,
    scene: Scene,
    occupied: BTreeMap<String, String>,
    /// The nominated node of each pod.
    nominated: BTreeMap<String, String>,
    pending: BTreeSet<String>,
    /// Watch events of pods that the ledger has not received yet.
    events: Vec<(String, Option<Pod>)>,
    /// The number of evicted pods in each unit.
    evicted: BTreeMap<String, u32>,
}

fn unit_of(node: &str) -> &str {
    node.split_once('-').unwrap().0
}

impl Eviction {
    fn new(seed: u64) -> Eviction {
        let units = [unit("a", 2, CAPS[0], "unit=a"), unit("b", 1, CAPS[1], "unit=b")];
        let mut scene = Scene::new(prefer(units), &[]);
        let mut occupied = BTreeMap::new();
        for number in 0..NODES {
            let of = ["a", "b"][number % 2];
            let node = format!("{of}-{number}");
            scene.set_node(&node, &format!("unit={of}"));
            scene.fill(&node, 1, &pod("app=z"));
            occupied.insert(node.clone(), format!("{node}-0"));
        }
        let pending: BTreeSet<String> = (0..PODS).map(|number| format!("pod-{number}")).collect();
        for name in &pending {
            scene.set_pod(name, &pod("app=a"));
        }
        let rng = Rng::with_seed(seed);
        let (nominated, events, evicted) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        Eviction { rng, scene, occupied, nominated, pending, events, evicted }
    }

    fn step(&mut self) -> Result<(), String> {
        self.scene.now = self.scene.now + Duration::from_millis(10);
        if self.rng.bool() && !self.events.is_empty() {
            // The events of one pod stay in order.
            let (name, known) = self.events.remove(0);
            match known {
                Some(known) => self.scene.set_pod(&name, &known),
                None => self.scene.remove_pod(&name),
            }
            return Ok(());
        }
        let Some(name) = self.rng.choice(self.pending.iter()).cloned() else { return Ok(()) };
        let nominations: Vec<&String> =
            self.nominated.iter().filter(|(pod, _)| **pod != name).map(|(_, node)| node).collect();
        let nodes: Vec<String> =
            (0..NODES).map(|number| format!("{}-{number}", ["a", "b"][number % 2])).collect();
        let free = nodes.iter().filter(|it| !self.occupied.contains_key(*it));
        let free: Vec<&str> =
            free.filter(|it| !nominations.contains(it)).map(String::as_str).collect();
        let verdicts = self.scene.filter(&name, &free)?;
        let chosen = free.iter().zip(verdicts).filter(|(_, it)| *it == Verdict::Chosen);
        let chosen: Vec<String> = chosen.map(|(node, _)| (*node).to_owned()).collect();
        let chosen = self.rng.choice(chosen);
        match chosen {
            Some(node) => self.bind(&name, &node),
            None => self.evict(&name),
        }
    }

    fn bind(&mut self, name: &str, node: &str) -> Result<(), String> {
        let Ok(id) = self.scene.reserve(name, node) else { return Ok(()) };
        self.scene.confirm(id).map_err(|why| why.to_string())?;
        self.scene.ledger.settle(id, BindOutcome::Posted);
        self.pending.remove(name);
        self.nominated.remove(name);
        self.occupied.insert(node.to_owned(), name.to_owned());
        self.events.push((name.to_owned(), Some(on(node, pod("app=a")))));
        Ok(())
    }

    fn evict(&mut self, name: &str) -> Result<(), String> {
        // A scheduler waits for the victims of a pod that is nominated.
        if self.nominated.contains_key(name) {
            return Ok(());
        }
        let others = self.occupied.iter().filter(|(_, pod)| !pod.starts_with("pod-"));
        let others: Vec<(String, String)> =
            others.map(|(node, pod)| (node.clone(), pod.clone())).collect();
        let victims: Vec<(&str, Vec<&str>)> =
            others.iter().map(|(node, pod)| (&**node, vec![&**pod])).collect();
        let kept = self.scene.preempt(name, &victims);
        let Some(node) = self.rng.choice(kept) else { return Ok(()) };
        let victim = self.occupied.remove(&node).unwrap();
        let of = unit_of(&node).to_owned();
        if of == "b" && self.evicted.get("a") != Some(&CAPS[0]) {
            return Err(format!("{name} evicts {victim} although the better unit has places"));
        }
        *self.evicted.entry(of).or_default() += 1;
        self.nominated.insert(name.to_owned(), node.clone());
        let shown = Pod { nominated: Some((&*node).into()), ..pod("app=a") };
        self.events.push((name.to_owned(), Some(shown)));
        self.events.push((victim, None));
        Ok(())
    }
}

#[test]
fn no_more_pods_are_evicted_than_caps_allow() {
    let name = "no_more_pods_are_evicted_than_caps_allow";
    let first = trials::seed(name);
    for number in 0..trials::size("ALMANAC_UNITS_EVICTIONS", 100_u64, 2_000) {
        let seed = first.wrapping_add(number);
        let mut life = Eviction::new(seed);
        let again = again("ALMANAC_UNITS_EVICTIONS=1", seed, name);
        for _ in 0..3_000 {
            life.step().unwrap_or_else(|why| panic!("{why}\n{again}"));
        }
        let evicted: Vec<u32> = life.evicted.into_values().collect();
        assert_eq!(evicted, CAPS, "{again}");
        assert_eq!(life.pending.len(), PODS - 7, "{again}");
        assert!(life.nominated.is_empty(), "{:?}\n{again}", life.nominated);
        assert_eq!(life.scene.counts("p").0, CAPS, "{again}");
    }
}
