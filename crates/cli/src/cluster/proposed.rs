//! Objects of files, read as if they had been applied to the cluster. Nothing is applied.

mod apply;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use almanac_api::kinds::{Kind, Role};
use almanac_api::objects::dates_of_taints;
use almanac_api::reading::{Node, Reading};
use almanac_engine::Identity;
use anyhow::Context as _;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::DynamicObject;
use serde_json::json;

use self::apply::apply;
use super::identity_of;
use super::requests::Scope;
use crate::argument_error::ArgumentError;
use crate::files::FileArguments;

/// The argument that names the files.
const ARGUMENT: &str = "--what-if";

/// The objects of the files of `--what-if`.
#[derive(Default)]
pub(super) struct Proposed {
    paths: Vec<String>,
    /// The texts of the files, with their findings.
    pub(super) reading: Reading,
    objects: BTreeMap<Identity, (usize, DynamicObject)>,
    /// The instant of the assumed application.
    now: Timestamp,
}

impl Proposed {
    /// Reads files.
    pub(super) fn read(paths: &[String]) -> anyhow::Result<Proposed> {
        if paths.is_empty() {
            return Ok(Proposed::default());
        }
        let reading = FileArguments::for_paths(paths.to_vec(), &[]).read()?.reading;
        if reading.objects.is_empty() && reading.findings.is_empty() {
            let message = "the files have no policy and no object that policies act on";
            return Err(ArgumentError::whole(ARGUMENT, &paths.join(" "), message).into());
        }
        Ok(Proposed { paths: paths.to_vec(), reading, ..Proposed::default() })
    }

    /// The namespace that all namespaced objects name; `None` if they name several or none.
    pub(super) fn only_namespace(&self) -> Option<&str> {
        let namespaced = self.reading.objects.iter().filter(|it| it.kind.is_namespaced());
        let namespaced = namespaced.filter(|it| !it.kind.counts_everywhere());
        let names = namespaced.map(|it| {
            let name = it.node.get("metadata")?.get("namespace").and_then(Node::as_text);
            name.filter(|it| !it.is_empty())
        });
        let names: BTreeSet<Option<&str>> = names.collect();
        names.first().copied().flatten().filter(|_| names.len() == 1)
    }

    /// Places the objects in namespaces: objects without a namespace are in the namespace of the scope, or else of
    /// the context. A new object is created now.
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
        self.now = now;
        for (position, read) in self.reading.objects.iter().enumerate() {
            let file = self.reading.sources[read.source].name();
            let object = serde_json::from_value(read.node.to_json());
            let mut object: DynamicObject = object
                .with_context(|| format!("failed to use a {} of {file}", read.kind.name()))?;
            object.metadata.creation_timestamp.get_or_insert(Time(now));
            let namespace = object.metadata.namespace.take().filter(|it| !it.is_empty());
            if read.kind.is_namespaced() {
                object.metadata.namespace = Some(namespace.unwrap_or_else(|| default.to_owned()));
            }
            let identity = identity_of(read.kind, &object);
            self.objects.insert(identity, (position, object));
        }
        Ok(())
    }

    /// The index of the text of an object in the reading; `None` if no file contains the object.
    pub(super) fn position(&self, identity: &Identity) -> Option<usize> {
        self.objects.get(identity).map(|(position, _)| *position)
    }

    /// The object after the files are applied.
    pub(super) fn applied(
        &self,
        identity: &Identity,
        live: Option<DynamicObject>,
    ) -> Option<DynamicObject> {
        let Some((_, proposed)) = self.objects.get(identity) else { return live };
        let mut object = match &live {
            Some(live) => apply(live, proposed),
            None => proposed.clone(),
        };
        if Kind::for_object(identity) == Some(Kind::ManagedCluster) {
            self.date_taints(&mut object, live.as_ref());
        }
        Some(object)
    }

    /// Dates the taints of a cluster as the webhook of a hub does.
    fn date_taints(&self, cluster: &mut DynamicObject, live: Option<&DynamicObject>) {
        // The metadata has the ignore annotation and the deletion timestamp.
        let whole = |it: &DynamicObject| serde_json::to_value(it).unwrap_or_default();
        let (after, before) = (whole(cluster), live.map(whole));
        for (index, date) in dates_of_taints(&after, before.as_ref(), self.now) {
            cluster.data["spec"]["taints"][index]["timeAdded"] = json!(date);
        }
    }

    /// The objects of a kind after the files are applied.
    pub(super) fn applied_to_all(
        &self,
        kind: Kind,
        objects: Vec<DynamicObject>,
        is_in_scope: impl Fn(&str) -> bool,
    ) -> Vec<DynamicObject> {
        if self.objects.is_empty() {
            return objects;
        }
        let mut live_identities = BTreeSet::new();
        let mut all: Vec<DynamicObject> = objects
            .into_iter()
            .filter_map(|object| {
                let identity = identity_of(kind, &object);
                let applied = self.applied(&identity, Some(object));
                live_identities.insert(identity);
                applied
            })
            .collect();
        let is_new = |it: &&Identity| {
            Kind::for_object(it) == Some(kind)
                && !live_identities.contains(it)
                && (!kind.is_namespaced() || is_in_scope(it.namespace()))
        };
        let new = self.objects.keys().filter(is_new);
        all.extend(new.filter_map(|identity| self.applied(identity, None)));
        all
    }

    /// The objects of the files without an effect on the output, as sentences.
    pub(super) fn left_out(&self, used: impl Iterator<Item = Identity>) -> Vec<String> {
        let used: BTreeSet<Identity> = used.collect();
        // The command reads only workloads that policies act on.
        let is_policy = |it: &&Identity| {
            Kind::for_object(it).is_some_and(|kind| !matches!(kind.role(), Role::Workload { .. }))
        };
        let unused = self.objects.keys().filter(|it| !used.contains(it)).filter(is_policy);
        let mut notes: Vec<String> = unused
            .map(|it| {
                format!("{it} of {ARGUMENT} is left out: objects of its kind are not read there")
            })
            .collect();
        let Reading { others, pods, nodes, cron_jobs, .. } = &self.reading;
        // The list also contains the templates of workloads.
        let has_pods = pods.iter().any(|it| &*it.kind == "Pod");
        if !(others.is_empty() && !has_pods && nodes.is_empty() && cron_jobs.is_empty()) {
            let paths = self.paths.join(" ");
            notes.push(format!(
                "CronJobs, pods, nodes and objects of unknown kinds in {paths} are left out"
            ));
        }
        notes
    }
}
