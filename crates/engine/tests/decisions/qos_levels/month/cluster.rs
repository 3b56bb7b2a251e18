//! The cluster of the run: the true state, its changes, and the last level that each user wrote.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::qos_levels::{
    NodeLists, Pod, PolicyList, QosAnnotations, QosLevels, QosPolicy,
};
use almanac_engine::{Action, Identity, Labels, Outcome};
use almanac_fixtures::levels::{
    config_map, labels, level_policy_in, levels, list, pod_name, with_nodes,
};
use fastrand::Rng;
use jiff::Timestamp;

use crate::support::levels::{FIRST, SECOND};

/// The failures of writes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Fails {
    Never,
    Sometimes,
    Always,
}

impl Fails {
    pub(super) fn at_random(rng: &mut Rng) -> Fails {
        match rng.u8(..10) {
            0 => Fails::Always,
            1..5 => Fails::Sometimes,
            _ => Fails::Never,
        }
    }
}

pub(super) fn first_config() -> Identity {
    config_map(FIRST).identity
}

pub(super) struct Cluster {
    /// The current `ConfigMaps`.
    pub(super) configs: BTreeMap<Identity, QosLevels>,
    /// Each pod with its version.
    pub(super) pods: BTreeMap<Identity, (Pod, u64)>,
    pub(super) nodes: BTreeMap<Arc<str>, Labels>,
    /// Writes in progress, each with the version of its pod.
    pub(super) late: Vec<(Action, Option<u64>)>,
    /// The value that the user of each pod wrote last.
    words: BTreeMap<Identity, Option<Arc<str>>>,
    versions: u64,
    created: u64,
}

impl Cluster {
    pub(super) fn new(rng: &mut Rng) -> Cluster {
        let nodes = [("plain", ""), ("pool", "pool=x"), ("both", "pool=x,gpu=y")];
        let nodes = nodes.map(|(name, text)| (Arc::from(name), labels(text)));
        let mut cluster = Cluster {
            configs: BTreeMap::new(),
            pods: BTreeMap::new(),
            nodes: nodes.into_iter().collect(),
            late: Vec::new(),
            words: BTreeMap::new(),
            versions: 0,
            created: 0,
        };
        for _ in 0..8 {
            cluster.create_pod(rng);
        }
        cluster.configs.insert(first_config(), levels([]));
        cluster
    }

    /// A random change by a user.
    pub(super) fn change(&mut self, rng: &mut Rng) {
        match rng.u8(..40) {
            0..3 if self.pods.len() < 24 => self.create_pod(rng),
            3..5 if self.pods.len() > 4 => {
                let name = self.some_pod(rng);
                self.pods.remove(&name);
                self.words.remove(&name);
            }
            5..9 => {
                let name = self.some_pod(rng);
                let (of, version) = (some_labels(rng), self.next_version());
                let (pod, known) = self.pods.get_mut(&name).unwrap();
                (pod.labels, *known) = (of, version);
            }
            9..20 => self.edit(rng),
            20..22 => {
                let second = config_map(SECOND).identity;
                if self.configs.remove(&second).is_none() {
                    self.configs.insert(second, levels(some_policies(rng)));
                }
            }
            22 => drop(self.configs.remove(&first_config())),
            _ => {
                let before = self.configs.get(&first_config()).cloned();
                let before = before.unwrap_or_else(QosLevels::none);
                self.configs.insert(first_config(), changed(before, rng));
            }
        }
    }

    fn create_pod(&mut self, rng: &mut Rng) {
        self.created += 1;
        let name = pod_name(&format!("pod-{:04}", self.created));
        let word = some_level(rng);
        let nodes: Vec<&Arc<str>> = self.nodes.keys().collect();
        let node = rng.u8(..5) != 0;
        let node = node.then(|| Arc::clone(nodes[rng.usize(..nodes.len())]));
        let mut pod = Pod { labels: some_labels(rng), node, ..Pod::default() };
        pod.annotate(&QosAnnotations { level: word.clone(), ..QosAnnotations::default() });
        let version = self.next_version();
        self.pods.insert(name.clone(), (pod, version));
        self.words.insert(name, word);
    }

    /// The user of a pod writes its level, or removes it.
    fn edit(&mut self, rng: &mut Rng) {
        let name = self.some_pod(rng);
        let word = some_level(rng);
        let version = self.next_version();
        let (pod, known) = self.pods.get_mut(&name).unwrap();
        let annotations = pod.annotations();
        // Writing the value that a policy has set changes nothing, and cannot be distinguished from the policy's
        // write.
        let is_ours = annotations.applied.as_deref() == Some(word.as_deref().unwrap_or_default());
        if !is_ours {
            pod.annotate(&QosAnnotations { level: word.clone(), ..annotations });
            *known = version;
            self.words.insert(name, word);
        }
    }

    fn some_pod(&self, rng: &mut Rng) -> Identity {
        self.pods.keys().nth(rng.usize(..self.pods.len())).unwrap().clone()
    }

    fn next_version(&mut self) -> u64 {
        self.versions += 1;
        self.versions
    }

    /// Handles a write as an API server does.
    pub(super) fn write(
        &mut self,
        action: &Action,
        version: Option<u64>,
        fails: Fails,
        rng: &mut Rng,
    ) -> Outcome {
        let fault = match fails {
            Fails::Never => 9,
            Fails::Sometimes => rng.u8(..10),
            Fails::Always => rng.u8(..4),
        };
        match fault {
            0 => Outcome::Refused(Arc::from("service unavailable")),
            1 => Outcome::Unknown(Arc::from("timed out")),
            2 => {
                self.late.push((action.clone(), version));
                Outcome::Unknown(Arc::from("timed out"))
            }
            3 if fails == Fails::Always => Outcome::Withdrawn,
            3 => {
                self.carry_out(action, version);
                Outcome::Unknown(Arc::from("the answer was lost"))
            }
            _ => self.carry_out(action, version),
        }
    }

    fn carry_out(&mut self, action: &Action, version: Option<u64>) -> Outcome {
        let next = self.next_version();
        let Action::Annotate { pod, annotations } = action else { panic!("{action:?}") };
        let Some((pod, known)) = self.pods.get_mut(pod) else {
            return Outcome::Refused(Arc::from("not found"));
        };
        if version.is_some_and(|version| version != *known) {
            return Outcome::Conflict;
        }
        pod.annotate(annotations);
        *known = next;
        Outcome::Done
    }

    /// Delivers writes whose sender has stopped waiting.
    pub(super) fn land_late_writes(&mut self, rng: &mut Rng) {
        rng.shuffle(&mut self.late);
        for (action, version) in std::mem::take(&mut self.late) {
            self.carry_out(&action, version);
        }
    }

    pub(super) fn remove_all_policies(&mut self) {
        self.configs.clear();
    }

    /// Whether each pod has exactly the level that these lists define.
    pub(super) fn check(&self, levels: &QosLevels, now: Timestamp) -> Result<(), String> {
        for (name, (pod, _)) in &self.pods {
            let word = &self.words[name];
            let found = pod.annotations();
            let users = found.level_of_user();
            if users != *word {
                return Err(format!("{name} has lost the word of its user: {word:?} in {found:?}"));
            }
            let Some(list) = self.list_of(levels, pod) else { continue };
            let first = list.iter().find(|it| {
                it.is_enabled && it.windows.is_open(now) && it.selector.selects(&pod.labels)
            });
            let expected = match first {
                None => QosAnnotations { level: word.clone(), ..QosAnnotations::default() },
                Some(policy) => {
                    let level: Arc<str> = policy.target.to_string().into();
                    QosAnnotations {
                        level: Some(Arc::clone(&level)),
                        original: Some(word.clone().unwrap_or_default()),
                        policy: Some(Arc::clone(&policy.name)),
                        applied: Some(level),
                    }
                }
            };
            if found != expected {
                return Err(format!("{name} should be {expected:?}, and is {found:?}"));
            }
        }
        Ok(())
    }

    /// The list of a pod, as the design defines it; `None` while its content is unknown.
    pub(super) fn list_of<'a>(&self, levels: &'a QosLevels, pod: &Pod) -> Option<&'a [QosPolicy]> {
        let mut list = Some(&levels.global);
        if let Some(node) = &pod.node {
            let NodeLists::Known(entries) = &levels.nodes else { return None };
            for entry in entries {
                match &entry.selector {
                    None => list = None,
                    Some(selector) if selector.selects(&self.nodes[node]) => {
                        list = Some(&entry.list);
                    }
                    Some(_) => {}
                }
            }
        }
        match list? {
            PolicyList::Absent => Some(&[]),
            PolicyList::Known(policies) => Some(policies),
            PolicyList::Unusable => None,
        }
    }

    /// Whether each pod has exactly the level that its user wrote last.
    pub(super) fn check_words(&self) -> Result<(), String> {
        self.check(&QosLevels::none(), Timestamp::UNIX_EPOCH)
    }
}

/// A level that a user may write. It may be one that policies set, too.
fn some_level(rng: &mut Rng) -> Option<Arc<str>> {
    let levels = ["-1", "0", "1", "2", "LC", "BE", "rubbish"];
    let level = levels.get(rng.usize(..levels.len() + 3))?;
    Some(Arc::from(*level))
}

fn some_labels(rng: &mut Rng) -> Labels {
    labels(["app=batch", "app=web", "app=batch,tier=x", ""][rng.usize(..4)])
}

fn some_policy(name: &str, rng: &mut Rng) -> QosPolicy {
    let zone = ["UTC", "Europe/Berlin", "America/New_York"][rng.usize(..3)];
    // Half past two is in a gap or a fold at clock changes.
    let times = ["00:00", "01:30", "02:30", "03:00", "08:00", "12:00", "20:00", "23:45"];
    let start = times[rng.usize(..times.len())];
    let end = times[rng.usize(..times.len())];
    let end = if start == end { "24:00" } else { end };
    let start = if end == "24:00" { "00:00" } else { start };
    let selector = ["app=batch", "app=web", "tier", "app", "!tier"][rng.usize(..5)];
    let policy = level_policy_in(zone, name, start, end, selector, rng.i64(-1..=2));
    QosPolicy { is_enabled: rng.u8(..5) != 0, ..policy }
}

fn some_policies(rng: &mut Rng) -> Vec<QosPolicy> {
    (0..rng.usize(..4)).map(|number| some_policy(&format!("p{number}"), rng)).collect()
}

/// One edit of a `ConfigMap`.
fn changed(levels: QosLevels, rng: &mut Rng) -> QosLevels {
    match rng.u8(..20) {
        0 => QosLevels::unusable(),
        1 => QosLevels { global: PolicyList::Unusable, ..levels },
        2..6 => {
            let mut entries: Vec<(Option<&str>, PolicyList)> = Vec::new();
            for _ in 0..rng.usize(..3) {
                let selector = [Some("pool=x"), Some("gpu=y"), Some(""), None][rng.usize(..4)];
                let bad = rng.u8(..4) == 0;
                let of = if bad { PolicyList::Unusable } else { list(some_policies(rng)) };
                entries.push((selector, of));
            }
            with_nodes(levels, &entries)
        }
        _ => {
            let mut policies = match &levels.global {
                PolicyList::Known(policies) => policies.to_vec(),
                PolicyList::Absent | PolicyList::Unusable => Vec::new(),
            };
            edit_policies(&mut policies, rng);
            QosLevels { global: list(policies), ..levels }
        }
    }
}

fn edit_policies(policies: &mut Vec<QosPolicy>, rng: &mut Rng) {
    let position = if policies.is_empty() { None } else { Some(rng.usize(..policies.len())) };
    match (rng.u8(..6), position) {
        (0..2, _) | (_, None) if policies.len() < 6 => {
            let name = (0..).map(|number| format!("g{number}"));
            let mut free = name.filter(|name| !policies.iter().any(|it| *it.name == **name));
            let policy = some_policy(&free.next().unwrap(), rng);
            policies.insert(rng.usize(..=policies.len()), policy);
        }
        (2, Some(position)) => drop(policies.remove(position)),
        (3, Some(position)) => policies[position].is_enabled ^= true,
        (4, _) => rng.shuffle(policies),
        (_, Some(position)) => {
            let name = policies[position].name.to_string();
            policies[position] = some_policy(&name, rng);
        }
        (_, None) => {}
    }
}

/// Changes every usable list.
pub(crate) fn of_each_list(levels: &mut QosLevels, change: fn(&mut Vec<QosPolicy>)) {
    let of_list = |it: &mut PolicyList| {
        if let PolicyList::Known(policies) = it {
            let mut all = policies.to_vec();
            change(&mut all);
            *policies = all.into();
        }
    };
    of_list(&mut levels.global);
    if let NodeLists::Known(entries) = &mut levels.nodes {
        entries.iter_mut().for_each(|entry| of_list(&mut entry.list));
    }
}
