//! Converts the items of a list to policies.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use almanac_calendar::{
    DailyWindow, DailyWindowError, DailyWindowErrorKind, DailyWindowPart, Windows,
};
use almanac_engine::LabelSelector;
use almanac_engine::qos_levels::{Level, QosPolicy};
use jiff::SignedDuration;
use serde_json::Value as Json;

use crate::fields::label_selector::check_selector;
use crate::finding::{Code, FieldPath, Finding, MessageValue, Path, Severity};
use crate::go_duration;
use crate::objects::agent_config::{TimeBasedQosPolicy, policy_schema};
use crate::reading::{Node, Value};
use crate::schedule::check_zone;
use crate::shape::Shape;

/// The default interval at which a policy is evaluated again.
const CHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(15);

/// The minimum interval between evaluations of a policy.
const MIN_INTERVAL: SignedDuration = SignedDuration::from_secs(1);

/// The required fields of a policy, each with a description of its value.
const REQUIRED: [(&str, &str); 4] = [
    ("startTime", "a time of day such as 22:00"),
    ("endTime", "a time of day such as 08:00"),
    ("selector", "the labels of the pods"),
    ("targetQoSLevel", "a level from -1 to 2"),
];

static SHAPE: LazyLock<Shape> = LazyLock::new(|| Shape::from_schema(&policy_schema()));

/// The names of the fields of a policy.
pub(super) fn fields() -> impl Iterator<Item = &'static str> {
    let others = ["name", "enable", "timeZone", "checkInterval", "matchLabels", "matchExpressions"];
    REQUIRED.iter().map(|(name, _)| *name).chain(others)
}

/// Checks a list; `None` if any of its policies cannot be used.
pub(super) fn check_policies(
    items: &[Node],
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Vec<QosPolicy>> {
    let mut positions: BTreeMap<String, usize> = BTreeMap::new();
    let mut policies = Vec::new();
    let mut are_sound = true;
    for (position, item) in items.iter().enumerate() {
        let path = path.index(position);
        let before = findings.len();
        let mut of_shape = Vec::new();
        let written = SHAPE.examine(item, &path, &mut of_shape);
        let missing = report_missing(item, &path, &mut of_shape);
        findings.extend(of_shape.into_iter().map(as_of_others));
        let written: TimeBasedQosPolicy = serde_json::from_value(written).unwrap_or_default();
        let name = written.name.clone().filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| format!("policy-{position}"));
        if let Some(first) = positions.get(&name) {
            let message =
                format!("Duplicate value: {}: policy {first} has this name", name.in_message());
            let fix = "give each policy a name of its own";
            findings
                .push(Finding::new(Code::DuplicateItem, path.key("name"), message).with_fix(fix));
        } else {
            positions.insert(name.clone(), position);
        }
        let after_shape = findings.len();
        let policy = check_policy(&name, &written, &path, findings);
        drop_covered_findings(findings, before, after_shape);
        let is_sound = !missing
            && !findings[before..].iter().any(|finding| finding.severity() == Severity::Error);
        are_sound &= is_sound;
        policies.extend(policy.filter(|_| is_sound));
    }
    (are_sound && policies.len() == items.len()).then_some(policies)
}

/// Unknown fields do not make a policy invalid: a later version may define them. A field that looks like a typo is
/// reported.
fn as_of_others(mut finding: Finding) -> Finding {
    if finding.code == Code::UnknownField {
        finding.code = Code::IgnoredField;
        "Ignored: a policy has no such field".clone_into(&mut finding.message);
    }
    finding
}

/// Reports the required fields that are absent, and returns whether any is absent.
fn report_missing(item: &Node, path: &Path<'_>, findings: &mut Vec<Finding>) -> bool {
    if !matches!(item.value, Value::Map(_)) {
        return true;
    }
    let is_absent = |name: &str| item.get(name).is_none_or(|it| it.value == Value::Null);
    let mut is_any = false;
    for (name, value) in REQUIRED.iter().filter(|(name, _)| is_absent(name)) {
        is_any = true;
        let field = path.key(name);
        let meant = format!("write {name}");
        let slip = findings
            .iter()
            .position(|it| it.code == Code::UnknownField && it.fix.as_deref() == Some(&*meant));
        let slip = slip.map(|slip| findings.remove(slip));
        findings.push(match slip {
            // The field is present under a misspelled name.
            Some(slip) => {
                let message = format!("Required value: this field is called {name}");
                let is_certain = slip.replacement.is_some();
                Finding::new(Code::MistypedField, slip.field, message)
                    .with_fix(meant)
                    .with_replacement(is_certain.then_some(*name))
            }
            None => Finding::required(&field, value).with_fix(format!("add {name}: {value}")),
        });
    }
    is_any
}

/// Drops further findings about a field whose shape already has a finding.
fn drop_covered_findings(findings: &mut Vec<Finding>, before: usize, after_shape: usize) {
    let further = findings.split_off(after_shape);
    let of_shape: Vec<FieldPath> = findings[before..].iter().map(|it| it.field.clone()).collect();
    let is_covered =
        |finding: &Finding| of_shape.iter().any(|known| finding.field.is_within(known));
    findings.extend(further.into_iter().filter(|finding| !is_covered(finding)));
}

fn check_policy(
    name: &str,
    written: &TimeBasedQosPolicy,
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<QosPolicy> {
    let windows = check_windows(written, path, findings);
    let selector = check_pod_selector(written, &path.key("selector"), findings);
    let interval = check_interval(written.check_interval.as_ref(), path, findings);
    Some(QosPolicy {
        name: name.into(),
        is_enabled: written.enable.unwrap_or(true),
        windows: windows?,
        selector: selector?,
        target: Level::new(written.target_qos_level?)?,
        check_interval: interval?,
    })
}

fn check_windows(
    written: &TimeBasedQosPolicy,
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Windows> {
    let zone = check_zone(written.time_zone.as_deref(), &path.key("timeZone"), findings);
    let (start, end) = (written.start_time.as_deref(), written.end_time.as_deref());
    let parsed = match (start, end) {
        (Some(start), Some(end)) => DailyWindow::parse(start, end),
        // Each boundary is also checked alone, so a mistake in one is reported although the other is absent.
        (Some(start), None) => DailyWindow::parse(start, "24:00"),
        (None, Some(end)) => DailyWindow::parse(other_than(end), end),
        (None, None) => return None,
    };
    let error = match parsed {
        Ok(window) => {
            return Some(window.in_zone(zone?)).filter(|_| start.is_some() && end.is_some());
        }
        Err(error) => error,
    };
    let is_start = error.part() == DailyWindowPart::Start;
    findings.push(time_finding(&error, written, path));
    if let Some(end) = end.filter(|_| is_start)
        && let Err(error) = DailyWindow::parse(other_than(end), end)
    {
        findings.push(time_finding(&error, written, path));
    }
    None
}

/// A start that makes any valid end form a valid window.
fn other_than(end: &str) -> &'static str {
    if end == "00:00" { "12:00" } else { "00:00" }
}

fn time_finding(
    error: &DailyWindowError,
    written: &TimeBasedQosPolicy,
    path: &Path<'_>,
) -> Finding {
    let (name, value) = match error.part() {
        DailyWindowPart::Start => ("startTime", &written.start_time),
        DailyWindowPart::End => ("endTime", &written.end_time),
    };
    let value = value.as_deref().unwrap_or_default();
    let code = match error.kind() {
        DailyWindowErrorKind::StartIsEnd => Code::Window,
        _ => Code::TimeOfDay,
    };
    Finding::invalid(code, &path.key(name), value, &error.to_string())
        .with_replacement(error.instead())
}

fn check_pod_selector(
    written: &TimeBasedQosPolicy,
    field: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<LabelSelector> {
    let selector = check_selector(written.selector.as_ref()?, field, findings)?;
    if selector.is_everything() {
        let why = "Invalid value: {}: an empty selector would select every pod";
        let fix = "name the labels of the pods, under matchLabels or matchExpressions";
        findings.push(Finding::new(Code::Selector, field, why).with_fix(fix));
        return None;
    }
    Some(selector)
}

fn check_interval(
    written: Option<&Json>,
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<SignedDuration> {
    let field = path.key("checkInterval");
    let (interval, quoted) = match written {
        None | Some(Json::Null) => return Some(CHECK_INTERVAL),
        Some(Json::String(text)) => (go_duration::read(text), text.in_message()),
        Some(number) => (number.as_i64().map(SignedDuration::from_nanos), number.to_string()),
    };
    let finding = match interval {
        None => {
            let why = "is not a duration; write one such as 30s or 1m30s";
            Finding::new(Code::Duration, field, format!("Invalid value: {quoted}: {why}"))
        }
        Some(interval) if interval < MIN_INTERVAL => {
            let message = format!("Invalid value: {quoted}: must be at least 1s");
            let is_number = written.is_some_and(Json::is_number);
            let fix =
                if is_number { "write it with its unit, such as 30s" } else { "write at least 1s" };
            Finding::new(Code::OutOfRange, field, message).with_fix(fix)
        }
        Some(interval) => return Some(interval),
    };
    findings.push(finding);
    None
}
