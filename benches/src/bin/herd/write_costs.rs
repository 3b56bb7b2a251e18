//! What each way to write an object costs a real API server, in time and in processor time.
//!
//! The same status is written over and over with another instant in it; the same replicas with
//! another number. The object has what one of a herd has.

use std::sync::Mutex;
use std::time::Instant;

use almanac_harness::{Component, ControlPlane, ControlPlaneOptions};
use anyhow::{Context as _, Result};
use clap::Args;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use serde_json::{Value, json};

use crate::cluster_objects::{create, define, get};
use crate::figures::{count, load};
use crate::objects::{self, POLICIES, TARGETS};
use crate::processes::Processes;

const WHOLE: &str = "application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const MERGE: &str = "application/merge-patch+json";

#[derive(Args)]
pub(crate) struct WriteCosts {
    /// How many objects, each written once in each way
    #[arg(long, value_name = "N", default_value_t = 3000)]
    objects: usize,

    /// How many writes are under way at once
    #[arg(long, value_name = "N", default_value_t = 32)]
    at_once: usize,
}

/// A way to write.
struct Way {
    name: &'static str,
    method: http::Method,
    root: &'static str,
    plural: &'static str,
    subresource: &'static str,
    content: &'static str,
    accept: &'static str,
    body: fn(round: usize, number: usize, before: &Value) -> Value,
}

impl WriteCosts {
    pub(crate) async fn run(&self) -> Result<()> {
        let plane = ControlPlane::start(&ControlPlaneOptions::api_only()).await?;
        let client = plane.client().await?;
        define(&client).await?;
        create(&client, self.objects).await?;
        println!("{} writes each, {} at once", self.objects, self.at_once);
        // The first of all is slower than the others, whatever it is: it is done twice.
        for (round, way) in ways().iter().take(1).chain(&ways()).enumerate() {
            self.measure(&plane, &client, round, way).await?;
        }
        Ok(())
    }

    async fn measure(
        &self,
        plane: &ControlPlane,
        client: &Client,
        round: usize,
        way: &Way,
    ) -> Result<()> {
        let path = format!("{}/{}", way.root, way.plural);
        let list: Value = serde_json::from_str(&get(client, &path).await?)?;
        let objects = list["items"].as_array().context("a list has items")?;
        let id = |component| plane.process_id(component).context("a component is down");
        let processes = Processes::look(&[
            ("kube-apiserver", id(Component::ApiServer)?),
            ("etcd", id(Component::Etcd)?),
            ("this program", std::process::id()),
        ])?;
        let (began, bytes) = (Instant::now(), Mutex::new(0));
        stream::iter(objects)
            .map(|object| async {
                let request = request(way, round, object)?;
                let answer = client.request_text(request).await.context(way.name)?;
                if let Ok(mut bytes) = bytes.lock() {
                    *bytes += answer.len();
                }
                anyhow::Ok(())
            })
            .buffer_unordered(self.at_once)
            .try_collect::<()>()
            .await?;
        let took = began.elapsed().as_secs_f64();
        let writes = count(objects.len());
        let used = processes
            .used()?
            .into_iter()
            .map(|(name, time)| format!("{name} {:.2} ms", time.as_secs_f64() * 1000.0 / writes));
        println!(
            "{:48} {:5.0} a second; each {}; an answer has {} bytes (load {})",
            way.name,
            writes / took,
            used.collect::<Vec<_>>().join(", "),
            bytes.into_inner().unwrap_or_default() / objects.len(),
            load()?
        );
        Ok(())
    }
}

fn request(way: &Way, round: usize, object: &Value) -> Result<http::Request<Vec<u8>>> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
    let (root, plural, subresource) = (way.root, way.plural, way.subresource);
    let query = match way.content {
        "application/apply-patch+yaml" => "?fieldManager=almanac&force=true",
        _ => "?fieldManager=almanac",
    };
    let path = format!("{root}/namespaces/{namespace}/{plural}/{name}{subresource}{query}");
    let number = objects::number(name).context("the name has a number")?;
    let body = (way.body)(round, number, object).to_string().into_bytes();
    Ok(http::Request::builder()
        .method(&way.method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, way.content)
        .header(http::header::ACCEPT, way.accept)
        .body(body)?)
}

fn ways() -> Vec<Way> {
    let status = merging_status();
    status_ways(&status).into_iter().chain(scale_ways(&status)).collect()
}

/// As the controller writes it.
fn merging_status() -> Way {
    Way {
        name: "status: merge patch, version, answer metadata",
        method: http::Method::PATCH,
        root: POLICIES,
        plural: "cronfederatedhpas",
        subresource: "/status",
        content: MERGE,
        accept: METADATA,
        body: |round, _, before| json!({ "metadata": version(before), "status": recorded(round) }),
    }
}

fn status_ways(status: &Way) -> Vec<Way> {
    vec![
        status.copy(),
        Way { name: "status: merge patch, version, answer whole", accept: WHOLE, ..status.copy() },
        Way {
            name: "status: merge patch, no version, answer metadata",
            body: |round, _, _| json!({ "status": recorded(round) }),
            ..status.copy()
        },
        Way {
            name: "status: put, answer metadata",
            method: http::Method::PUT,
            content: WHOLE,
            body: |round, _, before| {
                let mut object = before.clone();
                object["status"] = recorded(round);
                object
            },
            ..status.copy()
        },
        Way {
            name: "status: JSON patch with a test of the version",
            content: "application/json-patch+json",
            body: |round, _, before| {
                json!([
                    { "op": "test", "path": "/metadata/resourceVersion",
                      "value": before["metadata"]["resourceVersion"] },
                    { "op": "add", "path": "/status", "value": recorded(round) },
                ])
            },
            ..status.copy()
        },
        Way {
            name: "status: server-side apply, answer metadata",
            content: "application/apply-patch+yaml",
            body: |round, number, before| {
                json!({
                    "apiVersion": "autoscaling.karmada.io/v1alpha1",
                    "kind": "CronFederatedHPA",
                    "metadata": { "name": objects::name(number),
                                  "resourceVersion": before["metadata"]["resourceVersion"] },
                    "status": recorded(round),
                })
            },
            ..status.copy()
        },
    ]
}

fn scale_ways(status: &Way) -> Vec<Way> {
    let scale = Way {
        name: "scale: merge patch, version",
        root: TARGETS,
        plural: "scalablenodegroups",
        subresource: "/scale",
        accept: WHOLE,
        body: |round, _, before| json!({ "metadata": version(before), "spec": { "replicas": round } }),
        ..status.copy()
    };
    vec![
        scale.copy(),
        Way {
            name: "scale: put",
            method: http::Method::PUT,
            content: WHOLE,
            body: |round, number, before| {
                json!({
                    "apiVersion": "autoscaling/v1", "kind": "Scale",
                    "metadata": { "name": objects::name(number),
                                  "namespace": objects::namespace(number),
                                  "resourceVersion": before["metadata"]["resourceVersion"] },
                    "spec": { "replicas": round },
                })
            },
            ..scale.copy()
        },
        Way {
            name: "the object itself: merge patch, answer metadata",
            subresource: "",
            accept: METADATA,
            ..scale
        },
    ]
}

impl Way {
    fn copy(&self) -> Self {
        Self { method: self.method.clone(), ..*self }
    }
}

fn version(object: &Value) -> Value {
    json!({ "resourceVersion": object["metadata"]["resourceVersion"] })
}

/// As the controller writes it after a rule's third firing.
fn recorded(round: usize) -> Value {
    let execution = |day: usize| {
        json!({
            "scheduleTime": format!("2027-01-{:02}T03:00:00Z", day + 1),
            "executionTime": format!("2027-01-{:02}T03:00:01Z", day + 1),
            "appliedReplicas": objects::AFTER,
        })
    };
    let condition = |about: &str| {
        json!({
            "type": about, "status": "True", "reason": "Armed", "observedGeneration": 1,
            "lastTransitionTime": "2027-01-01T00:00:00Z", "message": "1 of 1 rules is carried out",
        })
    };
    json!({
        "observedGeneration": 1,
        "conditions": [condition("Active"), condition("Ready")],
        "executionHistories": [{
            "ruleName": "before-opening",
            "nextExecutionTime": format!("2027-01-{:02}T03:00:00Z", round + 4),
            "successfulExecutions": [execution(round + 2), execution(round + 1), execution(round)],
        }],
    })
}
