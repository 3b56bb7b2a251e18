//! The names that can be completed without a cluster: objects in the files that the line names, and
//! namespaces.
//!
//! The user waits for the candidates after each key press, so unreadable files have no candidates and no message.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::slice;

use almanac_api::kinds::kind_named;
use almanac_api::reading::{Node, ReadObject, Reading};
use clap_complete::CompletionCandidate;
use clap_complete::engine::{PathCompleter, ValueCompleter as _};

use super::kubeconfig;
use super::line::Line;
use crate::files::glance;

/// An object that can be named.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct NamedObject {
    name: String,
    kind: String,
    namespace: Option<String>,
}

/// The policies and their targets in the files that the line names, in the form that the user started: a name, a kind
/// and a name, or a kind, a namespace and a name.
fn objects(begun: &OsStr) -> Vec<CompletionCandidate> {
    offered(begun, &[("", named_objects(&glance(&Line::typed().files())))])
}

/// The policies and their targets in the two versions that the line compares. Names that only one version has are
/// marked.
pub(crate) fn compared(begun: &OsStr) -> Vec<CompletionCandidate> {
    let line = Line::typed();
    let mut paths = line.operands("diff", &["--fail-on-change"]);
    let read = |paths: &[String]| named_objects(&glance(paths));
    // Of the revisions, only the working tree is quick to read.
    if paths.is_empty() && line.paths(None, "--git").next().is_some() {
        paths.push(".".to_owned());
    }
    match &*paths {
        [old, new] if line.paths(None, "--git").next().is_none() => {
            let [old, new] = [old, new].map(|path| read(slice::from_ref(path)));
            offered(begun, &[("old", old), ("new", new)])
        }
        _ => offered(begun, &[("", read(&paths))]),
    }
}

/// The names in several versions of the files that complete the typed prefix.
fn offered(begun: &OsStr, versions: &[(&str, BTreeSet<NamedObject>)]) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let mut offered: BTreeMap<String, (BTreeSet<&str>, BTreeSet<&str>)> = BTreeMap::new();
    let objects =
        versions.iter().flat_map(|(version, all)| all.iter().map(move |it| (version, it)));
    for (version, object) in objects {
        let name = match begun.split('/').collect::<Vec<_>>()[..] {
            [_] => Some(object.name.clone()),
            [kind, _] if object.is_of(kind) => Some(format!("{kind}/{}", object.name)),
            [kind, namespace, _] if object.is_of(kind) && object.is_in(namespace) => {
                Some(format!("{kind}/{namespace}/{}", object.name))
            }
            _ => None,
        };
        if let Some(name) = name.filter(|name| name.starts_with(&*begun)) {
            let (kinds, with) = offered.entry(name).or_default();
            kinds.insert(&object.kind);
            with.insert(version);
        }
    }
    let candidate = |(name, (kinds, with)): (String, (BTreeSet<&str>, BTreeSet<&str>))| {
        let kinds = kinds.into_iter().collect::<Vec<&str>>().join(", ");
        let help = match with.first() {
            Some(only) if with.len() < versions.len() => {
                format!("{kinds}, only in the {only} files")
            }
            _ => kinds,
        };
        CompletionCandidate::new(name).help(Some(help.into()))
    };
    offered.into_iter().map(candidate).collect()
}

/// The policies and their targets, and paths: unless a flag names files, a word may be a path.
pub(crate) fn objects_and_paths(begun: &OsStr) -> Vec<CompletionCandidate> {
    let mut offered = objects(begun);
    if !Line::typed().has_files() {
        offered.extend(PathCompleter::any().complete(begun));
    }
    offered
}

/// The namespaces that the contexts of the kubeconfig and the objects of the files name.
pub(crate) fn namespaces() -> Vec<CompletionCandidate> {
    let line = Line::typed();
    let reading = glance(&line.files());
    let of_files = reading.objects.iter().filter_map(|object| metadata(object, "namespace"));
    let names: BTreeSet<String> = kubeconfig::namespaces(&line).chain(of_files).collect();
    names.into_iter().map(CompletionCandidate::new).collect()
}

impl NamedObject {
    fn is_of(&self, kind: &str) -> bool {
        kind_named(kind).unwrap_or(kind).eq_ignore_ascii_case(&self.kind)
    }

    fn is_in(&self, namespace: &str) -> bool {
        self.namespace.as_deref().unwrap_or("default") == namespace
    }
}

/// The policies that were read, and their targets.
fn named_objects(reading: &Reading) -> BTreeSet<NamedObject> {
    let policies = reading.objects.iter().filter(|object| object.kind.is_policy());
    let both = |object: &ReadObject| {
        let namespace = metadata(object, "namespace");
        let policy = metadata(object, "name").map(|name| NamedObject {
            name,
            kind: object.kind.name().to_owned(),
            namespace: namespace.clone(),
        });
        let reference = object.node.get("spec").and_then(|spec| spec.get("scaleTargetRef"));
        let target = reference.and_then(|it| {
            Some(NamedObject { name: text(it, "name")?, kind: text(it, "kind")?, namespace })
        });
        [policy, target].into_iter().flatten()
    };
    policies.flat_map(both).collect()
}

fn metadata(object: &ReadObject, key: &str) -> Option<String> {
    text(object.node.get("metadata")?, key)
}

fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key).and_then(Node::as_text).map(str::to_owned)
}
