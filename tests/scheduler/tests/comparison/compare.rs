//! Runs one course with both schedulers, up to the first difference.

use std::collections::BTreeSet;
use std::fmt::Debug;

use almanac_engine::{Verdict, WeightedScores};
use almanac_second_scheduler::generate::{Course, Step};
use almanac_second_scheduler::{
    Exclusion, MissingScore, Objects, RankedCluster, Schedule, is_left_alone, next_change, schedule,
};
use serde_json::Value;

use crate::faults::Fault;
use crate::subject::{Decided, Subject};

/// The first difference between the two schedulers.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    /// The kind of difference, as a word.
    pub(crate) what: &'static str,
    /// A description of the difference.
    pub(crate) how: String,
}

/// The counts of a comparison.
#[derive(Default, Debug)]
pub(crate) struct Tally {
    turns: u64,
    misconfigured: u64,
    left_alone: u64,
    selected: u64,
    not_selected: u64,
    excluded: u64,
    decisions: u64,
    wakes: u64,
}

impl Tally {
    fn count(&mut self, expected: &Schedule) {
        self.selected += expected.selected as u64;
        self.not_selected += (expected.ranked.len() - expected.selected) as u64;
        self.excluded += expected.excluded.len() as u64;
        self.decisions += expected.decisions.len() as u64;
    }

    pub(crate) fn add(&mut self, other: &Tally) {
        self.turns += other.turns;
        self.misconfigured += other.misconfigured;
        self.left_alone += other.left_alone;
        self.selected += other.selected;
        self.not_selected += other.not_selected;
        self.excluded += other.excluded;
        self.decisions += other.decisions;
        self.wakes += other.wakes;
    }

    /// Fails if the courses contain too few relevant events, because such a comparison proves nothing.
    pub(crate) fn assert_that_everything_occurred(&self, worlds: u64) {
        let Tally { turns, selected, not_selected, excluded, wakes, .. } = self;
        for often in [turns, selected, not_selected, excluded, wakes] {
            assert!(*often >= worlds / 10, "{self:?}");
        }
        assert!(self.misconfigured >= worlds / 100 && self.left_alone >= worlds / 200, "{self:?}");
    }
}

/// Runs a course with both schedulers, up to the first difference.
pub(crate) fn differences(course: &Course, tally: &mut Tally) -> Option<Difference> {
    differences_with(course, &Fault::NONE, tally)
}

/// Runs a course with both schedulers, with a fault in Almanac's input.
pub(crate) fn differences_with(
    course: &Course,
    fault: &Fault,
    tally: &mut Tally,
) -> Option<Difference> {
    let mut objects = course.objects.clone();
    let mut subject = Subject::default();
    for object in objects.all() {
        subject.put(&fault.object(object));
    }
    course.steps.iter().find_map(|step| {
        for change in &step.changes {
            change.make(&mut objects);
            subject.make(&fault.change(change));
        }
        let (namespace, name) = &step.placement;
        let placement = objects.get("Placement", namespace, name)?.clone();
        let decided = subject.turn(&step.placement, fault.now(step.now));
        turn(&mut objects, decided, &placement, step, tally)
    })
}

fn turn(
    objects: &mut Objects,
    decided: Option<Decided>,
    placement: &Value,
    step: &Step,
    tally: &mut Tally,
) -> Option<Difference> {
    let expected = schedule(objects, placement, step.now);
    tally.turns += 1;
    let expected = match expected {
        // The previous selection stays, and no further result exists to compare.
        Err(misconfigured) => {
            tally.misconfigured += 1;
            let how = || format!("{misconfigured:?}, but Almanac decides");
            return decided.map(|_| Difference { what: "misconfigured", how: how() });
        }
        Ok(_) if is_left_alone(placement) => {
            tally.left_alone += 1;
            let how = || "the evaluator requires no action, but Almanac decides".to_owned();
            return decided.map(|_| Difference { what: "left alone", how: how() });
        }
        Ok(expected) => expected,
    };
    let Some(decided) = decided else {
        let how = format!("nothing of {placement} can be used");
        return Some(Difference { what: "unusable", how });
    };
    tally.count(&expected);
    let before = clusters_of(objects, placement);
    objects.decide(placement, &expected.decisions);
    let after = clusters_of(objects, placement);
    let wake_at = next_change(objects, placement, step.now);
    tally.wakes += u64::from(wake_at.is_some());
    let names = |names: BTreeSet<&String>| names.into_iter().cloned().collect::<Vec<_>>();
    let changes =
        (names(after.difference(&before).collect()), names(before.difference(&after).collect()));
    None.or_else(|| equal("explanation", &verdicts(&expected), &their_verdicts(&decided)))
        .or_else(|| equal("last at equal total", &last(&expected), &decided.last))
        .or_else(|| equal("missing scores", &missing(&expected), &sorted(decided.missing)))
        .or_else(|| equal("undated taints", &expected.undated, &decided.undated))
        .or_else(|| equal("condition", &expected.reason, &decided.reason))
        .or_else(|| equal("changes", &changes, &decided.changes))
        .or_else(|| equal("decisions", &expected.decisions, &decided.decisions))
        .or_else(|| equal("wake_at", &wake_at, &decided.wake_at))
}

/// The selection of a placement.
fn clusters_of(objects: &Objects, placement: &Value) -> BTreeSet<String> {
    let decisions = objects.decisions_of(placement);
    let named = decisions.flat_map(|it| it["status"]["decisions"].as_array().into_iter().flatten());
    named.filter_map(|it| it["clusterName"].as_str().map(str::to_owned)).collect()
}

/// The verdict on every candidate, with its scores.
fn verdicts(expected: &Schedule) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (position, RankedCluster { cluster, total, parts, .. }) in
        expected.ranked.iter().enumerate()
    {
        let verdict = if position < expected.selected { Verdict::Won } else { Verdict::Lost };
        let parts = parts.iter().map(|it| format!("{} {}x{}", it.of, it.raw, it.weight));
        let parts = sorted(parts.collect()).join(", ");
        lines.push(format!("{cluster} {verdict:?} {total} {parts}"));
    }
    for (cluster, exclusion) in &expected.excluded {
        lines.push(match exclusion {
            Exclusion::Terminating => format!("{cluster} Excluded the cluster is being deleted"),
            Exclusion::Predicates => format!("{cluster} Excluded no predicate matches"),
            Exclusion::Taint { taint, ended: None } => {
                format!("{cluster} Excluded {taint} is not tolerated")
            }
            Exclusion::Taint { taint, ended: Some(ended) } => {
                format!("{cluster} Excluded {taint} was tolerated until {ended}")
            }
        });
    }
    lines
}

fn their_verdicts(decided: &Decided) -> Vec<String> {
    let lines = decided.explained.iter().map(|it| {
        let (cluster, verdict) = (it.rule.as_deref().unwrap_or_default(), it.verdict);
        let Some(WeightedScores { total, scores }) = &it.scored else {
            // The predicates that do not match follow.
            let message = match it.message.split_once(": ") {
                Some((reason @ "no predicate matches", _)) => reason,
                _ => &it.message,
            };
            return format!("{cluster} {verdict:?} {message}");
        };
        let parts = scores.iter().map(|it| format!("{} {}x{}", it.of, it.raw, it.weight));
        let parts = sorted(parts.collect()).join(", ");
        format!("{cluster} {verdict:?} {total} {parts}")
    });
    lines.collect()
}

fn last(expected: &Schedule) -> Vec<String> {
    let last = expected.ranked.iter().filter(|it| it.is_last);
    sorted(last.map(|it| it.cluster.clone()).collect())
}

fn missing(expected: &Schedule) -> Vec<(String, String, MissingScore)> {
    let all = expected.ranked.iter().flat_map(|it| {
        let missing = it.parts.iter().filter_map(|part| Some((part.of.clone(), part.missing?)));
        missing.map(|(of, why)| (it.cluster.clone(), of, why))
    });
    sorted(all.collect())
}

fn sorted<Item: Ord>(mut items: Vec<Item>) -> Vec<Item> {
    items.sort();
    items
}

fn equal<T: PartialEq + Debug>(what: &'static str, one: &T, other: &T) -> Option<Difference> {
    let how = || format!("should be\n{one:#?}\nbut is\n{other:#?}");
    (one != other).then(|| Difference { what, how: how() })
}
