//! Properties of random placements in random worlds.

use almanac_checker::check_placement;
use almanac_engine::placement::{
    Cluster, ClusterSelector, Decision, DecisionGroup, Expression, GroupSize, Placement,
    PrioritizerMode, Quantity, ScoreSource, Taint, Toleration, decide, gather,
};
use almanac_engine::{Verdict, World, turn};
use almanac_fixtures::placements::{
    add_cluster, add_decision, add_placement, add_scores, cluster, cluster_selector, decision, hub,
    placement, placement_name, scores, taint, with_object,
};
use jiff::Timestamp;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::property::{fail, holds};
use crate::support::{NANOSECOND, monday, seconds};

const EFFECTS: [&str; 3] = ["NoSelect", "PreferNoSelect", "NoSelectIfNew"];
const SCORES: [&str; 6] = [
    "Balance",
    "Steady",
    "ResourceAllocatableCPU",
    "ResourceAllocatableMemory",
    "default/cpu",
    "other/mem",
];

/// Some expressions hold for a cluster without scores, some with scores, and some fail.
const EXPRESSIONS: [&str; 8] = [
    "true",
    "managedCluster.status.zone == 'x'",
    "managedCluster.scores('default').exists(s, s.value > 0)",
    "managedCluster.scores('default').all(s, s.value > 0)",
    "managedCluster.scores('other').size() == 0 || managedCluster.scores('default').size() == 0",
    "!managedCluster.scores(managedCluster.status.zone == 'x' ? 'default' : 'other').exists(s, s.value < 0)",
    "managedCluster.status.zone > 1",
    "managedCluster.status.zone",
];

/// Seconds around noon, so that many instants are equal.
fn instant() -> impl Strategy<Value = Timestamp> {
    (-4..=4_i64).prop_map(|steps| monday("12:00") + seconds(steps * 10))
}

fn a_taint() -> impl Strategy<Value = Taint> {
    (select(&["x", "y"][..]), select(&["", "=1"][..]), select(&EFFECTS[..]), option::of(instant()))
        .prop_map(|(key, value, effect, added)| taint(&format!("{key}{value}:{effect}"), added))
}

fn a_toleration() -> impl Strategy<Value = Toleration> {
    let key = option::of(select(&["x", "y"][..]));
    let value = option::of(select(&["", "1"][..]));
    let effect = option::of(select(&EFFECTS[..]));
    (key, value, effect, option::of(-20..=60_i64)).prop_map(|(key, value, effect, seconds)| {
        Toleration {
            key: key.map(Into::into),
            value: value.map(Into::into),
            effect: effect.and_then(almanac_engine::placement::TaintEffect::named),
            seconds,
        }
    })
}

fn a_cluster() -> impl Strategy<Value = Cluster> {
    let amount =
        || option::of((0..6_i128).prop_map(|it| Quantity::from_billionths(it * 3).unwrap()));
    let label = select(&["", "region=eu", "region=us"][..]);
    let zone = select(&["{}", "{\"zone\": \"x\"}", "{\"zone\": \"y\"}"][..]);
    (label, zone, vec(a_taint(), 0..3), amount(), amount(), prop::bool::weighted(0.05)).prop_map(
        |(label, zone, taints, allocatable_cpu, allocatable_memory, is_terminating)| Cluster {
            taints: taints.into(),
            allocatable_cpu,
            allocatable_memory,
            is_terminating,
            ..with_object(cluster(label), zone)
        },
    )
}

fn a_placement() -> impl Strategy<Value = Placement> {
    let mode = select(&[PrioritizerMode::Additive, PrioritizerMode::Exact][..]);
    let listed = vec((select(&SCORES[..]), -10..=10_i64), 0..5);
    let size = prop_oneof![
        (1..=100_u8).prop_map(GroupSize::Percent),
        (0..=4_u32).prop_map(GroupSize::Clusters)
    ];
    let eu = || cluster_selector("region=eu", "");
    let groups = prop::bool::ANY;
    let labels = select(&["", "region=eu", "region=us", "region"][..]);
    let predicates = vec((labels, vec(select(&EXPRESSIONS[..]), 0..3)), 0..3);
    (option::of(0..8_u32), mode, listed, vec(a_toleration(), 0..3), size, groups, predicates)
        .prop_map(move |(clusters, mode, listed, tolerations, group_size, groups, predicates)| {
            let predicates = predicates.into_iter().map(|(labels, expressions)| ClusterSelector {
                expressions: expressions
                    .iter()
                    .map(|it| Expression::compile(it).unwrap())
                    .collect(),
                ..cluster_selector(labels, "")
            });
            let eu = DecisionGroup { name: "eu".into(), selector: eu() };
            Placement {
                tolerations: tolerations.into(),
                group_size,
                groups: groups.then_some(eu).into_iter().collect(),
                predicates: predicates.collect(),
                ..placement(clusters, mode, &listed)
            }
        })
}

#[derive(Clone, Debug)]
pub(super) struct Case {
    clusters: Vec<Cluster>,
    scores: Vec<(usize, bool, i64, Option<Timestamp>)>,
    decided: Vec<(bool, Vec<usize>)>,
    placement: Placement,
    pub(super) now: Timestamp,
}

pub(super) fn case() -> impl Strategy<Value = Case> {
    let scores = vec((0..8_usize, any::<bool>(), -100..=100_i64, option::of(instant())), 0..12);
    let decided = vec((any::<bool>(), vec(0..8_usize, 0..6)), 0..4);
    (vec(a_cluster(), 0..8), scores, decided, a_placement(), instant()).prop_map(
        |(clusters, scores, decided, placement, now)| Case {
            clusters,
            scores,
            decided,
            placement,
            now,
        },
    )
}

fn name(cluster: usize) -> String {
    format!("c{cluster}")
}

impl Case {
    /// The world of the case, with its objects added in this order or in the opposite one.
    pub(super) fn world(&self, is_backwards: bool) -> World {
        let mut world = hub();
        let mut numbers: Vec<usize> = (0..self.clusters.len()).collect();
        if is_backwards {
            numbers.reverse();
        }
        for number in numbers {
            add_cluster(&mut world, &name(number), self.clusters[number].clone());
        }
        for (number, is_cpu, value, end) in &self.scores {
            let (resource, score) = if *is_cpu { ("default", "cpu") } else { ("other", "mem") };
            add_scores(&mut world, &name(*number), resource, scores(&[(score, *value)], *end));
        }
        for (index, (is_own, clusters)) in self.decided.iter().enumerate() {
            let placement = if *is_own { "web" } else { "api" };
            let clusters: Vec<String> = clusters.iter().map(|it| name(*it)).collect();
            let clusters: Vec<&str> = clusters.iter().map(String::as_str).collect();
            let content = decision(placement, &clusters);
            add_decision(&mut world, &format!("{placement}-decision-{index}"), content);
        }
        add_placement(&mut world, "web", self.placement.clone());
        world
    }
}

fn decided(world: &World, now: Timestamp) -> Result<Decision, TestCaseError> {
    let input = gather(world.view(), &placement_name("web").identity).unwrap();
    let decision = decide(&input, now);
    let violations = check_placement(&input, now, &decision);
    if violations.is_empty() { Ok(decision) } else { Err(fail(violations.to_string())) }
}

#[test]
fn any_placement_is_decided_as_the_checker_has_it() {
    holds("any_placement_is_decided_as_the_checker_has_it", 2_000, case(), |case| {
        decided(&case.world(false), case.now).map(|_| ())
    });
}

#[test]
fn the_order_of_objects_has_no_effect() {
    holds("the_order_of_objects_has_no_effect", 500, case(), |case| {
        let (one, other) = (case.world(false), case.world(true));
        prop_assert_eq!(decided(&one, case.now)?, decided(&other, case.now)?);
        let explained = |world: &World| world.explain(&placement_name("web"), case.now);
        prop_assert_eq!(explained(&one), explained(&other));
        Ok(())
    });
}

/// The decision, without its policy state.
#[derive(Debug)]
struct ExplainedSelection {
    clusters: Vec<String>,
    undated: Vec<String>,
    /// The reasons of all candidates.
    reasons: Vec<String>,
    /// The reasons, without the parts that may change for excluded clusters.
    lasting: Vec<String>,
}

fn says(world: &World, now: Timestamp) -> Result<ExplainedSelection, TestCaseError> {
    let decision = decided(world, now)?;
    let clusters = decision.clusters.iter().map(ToString::to_string).collect();
    let undated = decision.undated.iter().map(ToString::to_string).collect();
    let reasons = world.explain(&placement_name("web"), now);
    // Of two taints, the first effective one is named, and that may change later.
    let behind = " puts it behind others with the same total";
    let is_tainted = |name: &str| !world.placement.extra.hub.clusters[name].taints.is_empty();
    let all: Vec<String> =
        reasons.iter().map(|it| format!("{:?} {}", it.rule, it.message)).collect();
    let lines = reasons.into_iter().map(|it| match (it.verdict, it.message.split_once(behind)) {
        (Verdict::Excluded, _) if it.rule.as_deref().is_some_and(is_tainted) => {
            format!("{:?} is excluded", it.rule)
        }
        (_, Some((before, after))) => {
            format!("{}{behind}{after}", before.rsplit_once(' ').unwrap().0)
        }
        (_, None) => it.message,
    });
    Ok(ExplainedSelection { clusters, undated, reasons: all, lasting: lines.collect() })
}

#[test]
fn decisions_change_at_the_wake_and_not_earlier() {
    let name = "decisions_change_at_the_wake_and_not_earlier";
    holds(name, 1_000, case(), |case| {
        // The selected clusters count from now on.
        let mut world = case.world(false);
        let turn = turn::take(&mut world, &placement_name("web"), case.now);
        let wake_at = turn.unwrap().wake_at;
        let now = says(&world, case.now)?;
        let horizon = wake_at.unwrap_or(case.now + seconds(10_000));
        let mut between: Vec<Timestamp> = vec![horizon - NANOSECOND];
        between.extend((1..20).map(|step| case.now + seconds(step * 5)));
        for at in between.into_iter().filter(|at| case.now < *at && *at < horizon) {
            let then = says(&world, at)?;
            prop_assert_eq!(&now.clusters, &then.clusters, "at {}", at);
            prop_assert_eq!(&now.undated, &then.undated, "at {}", at);
            prop_assert_eq!(&now.lasting, &then.lasting, "at {}", at);
        }
        if let Some(wake_at) = wake_at {
            prop_assert!(wake_at > case.now);
            let then = says(&world, wake_at)?;
            let is_other = now.clusters != then.clusters
                || now.undated != then.undated
                || now.reasons != then.reasons;
            prop_assert!(is_other, "woken for nothing at {}: {:?}", wake_at, then);
        }
        Ok(())
    });
}

#[test]
fn an_applied_decision_is_stable_unless_it_depends_on_the_selection() {
    let name = "an_applied_decision_is_stable_unless_it_depends_on_the_selection";
    holds(name, 1_000, case(), |mut case| {
        // A negative weight for the current selection changes the selection each time. A cluster that must not return
        // changes the amounts with which the others are compared.
        let steady = ScoreSource::Steady;
        let is_restless =
            |it: &almanac_engine::placement::Prioritizer| it.score == steady && it.weight.get() < 0;
        let calm = case.placement.prioritizers.iter().filter(|it| !is_restless(it)).cloned();
        case.placement.prioritizers = calm.collect();
        for cluster in &mut case.clusters {
            let effect = almanac_engine::placement::TaintEffect::NoSelectIfNew;
            cluster.taints =
                cluster.taints.iter().filter(|it| it.effect != effect).cloned().collect();
        }
        let mut world = case.world(false);
        let policy = placement_name("web");
        let first = turn::take(&mut world, &policy, case.now).unwrap();
        prop_assert!(first.done.iter().all(|(_, outcome)| outcome.is_as_wanted()));
        let again = turn::take(&mut world, &policy, case.now).unwrap();
        prop_assert!(again.done.is_empty() && again.recorded.is_empty(), "{:?}", again);
        Ok(())
    });
}

/// The clusters that may be selected with their totals, in order of rank.
fn ranked(world: &World, now: Timestamp) -> Vec<(String, i64)> {
    let reasons = world.explain(&placement_name("web"), now).into_iter();
    reasons.filter_map(|it| Some((it.rule?.to_string(), it.scored?.total))).collect()
}

/// A case, and the same case without one of its clusters, which is deleted, terminating or tainted.
fn with_and_without() -> impl Strategy<Value = (Case, Case, String)> {
    (case(), any::<prop::sample::Index>(), 0..3_u8).prop_map(|(mut with, which, how)| {
        if with.clusters.is_empty() {
            with.clusters.push(cluster(""));
        }
        // No toleration tolerates the taint that excludes a cluster.
        with.placement.tolerations =
            with.placement.tolerations.iter().filter(|it| it.key.is_some()).cloned().collect();
        let position = which.index(with.clusters.len());
        let mut without = with.clone();
        let other = &mut without.clusters[position];
        match how {
            0 => other.set = None,
            1 => other.is_terminating = true,
            _ => other.taints = [taint("out:NoSelect", None)].into(),
        }
        (with, without, name(position))
    })
}

fn is_compared(score: &ScoreSource) -> bool {
    matches!(score, ScoreSource::AllocatableCpu | ScoreSource::AllocatableMemory)
}

#[test]
fn an_added_or_removed_cluster_changes_no_other_total_or_order() {
    let name = "an_added_or_removed_cluster_changes_no_other_total_or_order";
    holds(name, 2_000, with_and_without(), |(mut with, mut without, changed)| {
        // The allocatable resources are the only score that compares the candidates with each other.
        for case in [&mut with, &mut without] {
            let scores = case.placement.prioritizers.iter().cloned();
            case.placement.prioritizers = scores.filter(|it| !is_compared(&it.score)).collect();
        }
        let (with, without, now) = (with.world(false), without.world(false), with.now);
        let all = ranked(&with, now);
        let rest: Vec<_> = all.iter().filter(|(it, _)| *it != changed).cloned().collect();
        prop_assert_eq!(&ranked(&without, now), &rest);
        // So a new cluster displaces only the last one, and after a removal, the first unselected cluster is selected.
        let (before, after) = (decided(&with, now)?.clusters, decided(&without, now)?.clusters);
        let lost = before.iter().filter(|it| !after.contains(it) && ***it != *changed);
        let new: Vec<_> = after.iter().filter(|it| !before.contains(it)).collect();
        let is_freed = before.iter().any(|it| **it == *changed);
        prop_assert_eq!(lost.count(), 0);
        prop_assert!(new.len() <= usize::from(is_freed), "{:?}", new);
        let next = rest.iter().find(|(it, _)| !before.iter().any(|known| **known == **it));
        prop_assert!(new.iter().all(|new| next.is_some_and(|(next, _)| **next == ***new)));
        Ok(())
    });
}

#[test]
fn an_added_or_removed_cluster_never_reverses_two_others_by_allocatable() {
    let name = "an_added_or_removed_cluster_never_reverses_two_others_by_allocatable";
    holds(name, 1_000, with_and_without(), |(mut with, mut without, _)| {
        let listed = [("ResourceAllocatableCPU", 1)];
        let scored = placement(None, PrioritizerMode::Exact, &listed);
        for case in [&mut with, &mut without] {
            case.placement.prioritizers = scored.prioritizers.clone();
            let world = case.world(false);
            // A cluster with less is never ahead of one with more, with any set of others; their totals may be equal.
            let amount = |it: &str| world.placement.extra.hub.clusters.get(it)?.allocatable_cpu;
            let ranked = ranked(&world, case.now).into_iter();
            let ranked: Vec<_> =
                ranked.filter_map(|(it, total)| Some((total, amount(&it)?))).collect();
            let is_in_order =
                |pair: &[(i64, Quantity)]| pair[0].0 == pair[1].0 || pair[0].1 > pair[1].1;
            prop_assert!(ranked.windows(2).all(is_in_order), "{:?}", ranked);
        }
        Ok(())
    });
}
