//! Following pods, nodes and `ConfigMap`s of a real API server, each kind into a slim form of its own.
//! `ALMANAC_FOLLOWED` is the number of objects, hundreds by default. It prints the time and the memory it takes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use almanac_fixtures::trials::size;
use almanac_harness::{
    ControlPlaneOptions, Fault, FaultProxy, InjectedResponse, Observation, RecordedRequest,
    TestResult, await_condition, client_for, on_own_control_plane,
};
use almanac_shell::following::{Follower, Need, WatchAges, WatchFailure, follow};
use anyhow::{Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::StatusCode;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube::Client;
use kube::api::{ApiResource, DynamicObject};
use serde_json::{Value, json};

/// The number of objects of each kind, unless the environment sets it.
const FEW: usize = 300;
const PATIENCE: Duration = Duration::from_mins(2);
const AT_ONCE: usize = 32;

/// The slim form of an object: one word of it, and the listing that delivered it.
type Slim = (Box<str>, u32);

/// A followed kind: the path of its objects, their contents, and the word that the slim form keeps.
struct Kind {
    resource: ApiResource,
    collection: &'static str,
    object: fn(usize, &str) -> Value,
    word: &'static str,
}

fn kinds() -> [Kind; 3] {
    [
        Kind {
            resource: ApiResource::erase::<Pod>(&()),
            collection: "/api/v1/namespaces/default/pods",
            object: pod,
            word: "/metadata/labels/word",
        },
        Kind {
            resource: ApiResource::erase::<Node>(&()),
            collection: "/api/v1/nodes",
            object: node,
            word: "/metadata/labels/word",
        },
        Kind {
            resource: ApiResource::erase::<ConfigMap>(&()),
            collection: "/api/v1/namespaces/default/configmaps",
            object: config_map,
            word: "/data/word",
        },
    ]
}

fn name(number: usize) -> String {
    format!("followed-{number:05}")
}

/// A pod on one of the nodes, as long as pods usually are.
fn pod(number: usize, word: &str) -> Value {
    let environment =
        (0..20).map(|it| json!({"name": format!("VARIABLE_{it}"), "value": "x".repeat(40)}));
    let container = json!({
        "name": "app", "image": "registry.example.org/shop/app:1.0",
        "env": environment.collect::<Vec<_>>(),
    });
    json!({
        "metadata": {"name": name(number), "labels": {"word": word}},
        "spec": {"nodeName": name(number), "containers": [container]},
    })
}

/// A node with its images, as in its status.
fn node(number: usize, word: &str) -> Value {
    let image =
        |it| json!({"names": [format!("registry.example.org/images/{it:064}")], "sizeBytes": 1});
    json!({
        "metadata": {"name": name(number), "labels": {"word": word}},
        "status": {"capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"}, "images": (0..50).map(image).collect::<Vec<_>>()},
    })
}

fn config_map(number: usize, word: &str) -> Value {
    json!({"metadata": {"name": name(number)}, "data": {"word": word, "rest": "x".repeat(2_000)}})
}

/// The state of a follower.
#[derive(Default)]
struct WatchedObjects {
    held: BTreeMap<Box<str>, Slim>,
    listing: u32,
    /// The number of complete listings.
    complete: u32,
}

struct Slimming {
    word: &'static str,
    seen: Arc<Mutex<WatchedObjects>>,
}

fn lock(seen: &Mutex<WatchedObjects>) -> std::sync::MutexGuard<'_, WatchedObjects> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Follower for Slimming {
    fn begin_list(&mut self) {
        lock(&self.seen).listing += 1;
    }

    fn upsert(&mut self, object: DynamicObject) {
        let labels = object.metadata.labels.unwrap_or_default();
        let word = match self.word.strip_prefix("/metadata/labels/") {
            Some(label) => labels.get(label).map(String::as_str),
            None => object.data.pointer(self.word).and_then(Value::as_str),
        };
        let (Some(name), Some(word)) = (object.metadata.name, word) else { return };
        let mut seen = lock(&self.seen);
        let slim = (word.into(), seen.listing);
        seen.held.insert(name.into(), slim);
    }

    fn delete(&mut self, object: DynamicObject) {
        lock(&self.seen).held.remove(&*object.metadata.name.unwrap_or_default());
    }

    fn list_complete(&mut self) {
        let mut seen = lock(&self.seen);
        let listing = seen.listing;
        seen.held.retain(|_, (_, described)| *described == listing);
        seen.complete += 1;
    }

    fn failed(&mut self, _: &WatchFailure) {}

    fn versions_went_back(&mut self) {}
}

async fn request(client: &Client, verb: &str, path: &str, body: &Value) -> TestResult {
    let form = if verb == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = http::Request::builder().method(verb).uri(path).header("Content-Type", form);
    client.request_text(request.body(body.to_string().into_bytes())?).await?;
    Ok(())
}

/// The resident memory of this process now, and its peak since it was last reset.
fn memory() -> Result<[u64; 2]> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kibibytes = line.and_then(|it| it.split_whitespace().next()?.parse::<u64>().ok());
        kibibytes.unwrap_or_default() * 1024 / 1_000_000
    };
    Ok([field("VmRSS:"), field("VmHWM:")])
}

/// Waits until each follower holds this of the objects with these numbers, and has received this number of listings.
async fn await_seen(
    seen: &[Arc<Mutex<WatchedObjects>>],
    (objects, listings): (usize, u32),
    wanted: &[(usize, Option<&str>)],
) -> TestResult {
    await_condition("everything to be seen", PATIENCE, async || {
        let is_so = |seen: &Arc<Mutex<WatchedObjects>>| {
            let seen = lock(seen);
            let word = |number: usize| seen.held.get(&*name(number)).map(|(word, _)| &**word);
            seen.held.len() == objects
                && seen.complete >= listings
                && wanted.iter().all(|(number, wanted)| word(*number) == *wanted)
        };
        let described = |seen: &Arc<Mutex<WatchedObjects>>| {
            let seen = lock(seen);
            (seen.held.len(), seen.complete)
        };
        let described: Vec<_> = seen.iter().map(described).collect();
        Ok(Observation::from_bool(seen.iter().all(is_so), format!("{described:?}")))
    })
    .await
}

/// Changes one object, deletes one, and creates one.
async fn change(client: &Client, kind: &Kind, [changed, deleted, made]: [usize; 3]) -> TestResult {
    let Kind { collection, object, .. } = kind;
    let place = |number| format!("{collection}/{}", name(number));
    let word = if kind.word.starts_with("/data") {
        json!({"data": {"word": "changed"}})
    } else {
        json!({"metadata": {"labels": {"word": "changed"}}})
    };
    request(client, "PATCH", &place(changed), &word).await?;
    let at_once = json!({"gracePeriodSeconds": 0});
    request(client, "DELETE", &place(deleted), &at_once).await?;
    request(client, "POST", collection, &object(made, "made")).await
}

#[test]
fn pods_nodes_and_config_maps_are_followed_through_changes_and_broken_watches() -> TestResult {
    let count = size("ALMANAC_FOLLOWED", FEW, 10_000);
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let (client, kinds) = (test.client(), kinds());
        for Kind { collection, object, .. } in &kinds {
            let creations = (0..count).map(|number| {
                let (client, object) = (&client, object(number, "first"));
                async move { request(client, "POST", collection, &object).await }
            });
            let creations = stream::iter(creations).buffer_unordered(AT_ONCE);
            creations.try_for_each(async |()| Ok(())).await?;
        }
        let proxy = FaultProxy::start(test.client())?;
        let behind = client_for(&proxy.kubeconfig())?;
        let watch_ages = WatchAges::default();
        let [before, _] = memory()?;
        let begun = Instant::now();
        let mut seen = Vec::new();
        let mut following = tokio::task::JoinSet::new();
        for kind in &kinds {
            let (client, resource) = (behind.clone(), kind.resource.clone());
            let watch_age = watch_ages.begin(&resource.plural, Need::Always);
            let of_kind = Arc::<Mutex<WatchedObjects>>::default();
            let mut follower = Slimming { word: kind.word, seen: Arc::clone(&of_kind) };
            seen.push(of_kind);
            following
                .spawn(async move { follow(client, &resource, watch_age, &mut follower).await });
        }
        await_seen(&seen, (count, 1), &[(0, Some("first")), (count - 1, Some("first"))]).await?;
        let [after, peak] = memory()?;
        let took = begun.elapsed().as_secs_f64();
        eprintln!(
            "{count} of each kind listed in {took:.2} s; {before} MB before, {after} after, {peak} at most"
        );

        let begun = Instant::now();
        for kind in &kinds {
            change(&client, kind, [1, 2, count]).await?;
        }
        let wanted = [(1, Some("changed")), (2, None), (count, Some("made"))];
        await_seen(&seen, (count, 1), &wanted).await?;
        eprintln!("changes reported after {:.2} s", begun.elapsed().as_secs_f64());

        let discard_versions = |kind: &Kind| {
            let gone = Fault::respond(InjectedResponse::with(StatusCode::GONE))
                .matching(RecordedRequest::is_watch);
            proxy.inject(gone.path_contains(format!("/{}", kind.resource.plural)))
        };
        let gone = kinds.each_ref().map(discard_versions);
        let begun = Instant::now();
        ensure!(proxy.cut_all().await > 0, "the proxy has no connection to cut");
        for kind in &kinds {
            change(&client, kind, [3, 4, count + 1]).await?;
        }
        for gone in &gone {
            gone.await_taken(1).await?;
        }
        let wanted = [(3, Some("changed")), (4, None), (count + 1, Some("made"))];
        await_seen(&seen, (count, 2), &wanted).await?;
        let [after, peak] = memory()?;
        let took = begun.elapsed().as_secs_f64();
        eprintln!("listed again after {took:.2} s; {after} MB after, {peak} at most");
        Ok(())
    })
}
