//! A world of pods that follow a `ConfigMap`, and its turns, each checked.

use std::sync::Arc;

use almanac_checker::check_qos_levels;
use almanac_engine::qos_levels::{
    LevelFormat, Levels, Node, Pod, QosAnnotations, QosLevels, QosPolicy, Recorded, gather,
};
use almanac_engine::turn::{self, Turn};
use almanac_engine::{
    Identity, Outcome, PolicyName, PolicyObject, Reach, Recorded as AnyRecorded, Slim, World,
};
use almanac_fixtures::levels::{config_map, labels, levels, pod, pod_name};
use jiff::Timestamp;

use crate::support::{decision_of, monday};

/// The `ConfigMap` that takes precedence if both exist.
pub(crate) const FIRST: &str = "volcano-agent-config";
pub(crate) const SECOND: &str = "volcano-agent-configuration";

/// A cluster with an agent.
pub(crate) struct Cluster {
    pub(crate) world: World,
}

impl Cluster {
    pub(crate) fn new(policies: impl IntoIterator<Item = QosPolicy>) -> Cluster {
        let mut cluster = Cluster { world: World::default() };
        cluster.set(policies);
        cluster
    }

    /// Replaces the policies of all nodes.
    pub(crate) fn set(&mut self, policies: impl IntoIterator<Item = QosPolicy>) {
        self.configure(FIRST, levels(policies));
    }

    pub(crate) fn configure(&mut self, name: &str, levels: QosLevels) {
        self.world.upsert(config_map(name).identity, Slim::QosLevels(PolicyObject::new(levels)));
    }

    /// Deletes a `ConfigMap`; the shell inserts an empty one for an absent one.
    pub(crate) fn delete_config(&mut self, name: &str) {
        self.world.remove_policy(&config_map(name));
        if self.world.qos_levels.policies.is_empty() {
            self.configure(FIRST, QosLevels::none());
        }
    }

    /// The process restarts. Only the state of the cluster remains.
    pub(crate) fn restart(&mut self, written: QosLevels) {
        self.world.remove_policy(&config_map(FIRST));
        self.configure(FIRST, written);
    }

    pub(crate) fn with(mut self, name: &str, labels: &str, level: Option<&str>) -> Cluster {
        self.add(name, pod(labels, level));
        self
    }

    pub(crate) fn add(&mut self, name: &str, pod: Pod) {
        self.world.upsert(pod_name(name), Slim::Pod(pod));
    }

    pub(crate) fn add_node(&mut self, name: &str, of_labels: &str) {
        let node = Node { labels: labels(of_labels) };
        self.world.upsert(Identity::new("", "Node", "", name), Slim::Node(node));
    }

    pub(crate) fn pod(&mut self, name: &str) -> &mut Pod {
        self.world.objects.pods.get_mut(&pod_name(name)).unwrap()
    }

    pub(crate) fn format(&mut self, format: LevelFormat) {
        self.world.qos_levels.extra.level_format = format;
    }

    /// The user of a pod writes its level, or removes it.
    pub(crate) fn edit(&mut self, name: &str, level: Option<&str>) {
        let annotations =
            QosAnnotations { level: level.map(Arc::from), ..self.pod(name).annotations() };
        self.pod(name).annotate(&annotations);
    }

    /// `level original policy applied`, with `-` for each absent annotation.
    pub(crate) fn shows(&mut self, name: &str) -> String {
        let QosAnnotations { level, original, policy, applied } = self.pod(name).annotations();
        let shown = [level, original, policy, applied].map(|text| match text.as_deref() {
            None => "-".to_owned(),
            Some("") => "''".to_owned(),
            Some(text) => text.to_owned(),
        });
        shown.join(" ")
    }

    /// Runs one turn on Monday, in which all actions are applied.
    pub(crate) fn turn(&mut self, time: &str) -> Turn {
        self.turn_at(monday(time))
    }

    pub(crate) fn turn_at(&mut self, now: Timestamp) -> Turn {
        self.turn_of(&config_map(FIRST), now, World::apply).unwrap()
    }

    /// Runs one turn whose writes have these outcomes; `None` without a decision.
    pub(crate) fn turn_of(
        &mut self,
        config: &PolicyName,
        now: Timestamp,
        mut write: impl FnMut(&mut World, &almanac_engine::Action) -> Outcome,
    ) -> Option<Turn> {
        let open = turn::open(&self.world, config, &Reach::everything(), now)?;
        let input = gather(self.world.view(), &config.identity).unwrap();
        check_qos_levels(&input, now, decision_of::<Levels>(&open)).stop();
        let actions = open.actions().to_vec();
        let outcomes: Vec<Outcome> = actions.iter().map(|it| write(&mut self.world, it)).collect();
        let is_done = outcomes.iter().all(Outcome::is_as_wanted);
        let turn = open.close(&mut self.world, outcomes, now);
        if is_done {
            let again = turn::open(&self.world, config, &Reach::everything(), now).unwrap();
            assert_eq!(again.actions(), [], "whatever was done leaves nothing to do");
        }
        Some(turn)
    }
}

/// The records, each as `pod: ended > begun, from > to`.
pub(crate) fn recorded(turn: &Turn) -> Vec<String> {
    let shown = |text: &Option<Arc<str>>| text.as_deref().unwrap_or("-").to_owned();
    let line = |it: &AnyRecorded| {
        let AnyRecorded::QosLevels(Recorded { pod, ended, begun, from, to, .. }) = it else {
            panic!("{it:?}")
        };
        let [ended, begun, from, to] = [ended, begun, from, to].map(shown);
        format!("{}: {ended} > {begun}, {from} > {to}", pod.name())
    };
    turn.recorded.iter().map(line).collect()
}
