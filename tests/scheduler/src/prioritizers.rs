//! The fourth step: the score of each prioritizer for a cluster.

use jiff::Timestamp;
use serde_json::Value;

use crate::fraction::Fraction;
use crate::objects::{Objects, clusters_in, instant, list, name_of, namespace_of};
use crate::quantity;

/// The part of one prioritizer in a total.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The name of the prioritizer; `AddOn/<resource>/<score>` for a score of an add-on.
    pub of: String,
    /// The score of the cluster.
    pub raw: i64,
    /// The weight of the prioritizer.
    pub weight: i64,
    /// The reason for a missing score, which counts as 0.
    pub missing: Option<MissingScore>,
}

/// The reason that a prioritizer has no score.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MissingScore {
    /// The cluster lacks the allocatable amount or the capacity.
    Data,
    /// No object has that name in the namespace of the cluster.
    Object,
    /// The object has no score of that name.
    Score,
    /// The object is no longer valid.
    Expired,
}

/// An active prioritizer, and its weight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Prioritizer {
    pub(crate) of: Coordinate,
    pub(crate) weight: i64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Coordinate {
    Balance,
    Steady,
    Allocatable(&'static str),
    AddOn { resource: String, score: String },
}

impl Coordinate {
    fn built_in(name: &str) -> Option<Coordinate> {
        match name {
            "Balance" => Some(Coordinate::Balance),
            "Steady" => Some(Coordinate::Steady),
            "ResourceAllocatableCPU" => Some(Coordinate::Allocatable("cpu")),
            "ResourceAllocatableMemory" => Some(Coordinate::Allocatable("memory")),
            _ => None,
        }
    }

    fn name(&self) -> String {
        match self {
            Coordinate::Balance => "Balance".to_owned(),
            Coordinate::Steady => "Steady".to_owned(),
            Coordinate::Allocatable("cpu") => "ResourceAllocatableCPU".to_owned(),
            Coordinate::Allocatable(_) => "ResourceAllocatableMemory".to_owned(),
            Coordinate::AddOn { resource, score } => format!("AddOn/{resource}/{score}"),
        }
    }
}

/// The prioritizers of a placement, including those with weight 0; an error names the invalid part.
pub(crate) fn prioritizers(placement: &Value) -> Result<Vec<Prioritizer>, &'static str> {
    let policy = &placement["spec"]["prioritizerPolicy"];
    let mut listed: Vec<Prioritizer> = Vec::new();
    for configuration in list(&policy["configurations"]) {
        let of = coordinate(configuration)?;
        if listed.iter().any(|it| it.of == of) {
            return Err("a prioritizer is listed twice");
        }
        let weight = configuration["weight"].as_i64().unwrap_or(1);
        if !(-10..=10).contains(&weight) {
            return Err("a weight is out of range");
        }
        listed.push(Prioritizer { of, weight });
    }
    match policy["mode"].as_str() {
        Some("Exact") => {}
        None | Some("" | "Additive") => {
            for of in [Coordinate::Balance, Coordinate::Steady] {
                if listed.iter().all(|it| it.of != of) {
                    listed.push(Prioritizer { of, weight: 1 });
                }
            }
        }
        Some(_) => return Err("the mode is unknown"),
    }
    Ok(listed)
}

fn coordinate(configuration: &Value) -> Result<Coordinate, &'static str> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let coordinate = &configuration["scoreCoordinate"];
    match text(&coordinate["type"]).as_str() {
        "AddOn" => {
            let source = &coordinate["addOn"];
            let (resource, score) = (text(&source["resourceName"]), text(&source["scoreName"]));
            if resource.is_empty() || score.is_empty() {
                return Err("the source of a score is not named");
            }
            Ok(Coordinate::AddOn { resource, score })
        }
        "" | "BuiltIn" | "BuildIn" => {
            let names = [&coordinate["builtIn"], &coordinate["buildIn"], &configuration["name"]];
            let name = names.into_iter().map(text).find(|name| !name.is_empty());
            name.and_then(|name| Coordinate::built_in(&name)).ok_or("a prioritizer is unknown")
        }
        _ => Err("the type of a coordinate is unknown"),
    }
}

/// The parts of all active prioritizers for a cluster, among the remaining clusters.
pub(crate) fn parts(
    prioritizers: &[Prioritizer],
    objects: &Objects,
    placement: &Value,
    cluster: &Value,
    left: &[&Value],
    now: Timestamp,
) -> Vec<Part> {
    let on = prioritizers.iter().filter(|it| it.weight != 0);
    let parts = on.map(|Prioritizer { of, weight }| {
        let result = match of {
            Coordinate::Balance => Ok(balance(objects, placement, name_of(cluster))),
            Coordinate::Steady if is_decided(objects, placement, cluster) => Ok(100),
            Coordinate::Steady => Ok(0),
            Coordinate::Allocatable(resource) => {
                allocatable(resource, cluster, left).ok_or(MissingScore::Data)
            }
            Coordinate::AddOn { resource, score } => {
                add_on(objects, name_of(cluster), resource, score, now)
            }
        };
        let (raw, missing) = (result.unwrap_or(0), result.err());
        Part { of: of.name(), raw, weight: *weight, missing }
    });
    parts.collect()
}

/// Whether a cluster is named in a decision of the placement.
pub(crate) fn is_decided(objects: &Objects, placement: &Value, cluster: &Value) -> bool {
    objects.decisions_of(placement).any(|it| clusters_in(it).any(|name| name == name_of(cluster)))
}

fn balance(objects: &Objects, placement: &Value, cluster: &str) -> i64 {
    let own: Vec<_> = objects.decisions_of(placement).collect();
    let others = objects.with_kind("PlacementDecision");
    let others = others.filter(|it| !own.iter().any(|own| std::ptr::eq(*own, *it)));
    let mut named: Vec<&str> = others.flat_map(clusters_in).collect();
    named.sort_unstable();
    let most = named.chunk_by(|a, b| a == b).map(<[_]>::len).max().unwrap_or(0);
    let count = named.iter().filter(|name| **name == cluster).count();
    if count == 0 {
        return 100;
    }
    let whole = |number: usize| Fraction::whole(i128::try_from(number).unwrap_or(i128::MAX));
    let half = Fraction::whole(1) / Fraction::whole(2);
    let scaled = Fraction::whole(100) * (half - whole(count) / whole(most));
    score(2 * scaled.trunc())
}

fn allocatable(resource: &str, cluster: &Value, left: &[&Value]) -> Option<i64> {
    let amount = |it: &Value| {
        quantity::nanos(&it["status"]["capacity"][resource])?;
        quantity::nanos(&it["status"]["allocatable"][resource])
    };
    let own = Fraction::whole(amount(cluster)?);
    let least = left.iter().filter_map(|it| amount(it)).min()?;
    let most = left.iter().filter_map(|it| amount(it)).max()?;
    if least == most {
        return Some(100);
    }
    let (least, most) = (Fraction::whole(least), Fraction::whole(most));
    let half = Fraction::whole(1) / Fraction::whole(2);
    let scaled = ((own - least) / (most - least) - half) * Fraction::whole(200);
    Some(score(scaled.trunc()))
}

fn add_on(
    objects: &Objects,
    cluster: &str,
    resource: &str,
    score: &str,
    now: Timestamp,
) -> Result<i64, MissingScore> {
    let scores = objects.with_kind("AddOnPlacementScore");
    let mut scores = scores.filter(|it| namespace_of(it) == cluster && name_of(it) == resource);
    let status = &scores.next().ok_or(MissingScore::Object)?["status"];
    let found = list(&status["scores"]).iter().find(|it| it["name"] == score);
    let found = found.ok_or(MissingScore::Score)?;
    if instant(&status["validUntil"]).is_some_and(|until| now >= until) {
        return Err(MissingScore::Expired);
    }
    // A zero may be left out.
    Ok(found["value"].as_i64().unwrap_or(0))
}

fn score(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
