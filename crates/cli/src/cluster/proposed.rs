//! Objects of files, taken as if they had been applied to the cluster that is read. Nothing is applied.

use std::collections::{BTreeMap, BTreeSet};

use almanac_api::kinds::{Kind, Role};
use almanac_api::reading::{Node, Reading};
use almanac_engine::Identity;
use anyhow::Context as _;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::DynamicObject;

use super::identity_of;
use super::requests::Scope;
use crate::argument_error::ArgumentError;
use crate::files::FileArguments;

/// The argument that names the files.
const ARGUMENT: &str = "--what-if";

/// The objects of files.
#[derive(Default)]
pub(super) struct Proposed {
    paths: Vec<String>,
    /// The texts, and what is wrong with them.
    pub(super) reading: Reading,
    objects: BTreeMap<Identity, (usize, DynamicObject)>,
}

impl Proposed {
    /// Reads files.
    pub(super) fn read(paths: &[String]) -> anyhow::Result<Proposed> {
        if paths.is_empty() {
            return Ok(Proposed::default());
        }
        let reading = FileArguments::of(paths.to_vec(), &[]).read()?.reading;
        if reading.objects.is_empty() && reading.findings.is_empty() {
            let message = "there is no policy in it, and nothing that policies act on";
            return Err(ArgumentError::whole(ARGUMENT, &paths.join(" "), message).into());
        }
        Ok(Proposed { paths: paths.to_vec(), reading, objects: BTreeMap::new() })
    }

    /// The namespace of all objects that are in one, if they name the same.
    pub(super) fn only_namespace(&self) -> Option<&str> {
        let namespaced = self.reading.objects.iter().filter(|it| it.kind.is_namespaced());
        // The agent of a cluster is not where the pods are.
        let namespaced = namespaced.filter(|it| it.kind != Kind::ConfigMap);
        let names =
            namespaced.map(|it| it.node.get("metadata")?.get("namespace").and_then(Node::as_text));
        let names: BTreeSet<Option<&str>> = names.collect();
        names.first().copied().flatten().filter(|_| names.len() == 1)
    }

    /// Places the objects in namespaces: those that name none are in the one where is looked, or in that of the
    /// context. A new object is created now.
    pub(super) fn place(
        &mut self,
        scope: &Scope,
        context: &str,
        now: Timestamp,
    ) -> anyhow::Result<()> {
        let default = match scope {
            Scope::Cluster => context,
            Scope::Namespace(name) => name,
        };
        for (position, read) in self.reading.objects.iter().enumerate() {
            let file = self.reading.sources[read.source].name();
            let object = serde_json::from_value(read.node.to_json());
            let mut object: DynamicObject = object
                .with_context(|| format!("failed to use a {} of {file}", read.kind.name()))?;
            object.metadata.creation_timestamp.get_or_insert(Time(now));
            if read.kind.is_namespaced() {
                object.metadata.namespace.get_or_insert_with(|| default.to_owned());
            }
            let identity = identity_of(read.kind, &object);
            self.objects.insert(identity, (position, object));
        }
        Ok(())
    }

    /// Where the text of an object is, if it is one of these: a position in what was read.
    pub(super) fn position(&self, identity: &Identity) -> Option<usize> {
        self.objects.get(identity).map(|(position, _)| *position)
    }

    /// The object as it is once these are applied.
    pub(super) fn applied(
        &self,
        identity: &Identity,
        live: Option<DynamicObject>,
    ) -> Option<DynamicObject> {
        let Some((_, proposed)) = self.objects.get(identity) else { return live };
        let mut object = proposed.clone();
        if let Some(live) = live {
            // Files rarely have a status, so that of the cluster stays unless the file has one.
            if let (Some(fields), Some(status)) =
                (object.data.as_object_mut(), live.data.get("status"))
            {
                fields.entry("status").or_insert_with(|| status.clone());
            }
            let mut metadata = live.metadata;
            metadata
                .labels
                .get_or_insert_default()
                .extend(object.metadata.labels.unwrap_or_default());
            let annotations = object.metadata.annotations.unwrap_or_default();
            metadata.annotations.get_or_insert_default().extend(annotations);
            object.metadata = metadata;
        }
        Some(object)
    }

    /// The objects of a kind as they are once these are applied.
    pub(super) fn applied_to_all(
        &self,
        kind: Kind,
        objects: Vec<DynamicObject>,
        is_in_scope: impl Fn(&str) -> bool,
    ) -> Vec<DynamicObject> {
        if self.objects.is_empty() {
            return objects;
        }
        let mut there = BTreeSet::new();
        let mut all: Vec<DynamicObject> = objects
            .into_iter()
            .filter_map(|object| {
                let identity = identity_of(kind, &object);
                let applied = self.applied(&identity, Some(object));
                there.insert(identity);
                applied
            })
            .collect();
        let is_new = |it: &&Identity| {
            Kind::of_object(it) == Some(kind)
                && !there.contains(it)
                && (it.namespace().is_empty() || is_in_scope(it.namespace()))
        };
        let new = self.objects.keys().filter(is_new);
        all.extend(new.filter_map(|identity| self.applied(identity, None)));
        all
    }

    /// What of them has no effect on the answer, as sentences.
    pub(super) fn left_out(&self, used: impl Iterator<Item = Identity>) -> Vec<String> {
        let used: BTreeSet<Identity> = used.collect();
        // Of workloads, only those are read that policies act on.
        let is_policy = |it: &&Identity| {
            Kind::of_object(it).is_some_and(|kind| !matches!(kind.role(), Role::Workload { .. }))
        };
        let unused = self.objects.keys().filter(|it| !used.contains(it)).filter(is_policy);
        let mut notes: Vec<String> = unused
            .map(|it| {
                format!("{it} of {ARGUMENT} is left out: objects of its kind there are not read")
            })
            .collect();
        let Reading { others, pods, nodes, cron_jobs, .. } = &self.reading;
        if !(others.is_empty() && pods.is_empty() && nodes.is_empty() && cron_jobs.is_empty()) {
            let paths = self.paths.join(" ");
            notes.push(format!(
                "CronJobs, pods, nodes and objects of unknown kinds in {paths} are left out"
            ));
        }
        notes
    }
}
