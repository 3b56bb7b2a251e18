//! Requirements on any decision about the clusters of a placement.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_engine::placement::{
    CLUSTERS_PER_DECISION, Candidate, ClusterSelector, Decision, Failure, Input, MAX_STEPS, Meter,
    PlacementDecision, ScoreSource, Subject, TaintEffect, Tolerated,
};
use almanac_engine::{Action, Identity};
use jiff::Timestamp;

use crate::Violations;

/// Checks the decision for a placement at `now`.
#[must_use]
pub fn check_placement(input: &Input<'_>, now: Timestamp, decision: &Decision) -> Violations {
    let mut violations = Violations::default();
    check_selection(&mut violations, input, now, decision);
    check_groups(&mut violations, input, decision);
    check_writes(&mut violations, input, decision);
    check_waking(&mut violations, input, now, decision);
    violations
}

/// Whether a taint affects a cluster.
fn counts(
    input: &Input<'_>,
    candidate: &Candidate<'_>,
    effect: TaintEffect,
    now: Timestamp,
) -> bool {
    let mut taints = candidate.cluster.taints.iter().filter(|taint| taint.effect == effect);
    taints.any(|taint| {
        let mut tolerations = input.policy.tolerations.iter();
        !tolerations.any(|toleration| match toleration.tolerates(taint) {
            Some(Tolerated::Forever) => true,
            Some(Tolerated::Until(end)) => now < end,
            None => false,
        })
    })
}

/// Whether a cluster has the labels and the claims.
fn fits(selector: &ClusterSelector, Candidate { cluster, .. }: &Candidate<'_>) -> bool {
    selector.labels.selects(&cluster.labels) && selector.claims.selects(&cluster.claims)
}

/// The result of the predicates for a cluster.
struct Matches {
    /// `None` if the steps do not suffice.
    holds: Option<bool>,
    spent: usize,
}

/// The result of the predicates for a cluster in this number of steps, given the scores that have not expired. With
/// several predicates, each gets a share of the steps that the earlier predicates did not use.
fn matches(input: &Input<'_>, candidate: &Candidate<'_>, steps: usize, now: Timestamp) -> Matches {
    let scores = |object: &str| {
        let scores = input.scores.get(object)?.get(candidate.name)?;
        let is_valid = scores.valid_until.is_none_or(|end| now < end);
        let values = scores.values.iter().filter(|_| is_valid);
        Some(values.map(|(name, score)| (&**name, i32::from(score.get()))).collect())
    };
    let subject = Subject { object: &candidate.cluster.object, scores: &scores };
    let fits = |it: &&ClusterSelector| fits(it, candidate);
    let fitting: Vec<&ClusterSelector> = input.policy.predicates.iter().filter(fits).collect();
    let mut remaining = fitting.iter().filter(|it| !it.expressions.is_empty()).count();
    let mut unused = steps;
    let mut holds = Some(input.policy.predicates.is_empty());
    for predicate in fitting {
        let part = if predicate.expressions.is_empty() { 0 } else { unused / remaining };
        remaining -= usize::from(!predicate.expressions.is_empty());
        let meter = Meter::with(part);
        let mut results = predicate.expressions.iter().map(|it| it.holds(&subject, &meter));
        let first = results.find(|it| *it != Ok(true));
        unused -= part - meter.remaining_steps();
        match first {
            None => {
                holds = Some(true);
                break;
            }
            Some(Err(Failure::TooManySteps)) => holds = None,
            Some(_) => {}
        }
    }
    Matches { holds, spent: steps - unused }
}

/// Whether the predicates match each cluster. Each cluster may use its share of the steps; clusters that need more get
/// an equal share of the remaining steps. If that is still too little, a cluster stays selected or unselected, unless
/// the cluster alone exceeds the maximum for any cluster.
fn predicates_match<'a>(input: &Input<'a>, now: Timestamp) -> BTreeMap<&'a str, bool> {
    const IN_ALL: usize = 5_000_000;
    let share = (IN_ALL / input.candidates.len().max(1)).clamp(1_000, MAX_STEPS);
    let living = input.candidates.iter().filter(|it| !it.cluster.is_terminating);
    let first: Vec<_> = living.map(|it| (it, matches(input, it, share, now))).collect();
    let costly = first.iter().filter(|(_, it)| it.holds.is_none()).count();
    let spent: usize = first.iter().map(|(_, it)| it.spent).sum();
    let second = (IN_ALL.saturating_sub(spent) / costly.max(1)).clamp(share, MAX_STEPS);
    let again = |(candidate, first): (_, Matches)| match first.holds {
        Some(_) => (candidate, first),
        None => (candidate, matches(input, candidate, second, now)),
    };
    let all: Vec<_> = first.into_iter().map(again).collect();
    let mut evaluated = all.iter().filter(|(_, it)| it.spent > 0);
    let is_alone = evaluated.clone().count() < 2;
    let is_by_itself = is_alone || evaluated.any(|(_, it)| it.holds.is_some());
    let through = |(candidate, found): (&Candidate<'a>, Matches)| {
        let name: &str = candidate.name;
        let is_unbounded = second == MAX_STEPS && is_by_itself;
        let known = input.memory.as_ref().and_then(|it| it.costly.get(name)).copied();
        let stays = !is_unbounded && known.unwrap_or(candidate.is_selected);
        (name, found.holds.unwrap_or(stays))
    };
    all.into_iter().map(through).collect()
}

fn may_be_selected(
    input: &Input<'_>,
    predicates_match: &BTreeMap<&str, bool>,
    candidate: &Candidate<'_>,
    now: Timestamp,
) -> bool {
    predicates_match.get(&**candidate.name).copied().unwrap_or_default()
        && !counts(input, candidate, TaintEffect::NoSelect, now)
        && (candidate.is_selected || !counts(input, candidate, TaintEffect::NoSelectIfNew, now))
}

/// The total of each cluster that may be selected, and whether the cluster is shunned. Fractions are compared by
/// cross-multiplication, unlike in the engine.
fn totals<'a>(input: &Input<'a>, now: Timestamp) -> BTreeMap<&'a str, (i64, bool)> {
    let predicates_match = predicates_match(input, now);
    let eligible: Vec<(usize, &Candidate<'a>)> = input
        .candidates
        .iter()
        .enumerate()
        .filter(|(_, candidate)| may_be_selected(input, &predicates_match, candidate, now))
        .collect();
    let mut totals: BTreeMap<&str, (i64, bool)> = eligible
        .iter()
        .map(|(_, it)| (&**it.name, (0, counts(input, it, TaintEffect::PreferNoSelect, now))))
        .collect();
    for (index, prioritizer) in input.policy.prioritizers.iter().enumerate() {
        let amount = |it: &Candidate<'_>| match prioritizer.score {
            ScoreSource::AllocatableCpu => it.cluster.allocatable_cpu,
            _ => it.cluster.allocatable_memory,
        };
        let known: Vec<i128> = eligible
            .iter()
            .filter_map(|(_, it)| amount(it))
            .map(almanac_engine::placement::Quantity::billionths)
            .collect();
        for (position, it) in &eligible {
            let raw = match &prioritizer.score {
                ScoreSource::Balance => {
                    let (n, m) = (i128::from(it.selected_by_others), i128::from(input.busiest));
                    if n == 0 { 100 } else { 2 * truncated(100 * (m - 2 * n), 2 * m) }
                }
                ScoreSource::Steady => i128::from(it.is_selected) * 100,
                ScoreSource::AllocatableCpu | ScoreSource::AllocatableMemory => {
                    let (min, max) = (known.iter().min(), known.iter().max());
                    match (amount(it), min, max) {
                        (Some(_), Some(min), Some(max)) if min == max => 100,
                        (Some(amount), Some(min), Some(max)) => {
                            let (above, range) = (amount.billionths() - min, max - min);
                            truncated(200 * (2 * above - range), 2 * range)
                        }
                        _ => 0,
                    }
                }
                ScoreSource::AddOn { score, .. } => {
                    let scores = input.add_on_scores[index][*position];
                    let valid = scores.filter(|it| it.valid_until.is_none_or(|end| now < end));
                    valid.and_then(|it| it.get(score)).map_or(0, |it| i128::from(it.get()))
                }
            };
            let weighted = raw * i128::from(prioritizer.weight.get());
            if let Some((total, _)) = totals.get_mut(&**it.name) {
                *total += i64::try_from(weighted).unwrap_or_default();
            }
        }
    }
    totals
}

fn truncated(numerator: i128, denominator: i128) -> i128 {
    let whole = numerator.abs() / denominator;
    if numerator < 0 { -whole } else { whole }
}

fn check_selection(
    violations: &mut Violations,
    input: &Input<'_>,
    now: Timestamp,
    decision: &Decision,
) {
    let totals = totals(input, now);
    let selected: BTreeSet<&str> = decision.clusters.iter().map(|it| &**it).collect();
    violations.unless(selected.len() == decision.clusters.len(), || {
        format!("a cluster is selected twice: {:?}", decision.clusters)
    });
    for cluster in selected.iter().filter(|it| !totals.contains_key(*it)) {
        violations.unless(false, || format!("{cluster} is selected, but may not be"));
    }
    let wanted = input.policy.number_of_clusters.and_then(|it| usize::try_from(it).ok());
    let possible = wanted.unwrap_or(usize::MAX).min(totals.len());
    violations.unless(selected.len() == possible, || {
        format!("{} clusters are selected, and {possible} could be", selected.len())
    });
    let key = |name: &&str| {
        let (total, is_shunned) = totals.get(name).copied().unwrap_or((i64::MIN, true));
        (std::cmp::Reverse(total), is_shunned, name.to_string())
    };
    let worst = selected.iter().copied().max_by_key(key);
    let best_left = totals.keys().copied().filter(|it| !selected.contains(it)).min_by_key(key);
    if let (Some(worst), Some(left)) = (worst, best_left) {
        violations.unless(key(&worst) < key(&left), || {
            format!("{worst} is selected, though {left} comes before it: {totals:?}")
        });
    }
    let unreported = input.memory.as_ref().and_then(|it| it.unreported.as_ref());
    let before = match unreported {
        Some(unreported) => unreported.iter().map(|it| &**it).collect(),
        None => selected_before(input),
    };
    let added: Vec<&str> = selected.difference(&before).copied().collect();
    let removed: Vec<&str> = before.difference(&selected).copied().collect();
    let texts =
        |clusters: &[Arc<str>]| clusters.iter().map(ToString::to_string).collect::<Vec<_>>();
    violations
        .unless(texts(&decision.added) == added && texts(&decision.removed) == removed, || {
            format!("reports {:?} and {:?} as added and removed", decision.added, decision.removed)
        });
}

fn is_own(input: &Input<'_>, decision: &PlacementDecision) -> bool {
    decision.placement.as_deref() == Some(input.identity.name())
}

fn selected_before<'a>(input: &Input<'a>) -> BTreeSet<&'a str> {
    let own = input.decisions.values().filter(|it| is_own(input, it));
    own.flat_map(|it| &it.clusters).map(|it| &**it).collect()
}

fn check_groups(violations: &mut Violations, input: &Input<'_>, decision: &Decision) {
    let groups = divided(input, decision);
    violations.unless(
        decision
            .groups
            .iter()
            .map(|it| (&it.name, &it.clusters))
            .eq(groups.iter().map(|(name, clusters)| (name, clusters))),
        || format!("the groups are {:?} instead of {groups:?}", decision.groups),
    );
    for group in &decision.groups {
        let needed = group.clusters.len().div_ceil(CLUSTERS_PER_DECISION).max(1);
        violations.unless(group.decisions.len() == needed, || {
            format!("{} clusters are in {} decisions", group.clusters.len(), group.decisions.len())
        });
    }
    let names: Vec<String> =
        decision.groups.iter().flat_map(|it| &it.decisions).map(ToString::to_string).collect();
    let numbered = (1..=names.len()).map(|it| format!("{}-decision-{it}", input.identity.name()));
    violations.unless(names == numbered.collect::<Vec<_>>(), || {
        format!("the decisions are not numbered from one: {names:?}")
    });
}

/// The selected clusters, each in the first group whose selector matches, or else in a group without a name. The groups
/// keep their order, and contain at most the number of clusters together. At least one group exists.
fn divided(input: &Input<'_>, decision: &Decision) -> Vec<(Arc<str>, Vec<Arc<str>>)> {
    let of_policy = &input.policy.groups;
    let mut members: Vec<Vec<Arc<str>>> = vec![Vec::new(); of_policy.len() + 1];
    for name in &decision.clusters {
        let candidate = input.candidates.iter().find(|it| it.name == name);
        let fits = |candidate| of_policy.iter().position(|group| fits(&group.selector, candidate));
        members[candidate.and_then(fits).unwrap_or(of_policy.len())].push(Arc::clone(name));
    }
    let size = input.policy.group_size.limit(decision.clusters.len());
    let names = of_policy.iter().map(|group| Arc::clone(&group.name)).chain([Arc::default()]);
    let divided = names.zip(&members).flat_map(|(name, members)| {
        members.chunks(size).map(move |clusters| (Arc::clone(&name), clusters.to_vec()))
    });
    let divided: Vec<_> = divided.collect();
    if divided.is_empty() { vec![Default::default()] } else { divided }
}

/// Applies the writes one by one, and checks the selected clusters after each write.
fn check_writes(violations: &mut Violations, input: &Input<'_>, decision: &Decision) {
    let before = selected_before(input);
    let stays: Vec<&str> =
        decision.clusters.iter().map(|it| &**it).filter(|it| before.contains(it)).collect();
    let mut state: BTreeMap<Identity, PlacementDecision> =
        input.decisions.iter().map(|(it, found)| ((*it).clone(), (*found).clone())).collect();
    for action in &decision.actions {
        match action {
            Action::WriteDecision { decision, content } => {
                violations.unless(content.clusters.len() <= CLUSTERS_PER_DECISION, || {
                    format!("{decision} has {} clusters", content.clusters.len())
                });
                violations.unless(state.get(decision) != Some(&**content), || {
                    format!("{decision} is written as it is")
                });
                state.insert(decision.clone(), PlacementDecision::clone(content));
            }
            Action::RemoveDecision { decision } => {
                violations.unless(state.remove(decision).is_some(), || {
                    format!("{decision} is not there")
                });
            }
            other => violations.unless(false, || format!("{other:?} is not for a placement")),
        }
        let own = state.values().filter(|it| is_own(input, it));
        let shown: BTreeSet<&str> = own.flat_map(|it| &it.clusters).map(|it| &**it).collect();
        for missing in stays.iter().filter(|it| !shown.contains(*it)) {
            violations.unless(false, || format!("{missing} is missing after {action:?}"));
        }
    }
    let mut wanted = BTreeMap::new();
    for (index, group) in (0..).zip(&decision.groups) {
        let mut rest = &group.clusters[..];
        for name in &group.decisions {
            let (chunk, further) = rest.split_at(rest.len().min(CLUSTERS_PER_DECISION));
            rest = further;
            let content = PlacementDecision {
                placement: Some(input.identity.name().into()),
                group: Arc::clone(&group.name),
                group_index: Some(index),
                clusters: chunk.into(),
            };
            let (api_group, namespace) = (input.identity.group(), input.identity.namespace());
            wanted.insert(Identity::new(api_group, "PlacementDecision", namespace, name), content);
        }
    }
    violations.unless(state == wanted, || format!("{state:?} comes of it instead of {wanted:?}"));
}

/// The objects whose scores an expression may read.
fn read<'a>(input: &Input<'a>) -> impl Iterator<Item = &'a Arc<str>> {
    input.scores.keys().filter(|object| input.policy.reads_scores(object))
}

fn check_waking(
    violations: &mut Violations,
    input: &Input<'_>,
    now: Timestamp,
    decision: &Decision,
) {
    // A cluster that is deselected now and cannot be selected again is not included.
    let stays = |predicates_match: &_, candidate: &Candidate<'_>, at: Timestamp| {
        let is_new = decision.clusters.binary_search(candidate.name).is_err();
        let is_costly = decision.costly.contains_key(candidate.name);
        let is_out =
            is_new && (is_costly || counts(input, candidate, TaintEffect::NoSelectIfNew, at));
        !is_out && may_be_selected(input, predicates_match, candidate, at)
    };
    let known = predicates_match(input, now);
    let mut ends: BTreeSet<Timestamp> = BTreeSet::new();
    for (position, candidate) in input.candidates.iter().enumerate() {
        for taint in &candidate.cluster.taints {
            let tolerated = input.policy.tolerations.iter().filter_map(|it| it.tolerates(taint));
            if let Some(Tolerated::Until(end)) = tolerated.max() {
                ends.insert(end);
            }
        }
        for object in read(input) {
            let scores = input.scores.get(object).and_then(|it| it.get(candidate.name));
            ends.extend(scores.and_then(|it| it.valid_until));
        }
        if !stays(&known, candidate, now) {
            continue;
        }
        for (prioritizer, objects) in input.policy.prioritizers.iter().zip(&input.add_on_scores) {
            let ScoreSource::AddOn { score, .. } = &prioritizer.score else { continue };
            let Some(scores) = objects[position] else { continue };
            let Some(end) = scores.valid_until.filter(|end| *end > now) else { continue };
            if scores.get(score).is_some() {
                ends.insert(end);
                violations.unless(decision.wake_at.is_some_and(|it| it <= end), || {
                    format!("would sleep past {end}, when a score of {} expires", candidate.name)
                });
            }
        }
    }
    if let Some(wake_at) = decision.wake_at {
        violations.unless(wake_at > now, || format!("wakes at {wake_at}, which is over at {now}"));
        violations.unless(ends.contains(&wake_at), || {
            format!("wakes at {wake_at}, when nothing ends: {ends:?}")
        });
    }
    // The expiry of scores that no expression reads makes no difference.
    let shunned = |it: &Candidate<'_>, at| counts(input, it, TaintEffect::PreferNoSelect, at);
    let is_slept_over =
        |end: &&Timestamp| **end > now && decision.wake_at.is_none_or(|it| it > **end);
    for end in ends.iter().filter(is_slept_over) {
        let then = predicates_match(input, *end);
        let is_same = input.candidates.iter().all(|it| {
            let (stays_now, stays_then) = (stays(&known, it, now), stays(&then, it, *end));
            stays_now == stays_then && (!stays_now || shunned(it, now) == shunned(it, *end))
        });
        violations.unless(is_same, || {
            format!("would sleep past {end}, when which may be selected changes")
        });
    }
}
