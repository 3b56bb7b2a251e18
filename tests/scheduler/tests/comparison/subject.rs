//! The subject of the comparison: Almanac, by its public API and its turns.

use std::sync::Arc;

use almanac_api::checking::{CheckContext, check_json};
use almanac_api::kinds::Kind;
use almanac_engine::placement::{Input, Placements, Ranking, RawScore, gather};
use almanac_engine::turn;
use almanac_engine::{Family, Identity, PolicyName, Reach, RuleExplanation, World};
use almanac_second_scheduler::generate::Change;
use almanac_second_scheduler::{Decision, Key, MissingScore};
use jiff::Timestamp;
use serde_json::Value;

/// Almanac's world.
#[derive(Default)]
pub(crate) struct Subject {
    world: World,
}

/// The result of a turn of Almanac.
pub(crate) struct Decided {
    /// Every candidate, in the order of the explanation.
    pub(crate) explained: Vec<RuleExplanation>,
    /// The shunned candidates: others with the same total go first.
    pub(crate) last: Vec<String>,
    /// The unknown scores: the cluster, the score, and the reason.
    pub(crate) missing: Vec<(String, String, MissingScore)>,
    /// The candidates with taints without a time of addition.
    pub(crate) undated: Vec<String>,
    /// The reason of the condition.
    pub(crate) reason: &'static str,
    /// The newly selected clusters, and those that are no longer selected.
    pub(crate) changes: (Vec<String>, Vec<String>),
    /// The `PlacementDecision`s after the turn, by number.
    pub(crate) decisions: Vec<Decision>,
    /// The instant of the placement's next turn.
    pub(crate) wake_at: Option<Timestamp>,
}

impl Subject {
    /// Inserts an object into the world like a controller.
    pub(crate) fn put(&mut self, object: &Value) {
        let kind = kind(object["kind"].as_str().unwrap_or_default());
        let checked =
            check_json(kind, object.clone(), CheckContext::new("default", Timestamp::UNIX_EPOCH));
        let identity = checked.identity.expect("the object has a name");
        match checked.slim {
            Some(slim) => self.world.upsert(identity, slim),
            None => self.world.remove(&identity),
        }
    }

    pub(crate) fn make(&mut self, change: &Change) {
        match change {
            Change::Put(object) => self.put(object),
            Change::Remove(key) => self.world.remove(&identity(key)),
        }
    }

    /// A turn of a placement. `None` without a turn: the spec is invalid, or the placement is exempt.
    pub(crate) fn turn(&mut self, placement: &(String, String), now: Timestamp) -> Option<Decided> {
        let (namespace, name) = placement;
        let policy = PolicyName::new(Family::Placement, Kind::Placement.identity(namespace, name));
        let open = turn::open(&self.world, &policy, &Reach::everything(), now)?;
        let decision = &open.decision().get::<Placements>().unwrap().decision;
        let input = gather(self.world.view(), &policy.identity)?;
        let ranking = Ranking::new(&input, now);
        let is_last = ranking.ranked.iter().filter(|it| it.is_shunned);
        let last = texts(is_last.map(|it| input.candidates[it.candidate as usize].name));
        let explained = self.world.explain(&policy, now).into_iter();
        let mut decided = Decided {
            // Explanations of the whole placement do not name a cluster.
            explained: explained.filter(|it| it.rule.is_some()).collect(),
            last,
            missing: missing(&input, &ranking, now),
            undated: texts(&decision.undated),
            reason: decision.satisfaction.reason(),
            changes: (texts(&decision.added), texts(&decision.removed)),
            decisions: Vec::new(),
            wake_at: None,
        };
        let outcomes = open.actions().iter().map(|action| self.world.apply(action)).collect();
        decided.wake_at = open.close(&mut self.world, outcomes, now).wake_at;
        let divisions = self.world.divisions(&policy).into_iter();
        let decisions = divisions.map(|it| Decision {
            name: it.object.to_string(),
            group: it.group_name.to_string(),
            group_index: it.group.map_or(usize::MAX, |index| index as usize),
            clusters: texts(&it.names),
        });
        decided.decisions = decisions.collect();
        Some(decided)
    }
}

fn missing(
    input: &Input<'_>,
    ranking: &Ranking,
    now: Timestamp,
) -> Vec<(String, String, MissingScore)> {
    let mut missing = Vec::new();
    for it in &ranking.ranked {
        for (position, prioritizer) in input.policy.prioritizers.iter().enumerate() {
            let why = match ranking.raw_score(input, position, it.candidate, now) {
                RawScore::Given(_) => continue,
                RawScore::NoData => MissingScore::Data,
                RawScore::NoObject => MissingScore::Object,
                RawScore::NotInObject => MissingScore::Score,
                RawScore::Expired(_) => MissingScore::Expired,
            };
            let cluster = input.candidates[it.candidate as usize].name.to_string();
            missing.push((cluster, prioritizer.score.to_string(), why));
        }
    }
    missing
}

fn texts<'a>(names: impl IntoIterator<Item = &'a Arc<str>>) -> Vec<String> {
    names.into_iter().map(ToString::to_string).collect()
}

fn identity((kind_name, namespace, name): &Key) -> Identity {
    kind(kind_name).identity(namespace, name)
}

fn kind(name: &str) -> Kind {
    let known = Kind::ALL.iter().find(|it| it.name() == name);
    *known.expect("the kind is known")
}
