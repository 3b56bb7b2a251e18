//! The fix for a field that is not in its schema: the field that its spelling, its role or its project suggests, or the
//! map to which it belongs. `shape` detects that a field is not in the schema.
//!
//! A wrong fix changes what a policy does, so spellings are compared word by word, and a fix never removes a field that
//! narrows a selection without a replacement.

use std::collections::BTreeSet;

use super::{Level, Shape};
use crate::finding::{Code, FieldPath, Finding, MessageValue as _, Path, Segment};
use crate::tree::{Entry, Node, Value, reads_as_text};

/// Fields, each with the names of the same role elsewhere.
const ROLES: [(&str, &[&str]); 21] = [
    ("maxCount", &["max", "maxPods", "maxReplicas", "limit", "cap"]),
    ("numberOfClusters", &["clusterReplicas", "clusterCount", "maxClusters", "replicas", "count"]),
    ("targetMinReplicas", &["minReplicas", "min", "minReplicaCount"]),
    ("targetMaxReplicas", &["maxReplicas", "max", "maxReplicaCount"]),
    ("targetReplicas", &["replicas", "targetSize", "desiredReplicas", "desiredScale"]),
    ("minReplicas", &["minReplicaCount", "min"]),
    ("maxReplicas", &["maxReplicaCount", "max"]),
    ("selector", &["labelSelector", "podSelector", "podLabels"]),
    ("podSelector", &["selector", "labelSelector", "podLabels"]),
    ("labelSelector", &["selector", "clusterSelector"]),
    ("nodeSelector", &["selector", "labelSelector", "nodeLabels"]),
    ("targetQoSLevel", &["qosLevel", "level", "qos"]),
    ("startTime", &["start", "from", "begin"]),
    ("endTime", &["end", "to", "until"]),
    ("timeZone", &["tz", "zone", "location"]),
    ("schedule", &["cron", "cronSchedule", "crontab", "cronExpression"]),
    ("scaleTargetRef", &["targetRef", "scaleTarget", "target"]),
    ("suspend", &["suspended", "paused", "disabled", "disable"]),
    ("rules", &["jobs", "triggers", "schedules"]),
    ("operator", &["op"]),
    ("maxDelaySeconds", &["maxDelay"]),
];

/// Fields of other projects, each with its kind and project.
const OF_OTHERS: [(&str, &str); 8] = [
    ("jobs", "a CronHorizontalPodAutoscaler of kubernetes-cronhpa-controller"),
    ("targetSize", "a CronHorizontalPodAutoscaler of kubernetes-cronhpa-controller"),
    ("runOnce", "a CronHorizontalPodAutoscaler of kubernetes-cronhpa-controller"),
    ("triggers", "a ScaledObject of KEDA"),
    ("minReplicaCount", "a ScaledObject of KEDA"),
    ("maxReplicaCount", "a ScaledObject of KEDA"),
    ("pollingInterval", "a ScaledObject of KEDA"),
    ("targetRef", "a VerticalPodAutoscaler"),
];

/// Switches, each with the names of its opposite.
const SWITCHES: [(&str, &[&str]); 2] = [
    ("suspend", &["enable", "enabled", "active"]),
    ("enable", &["disable", "disabled", "suspend", "suspended", "paused"]),
];

/// Wrappers without a meaning of their own.
const WRAPPERS: [&str; 6] = ["pattern", "spec", "config", "settings", "options", "template"];

/// Words of fields that narrow a selection.
const NARROWING: [&str; 14] = [
    "selector",
    "select",
    "exclude",
    "excluded",
    "except",
    "not",
    "anti",
    "forbidden",
    "deny",
    "filter",
    "match",
    "namespaces",
    "only",
    "terms",
];

/// Fields of Jobs and their pods, with the part of a `CronJob` to which they belong.
const OF_JOBS: [(&str, &str); 8] = [
    ("backoffLimit", "jobTemplate.spec"),
    ("ttlSecondsAfterFinished", "jobTemplate.spec"),
    ("activeDeadlineSeconds", "jobTemplate.spec"),
    ("parallelism", "jobTemplate.spec"),
    ("completions", "jobTemplate.spec"),
    ("template", "jobTemplate.spec"),
    ("restartPolicy", "jobTemplate.spec.template.spec"),
    ("containers", "jobTemplate.spec.template.spec"),
];

/// The maximum number of unknown fields of a map that get a fix of their own.
const MAX_FIXES: usize = 100;

/// Reports the unknown fields of a map, and returns the fields that are present under another name.
pub(super) fn look_at<'s>(
    shape: &'s Shape,
    unknown: &[&Entry],
    level: Level<'_>,
) -> (BTreeSet<&'s str>, Vec<Finding>) {
    let keys: BTreeSet<&str> = level.entries.iter().map(|entry| &*entry.key).collect();
    let mut absent: BTreeSet<&str> = shape.fields().filter(|it| !keys.contains(it)).collect();
    let mut meant: Vec<Option<&str>> = vec![None; unknown.len()];
    let mut claimed = BTreeSet::new();
    // A similar spelling is more certain than a role. Each absent field is matched once.
    for by in [spelled, same_role] {
        for (entry, meant) in unknown.iter().zip(&mut meant).take(MAX_FIXES) {
            if meant.is_none()
                && let Some(name) = by(shape, entry, &absent)
            {
                absent.remove(name);
                claimed.insert(name);
                *meant = Some(name);
            }
        }
    }
    let findings = unknown.iter().zip(meant).enumerate().map(|(number, (entry, meant))| {
        let field = level.path.key(&entry.key);
        let finding = Finding::new(Code::UnknownField, field, message(&entry.key));
        match meant {
            Some(meant) => finding.meaning(meant),
            None if number < MAX_FIXES => match without_name(shape, entry, &keys, level) {
                Some(fix) => finding.with_fix(fix),
                None => finding,
            },
            None => finding,
        }
    });
    let findings = findings.collect();
    (claimed, findings)
}

fn message(key: &str) -> String {
    match OF_OTHERS.iter().find(|(name, _)| *name == key) {
        Some((_, whose)) => format!("Unknown field: it is one of {whose}"),
        None => "Unknown field: no such field here".to_owned(),
    }
}

/// The only absent field with a similar spelling. Words are compared one by one: a field with a different word is
/// another field.
fn spelled<'s>(shape: &'s Shape, entry: &Entry, absent: &BTreeSet<&str>) -> Option<&'s str> {
    let written = &*entry.key;
    let of_case = |it: &&str| absent.contains(*it) && it.eq_ignore_ascii_case(written);
    let near = |it: &&str| absent.contains(*it) && are_near(written, it);
    let only = |fits: &dyn Fn(&&str) -> bool| {
        let mut fitting = shape.fields().filter(|it| fits(it));
        fitting.next().filter(|_| fitting.next().is_none())
    };
    only(&of_case).or_else(|| only(&near))
}

fn are_near(one: &str, other: &str) -> bool {
    let (one, other) = (words(one), words(other));
    one.len() == other.len()
        && one.iter().zip(&other).all(|(one, other)| {
            let most = match other.len() {
                0..=3 => 0,
                4..=8 => 1,
                _ => 2,
            };
            // `unsuspend` is the opposite of `suspend`.
            let has_prefix = one.len() > other.len() + 1 && one.ends_with(other.as_str());
            !has_prefix && strsim::damerau_levenshtein(one, other) <= most
        })
}

/// `maxDelaySeconds` as `max`, `delay` and `seconds`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_upper = true;
    for letter in name.chars() {
        let is_upper = letter.is_uppercase();
        match words.last_mut() {
            Some(word) if was_upper || !is_upper => word.extend(letter.to_lowercase()),
            _ => words.push(letter.to_lowercase().collect()),
        }
        was_upper = is_upper;
    }
    words
}

/// The only absent field with the role of the unknown field, if the absent field accepts the value.
fn same_role<'s>(shape: &'s Shape, entry: &Entry, absent: &BTreeSet<&str>) -> Option<&'s str> {
    let is_meant = |name: &&str| {
        let others =
            ROLES.iter().filter(|(known, _)| known == name).flat_map(|(_, others)| *others);
        absent.contains(*name)
            && others.into_iter().any(|it| it.eq_ignore_ascii_case(&entry.key))
            && shape.field(name).is_some_and(|it| it.takes(name, &entry.value))
    };
    let mut meant = shape.fields().filter(is_meant);
    meant.next().filter(|_| meant.next().is_none())
}

/// The fix for a field that matches no other field of its map.
fn without_name(
    shape: &Shape,
    entry: &Entry,
    present: &BTreeSet<&str>,
    level: Level<'_>,
) -> Option<String> {
    let key = &*entry.key;
    if let Some(fix) = as_switch(shape, entry, present) {
        return Some(fix);
    }
    if let Some((_, part)) = OF_JOBS.iter().find(|(name, _)| *name == key)
        && shape.field("jobTemplate").is_some()
    {
        return Some(format!("move it into {part}"));
    }
    if let Some(stem) = key.strip_suffix("Minutes")
        && let Value::Number(minutes) = &entry.value.value
        && let Some(minutes) = minutes.as_i64()
        && shape.field(&format!("{stem}Seconds")).is_some()
    {
        return Some(format!("write {stem}Seconds: {} instead", minutes.saturating_mul(60)));
    }
    let is_selector = shape.field("matchLabels").is_some();
    let narrows = words(key).iter().any(|word| NARROWING.contains(&word.as_str()));
    let outer = Outer::find(shape, key, level);
    // In a selector, `name` is a label. Of two that narrow, neither is the one to remove.
    if (narrows || is_selector && key != "name")
        && let Some(outer) = outer.as_ref().filter(|it| !it.is_there)
    {
        return Some(outer.fix(key));
    }
    if is_selector && !narrows && !["key", "operator", "op", "values"].contains(&key) {
        // Removed from a selector, a label would select more than its author means.
        if let Some(value) = as_label(&entry.value) {
            return Some(format!(
                "put it under matchLabels, as in matchLabels: {{{key}: {value}}}"
            ));
        }
    }
    if is_selector {
        return Some(
            "write it as an item of matchExpressions, with the operator In, NotIn, Exists or DoesNotExist"
                .to_owned(),
        );
    }
    if WRAPPERS.contains(&key)
        && let Value::Map(entries) = &entry.value.value
        && !entries.is_empty()
        && entries.iter().all(|it| shape.field(&it.key).is_some())
    {
        return Some(format!("write what is in it one level up, without {key}"));
    }
    if shape.field("predicates").is_some() && narrows {
        return Some("write it as requiredClusterSelector of an item of predicates".to_owned());
    }
    if narrows {
        return Some("remove it only if the wider selection is intended".to_owned());
    }
    into_part(shape, key, present, level).or_else(|| Some(outer?.fix(key)))
}

/// The fix for the opposite of a switch in this map, or in the items of a list in the map.
fn as_switch(shape: &Shape, entry: &Entry, present: &BTreeSet<&str>) -> Option<String> {
    let Value::Bool(truth) = entry.value.value else { return None };
    SWITCHES.iter().find_map(|(switch, opposites)| {
        opposites.iter().find(|it| it.eq_ignore_ascii_case(&entry.key))?;
        if shape.field(switch).is_some() {
            return Some(format!("write {switch}: {} instead", !truth));
        }
        let (each, part, switch) = shape.part_with(switch, present)?;
        Some(format!("write {switch}: {} in {each}{part} instead", !truth))
    })
}

/// The fix for a field that belongs to a part of its map, or to the items of a part.
fn into_part(
    shape: &Shape,
    key: &str,
    present: &BTreeSet<&str>,
    level: Level<'_>,
) -> Option<String> {
    let (each, part, name) = shape.part_with(key, present)?;
    let value = level.entries.iter().find(|it| &*it.key == part).map(|it| &it.value);
    let nodes = match value {
        Some(Node { value: Value::List(items), .. }) => &items[..],
        one => one.map_or(&[][..], std::slice::from_ref),
    };
    let having = nodes.iter().filter(|it| it.entry(name).is_some()).count();
    let as_name = as_name(key, name);
    Some(match having {
        0 => format!("move it into {each}{part}{as_name}"),
        _ if having == nodes.len() => keep_one(&format!("{each}{part}"), name),
        _ => format!("move it into {each}{part} without {name}{as_name}"),
    })
}

/// The innermost enclosing map with a field. Fields of the object itself have names that mean something else in its
/// parts.
struct Outer<'s> {
    map: FieldPath,
    /// The name of the field in the enclosing map.
    name: &'s str,
    /// Whether the enclosing map already contains the field.
    is_there: bool,
}

impl<'s> Outer<'s> {
    fn find(shape: &'s Shape, key: &str, level: Level<'_>) -> Option<Outer<'s>> {
        let maps = std::iter::successors(level.around, |it| it.around);
        let mut maps = shape.around().iter().zip(maps);
        let (name, map) = maps.find_map(|(fields, map)| {
            let name = fields.iter().find(|it| it.eq_ignore_ascii_case(key))?;
            Some((name.as_str(), map))
        })?;
        let is_there = map.entries.iter().any(|it| &*it.key == name);
        let is_object = matches!(map.path, Path::Root);
        (!is_object).then(|| Outer { map: FieldPath::from(map.path), name, is_there })
    }

    fn fix(&self, key: &str) -> String {
        let Outer { map, name, is_there } = self;
        if *is_there {
            return keep_one(&map.to_string(), name);
        }
        format!("move it into {map}, where it belongs{}", as_name(key, name))
    }
}

fn keep_one(part: &str, name: &str) -> String {
    format!("keep only one of the two: {part} has {name}, too")
}

fn as_name(key: &str, name: &str) -> String {
    if name == key { String::new() } else { format!(", as {name}") }
}

/// The value of a label; `None` for a value that cannot be one.
fn as_label(value: &Node) -> Option<String> {
    let is_usual = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    match &value.value {
        Value::Text(text) if reads_as_text(text) && text.chars().all(is_usual) => {
            Some(text.to_string())
        }
        Value::Text(text) => Some(text.in_message()),
        Value::Number(number) => Some(format!("\"{number}\"")),
        Value::Bool(truth) => Some(format!("\"{truth}\"")),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

/// Whether the first finding reports that the missing field of the second finding, or an enclosing field, is present
/// under a wrong name.
pub(crate) fn names(unknown: &Finding, missing: &Finding) -> bool {
    let Some((_, around)) = unknown.field.segments().split_last() else { return false };
    let within = missing.field.segments().strip_prefix(around);
    let name = match within.and_then(<[Segment]>::first) {
        Some(Segment::Key(name)) => name,
        Some(Segment::Index(_)) | None => return false,
    };
    unknown.code == Code::UnknownField
        && unknown.replacement.as_deref().is_some_and(|it| it.as_str() == &**name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_near_if_each_of_their_words_is() {
        for (written, meant) in [
            ("scedule", "schedule"),
            ("starTime", "startTime"),
            ("numberOfCluster", "numberOfClusters"),
            ("targetRelicas", "targetReplicas"),
            ("enabled", "enable"),
        ] {
            assert!(are_near(written, meant), "{written}");
        }
        for (written, other) in [
            ("minCount", "maxCount"),
            ("midReplicas", "minReplicas"),
            ("mixReplicas", "maxReplicas"),
            ("targetMxReplicas", "targetMaxReplicas"),
            ("stopTime", "startTime"),
            ("notStartTime", "startTime"),
            ("unsuspend", "suspend"),
            ("unschedule", "schedule"),
            ("deselector", "selector"),
            ("minNumberOfClusters", "numberOfClusters"),
            ("preferredClusterSelector", "requiredClusterSelector"),
        ] {
            assert!(!are_near(written, other), "{written}");
        }
    }
}
