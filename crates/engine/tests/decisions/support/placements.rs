//! A world with clusters and placements, and its checked turns.

use std::sync::Arc;

use almanac_checker::check_placement;
use almanac_engine::placement::{Cluster, Decision, Placement, Placements, gather};
use almanac_engine::turn::{self, Turn};
use almanac_engine::{Action, Outcome, PolicyName, Reach, World};
use almanac_fixtures::placements::{
    add_cluster, add_placement, add_scores, cluster, hub, placement_name, scores,
};
use jiff::Timestamp;

use crate::support::{decision_of, monday};

/// A hub with one placement of interest.
pub(crate) struct Fleet {
    pub(crate) world: World,
}

impl Fleet {
    /// Clusters without labels or scores, and a placement.
    pub(crate) fn new(clusters: &[&str], placement: Placement) -> Fleet {
        let mut fleet = Fleet { world: hub() };
        for name in clusters {
            fleet = fleet.with(name, cluster(""));
        }
        fleet.set(placement);
        fleet
    }

    /// Replaces the placement.
    pub(crate) fn set(&mut self, placement: Placement) {
        add_placement(&mut self.world, "web", placement);
    }

    pub(crate) fn with(mut self, name: &str, cluster: Cluster) -> Fleet {
        add_cluster(&mut self.world, name, cluster);
        self
    }

    /// Gives a cluster one score of the resource `default` that never expires.
    pub(crate) fn scored(mut self, cluster: &str, score: &str, value: i64) -> Fleet {
        add_scores(&mut self.world, cluster, "default", scores(&[(score, value)], None));
        self
    }

    pub(crate) fn name() -> PolicyName {
        placement_name("web")
    }

    /// A cluster of the hub.
    pub(crate) fn cluster(&self, name: &str) -> Arc<Cluster> {
        Arc::clone(&self.world.placement.extra.hub.clusters[name])
    }

    /// The decision, checked.
    pub(crate) fn decide(&self, now: Timestamp) -> Decision {
        let input = gather(self.world.view(), &Fleet::name().identity).unwrap();
        let decision = almanac_engine::placement::decide(&input, now);
        check_placement(&input, now, &decision).stop();
        decision
    }

    /// The clusters that are selected on Monday at noon.
    pub(crate) fn selects(&self) -> String {
        let decision = self.decide(monday("12:00"));
        decision.clusters.iter().map(|it| &**it).collect::<Vec<_>>().join(" ")
    }

    /// Runs one checked turn, in which all actions are applied.
    pub(crate) fn turn(&mut self, now: Timestamp) -> Turn {
        self.turn_with(now, World::apply)
    }

    /// Runs one checked turn whose writes have these outcomes; after a failed write, no further write is tried.
    pub(crate) fn turn_with(
        &mut self,
        now: Timestamp,
        mut write: impl FnMut(&mut World, &Action) -> Outcome,
    ) -> Turn {
        let open = turn::open(&self.world, &Fleet::name(), &Reach::everything(), now).unwrap();
        let input = gather(self.world.view(), &Fleet::name().identity).unwrap();
        check_placement(&input, now, decision_of::<Placements>(&open)).stop();
        let actions = open.actions().to_vec();
        let mut is_done = true;
        let mut outcomes = Vec::new();
        for action in &actions {
            let outcome = if is_done { write(&mut self.world, action) } else { Outcome::Withdrawn };
            is_done &= outcome.is_as_wanted();
            outcomes.push(outcome);
        }
        open.close(&mut self.world, outcomes, now)
    }

    /// The existing decisions, each in a line: `web-decision-1 0 canary: a b`.
    pub(crate) fn decisions(&self) -> Vec<String> {
        let shown = self.world.placement.extra.decisions.iter().map(|(identity, decision)| {
            let index = decision.group_index.map_or("-".to_owned(), |it| it.to_string());
            let clusters = decision.clusters.iter().map(|it| &**it).collect::<Vec<_>>().join(" ");
            format!("{} {index} {}: {clusters}", identity.name(), decision.group)
        });
        shown.collect()
    }

    /// The clusters in all existing decisions, in order.
    pub(crate) fn selects_now(&self) -> Vec<String> {
        let clusters = self.world.placement.extra.decisions.iter().flat_map(|(_, it)| &it.clusters);
        let mut clusters: Vec<String> = clusters.map(ToString::to_string).collect();
        clusters.sort();
        clusters
    }

    /// The totals by cluster, in order of rank: `a 430, b 340`.
    pub(crate) fn totals(&self) -> String {
        let reasons = self.world.explain(&Fleet::name(), monday("12:00"));
        let totals = reasons.iter().filter_map(|it| {
            Some(format!("{} {}", it.rule.as_deref()?, it.scored.as_ref()?.total))
        });
        totals.collect::<Vec<_>>().join(", ")
    }

    /// Each verdict in a line: `a Won: rank 1 of 2: total 100 (…)`.
    pub(crate) fn explained(&self, now: Timestamp) -> Vec<String> {
        let reasons = self.world.explain(&Fleet::name(), now);
        let line = |it: &almanac_engine::RuleExplanation| {
            format!("{} {:?}: {}", it.rule.as_deref().unwrap_or_default(), it.verdict, it.message)
        };
        reasons.iter().map(line).collect()
    }
}
