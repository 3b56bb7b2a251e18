//! The rules for a `ResourcePolicy`. A policy is used as a whole or not at all: without one of its units, its pods
//! would use other nodes than the spec requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::units::{OUTSIDE, ResourcePolicy, Strategy, Unit};
use almanac_engine::{LabelSelector, NAMED, few};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as WrittenSelector;

use crate::families::Checked;
use crate::fields::label_selector::{check_key, check_selector};
use crate::fields::label_sets::LabelSet;
use crate::finding::{Code, Finding, MessageValue, Path, Severity};
use crate::objects::{self, MAX_POD_TERMS, MAX_TERMS, ResourcePolicySpec, UnitStrategy};

/// Checks the spec of a policy.
pub(super) fn check(written: &ResourcePolicySpec) -> Checked<ResourcePolicy> {
    let mut findings = Vec::new();
    let spec = Path::Root.key("spec");
    let pods = check_pods(written, &spec, &mut findings);
    let group_keys = check_keys(written, pods.as_ref(), &spec, &mut findings);
    let strategy = match written.strategy {
        Some(UnitStrategy::Required) => Strategy::Required,
        Some(UnitStrategy::Prefer) | None => Strategy::Prefer,
    };
    let list = spec.key("units");
    let units = check_units(&written.units, &list, &mut findings);
    if written.units.is_empty() {
        findings.push(
            Finding::required(&list, "a policy has at least one unit")
                .with_fix("add a unit with its nodeSelector"),
        );
    }
    check_names(&written.units, &list, &mut findings);
    check_terms(&written.units, &list, &mut findings);
    let is_sound = !findings.iter().any(|finding| finding.severity() == Severity::Error);
    let (Some(pod_selector), Some(units), true) = (pods, units, is_sound) else {
        return Checked { value: None, findings };
    };
    note_unused(&units, strategy, &list, &mut findings);
    let matching = written.match_policy.as_ref();
    let value = ResourcePolicy {
        pod_selector,
        group_keys,
        ignores_terminating: matching.and_then(|it| it.ignore_terminating_pod).unwrap_or_default(),
        strategy,
        units: units.into(),
    };
    Checked { value: Some(value), findings }
}

/// The number of labels, expressions and values in a selector.
fn terms(selector: &WrittenSelector) -> usize {
    let labels = selector.match_labels.iter().flatten().count();
    let expressions = selector.match_expressions.iter().flatten();
    labels + expressions.map(|it| 1 + it.values.iter().flatten().count()).sum::<usize>()
}

/// Checks the number of terms of all units together, since every node is compared with all of them.
fn check_terms(units: &[objects::Unit], list: &Path<'_>, findings: &mut Vec<Finding>) {
    let terms: usize = units.iter().map(|unit| terms(&unit.node_selector)).sum();
    if terms > MAX_TERMS {
        let message = format!(
            "Too many: {terms}: the selectors of all units together must have at most {MAX_TERMS} labels, expressions \
             and values"
        );
        let fix = "give the nodes of a unit one label of their own, and select that";
        findings.push(Finding::new(Code::OutOfRange, list, message).with_fix(fix));
    }
}

fn check_pods(
    written: &ResourcePolicySpec,
    spec: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<LabelSelector> {
    let field = spec.key("podSelector");
    let selector = written.pod_selector.clone().unwrap_or_default();
    let terms = terms(&selector);
    if terms > MAX_POD_TERMS {
        let message = format!(
            "Too many: {terms}: a selector of pods must have at most {MAX_POD_TERMS} labels, expressions and values"
        );
        let fix = "give the pods one label of their own, and select that";
        findings.push(Finding::new(Code::OutOfRange, field, message).with_fix(fix));
        return None;
    }
    let selector = check_selector(&selector, &field, findings)?;
    if selector.is_everything() {
        let message = "without labels, the selector selects every pod of the namespace except those of DaemonSets";
        let fix = "name the labels of the pods, unless all are meant";
        findings.push(Finding::new(Code::EveryPod, field, message).with_fix(fix));
    } else if LabelSet::from_selector(&selector).is_empty() {
        findings.push(contradicts(&field, "no pod"));
    }
    Some(selector)
}

fn contradicts(field: &Path<'_>, nothing: &str) -> Finding {
    let message =
        format!("its requirements contradict each other, so {nothing} fulfills all of them");
    Finding::new(Code::Contradiction, field, message)
        .with_fix("list the values that one label may have in one requirement with the operator In")
}

/// Checks the labels whose values form groups of pods. A label with the same value for all pods has no effect.
fn check_keys(
    written: &ResourcePolicySpec,
    pods: Option<&LabelSelector>,
    spec: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Box<[Arc<str>]> {
    let list = spec.key("matchLabelKeys");
    let pods = pods.map(LabelSet::from_selector).filter(|pods| !pods.is_empty());
    let mut keys: Vec<Arc<str>> = Vec::new();
    for (position, key) in written.match_label_keys.iter().enumerate() {
        let field = list.index(position);
        check_key(key, &field, findings);
        if keys.iter().any(|known| **known == **key) {
            let message = format!("Duplicate value: {}", key.in_message());
            let finding = Finding::new(Code::DuplicateItem, field, message);
            findings.push(finding.with_fix("remove one of them"));
            continue;
        }
        if let Some(value) = pods.as_ref().and_then(|pods| pods.only_value(key)) {
            let message = format!(
                "all pods that podSelector selects have {key}={value}, so it makes no groups of them"
            );
            findings.push(Finding::new(Code::IgnoredField, field, message));
        }
        keys.push(key.as_str().into());
    }
    keys.into()
}

fn check_units(
    written: &[objects::Unit],
    list: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Vec<Unit>> {
    let mut units = Some(Vec::new());
    for (position, unit) in written.iter().enumerate() {
        let item = list.index(position);
        let nodes = check_nodes(&unit.node_selector, &item.key("nodeSelector"), findings);
        if unit.max_count == Some(0) {
            let message = "the unit is closed: it takes no pod";
            let fix = "remove it, so that the unit takes as many pods as its nodes can hold, unless it is meant to be \
                       closed";
            let field = item.key("maxCount");
            findings.push(Finding::new(Code::ClosedUnit, field, message).with_fix(fix));
        }
        // The shape check has reported values out of bounds.
        let max = unit.max_count.map(|most| u32::try_from(most).unwrap_or_default());
        let priority = unit.priority.unwrap_or_default().max(0);
        units = units.zip(nodes).map(|(mut known, nodes)| {
            known.push(Unit { name: name_of(unit, position), priority, max, nodes });
            known
        });
    }
    units
}

fn name_of(unit: &objects::Unit, position: usize) -> Arc<str> {
    let own_name = unit.name.as_deref().filter(|name| !name.is_empty());
    own_name.map_or_else(|| format!("unit-{position}").into(), Arc::from)
}

fn check_nodes(
    written: &WrittenSelector,
    field: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<LabelSelector> {
    let selector = check_selector(written, field, findings)?;
    if selector.is_everything() {
        findings.push(
            Finding::required(field, "an empty selector would match every node")
                .with_fix("name the labels of the nodes, under matchLabels or matchExpressions"),
        );
        return None;
    }
    if LabelSet::from_selector(&selector).is_empty() {
        findings.push(contradicts(field, "no node"));
    }
    Some(selector)
}

/// Checks that names differ, including the default names that units get from their index.
fn check_names(written: &[objects::Unit], list: &Path<'_>, findings: &mut Vec<Finding>) {
    let mut first_of: BTreeMap<Arc<str>, usize> = BTreeMap::new();
    for (position, unit) in written.iter().enumerate() {
        let name = name_of(unit, position);
        if *name == *OUTSIDE {
            let message = format!("{} is the name for nodes in no unit", name.in_message());
            let item = list.index(position);
            let finding = Finding::new(Code::InvalidName, item.key("name"), message);
            findings.push(finding.with_fix("give the unit another name"));
        }
        let Some(&first) = first_of.get(&name) else {
            first_of.insert(name, position);
            continue;
        };
        // The finding is about the unit that has this name in its spec.
        let reported = if unit.name.is_some() { position } else { first };
        let item = list.index(reported);
        let both_are_named = unit.name.is_some() && written[first].name.is_some();
        let message = if both_are_named {
            format!("Duplicate value: {}", name.in_message())
        } else {
            let other = position + first - reported;
            let quoted = name.in_message();
            format!("Duplicate value: {quoted}: units[{other}], which has no name, is called so")
        };
        findings.push(
            Finding::new(Code::DuplicateItem, item.key("name"), message)
                .with_fix("give each unit a name of its own"),
        );
    }
}

/// Reports units that never receive a pod, because better units have all their nodes, or because they are closed.
fn note_unused(units: &[Unit], strategy: Strategy, list: &Path<'_>, findings: &mut Vec<Finding>) {
    let sets: Vec<LabelSet> =
        units.iter().map(|unit| LabelSet::from_selector(&unit.nodes)).collect();
    let mut has_room = false;
    for (position, unit) in units.iter().enumerate() {
        if sets[position].is_empty() {
            continue;
        }
        let is_better = |other: &usize| {
            let than = (units[*other].priority, unit.priority);
            than.0 > than.1 || than.0 == than.1 && *other < position
        };
        let better: Vec<usize> = (0..units.len()).filter(is_better).collect();
        let sets_of =
            |indexes: &[usize]| -> Vec<&LabelSet> { indexes.iter().map(|it| &sets[*it]).collect() };
        let alone = better.iter().find(|other| sets[position].is_within(&sets[**other]));
        let by = match alone {
            Some(other) => quoted(units, &[*other]),
            None if sets[position].is_within_all(&sets_of(&better)) => quoted(units, &better),
            None => {
                has_room |= unit.max != Some(0);
                continue;
            }
        };
        let message = format!(
            "all nodes that the unit selects belong to {by}, since a node belongs to the unit with the highest priority, \
             or to the first of several; this unit has none"
        );
        let item = list.index(position);
        findings.push(
            Finding::new(Code::CoveredUnit, item.key("nodeSelector"), message)
                .with_fix("raise its priority, narrow the other selector, or remove the unit"),
        );
    }
    if !has_room && strategy == Strategy::Required {
        let message = "no unit takes a pod, and with strategy: required there is nowhere else, so that no pod of \
                       the policy is scheduled";
        let fix = "open a unit, or write strategy: prefer";
        findings.push(Finding::new(Code::NoOpenUnit, list, message).with_fix(fix));
    }
}

/// `unit "a"`, or `units "a" and "b"`.
fn quoted(units: &[Unit], indexes: &[usize]) -> String {
    let names: Vec<String> = indexes.iter().map(|it| format!("{:?}", units[*it].name)).collect();
    match names.split_last() {
        Some((last, [])) => format!("unit {last}"),
        Some((last, others)) if others.len() < NAMED => format!("units {} and {last}", few(others)),
        Some(_) => format!("units {}", few(&names)),
        None => "no unit".to_owned(),
    }
}
