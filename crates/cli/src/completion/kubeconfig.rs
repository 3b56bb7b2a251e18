//! The names in the kubeconfig that completion offers, without a request to a cluster.

use std::collections::BTreeSet;

use clap_complete::CompletionCandidate;
use kube::config::Kubeconfig;

use super::line::Line;

/// The names of the contexts.
pub(crate) fn contexts() -> Vec<CompletionCandidate> {
    let contexts = read(&Line::typed()).contexts.into_iter();
    let names: BTreeSet<String> = contexts.map(|context| context.name).collect();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// The namespaces that its contexts name.
pub(crate) fn namespaces(line: &Line) -> impl Iterator<Item = String> {
    let contexts = read(line).contexts.into_iter();
    contexts.filter_map(|context| context.context?.namespace)
}

/// The kubeconfig of the line; an empty kubeconfig if none exists.
fn read(line: &Line) -> Kubeconfig {
    let read = match line.paths(None, "--kubeconfig").last() {
        Some(file) => Kubeconfig::read_from(file),
        None => Kubeconfig::read(),
    };
    read.unwrap_or_default()
}
