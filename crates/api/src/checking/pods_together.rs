//! Findings about pods, nodes and workloads that are defined twice. Only policies about pods read these objects.

use std::collections::BTreeMap;

use almanac_engine::Identity;

use super::together::defined_twice;
use crate::finding::{Finding, Span};
use crate::reading::Reading;

/// A mistake at a location in a source.
pub(super) struct LocatedFinding {
    pub(super) source: usize,
    pub(super) span: Span,
    pub(super) finding: Finding,
}

/// Checks the pods and nodes of one cluster. `line` formats a location.
pub(super) fn check_pods_together(
    reading: &Reading,
    (pods, nodes): (&[usize], &[usize]),
    namespace: &str,
    line: impl Fn(usize, Span) -> String,
) -> Vec<LocatedFinding> {
    let pods = pods.iter().map(|index| &reading.pods[*index]);
    let pods = pods.map(|it| (it.identity(namespace), it.source, it.span));
    let nodes = nodes.iter().map(|index| &reading.nodes[*index]);
    let nodes = nodes.map(|it| (it.identity(), it.source, it.span));
    let mut first_of: BTreeMap<Identity, (usize, Span)> = BTreeMap::new();
    let mut findings = Vec::new();
    for (identity, source, span) in pods.chain(nodes) {
        match first_of.get(&identity) {
            Some((first, at)) => {
                let finding = defined_twice(&identity, &line(*first, *at));
                findings.push(LocatedFinding { source, span, finding });
            }
            None => {
                first_of.insert(identity, (source, span));
            }
        }
    }
    findings
}
