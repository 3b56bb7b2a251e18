//! The hub of the test: the objects on the API server, a copy for the second scheduler, and random changes. The hub
//! does not depend on earlier selections, so the expected selection is known.

use std::collections::BTreeSet;

use almanac_fixtures::hub;
use almanac_harness::TestResult;
use almanac_second_scheduler::{Decision, Objects, schedule};
use anyhow::{Context as _, Result, anyhow};
use fastrand::Rng;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controller::{Cluster, Kind};
use crate::placement_watcher::stage::{CLUSTER, NAMESPACE, PLACEMENT, SCORE, prepare, score};
use crate::placement_watcher::watcher::ByPlacement;

pub(crate) const PLACEMENTS: [&str; 2] = ["web", "api"];
const CLUSTERS: usize = 250;
/// The number of clusters with scores.
const SCORED: usize = 40;
/// The last cluster is created or deleted at the end of each plan, and at no other time. So the decision at the end of
/// a plan differs from that at its start. Its score selects the cluster for any number of clusters.
const LAST: usize = CLUSTERS - 1;
/// The maximum number of concurrent requests of the test.
const AT_ONCE: usize = 16;

/// The local copy of the hub.
pub(crate) struct Mirror {
    objects: Objects,
    /// The states of the hub during the last plan: a controller may lag by that much.
    before: Option<Span>,
    is_last_away: bool,
}

/// All states of a hub during a period that affect the selection.
#[derive(Clone)]
struct Span {
    clusters: Vec<Range>,
    /// The lowest number of clusters that each placement requested.
    fewest: ByPlacement<u64>,
}

/// All states of a cluster during a period.
#[derive(Clone)]
struct Range {
    lowest: i64,
    highest: i64,
    was_away: bool,
    was_there: bool,
}

/// A request of a user that changes the hub.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    kind: Kind,
    /// The values of the API fields.
    kind_name: &'static str,
    namespace: String,
    name: String,
    patch: Value,
}

/// The planned changes, and the clusters that must stay selected throughout.
pub(crate) struct Planned {
    pub(crate) rounds: Vec<Vec<Change>>,
    pub(crate) stay: ByPlacement<BTreeSet<String>>,
}

fn cluster_name(number: usize) -> String {
    format!("c{number:03}")
}

impl Change {
    /// Makes the change on the API server.
    pub(crate) async fn make(&self, cluster: &Cluster) -> TestResult {
        let Change { kind, namespace, name, patch, .. } = self;
        match patch.get("status") {
            Some(status) => cluster.patch_status(*kind, namespace, name, status).await?,
            None => drop(cluster.patch(*kind, namespace, name, patch).await?),
        }
        Ok(())
    }
}

impl Mirror {
    /// Creates the hub on the API server.
    pub(crate) async fn create(cluster: &Cluster) -> Result<Self> {
        prepare(cluster, &[]).await?;
        let mut binding = hub::managed_cluster_set_binding();
        binding["metadata"]["namespace"] = json!(NAMESPACE);
        let mut objects = vec![hub::managed_cluster_set(), binding];
        let created = stream::iter(0..CLUSTERS).map(|number| async move {
            let name = cluster_name(number);
            let object = hub::managed_cluster(&name);
            cluster.create(CLUSTER, "", &object).await?;
            let mut created = vec![object];
            if number < SCORED || number == LAST {
                let value = if number == LAST { 100 } else { 10 };
                let status = hub::scored(&[("cpuratio", value)], None);
                score(cluster, &name, &status).await?;
                let mut scores = hub::add_on_placement_score("default");
                scores["metadata"]["namespace"] = json!(name);
                scores["status"] = status;
                created.push(scores);
            }
            anyhow::Ok(created)
        });
        let created: Vec<Vec<Value>> = created.buffer_unordered(AT_ONCE).try_collect().await?;
        objects.extend(created.into_iter().flatten());
        for name in PLACEMENTS {
            let spec = json!({ "prioritizerPolicy": hub::exactly(&[("default/cpuratio", 1)]) });
            let mut object = hub::placement(name, &spec);
            cluster.create(PLACEMENT, NAMESPACE, &object).await?;
            object["metadata"]["namespace"] = json!(NAMESPACE);
            objects.push(object);
        }
        let objects = Objects::new(objects);
        Ok(Self { objects, before: None, is_last_away: false })
    }

    /// The expected decisions of every placement.
    pub(crate) fn decided(&self) -> Result<ByPlacement<Vec<Decision>>> {
        let now = Timestamp::now();
        let decided = PLACEMENTS.into_iter().map(|name| {
            let placement = self.objects.get("Placement", NAMESPACE, name);
            let placement = placement.context("a placement is missing")?;
            let schedule = schedule(&self.objects, placement, now);
            let schedule = schedule.map_err(|it| anyhow!("{it:?}"))?;
            Ok((name.to_owned(), schedule.decisions))
        });
        decided.collect()
    }

    /// Plans this number of rounds, and applies their changes to the local copy.
    pub(crate) fn plan(&mut self, rng: &mut Rng, rounds: u64) -> Result<Planned> {
        let mut span = self.span()?;
        let mut planned = Vec::new();
        for number in 1..=rounds {
            let mut round: Vec<Change> = (0..rng.usize(1..4)).map(|_| change(rng)).collect();
            if number == rounds {
                self.is_last_away = !self.is_last_away;
                round.push(tainted(cluster_name(LAST), self.is_last_away));
            }
            for it in &round {
                let object = self.objects.get(it.kind_name, &it.namespace, &it.name);
                let mut object = object.context("an object is missing")?.clone();
                merge(&mut object, &it.patch);
                self.objects.put(object);
                span = span.and(&self.span()?);
            }
            planned.push(round);
        }
        let both = self.before.as_ref().map_or_else(|| span.clone(), |before| span.and(before));
        self.before = Some(span);
        Ok(Planned { rounds: planned, stay: both.stay() })
    }

    /// The current hub.
    fn span(&self) -> Result<Span> {
        let clusters = (0..CLUSTERS).map(|number| {
            let name = cluster_name(number);
            let cluster = self.objects.get("ManagedCluster", "", &name);
            let is_away = !cluster.context("a cluster is missing")?["spec"]["taints"].is_null();
            let scores = self.objects.get("AddOnPlacementScore", &name, "default");
            let score = scores.map_or(Some(0), |it| it["status"]["scores"][0]["value"].as_i64());
            let score = score.context("a score is no number")?;
            Ok(Range { lowest: score, highest: score, was_away: is_away, was_there: !is_away })
        });
        let fewest = PLACEMENTS.into_iter().map(|name| {
            let placement = self.objects.get("Placement", NAMESPACE, name);
            let wanted = &placement.context("a placement is missing")?["spec"]["numberOfClusters"];
            Ok((name.to_owned(), wanted.as_u64().unwrap_or(u64::MAX)))
        });
        Ok(Span {
            clusters: clusters.collect::<Result<_>>()?,
            fewest: fewest.collect::<Result<_>>()?,
        })
    }
}

impl Span {
    fn and(&self, other: &Span) -> Span {
        let clusters = self.clusters.iter().zip(&other.clusters).map(|(one, other)| Range {
            lowest: one.lowest.min(other.lowest),
            highest: one.highest.max(other.highest),
            was_away: one.was_away || other.was_away,
            was_there: one.was_there || other.was_there,
        });
        let fewest = self.fewest.iter().map(|(name, fewest)| {
            let other = other.fewest.get(name).unwrap_or(fewest);
            (name.clone(), *fewest.min(other))
        });
        Span { clusters: clusters.collect(), fewest: fewest.collect() }
    }

    /// The clusters that are selected for every mixture of these states: the changes of clusters, scores and placements
    /// reach a controller in any order.
    fn stay(&self) -> ByPlacement<BTreeSet<String>> {
        let all = || self.clusters.iter().enumerate();
        let ahead = |number: usize, cluster: &Range| {
            let rivals = all().filter(|(other, it)| *other != number && it.was_there);
            let ahead = rivals.filter(|(other, it)| {
                it.highest > cluster.lowest || (it.highest == cluster.lowest && *other < number)
            });
            ahead.count() as u64
        };
        let always_there = all().filter(|(_, it)| !it.was_away);
        let ahead: Vec<(usize, u64)> =
            always_there.map(|(number, it)| (number, ahead(number, it))).collect();
        let stay = self.fewest.iter().map(|(placement, fewest)| {
            let stay = ahead.iter().filter(|(_, ahead)| ahead < fewest);
            (placement.clone(), stay.map(|(number, _)| cluster_name(*number)).collect())
        });
        stay.collect()
    }
}

fn of_cluster(name: String, patch: Value) -> Change {
    let (kind, kind_name, namespace) = (CLUSTER, "ManagedCluster", String::new());
    Change { kind, kind_name, namespace, name, patch }
}

fn tainted(cluster: String, is_away: bool) -> Change {
    let taint = json!({ "key": "down", "effect": "NoSelect" });
    let taints = if is_away { json!([taint]) } else { Value::Null };
    of_cluster(cluster, json!({ "spec": { "taints": taints } }))
}

fn change(rng: &mut Rng) -> Change {
    let any = cluster_name(rng.usize(0..LAST));
    match rng.u8(0..10) {
        0 | 1 => tainted(any, rng.bool()),
        2..=4 => {
            let group = [json!("canary"), json!("prod"), Value::Null][rng.usize(0..3)].clone();
            of_cluster(any, json!({ "metadata": { "labels": { "group": group } } }))
        }
        5..=7 => {
            let name = cluster_name(rng.usize(0..SCORED));
            let score = [-100, -1, 0, 10, 100][rng.usize(0..5)];
            Change {
                kind: SCORE,
                kind_name: "AddOnPlacementScore",
                namespace: name,
                name: "default".to_owned(),
                patch: json!({ "status": hub::scored(&[("cpuratio", score)], None) }),
            }
        }
        _ => Change {
            kind: PLACEMENT,
            kind_name: "Placement",
            namespace: NAMESPACE.to_owned(),
            name: PLACEMENTS[rng.usize(0..PLACEMENTS.len())].to_owned(),
            patch: json!({ "spec": spec(rng) }),
        },
    }
}

/// Changes the number of clusters, or their division into decisions.
fn spec(rng: &mut Rng) -> Value {
    if rng.bool() {
        let count = [Value::Null, json!(249), json!(201), json!(120), json!(100), json!(60)];
        return json!({ "numberOfClusters": count[rng.usize(0..count.len())] });
    }
    let sizes = [Value::Null, json!(7), json!(40), json!(100), json!("10%"), json!("50%")];
    let group = |name: &str| {
        let selector = json!({ "labelSelector": { "matchLabels": { "group": name } } });
        json!({ "groupName": name, "groupClusterSelector": selector })
    };
    let groups = [
        Value::Null,
        json!([group("canary")]),
        json!([group("canary"), group("prod")]),
        json!([group("prod"), group("canary")]),
    ];
    json!({ "decisionStrategy": { "groupStrategy": {
        "clustersPerDecisionGroup": sizes[rng.usize(0..sizes.len())],
        "decisionGroups": groups[rng.usize(0..groups.len())],
    } } })
}

/// A merge patch, with the semantics of the API server.
fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            object.as_object_mut().map(|fields| fields.remove(key));
        } else {
            merge(&mut object[key], value);
        }
    }
}
