//! The rules for a `Placement`. A placement is used as a whole or not at all: without a part, it would select other
//! clusters than the spec requests.

use std::sync::Arc;

use almanac_engine::LabelSelector;
use almanac_engine::placement::{
    Allowance, ClusterSelector, DecisionGroup, Expression, GroupSize, MAX_EXPRESSIONS, Placement,
    PlacementState, PrioritizerMode, ScoreSource, TaintEffect, Toleration, Weight,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as WrittenSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value as Json;

use super::cel_words::in_cel;
use crate::families::Checked;
use crate::fields::label_selector::{check_selector, note_operators, unsupported};
use crate::finding::{Code, Finding, Path, Severity};
use crate::objects::{self, DISABLE_ANNOTATION, PlacementSpec};

/// The default interval between updates of scores.
const USUAL_RATE_LIMIT: &str = "1m";

/// Checks the spec and the name of a placement.
pub(super) fn check(written: &PlacementSpec, metadata: &Json) -> Checked<Placement> {
    let mut findings = Vec::new();
    let spec = Path::Root.key("spec");
    check_name(metadata, &mut findings);
    let predicates = check_predicates(written, &spec, &mut findings);
    let tolerations = check_tolerations(written, &spec, &mut findings);
    let prioritizers = check_prioritizers(written, &spec, &mut findings);
    let (group_size, groups) = check_groups(written, &spec, &mut findings);
    note_unsupported(written, &spec, &mut findings);
    let is_sound = !findings.iter().any(|finding| finding.severity() == Severity::Error);
    let policy = || {
        Some(Placement {
            standing: standing(metadata),
            cluster_sets: written.cluster_sets.iter().map(|it| Arc::from(&**it)).collect(),
            number_of_clusters: written.number_of_clusters.map(u32::try_from).transpose().ok()?,
            predicates: predicates?.into(),
            tolerations: tolerations.into(),
            prioritizers: prioritizers?,
            group_size: group_size?,
            groups: groups?.into(),
        })
    };
    Checked { value: if is_sound { policy() } else { None }, findings }
}

/// The usable rest of a placement whose spec has an error: the sets that it names. `None` if the placement must not be
/// decided anyway.
pub(super) fn unusable(object: &Json) -> Option<Placement> {
    let sets = object["spec"]["clusterSets"].as_array().into_iter().flatten();
    let sets = sets.filter_map(|it| it.as_str().map(Arc::from)).collect();
    (standing(&object["metadata"]) == PlacementState::Active).then(|| Placement::unusable(sets))
}

fn standing(metadata: &Json) -> PlacementState {
    if !metadata["deletionTimestamp"].is_null() {
        PlacementState::Terminating
    } else if metadata["annotations"][DISABLE_ANNOTATION] == "true" {
        PlacementState::Disabled
    } else {
        PlacementState::Active
    }
}

/// Checks the name, which becomes a label of the decisions.
fn check_name(metadata: &Json, findings: &mut Vec<Finding>) {
    let name = metadata["name"].as_str().unwrap_or_default();
    if name.len() > 63 {
        let path = Path::Root.key("metadata");
        let why =
            "the name of a placement is a label of its decisions, so it has at most 63 characters";
        findings.push(
            Finding::invalid(Code::InvalidName, &path.key("name"), name, why)
                .with_fix("shorten it to at most 63 characters"),
        );
    }
}

fn check_predicates(
    written: &PlacementSpec,
    spec: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Vec<ClusterSelector>> {
    let list = spec.key("predicates");
    let (mut predicates, mut allowance) = (Some(Vec::new()), Allowance::new());
    // The first expression beyond the limit gets the finding.
    let mut remaining = MAX_EXPRESSIONS + 1;
    for (position, predicate) in written.predicates.iter().enumerate() {
        let item = list.index(position);
        let path = item.key("requiredClusterSelector");
        let selector = predicate.required_cluster_selector.clone().unwrap_or_default();
        let mut expressions = selector.cel_selector.unwrap_or_default().cel_expressions;
        expressions.truncate(remaining);
        remaining -= expressions.len();
        let path_of_expressions = path.key("celSelector");
        let expressions =
            check_expressions(&expressions, &mut allowance, &path_of_expressions, findings);
        let labels = selector.label_selector;
        let claims = selector.claim_selector;
        let checked = check_cluster_selector(labels, claims, &path, findings).zip(expressions);
        predicates = predicates.zip(checked).map(|(mut known, (selector, expressions))| {
            known.push(ClusterSelector { expressions, ..selector });
            known
        });
    }
    predicates
}

/// Compiles the expressions once, as each expression is evaluated for every cluster.
fn check_expressions(
    written: &[String],
    allowance: &mut Allowance,
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Box<[Expression]>> {
    let list = path.key("celExpressions");
    let mut expressions = Some(Vec::new());
    for (position, text) in written.iter().enumerate() {
        let field = list.index(position);
        let compiled = Expression::compile_within(allowance, text);
        match &compiled {
            Err(error) => {
                let why = error.to_string();
                let finding = Finding::invalid(Code::Expression, &field, text, &why);
                findings.push(if error.is_too_much {
                    finding.with_fix(
                        "write fewer or shorter expressions; labels and claims cost nothing",
                    )
                } else if let Some(meant) = in_cel(text) {
                    finding.meaning(meant)
                } else {
                    finding.with_fix(
                        "write a CEL expression over managedCluster that is true or false",
                    )
                });
            }
            Ok(expression) => {
                for warning in expression.warnings() {
                    findings.push(
                        Finding::new(Code::NeverHolds, field, warning.to_string())
                            .with_fix("compare it with something, or correct what it is given"),
                    );
                }
            }
        }
        expressions = expressions.zip(compiled.ok()).map(|(mut known, it)| {
            known.push(it);
            known
        });
    }
    expressions.map(Into::into)
}

fn check_cluster_selector(
    labels: Option<WrittenSelector>,
    claims: Option<objects::ClaimSelector>,
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<ClusterSelector> {
    let mut check = |written: WrittenSelector, name| {
        let field = path.key(name);
        note_operators(&written, &field, findings);
        check_selector(&written, &field, findings)
    };
    let labels: Option<LabelSelector> = check(labels.unwrap_or_default(), "labelSelector");
    let claims = claims.unwrap_or_default().match_expressions;
    let claims = WrittenSelector { match_expressions: Some(claims), match_labels: None };
    let claims = check(claims, "claimSelector");
    Some(ClusterSelector { labels: labels?, claims: claims?, expressions: Box::default() })
}

fn check_tolerations(
    written: &PlacementSpec,
    spec: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Vec<Toleration> {
    let list = spec.key("tolerations");
    let mut tolerations = Vec::new();
    for (position, toleration) in written.tolerations.iter().enumerate() {
        let item = list.index(position);
        let text = |it: &Option<String>| it.clone().filter(|it| !it.is_empty());
        let (key, value) = (text(&toleration.key), text(&toleration.value));
        let operator = text(&toleration.operator);
        let exists = match operator.as_deref() {
            Some("Exists") => true,
            None | Some("Equal") => false,
            Some(other) => {
                findings.push(unsupported(&item.key("operator"), other, &["Exists", "Equal"]));
                continue;
            }
        };
        if key.is_none() && !exists {
            let why = "without a key, the operator must be Exists, which tolerates every taint";
            findings.push(
                Finding::required(&item.key("key"), why)
                    .with_fix("name the key of the taint, or write operator: Exists"),
            );
        }
        if exists && value.is_some() {
            let why = "the operator Exists tolerates any value, so it takes none";
            findings.push(
                Finding::forbidden(Code::UnsupportedValue, &item.key("value"), why)
                    .with_fix("remove it, or write the operator Equal"),
            );
        }
        let effect = text(&toleration.effect).and_then(|it| TaintEffect::named(&it));
        if effect == Some(TaintEffect::NoSelectIfNew) && toleration.toleration_seconds.is_some() {
            let message =
                "tolerationSeconds has no effect on taints that are only for new clusters";
            let field = item.key("tolerationSeconds");
            findings.push(Finding::new(Code::IgnoredField, field, message));
        }
        tolerations.push(Toleration {
            key: key.map(Into::into),
            value: if exists { None } else { Some(value.unwrap_or_default().into()) },
            effect,
            seconds: toleration.toleration_seconds,
        });
    }
    tolerations
}

fn check_prioritizers(
    written: &PlacementSpec,
    spec: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Box<[almanac_engine::placement::Prioritizer]>> {
    let policy = written.prioritizer_policy.clone().unwrap_or_default();
    let mode = match policy.mode.as_deref() {
        Some("Exact") => PrioritizerMode::Exact,
        _ => PrioritizerMode::Additive,
    };
    let field = spec.key("prioritizerPolicy");
    let list = field.key("configurations");
    let mut listed: Vec<(ScoreSource, Option<Weight>)> = Vec::new();
    let mut is_complete = true;
    for (position, config) in policy.configurations.iter().enumerate() {
        let item = list.index(position);
        let Some(score) = check_source(config, &item, findings) else {
            is_complete = false;
            continue;
        };
        if listed.iter().any(|(known, _)| *known == score) {
            let message = format!("Duplicate value: \"{score}\": each score has one weight");
            findings.push(
                Finding::new(Code::DuplicateItem, item, message).with_fix("remove one of them"),
            );
        }
        // The shape check has reported values out of bounds.
        listed.push((score, Weight::new(config.weight.unwrap_or(1).into())));
    }
    is_complete.then(|| mode.prioritizers(listed))
}

/// The score of a configuration. The coordinate outweighs the name.
fn check_source(
    config: &objects::PrioritizerConfig,
    item: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<ScoreSource> {
    let text = |it: &Option<String>| it.clone().filter(|it| !it.is_empty());
    let field = item.key("scoreCoordinate");
    let coordinate = config.score_coordinate.clone().unwrap_or_default();
    if coordinate.kind.as_deref() == Some("AddOn") {
        let Some(add_on) = coordinate.add_on else {
            let why = "a score of an add-on needs the names of its objects and of the score";
            findings.push(Finding::required(&field.key("addOn"), why));
            return None;
        };
        let add_on_field = field.key("addOn");
        for (name, text) in
            [("resourceName", &add_on.resource_name), ("scoreName", &add_on.score_name)]
        {
            if text.is_empty() {
                findings.push(Finding::required(&add_on_field.key(name), "must not be empty"));
            }
        }
        let (resource, score) = (add_on.resource_name.into(), add_on.score_name.into());
        return Some(ScoreSource::AddOn { resource, score });
    }
    let of_coordinate = [("builtIn", &coordinate.built_in), ("buildIn", &coordinate.build_in)];
    let mut named = of_coordinate.iter().filter_map(|(key, it)| Some((*key, text(it)?)));
    let (path, name) = match (named.next(), text(&config.name)) {
        (Some((key, name)), _) => (field.key(key), name),
        (None, Some(name)) => (item.key("name"), name),
        (None, None) => {
            let why = format!("one of {}", ScoreSource::BUILT_IN.join(", "));
            let finding = Finding::required(&field.key("builtIn"), &why);
            let finding = match coordinate.add_on {
                Some(_) => finding.with_fix("write type: AddOn next to addOn"),
                None => finding.with_fix("name a score that is built in, or write type: AddOn"),
            };
            findings.push(finding);
            return None;
        }
    };
    let source = ScoreSource::built_in(&name);
    if source.is_none() {
        findings.push(unsupported(&path, &name, &ScoreSource::BUILT_IN));
    }
    source
}

fn check_groups(
    written: &PlacementSpec,
    spec: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> (Option<GroupSize>, Option<Vec<DecisionGroup>>) {
    let strategy = written.decision_strategy.clone().unwrap_or_default();
    let strategy = strategy.group_strategy.unwrap_or_default();
    let (outer, inner) = (spec.key("decisionStrategy"), "groupStrategy");
    let path = outer.key(inner);
    let size = strategy.clusters_per_decision_group.as_ref();
    let size = check_group_size(size, &path.key("clustersPerDecisionGroup"), findings);
    let list = path.key("decisionGroups");
    let mut groups = Some(Vec::new());
    for (position, group) in strategy.decision_groups.into_iter().enumerate() {
        let item = list.index(position);
        let name = group.group_name;
        let selector = group.group_cluster_selector;
        let field = item.key("groupClusterSelector");
        let selector = check_cluster_selector(
            selector.label_selector,
            selector.claim_selector,
            &field,
            findings,
        );
        groups = groups.zip(selector).map(|(mut known, selector)| {
            known.push(DecisionGroup { name: name.into(), selector });
            known
        });
    }
    (size, groups)
}

fn check_group_size(
    written: Option<&IntOrString>,
    field: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<GroupSize> {
    let (value, fix) = match written {
        None => return Some(GroupSize::default()),
        Some(IntOrString::Int(number)) => match u32::try_from(*number) {
            Ok(number) => return Some(GroupSize::Clusters(number)),
            Err(_) => (number.to_string(), None),
        },
        Some(IntOrString::String(text)) => {
            let percent = text.strip_suffix('%').filter(|it| !it.starts_with(['0', '+']));
            match percent.and_then(|it| it.parse::<u8>().ok()).filter(|it| *it <= 100) {
                Some(percent) => return Some(GroupSize::Percent(percent)),
                None => (text.clone(), text.parse::<u32>().ok()),
            }
        }
    };
    let why = "must be a number of clusters, or a percentage from 1% to 100%";
    let finding = Finding::invalid(Code::OutOfRange, field, value, why);
    findings.push(match fix {
        Some(number) => finding.with_fix(format!("remove the quotes: {number}")),
        None => finding.with_fix("write a number such as 10, or a percentage such as 25%"),
    });
    None
}

fn note_unsupported(written: &PlacementSpec, spec: &Path<'_>, findings: &mut Vec<Finding>) {
    let limit = written.score_rate_limit.as_deref();
    // Clients in Go write an empty policy if none is meant.
    let spread = written.spread_policy.as_ref();
    let is_spread = spread.is_some_and(|it| !it.spread_constraints.is_empty());
    for (name, is_there, instead) in [
        ("spreadPolicy", is_spread, "clusters are not spread"),
        (
            "sortBy",
            written.sort_by == Some(objects::SortBy::Score),
            "decisions are in the order of the clusters' names",
        ),
        (
            "scoreRateLimit",
            limit.is_some_and(|it| it != USUAL_RATE_LIMIT),
            "decisions have no scores to update",
        ),
    ] {
        if is_there {
            let message = format!("not supported yet: {instead}");
            let finding = Finding::new(Code::Unsupported, spec.key(name), message);
            findings.push(finding.with_fix("remove it, unless another controller uses it"));
        }
    }
}
