//! The objects of a cluster, in the form of objects exported to files.
//!
//! Objects are read from their JSON. Only an object with a finding gets a text, the output of `kubectl get -o yaml`,
//! so that the finding has a position. The program never writes: it uses only `get`, `list`, `watch` and discovery. A
//! build without the feature `cluster` has `offline/cluster.rs` in place of this module.

mod changes;
mod clock_arguments;
mod cron_jobs;
mod hub;
mod input;
mod levels;
mod proposed;
mod requests;
mod targets;
mod unit_objects;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use almanac_api::checking::{
    CheckContext, CheckedObject, GovernedPod, check_json, check_together, check_units_together,
};
use almanac_api::exempt::MARK;
use almanac_api::families::{Descriptor, Listing};
use almanac_api::kinds::{Kind, Role};
use almanac_api::policy_clock::PolicyClock;
use almanac_api::reading::{CronJob, Locator, PlacedFinding, Reading, Source, read_objects};
use almanac_api::writing::to_yaml;
use almanac_engine::qos_levels::QosLevels;
use almanac_engine::units::UnitObject;
use almanac_engine::{Identity, Workload};
use almanac_shell::client::{ClientOptions, connect};
use anyhow::Context as _;
use clap::{Args, ValueHint};
use clap_complete::ArgValueCandidates;
use futures::future::join;
use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use kube::api::{DynamicObject, TypeMeta};

pub(crate) use self::changes::{Changes, WatchArguments};
pub(crate) use self::clock_arguments::ClockArguments;
use self::levels::{ListedNode, ListedPod};
use self::proposed::Proposed;
use self::requests::{LookupResult, MAX_CONCURRENT, Requests, Scope};
use self::unit_objects::ListedUnitObject;
use crate::completion;
use crate::input::{ClusterRequest, Input, InputObject};
use crate::subject::called;

/// The addition to `--version`: empty, because this build lacks nothing.
pub(crate) const BUILD: &str = "";

/// The cluster to read when no files are named.
#[derive(Args, Clone)]
pub(crate) struct ClusterArguments {
    /// The kubeconfig to use [default: the one kubectl would use]
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["file", "kustomize"],
        value_hint = ValueHint::FilePath
    )]
    kubeconfig: Option<PathBuf>,

    /// The kubeconfig context to use [default: the current context]
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = ["file", "kustomize"],
        add = ArgValueCandidates::new(completion::contexts)
    )]
    context: Option<String>,

    #[command(flatten)]
    clock: ClockArguments,

    /// Read the cluster as if these files had been applied to it; `-` is standard input
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with_all = ["file", "kustomize"],
        value_hint = ValueHint::AnyPath
    )]
    what_if: Vec<String>,

    /// Read all namespaces of the cluster
    #[arg(short = 'A', long, conflicts_with_all = ["file", "kustomize", "namespace"])]
    pub(crate) all_namespaces: bool,

    /// Whether to wait for a slow cluster without a progress message
    #[arg(skip)]
    is_quiet: bool,
}

/// The requested objects of a cluster.
struct Fetched {
    /// The checked objects.
    objects: Vec<InputObject>,
    /// The texts of objects with findings, and of objects in files.
    reading: Reading,
    /// The indexes of these objects in the reading.
    positions: BTreeMap<Identity, usize>,
    findings: Vec<PlacedFinding>,
    cron_jobs: Vec<CronJob>,
    extras: ExtraObjects,
    /// A hint if the cluster has no matching objects.
    note: Option<String>,
}

/// A fetched object, and the result of checking it.
struct FetchedObject {
    kind: Kind,
    object: DynamicObject,
    checked: CheckedObject,
    /// The index of its text in the reading; `None` if no file contains the object.
    position: Option<usize>,
}

/// Data next to the checked objects, and notes on unreadable objects.
#[derive(Default)]
struct ExtraObjects {
    /// Targets of other kinds, by their `scale` subresource.
    scales: BTreeMap<Identity, Workload>,
    /// Notes on objects that could not be read for lack of permission.
    unseen: BTreeSet<String>,
    /// The namespaces with the ignore annotation.
    marked_namespaces: Vec<String>,
    /// The pods; empty without policies for QoS levels.
    pods: Vec<ListedPod>,
    /// The nodes; empty unless a policy for QoS levels depends on nodes.
    nodes: Vec<ListedNode>,
    /// The nodes, pods and templates for unit policies; empty without such policies.
    unit_objects: Vec<ListedUnitObject>,
}

impl ClusterArguments {
    /// All namespaces of the cluster of a kubeconfig, read without a progress message.
    pub(crate) fn whole(kubeconfig: PathBuf, clock: PolicyClock) -> ClusterArguments {
        ClusterArguments {
            kubeconfig: Some(kubeconfig),
            context: None,
            clock: ClockArguments::for_clock(clock),
            what_if: Vec::new(),
            all_namespaces: true,
            is_quiet: true,
        }
    }

    /// Reads the policies of one namespace or of all, and their targets.
    pub(crate) fn load(&self, wanted: &ClusterRequest<'_>) -> anyhow::Result<Input> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("failed to start the network runtime")?;
        let fetching = self.fetch(wanted);
        let fetched = if self.is_quiet {
            runtime.block_on(fetching)
        } else {
            runtime.block_on(waiting::with_progress(fetching))
        };
        Ok(fetched?.into_input(wanted))
    }

    /// Whether an argument selects the cluster to read, or a part of it.
    pub(crate) fn is_named(&self) -> bool {
        let is_chosen = self.kubeconfig.is_some() || self.context.is_some();
        is_chosen || !self.what_if.is_empty() || self.all_namespaces
    }

    /// The requests to the cluster, with the objects of `--what-if`.
    fn requests(&self, namespace: Option<&str>, now: Timestamp) -> anyhow::Result<Requests> {
        let mut proposed = Proposed::read(&self.what_if)?;
        let options =
            ClientOptions { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() };
        let connection = connect(&options)?;
        let scope = if self.all_namespaces {
            Scope::Cluster
        } else {
            let namespace = namespace.or_else(|| proposed.only_namespace());
            Scope::Namespace(namespace.unwrap_or(&connection.namespace).to_owned())
        };
        proposed.place(&scope, &connection.namespace, now)?;
        Ok(Requests::new(connection, scope, proposed))
    }

    async fn fetch(&self, wanted: &ClusterRequest<'_>) -> anyhow::Result<Fetched> {
        let ClusterRequest { namespace, config_namespace, checked_at, now, .. } = *wanted;
        let requests = self.requests(namespace, now)?;
        let mut extras = ExtraObjects::default();
        let listing = list_all(&requests, &mut extras);
        let (listed, kubernetes) = join(listing, requests.version()).await;
        let listed = listed?;
        read_marks(&requests, &mut extras).await?;
        let mut complete: Vec<Kind> = listed.iter().map(|(kind, _)| *kind).collect();
        let clock = self.clock.setting();
        let context = CheckContext { clock, kubernetes, ..CheckContext::new("", checked_at) };
        let checked = |(kind, objects): (Kind, Vec<DynamicObject>)| {
            objects
                .into_iter()
                .map(|object| FetchedObject::check(kind, object, context))
                .map(|it| it.found_in(&requests.proposed))
                .collect::<Vec<_>>()
        };
        let mut objects: Vec<FetchedObject> = listed.into_iter().flat_map(checked).collect();
        // The steps below may remove some objects, with a note.
        let mut has_policies = objects.iter().any(|it| is_listed_policy(it.kind));
        let hub = hub::list(&requests, &mut objects, &mut extras).await?;
        objects.extend(hub.into_iter().flat_map(checked));
        let workloads = unit_objects::list(&requests, &mut objects, &mut extras).await?;
        complete.extend(workloads.iter().map(|(kind, _)| *kind));
        objects.extend(workloads.into_iter().flat_map(checked));
        if let Some(config_namespace) = config_namespace {
            let config_maps = levels::config_maps(&requests, config_namespace, &mut extras).await?;
            let config_maps = checked((Kind::ConfigMap, config_maps));
            if let Some(policies) = levels::policies(&config_maps) {
                has_policies |= policies != QosLevels::none();
                levels::read_mark(&requests, config_namespace, &mut extras).await?;
                levels::list_pods_and_nodes(&requests, &policies, &mut extras).await?;
            }
            objects.extend(config_maps);
        }
        let cron_jobs = if wanted.cron_jobs.is_some() {
            cron_jobs::list(&requests, &mut extras).await?
        } else {
            Vec::new()
        };
        let note = (!has_policies && cron_jobs.is_empty()).then(|| requests.why_empty());
        let wanted = targets::for_policies(&objects);
        let fetched = targets::fetch(&requests, wanted, &complete, &mut extras).await?;
        objects.extend(fetched.into_iter().flat_map(checked));
        unit_objects::note_unknown_templates(&objects, &mut extras);
        let used = objects.iter().map(|it| identity_of(it.kind, &it.object));
        extras.unseen.extend(requests.proposed.left_out(used));
        let mut reading = requests.proposed.reading;
        let mut findings = place_findings(&mut objects, &extras.unit_objects, &mut reading)?;
        let cron_jobs = cron_jobs::read(cron_jobs, &mut reading, &mut findings)?;
        let with_text = |it: &FetchedObject| Some((identity_of(it.kind, &it.object), it.position?));
        let positions = objects.iter().filter_map(with_text).collect();
        let objects = objects.into_iter().map(|it| InputObject {
            checked: it.checked,
            api_version: it.kind.api_version(),
            labels: it.object.metadata.labels.unwrap_or_default(),
            names_its_namespace: true,
        });
        let objects = objects.collect();
        Ok(Fetched { objects, reading, positions, findings, cron_jobs, extras, note })
    }
}

/// Records the namespaces with the ignore annotation.
async fn read_marks(requests: &Requests, extras: &mut ExtraObjects) -> anyhow::Result<()> {
    match requests.marked_namespaces().await? {
        LookupResult::Found(marked) => extras.marked_namespaces = marked,
        LookupResult::Absent => {}
        LookupResult::Forbidden(_) => {
            let (verb, place) = requests.namespace_permission();
            extras.unseen.insert(format!(
                "whether {place} is marked with {MARK} was not read: missing permission to {verb} \
                 namespaces"
            ));
        }
    }
    Ok(())
}

/// The way to find objects of a kind; `None` if the kind is not a policy.
fn listing(kind: Kind) -> Option<Listing> {
    Descriptor::for_kind(kind).map(|it| it.listing)
}

/// Whether all objects of a kind are listed as policies.
fn is_listed_policy(kind: Kind) -> bool {
    listing(kind).is_some_and(|it| it != Listing::ByName)
}

/// The identity of an object: objects in a list do not state their kind.
fn identity_of(kind: Kind, object: &DynamicObject) -> Identity {
    let (namespace, name) = (&object.metadata.namespace, &object.metadata.name);
    kind.identity(namespace.as_deref().unwrap_or_default(), name.as_deref().unwrap_or_default())
}

/// All policies and autoscalers. Kinds that are not served or not readable are left out.
async fn list_all(
    requests: &Requests,
    extras: &mut ExtraObjects,
) -> anyhow::Result<Vec<(Kind, Vec<DynamicObject>)>> {
    // Autoscalers write the targets of policies too, so all autoscalers are needed.
    let is_listed = |it: &Kind| is_listed_policy(*it) || it.role() == Role::Bounds;
    let kinds = Kind::ALL.iter().copied().filter(is_listed);
    let lists = stream::iter(kinds.map(|kind| async move { (kind, requests.list(kind).await) }));
    let lists: Vec<_> = lists.buffered(MAX_CONCURRENT).collect().await;
    let mut objects_by_kind = Vec::new();
    for (kind, result) in lists {
        match result? {
            LookupResult::Found(objects) => objects_by_kind.push((kind, objects)),
            LookupResult::Absent => {}
            // Without these kinds the command fails; without other kinds the output is shorter.
            LookupResult::Forbidden(message) if listing(kind) == Some(Listing::Required) => {
                let (right, place) = (kind.resource_name(), requests.place());
                let missing = format!("missing permission to list {right} in {place}");
                return Err(anyhow::anyhow!(message).context(missing));
            }
            LookupResult::Forbidden(_) => {
                let (right, place) = (kind.resource_name(), requests.place());
                extras.unseen.insert(format!(
                    "no {} in {place} was read: missing permission to list {right}",
                    kind.display_name()
                ));
            }
        }
    }
    Ok(objects_by_kind)
}

impl FetchedObject {
    fn check(kind: Kind, mut object: DynamicObject, context: CheckContext<'_>) -> FetchedObject {
        let api_version = kind.api_version();
        object.types = Some(TypeMeta { api_version, kind: kind.name().to_owned() });
        object.metadata.managed_fields = None;
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        // An object is plain data, so converting it to JSON cannot fail.
        let value = serde_json::to_value(&object).unwrap_or_default();
        let checked = check_json(kind, value, CheckContext { namespace: &namespace, ..context });
        FetchedObject { kind, object, checked, position: None }
    }

    fn found_in(self, proposed: &Proposed) -> FetchedObject {
        let position = proposed.position(&identity_of(self.kind, &self.object));
        FetchedObject { position, ..self }
    }
}

/// Checks the objects together, and produces a text for each one with a finding.
fn place_findings(
    objects: &mut [FetchedObject],
    unit_objects: &[ListedUnitObject],
    reading: &mut Reading,
) -> anyhow::Result<Vec<PlacedFinding>> {
    let names: Vec<String> =
        objects.iter().map(|it| called(&identity_of(it.kind, &it.object))).collect();
    let checked = objects.iter().map(|it| &it.checked).enumerate();
    let pods =
        unit_objects.iter().enumerate().filter_map(|(index, (identity, object))| match object {
            UnitObject::Pod(pod) | UnitObject::Template(pod) => {
                Some(GovernedPod { identity: identity.clone(), pod, index })
            }
            UnitObject::Node(_) | UnitObject::AutoscalerOf(_) | UnitObject::FirstNumber(_) => None,
        });
    let name_of_pod = |index: usize| called(&unit_objects[index].0);
    let name = |index: usize| names[index].clone();
    let mut together = check_together(checked.clone(), name);
    together.extend(check_units_together(checked, pods, name, name_of_pod));
    let mut findings = std::mem::take(&mut reading.findings);
    let mut with_findings: Vec<(usize, &str)> = Vec::new();
    for (index, finding) in together {
        objects[index].checked.findings.push(finding);
    }
    for (index, object) in objects.iter().enumerate() {
        if !object.checked.findings.is_empty() {
            with_findings.push((index, &names[index]));
        }
    }
    with_findings.sort_by_key(|(_, name)| *name);
    for (index, name) in with_findings {
        let position = place(name, &objects[index], reading, &mut findings)?;
        objects[index].position = position;
    }
    Ok(findings)
}

/// Gives an object of a file its text, and any other object the text and the line numbers of `kubectl get -o yaml`. The
/// object's name on the command line replaces the file path.
fn place(
    name: &str,
    fetched: &FetchedObject,
    reading: &mut Reading,
    findings: &mut Vec<PlacedFinding>,
) -> anyhow::Result<Option<usize>> {
    let of_object = &fetched.checked.findings;
    let mut position = fetched.position;
    if position.is_none() {
        let cannot = || format!("failed to show {name}");
        let value = serde_json::to_value(&fetched.object).with_context(cannot)?;
        let text = to_yaml(&[value]).with_context(cannot)?;
        let text = text.strip_prefix("---\n").unwrap_or(&text);
        let source = reading.sources.len();
        read_objects(reading, Source::new(name, text));
        position = reading.objects.iter().position(|read| read.source == source);
    }
    let source = position.map_or(reading.sources.len() - 1, |it| reading.objects[it].source);
    let locator = position.map(|position| &reading.objects[position]);
    let locator = locator.map(|object| Locator::new(&reading.sources[source], object));
    let mut placed_findings: Vec<PlacedFinding> = of_object
        .iter()
        .map(|finding| {
            let span = locator.as_ref().map(|locator| locator.locate(finding));
            let placed = PlacedFinding::new(source, span, finding.clone());
            PlacedFinding { object: position, ..placed }
        })
        .collect();
    placed_findings.sort_by_key(|finding| finding.span.map(|span| span.start));
    findings.append(&mut placed_findings);
    Ok(position)
}
