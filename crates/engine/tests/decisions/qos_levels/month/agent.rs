//! The agent of the run: its view of the cluster, and its writes to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_checker::check_qos_levels;
use almanac_engine::qos_levels::{
    Decision, FollowingPod, Input, Levels, ListInForce, Node, NodeLists, PolicyList, QosLevels,
    decide, gather,
};
use almanac_engine::{Identity, Outcome, PolicyName, PolicyObject, Reach, Slim, World, turn};
use fastrand::Rng;
use jiff::Timestamp;

use super::cluster::{Cluster, Fails};

type Decide<'a> = Box<dyn Fn(&Input<'_>, Timestamp) -> Decision + 'a>;

/// The decisions and writes of the agent; sound, or with a fault.
pub(crate) struct Logic<'a> {
    pub(crate) decide: Decide<'a>,
    pub(crate) is_checked: bool,
    pub(crate) keeps_lists: bool,
    /// Whether a write is refused when the pod has changed since it was decided.
    pub(crate) is_guarded: bool,
}

impl Logic<'_> {
    pub(crate) fn sound() -> Logic<'static> {
        Logic { decide: Box::new(decide), is_checked: true, keeps_lists: true, is_guarded: true }
    }
}

/// The agent, with its view of the cluster.
pub(super) struct Agent<'a> {
    logic: &'a Logic<'a>,
    world: World,
    /// The version of each observed pod.
    seen: BTreeMap<Identity, u64>,
    /// The lists that the agent should have after its observations, each in its last good form.
    due: BTreeMap<Identity, QosLevels>,
    /// Whether the agent has observed that no `ConfigMap` exists.
    is_without: bool,
}

impl<'a> Agent<'a> {
    pub(super) fn new(logic: &'a Logic<'a>) -> Agent<'a> {
        let (seen, due) = (BTreeMap::new(), BTreeMap::new());
        Agent { logic, world: World::default(), seen, due, is_without: false }
    }

    /// Discards the whole state of the agent.
    pub(super) fn kill(&mut self) {
        *self = Agent::new(self.logic);
    }

    /// The lists as the agent should have them.
    pub(super) fn levels(&self) -> QosLevels {
        self.due.values().next().cloned().unwrap_or_else(QosLevels::none)
    }

    fn see(&mut self, cluster: &Cluster) {
        let due = cluster.configs.iter().map(|(name, levels)| {
            let levels = last_good(levels, self.due.get(name));
            (name.clone(), levels)
        });
        self.due = due.collect();
        let was_without = std::mem::replace(&mut self.is_without, cluster.configs.is_empty());
        if was_without || !self.logic.keeps_lists {
            self.world.qos_levels.policies.clear();
        }
        self.world.qos_levels.policies.retain(|name, _| cluster.configs.contains_key(name));
        let none = self.is_without.then(|| (super::cluster::first_config(), QosLevels::none()));
        for (name, levels) in cluster.configs.clone().into_iter().chain(none) {
            self.world.upsert(name, Slim::QosLevels(PolicyObject::new(levels)));
        }
        self.world.objects.pods.clear();
        self.seen.clear();
        for (name, (pod, version)) in &cluster.pods {
            self.world.objects.pods.insert(name.clone(), pod.clone());
            self.seen.insert(name.clone(), *version);
        }
        for (name, labels) in &cluster.nodes {
            self.world.objects.nodes.insert(Arc::clone(name), Node { labels: labels.clone() });
        }
    }

    /// One turn; returns its wake time. After a write that failed, the agent retries after the delay that the engine
    /// returns.
    pub(super) fn turn(
        &mut self,
        cluster: &mut Cluster,
        now: Timestamp,
        sees: bool,
        fails: Fails,
        rng: &mut Rng,
    ) -> Result<Option<Timestamp>, String> {
        if sees || self.world.qos_levels.policies.is_empty() {
            self.see(cluster);
        }
        let mut wake_at = None;
        let configs: Vec<PolicyName> = self.world.policies().collect();
        for config in configs {
            let reach = Reach::everything();
            let Some(mut open) = turn::open(&self.world, &config, &reach, now) else { continue };
            let input = gather(self.world.view(), &config.identity).unwrap();
            let decision = (self.logic.decide)(&input, now);
            if self.logic.is_checked {
                let violations = check_qos_levels(&input, now, &decision);
                if !violations.is_empty() {
                    return Err(format!("the decision breaks a rule:\n{violations}"));
                }
            }
            let opened = open.decision_mut().get_mut::<Levels>().unwrap();
            opened.decision = decision;
            let mut outcomes: Vec<Outcome> = Vec::new();
            for action in open.actions() {
                let pod = &self.world.objects.pods[action.target()];
                if cluster.list_of(&self.levels(), pod).is_none() {
                    let pod = action.target();
                    return Err(format!("{pod} is written, though its list is unknown"));
                }
                let version = self.seen.get(action.target()).copied();
                let version = version.filter(|_| self.logic.is_guarded);
                let outcome = cluster.write(action, version, fails, rng);
                if outcome == Outcome::Done {
                    self.world.apply(action);
                    let version = cluster.pods.get(action.target()).map(|(_, version)| *version);
                    self.seen.extend(version.map(|version| (action.target().clone(), version)));
                }
                outcomes.push(outcome);
            }
            wake_at = open.close(&mut self.world, outcomes, now).wake_at;
        }
        Ok(wake_at)
    }
}

/// Lists, each in its last usable form.
fn last_good(levels: &QosLevels, before: Option<&QosLevels>) -> QosLevels {
    let mut due = levels.clone();
    let Some(before) = before else { return due };
    if due.global == PolicyList::Unusable {
        due.global = before.global.clone();
    }
    let (NodeLists::Known(entries), NodeLists::Known(known)) = (&mut due.nodes, &before.nodes)
    else {
        if due.nodes == NodeLists::Unusable {
            due.nodes = before.nodes.clone();
        }
        return due;
    };
    for (position, entry) in entries.iter_mut().enumerate() {
        if entry.selector.is_none() {
            if let Some(there) = known.get(position) {
                *entry = there.clone();
            }
        } else if entry.list == PolicyList::Unusable
            && let Some(same) = known.iter().find(|it| it.selector == entry.selector)
        {
            entry.list = same.list.clone();
        }
    }
    due
}

/// The input with different lists.
pub(crate) fn refollowed<'a>(input: &Input<'a>, levels: &'a QosLevels) -> Input<'a> {
    let list = |following: &FollowingPod<'a>| match following.list {
        ListInForce::Known(entry, _) => {
            let list = levels.lists().find(|(known, _)| *known == entry);
            ListInForce::Known(entry, list.map_or(&[], |(_, list)| list))
        }
        unknown => unknown,
    };
    let pods = input.pods.iter().map(|it| FollowingPod { list: list(it), ..*it }).collect();
    Input {
        identity: input.identity,
        policy: levels,
        format: input.format,
        pods,
        is_about_all: true,
    }
}

/// The input with unusable lists treated as empty.
pub(crate) fn taken_for_empty<'a>(input: &Input<'a>) -> Input<'a> {
    let list = |following: &FollowingPod<'a>| match following.list {
        ListInForce::Unusable => ListInForce::Known(None, &[]),
        other => other,
    };
    let pods = input.pods.iter().map(|it| FollowingPod { list: list(it), ..*it }).collect();
    Input { pods, ..input.clone() }
}
