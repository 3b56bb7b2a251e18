//! Checking an object: its shape first, then its meaning. One entry point for files, for commands that
//! query a cluster, and for controllers.

use std::collections::BTreeSet;

use almanac_engine::metric_scaling::PatternPool;
use almanac_engine::{Identity, Slim, Target};
use jiff::Timestamp;
use serde_json::Value as Json;

use super::shapes::shape_of;
use crate::exempt::is_marked_in;
use crate::families::{ShapeCheckedObject, interpret};
use crate::fields::envelope::check_names;
use crate::finding::{Code, FieldPath, Finding, Path, Replacement, Segment};
use crate::kinds::{Kind, Role};
use crate::kubernetes::KubernetesMinor;
use crate::lenient;
use crate::policy_clock::PolicyClock;
use crate::reading::{ConfusableCharacter, Node, ReadObject, as_meant};
use crate::shape::names;

/// The context of a check, apart from the object.
#[derive(Clone, Copy, Debug)]
pub struct CheckContext<'a> {
    /// The default namespace.
    pub namespace: &'a str,
    /// The current time: warnings look ahead from here. Validity does not depend on it.
    pub now: Timestamp,
    /// The setting of the policy clock that `now` is read from.
    pub clock: PolicyClock,
    /// The patterns of all objects of the process; `None` without a budget for patterns.
    pub patterns: Option<&'a PatternPool>,
    /// The version of the target API server. `None` if the version is unknown, which is treated as older than all
    /// versions.
    pub kubernetes: Option<KubernetesMinor>,
}

impl<'a> CheckContext<'a> {
    /// A context in which policies follow the system clock.
    #[must_use]
    pub fn new(namespace: &'a str, now: Timestamp) -> Self {
        Self { namespace, now, clock: PolicyClock::REAL, patterns: None, kubernetes: None }
    }
}

/// The result of checking an object.
#[derive(Clone, Debug)]
pub struct CheckedObject {
    /// The identity of the object; `None` for an object without a name.
    pub identity: Option<Identity>,
    /// The slim form. A policy with a name always has a slim form, which may only record that the policy is unusable. A
    /// target with invalid numbers has no slim form.
    pub slim: Option<Slim>,
    /// The target of a usable policy or autoscaler.
    pub scales: Option<Target>,
    /// The target that an unusable policy names.
    pub named: Option<Target>,
    /// The kind of the object.
    pub kind: Kind,
    /// The findings, in the order of the fields' names.
    pub findings: Vec<Finding>,
    /// Whether the ignore annotation exempts the object from all policies.
    pub is_marked: bool,
}

/// Checks an object that was read from a file.
#[must_use]
pub fn check(object: &ReadObject, context: CheckContext<'_>) -> CheckedObject {
    check_node(object.kind, &object.node, None, context, UnknownFields::AreMistakes)
}

/// The treatment of a field that our schema lacks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UnknownFields {
    /// An unknown field in a file is a typo.
    AreMistakes,
    /// The CRD in the cluster may be newer than this program, as during an upgrade. An API server does not store fields
    /// that its CRD lacks.
    AreNewer,
}

/// Checks an object as an API server returns it, like [`check`] but without findings about unknown fields.
#[must_use]
pub fn check_json(kind: Kind, mut object: Json, context: CheckContext<'_>) -> CheckedObject {
    // The list of field managers is not read, and is often longer than the rest of the object.
    if let Some(Json::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    // A status is not checked against a schema, and may be long, so it stays unchanged.
    let status = object.as_object_mut().and_then(|fields| fields.remove("status"));
    let node = Node::from_json(&object);
    drop(object);
    check_node(kind, &node, status, context, UnknownFields::AreNewer)
}

fn check_node(
    kind: Kind,
    node: &Node,
    status: Option<Json>,
    context: CheckContext<'_>,
    unknown: UnknownFields,
) -> CheckedObject {
    let mut findings = Vec::new();
    let mut fitting = shape_of(kind).examine(node, &Path::Root, &mut findings);
    if kind == Kind::CronFederatedHPA {
        let target = fitting["spec"]["scaleTargetRef"]["kind"].as_str().unwrap_or_default();
        for finding in &mut findings {
            fit_to_target(finding, target);
        }
    }
    if unknown == UnknownFields::AreNewer {
        findings.retain(|finding| finding.code != Code::UnknownField);
    }
    let metadata = fitting["metadata"].clone();
    let name = metadata["name"].as_str().unwrap_or_default();
    let written_namespace = metadata["namespace"].as_str();
    if !is_name_reported(&findings) {
        check_names(name, written_namespace, &mut findings);
    }
    let namespace = written_namespace.unwrap_or(context.namespace);
    let identity = (!name.is_empty()).then(|| kind.identity(namespace, name));
    let status = status.or_else(|| Some(fitting.get_mut("status")?.take())).unwrap_or_default();
    let interpretation = interpret(ShapeCheckedObject {
        kind,
        object: fitting,
        status,
        findings: &findings,
        namespace,
        now: context.now,
        kubernetes: context.kubernetes,
        created: as_created(&metadata, context.clock),
        patterns: context.patterns,
    });
    add_what_is_new(&mut findings, interpretation.findings);
    let disguised = disguised_keys(&findings);
    findings.retain(|finding| {
        let mut way = finding.field.segments().iter();
        let is_there = way.any(|it| matches!(it, Segment::Key(key) if disguised.contains(&**key)));
        finding.code != Code::MissingField || !is_there
    });
    // A file has its fields in any order, but an API server always in the same order.
    findings.sort_by(|one, other| one.field.cmp(&other.field));
    let slim = interpretation.slim.filter(|_| identity.is_some());
    let is_marked = is_marked_in(&metadata);
    let (scales, named) = (interpretation.scales, interpretation.named);
    CheckedObject { identity, slim, scales, named, kind, findings, is_marked }
}

/// A rule sets replicas or bounds, depending on its target. If a misspelled field means one that the target lacks, the
/// author must choose.
fn fit_to_target(finding: &mut Finding, target: &str) {
    let meant = finding.replacement.as_deref().map_or("", Replacement::as_str);
    let is_bound = ["targetMinReplicas", "targetMaxReplicas"].contains(&meant);
    if finding.code != Code::UnknownField || !is_bound && meant != "targetReplicas" {
        return;
    }
    let is_autoscaler = Kind::named(target).is_some_and(|kind| kind.role() == Role::Bounds);
    let fix = match (is_bound, is_autoscaler) {
        (true, false) => "write targetReplicas, with the number of replicas from then on",
        (false, true) => "write targetMinReplicas, targetMaxReplicas or both",
        (true, true) | (false, false) => return,
    };
    finding.replacement = None;
    finding.fix = Some(fix.into());
}

/// The keys that are present except for characters that look like a space or are invisible. Such a character at the
/// start of a line also moves the key out of its map.
fn disguised_keys(findings: &[Finding]) -> BTreeSet<String> {
    let unknown = findings.iter().filter(|finding| finding.code == Code::UnknownField);
    let keys = unknown.filter_map(|finding| finding.field.last_key());
    keys.filter(|key| ConfusableCharacter::first_in(key).is_some())
        .map(|key| as_meant(key).trim().to_owned())
        .collect()
}

fn is_name_reported(findings: &[Finding]) -> bool {
    let metadata = Path::Root.key("metadata");
    let field = FieldPath::from(metadata.key("name"));
    findings.iter().any(|finding| finding.field == field)
}

/// The creation time of an object, if the object has not been edited since: an edited object gives no
/// information about the time since its creation.
fn as_created(metadata: &Json, clock: PolicyClock) -> Option<Timestamp> {
    let generation = &metadata["generation"];
    let is_as_created = generation.is_null() || generation.as_i64().is_some_and(|it| it <= 1);
    let created = lenient::instant(&metadata["creationTimestamp"]).filter(|_| is_as_created)?;
    Some(clock.shown_at(created))
}

/// Adds findings about the meaning. Skipped are fields that already have a finding about their shape, and comparisons
/// with a sibling that has such a finding.
fn add_what_is_new(findings: &mut Vec<Finding>, further: Vec<Finding>) {
    let of_shape = findings.len();
    for finding in further {
        let compares = finding.code == Code::CrossedBounds;
        if compares
            && findings[..of_shape].iter().any(|known| known.field.is_sibling(&finding.field))
        {
            continue;
        }
        if !findings[..of_shape].iter().any(|known| covers(known, &finding)) {
            findings.push(finding);
        }
    }
}

/// Whether one finding makes another finding redundant. It is about the same field or an enclosing field, or it reports
/// that the field is present under a misspelled name.
fn covers(known: &Finding, finding: &Finding) -> bool {
    let related = finding.field.is_within(&known.field) || known.field.is_within(&finding.field);
    related || names(known, finding)
}
