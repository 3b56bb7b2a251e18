//! A checked placement: the clusters that it may select, the ranking, and the groups of the selected clusters.

use std::fmt;
use std::sync::Arc;

use almanac_expressions::{Expression, ReadScores};
use jiff::{SignedDuration, Timestamp};

use super::{Cluster, Hub, Taint, TaintEffect};
use crate::LabelSelector;

/// Selects clusters from the sets bound to its namespace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Placement {
    /// Whether the placement selects clusters at all.
    pub standing: PlacementState,
    /// The sets to select from; if empty, all sets that are bound.
    pub cluster_sets: Box<[Arc<str>]>,
    /// The maximum number of clusters to select; `None` for all matching clusters.
    pub number_of_clusters: Option<u32>,
    /// The predicates, one of which must match; if empty, every cluster matches.
    pub predicates: Box<[ClusterSelector]>,
    /// The tolerations of taints.
    pub tolerations: Box<[Toleration]>,
    /// The sources of the scores that rank the clusters.
    pub prioritizers: Box<[Prioritizer]>,
    /// The maximum size of a group.
    pub group_size: GroupSize,
    /// The groups that are formed first.
    pub groups: Box<[DecisionGroup]>,
}

/// Whether a placement selects clusters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum PlacementState {
    /// The placement is active.
    #[default]
    Active,
    /// An annotation disables the placement.
    Disabled,
    /// The placement is being deleted.
    Terminating,
    /// The spec has an error. The decisions stay unchanged.
    Unusable,
}

impl Placement {
    /// Creates a placement whose spec has an error, with the sets that the spec names.
    #[must_use]
    pub fn unusable(cluster_sets: Box<[Arc<str>]>) -> Placement {
        Placement { standing: PlacementState::Unusable, cluster_sets, ..Placement::default() }
    }

    /// Whether the spec has no error.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.standing != PlacementState::Unusable
    }
}

/// Selects clusters by their labels, their claims and expressions: all of them must match.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClusterSelector {
    /// The requirements for the labels.
    pub labels: LabelSelector,
    /// The requirements for the claims.
    pub claims: LabelSelector,
    /// The expressions, all of which must be true.
    pub expressions: Box<[Expression]>,
}

impl ClusterSelector {
    /// Whether a cluster matches the labels and the claims.
    #[must_use]
    pub fn fits(&self, cluster: &Cluster) -> bool {
        self.labels.selects(&cluster.labels) && self.claims.selects(&cluster.claims)
    }
}

/// `labels region=eu, claims platform=aws`; `everything` without requirements.
impl fmt::Display for ClusterSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (name, selector) in [("labels", &self.labels), ("claims", &self.claims)] {
            if !selector.is_everything() {
                write!(formatter, "{separator}{name} {selector}")?;
                separator = ", ";
            }
        }
        for expression in &self.expressions {
            write!(formatter, "{separator}expression {expression}")?;
            separator = ", ";
        }
        if separator.is_empty() { formatter.write_str("everything") } else { Ok(()) }
    }
}

/// Tolerates taints, forever or for some time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Toleration {
    /// The key of the taints; `None` for any.
    pub key: Option<Arc<str>>,
    /// The value of the taints; `None` for any.
    pub value: Option<Arc<str>>,
    /// The effect of the taints; `None` for any.
    pub effect: Option<TaintEffect>,
    /// The seconds from the addition of a taint to the end of the toleration; `None` for a toleration without end.
    pub seconds: Option<i64>,
}

/// The duration for which a taint is tolerated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Tolerated {
    /// Before this instant.
    Until(Timestamp),
    /// Forever.
    Forever,
}

impl Toleration {
    /// Whether the toleration tolerates a taint, for any duration.
    #[must_use]
    pub fn matches(&self, taint: &Taint) -> bool {
        self.key.as_ref().is_none_or(|key| *key == taint.key)
            && self.value.as_ref().is_none_or(|value| *value == taint.value)
            && self.effect.is_none_or(|effect| effect == taint.effect)
    }

    /// Whether the toleration would end if the instant of the taint's addition were known.
    #[must_use]
    pub fn misses_time_added(&self, taint: &Taint) -> bool {
        let ends = self.seconds.is_some() && taint.effect != TaintEffect::NoSelectIfNew;
        ends && taint.added.is_none() && self.matches(taint)
    }

    /// The duration for which the toleration tolerates a taint; `None` if it does not match the taint.
    ///
    /// The seconds have no effect for [`TaintEffect::NoSelectIfNew`], or for a taint without the instant of its
    /// addition.
    #[must_use]
    pub fn tolerates(&self, taint: &Taint) -> Option<Tolerated> {
        if !self.matches(taint) {
            return None;
        }
        let counts = taint.effect != TaintEffect::NoSelectIfNew;
        let (Some(seconds), Some(added)) = (self.seconds.filter(|_| counts), taint.added) else {
            return Some(Tolerated::Forever);
        };
        Some(match added.checked_add(SignedDuration::from_secs(seconds)) {
            Ok(end) => Tolerated::Until(end),
            Err(_) if seconds > 0 => Tolerated::Forever,
            Err(_) => Tolerated::Until(Timestamp::MIN),
        })
    }
}

/// The weight of a score in the total: -10 to 10, except for 0, which has no effect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Weight(i8);

impl Weight {
    /// Creates a weight; `None` if the number is out of range or has no effect.
    #[must_use]
    pub fn new(weight: i64) -> Option<Weight> {
        let weight = i8::try_from(weight).ok()?;
        (weight != 0 && (-10..=10).contains(&weight)).then_some(Weight(weight))
    }

    /// The weight as a number.
    #[must_use]
    pub fn get(self) -> i8 {
        self.0
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A score with its weight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prioritizer {
    /// The score.
    pub score: ScoreSource,
    /// The weight of the score.
    pub weight: Weight,
}

/// The source of a score from -100 to 100.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ScoreSource {
    /// The fewer placements other than this one have selected a cluster, the higher.
    Balance,
    /// High for the clusters that are selected now.
    Steady,
    /// The more CPU can be allocated, the higher.
    AllocatableCpu,
    /// The more memory can be allocated, the higher.
    AllocatableMemory,
    /// A score in an `AddOnPlacementScore`.
    AddOn {
        /// The name of the object.
        resource: Arc<str>,
        /// The name of the score in the object.
        score: Arc<str>,
    },
}

impl ScoreSource {
    /// The built-in score of this name.
    #[must_use]
    pub fn built_in(name: &str) -> Option<ScoreSource> {
        Some(match name {
            "Balance" => ScoreSource::Balance,
            "Steady" => ScoreSource::Steady,
            "ResourceAllocatableCPU" => ScoreSource::AllocatableCpu,
            "ResourceAllocatableMemory" => ScoreSource::AllocatableMemory,
            _ => return None,
        })
    }

    /// The names of the built-in scores.
    pub const BUILT_IN: [&'static str; 4] =
        ["Balance", "Steady", "ResourceAllocatableCPU", "ResourceAllocatableMemory"];
}

/// `Balance`, or `AddOn/default/cpuratio`.
impl fmt::Display for ScoreSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScoreSource::Balance => formatter.write_str("Balance"),
            ScoreSource::Steady => formatter.write_str("Steady"),
            ScoreSource::AllocatableCpu => formatter.write_str("ResourceAllocatableCPU"),
            ScoreSource::AllocatableMemory => formatter.write_str("ResourceAllocatableMemory"),
            ScoreSource::AddOn { resource, score } => write!(formatter, "AddOn/{resource}/{score}"),
        }
    }
}

/// Whether the listed scores are the only ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PrioritizerMode {
    /// The scores are added to Balance and Steady with a weight of 1 each, or replace these.
    #[default]
    Additive,
    /// The scores are the only ones.
    Exact,
}

impl PrioritizerMode {
    /// The effective scores, given the listed ones; a weight of `None` is 0.
    pub fn prioritizers(
        self,
        listed: impl IntoIterator<Item = (ScoreSource, Option<Weight>)>,
    ) -> Box<[Prioritizer]> {
        let mut all: Vec<(ScoreSource, Option<Weight>)> = match self {
            PrioritizerMode::Additive => {
                [ScoreSource::Balance, ScoreSource::Steady].map(|it| (it, Some(Weight(1)))).into()
            }
            PrioritizerMode::Exact => Vec::new(),
        };
        for (score, weight) in listed {
            match all.iter_mut().find(|(known, _)| *known == score) {
                Some((_, known)) => *known = weight,
                None => all.push((score, weight)),
            }
        }
        let counting = all
            .into_iter()
            .filter_map(|(score, weight)| weight.map(|weight| Prioritizer { score, weight }));
        counting.collect()
    }
}

/// The maximum size of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupSize {
    /// This number of clusters; 0 means all.
    Clusters(u32),
    /// This percentage of the selected clusters, rounded up.
    Percent(u8),
}

impl Default for GroupSize {
    fn default() -> Self {
        GroupSize::Percent(100)
    }
}

impl GroupSize {
    /// The maximum number of clusters, at least 1.
    #[must_use]
    pub fn limit(self, selected: usize) -> usize {
        let size = match self {
            GroupSize::Clusters(clusters) => usize::try_from(clusters).unwrap_or(usize::MAX),
            GroupSize::Percent(percent) => (selected * usize::from(percent)).div_ceil(100),
        };
        let size = if size == 0 { selected } else { size.min(selected) };
        size.max(1)
    }
}

/// Selected clusters that form groups of their own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecisionGroup {
    /// The name of the groups.
    pub name: Arc<str>,
    /// The selector of the clusters, without expressions.
    pub selector: ClusterSelector,
}

impl Placement {
    /// Whether the placement ranks clusters by the number of placements that have selected them.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.prioritizers.iter().any(|it| it.score == ScoreSource::Balance)
    }

    /// Whether the selection depends on the selections of other placements. A placement without a number selects every
    /// cluster that matches.
    #[must_use]
    pub fn selects_by_balance(&self) -> bool {
        self.number_of_clusters.is_some() && self.balances()
    }

    /// Whether a cluster has a taint that would not be tolerated forever if the instant of its addition were known.
    #[must_use]
    pub fn has_undated_taint(&self, cluster: &Cluster) -> bool {
        self.undated_taint(cluster).is_some()
    }

    /// The first taint that would not be tolerated forever if the instant of its addition were known.
    pub(super) fn undated_taint<'a>(&self, cluster: &'a Cluster) -> Option<&'a Taint> {
        cluster.taints.iter().find(|taint| {
            let mut matching = self.tolerations.iter().filter(|it| it.matches(taint)).peekable();
            matching.peek().is_some() && matching.all(|it| it.misses_time_added(taint))
        })
    }

    /// Whether the placement selects by expressions.
    #[must_use]
    pub fn has_expressions(&self) -> bool {
        self.predicates.iter().any(|it| !it.expressions.is_empty())
    }

    /// Whether an expression may read the scores in the objects of this name.
    #[must_use]
    pub fn reads_scores(&self, resource: &str) -> bool {
        let mut expressions = self.predicates.iter().flat_map(|it| &it.expressions);
        expressions.any(|it| it.read_scores().contains(resource))
    }

    /// The objects whose scores the expressions may read, by name: the objects that they name, and all objects with
    /// scores on a hub if an expression computes the name.
    pub fn read_resources<'a>(&'a self, hub: &'a Hub) -> impl Iterator<Item = &'a Arc<str>> {
        let expressions = self.predicates.iter().flat_map(|it| &it.expressions);
        expressions.flat_map(|it| match it.read_scores() {
            ReadScores::Named(names) => names.iter().collect::<Vec<_>>(),
            ReadScores::Any => hub.scores.keys().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score_weights(mode: PrioritizerMode, listed: &[(ScoreSource, i64)]) -> String {
        let listed = listed.iter().map(|(score, weight)| (score.clone(), Weight::new(*weight)));
        let all = mode.prioritizers(listed);
        let scores = all.iter().map(|it| format!("{} {}", it.score, it.weight));
        scores.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn additive_scores_come_on_top_of_balance_and_steady_unless_they_replace_them() {
        use PrioritizerMode::{Additive, Exact};
        use ScoreSource::{AllocatableCpu, Balance, Steady};
        assert_eq!(score_weights(Additive, &[]), "Balance 1, Steady 1");
        assert_eq!(score_weights(Additive, &[(Steady, 3), (Balance, 0)]), "Steady 3");
        let listed = [(AllocatableCpu, -2), (Balance, 3)];
        assert_eq!(
            score_weights(Additive, &listed),
            "Balance 3, Steady 1, ResourceAllocatableCPU -2"
        );
        assert_eq!(score_weights(Exact, &[]), "");
        assert_eq!(score_weights(Exact, &listed), "ResourceAllocatableCPU -2, Balance 3");
    }

    #[test]
    fn a_weight_is_from_minus_ten_to_ten_and_not_zero() {
        let weights = [-11, -10, -1, 0, 1, 10, 11].map(|it| Weight::new(it).map(Weight::get));
        assert_eq!(weights, [None, Some(-10), Some(-1), None, Some(1), Some(10), None]);
    }

    #[test]
    fn a_group_has_at_most_the_percentage_rounded_up_and_never_none() {
        let percent = |percent, selected| GroupSize::Percent(percent).limit(selected);
        assert_eq!(
            [percent(25, 3), percent(25, 100), percent(100, 7), percent(1, 0)],
            [1, 25, 7, 1]
        );
        let clusters = |clusters, selected| GroupSize::Clusters(clusters).limit(selected);
        assert_eq!([clusters(2, 5), clusters(9, 5), clusters(0, 5)], [2, 5, 5]);
    }

    #[test]
    fn a_built_in_score_is_known_by_the_name_it_is_printed_with() {
        for name in ScoreSource::BUILT_IN {
            assert_eq!(ScoreSource::built_in(name).map(|it| it.to_string()).as_deref(), Some(name));
        }
        assert_eq!(ScoreSource::built_in("AddOn"), None);
    }
}
