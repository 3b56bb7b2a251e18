//! The objects of a cluster, as if they had been exported to files.
//!
//! Each object becomes a source of its own, with the text that `kubectl get -o yaml` shows, so that
//! everything after this is the same for files and for clusters. Nothing is ever written: there are
//! `get` and `list`, and the cluster's own list of its kinds.

mod kinds;
mod requests;
mod targets;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use almanac_api::reading::{Reading, Source, read_objects};
use almanac_api::writing::to_yaml;
use almanac_engine::{Identity, Workload};
use almanac_shell::client::{ClientOptions, connect};
use anyhow::Context as _;
use clap::Args;
use futures::{StreamExt as _, stream};
use kube::api::{DynamicObject, TypeMeta};

use self::kinds::{AUTOSCALERS, KnownKind, POLICIES};
use self::requests::{AT_ONCE, Answer, Requests, Scope};
use crate::subject::called;

/// Which cluster is asked when no files are named.
#[derive(Args)]
pub(crate) struct ClusterArguments {
    /// The kubeconfig to reach the cluster with [default: as kubectl finds it]
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    context: Option<String>,

    /// Look into all namespaces of the cluster
    #[arg(short = 'A', long, conflicts_with_all = ["file", "namespace"])]
    all_namespaces: bool,
}

/// What a cluster holds of what was asked for.
pub(crate) struct Fetched {
    pub(crate) reading: Reading,
    pub(crate) seen: Seen,
    /// What somebody should know who finds nothing.
    note: Option<String>,
}

/// What else was seen than objects of kinds we read, and what was not.
#[derive(Default)]
pub(crate) struct Seen {
    /// Targets of other kinds, by their `scale` subresource.
    pub(crate) scales: BTreeMap<Identity, Workload>,
    /// What could not be looked at for want of a right, for a person.
    pub(crate) unseen: BTreeSet<String>,
}

impl ClusterArguments {
    /// Fetches the policies of a namespace, or of all, and what they act on.
    pub(crate) fn fetch(&self, namespace: Option<&str>) -> anyhow::Result<Fetched> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("failed to start the network runtime")?;
        let fetched = runtime.block_on(waiting::shown(self.fetch_everything(namespace)));
        let fetched =
            fetched.context("failed to read from a cluster (to read files, name them with -f)")?;
        if let Some(note) = &fetched.note {
            anstream::eprintln!("note: {note}");
        }
        Ok(fetched)
    }

    async fn fetch_everything(&self, namespace: Option<&str>) -> anyhow::Result<Fetched> {
        let options =
            ClientOptions { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() };
        let connection = connect(&options).await?;
        let scope = if self.all_namespaces {
            Scope::Cluster
        } else {
            Scope::Namespace(namespace.unwrap_or(&connection.namespace).to_owned())
        };
        let requests = Requests::new(connection, scope);
        let (mut reading, mut seen) = (Reading::default(), Seen::default());
        let listed = list_all(&requests, &mut seen).await?;
        let wanted = targets::of_policies(&listed);
        for (kind, objects) in &listed {
            add_all(&mut reading, kind, objects)?;
        }
        let complete: Vec<&KnownKind> = listed.iter().map(|(kind, _)| *kind).collect();
        for (kind, objects) in targets::fetch(&requests, wanted, &complete, &mut seen).await? {
            add_all(&mut reading, kind, &objects)?;
        }
        let is_empty =
            |(kind, found): &(&KnownKind, Vec<_>)| !POLICIES.contains(kind) || found.is_empty();
        let note = listed.iter().all(is_empty).then(|| requests.why_empty());
        Ok(Fetched { reading, seen, note })
    }
}

/// The policies and the autoscalers, all of each kind. Kinds that are not there, or that may not be
/// looked at, are left out.
async fn list_all(
    requests: &Requests,
    seen: &mut Seen,
) -> anyhow::Result<Vec<(&'static KnownKind, Vec<DynamicObject>)>> {
    let kinds = POLICIES.iter().chain(AUTOSCALERS);
    let lists = stream::iter(kinds.map(|kind| async move { (kind, requests.list(kind).await) }));
    let lists: Vec<_> = lists.buffered(AT_ONCE).collect().await;
    let mut found = Vec::new();
    for (kind, answer) in lists {
        match answer? {
            Answer::Found(objects) => found.push((kind, objects)),
            Answer::Absent => {}
            Answer::Forbidden(said) if POLICIES.contains(kind) => {
                let (right, place) = (kind.resource_name(), requests.place());
                let missing = format!("the right to list {right} in {place} is missing");
                return Err(anyhow::anyhow!(said).context(missing));
            }
            Answer::Forbidden(_) => {
                let (right, place) = (kind.resource_name(), requests.place());
                seen.unseen.insert(format!(
                    "no {} in {place} was looked at: the right to list {right} is missing",
                    kind.shown()
                ));
            }
        }
    }
    Ok(found)
}

fn add_all(
    reading: &mut Reading,
    kind: &KnownKind,
    objects: &[DynamicObject],
) -> anyhow::Result<()> {
    objects.iter().try_for_each(|object| {
        read_objects(reading, source_of(kind, object)?);
        Ok(())
    })
}

/// An object with the text and the line numbers that `kubectl get -o yaml` shows. It is called by
/// what can be typed to mean it, which stands where the path of a file would.
fn source_of(kind: &KnownKind, object: &DynamicObject) -> anyhow::Result<Source> {
    let mut object = object.clone();
    // Objects in a list do not say what they are.
    object.types = Some(TypeMeta { api_version: kind.api_version(), kind: kind.kind.to_owned() });
    object.metadata.managed_fields = None;
    let name = called(&kind.identity_of(&object));
    let value = serde_json::to_value(object);
    let value = value.with_context(|| format!("failed to use {name}"))?;
    let text = to_yaml(&[value]).with_context(|| format!("failed to use {name}"))?;
    let text = text.strip_prefix("---\n").unwrap_or(&text);
    Ok(Source::new(name, text))
}
