//! The manifests grant each process the reads and writes in the descriptors of its families.

use std::collections::BTreeSet;

use almanac_api::families::{DESCRIPTORS, Process};
use almanac_api::kinds::Kind;

const CONTROLLERS: &[&str] = &[include_str!("../../../../deploy/almanac.yaml")];
const PLACEMENT: &[&str] = &[include_str!("../../../../deploy/placement/rights.yaml")];
const AGENTS: &[&str] = &[
    include_str!("../../../../deploy/agent/daemonset.yaml"),
    include_str!("../../../../deploy/agent/whole-cluster.yaml"),
];
const EXTENDERS: &[&str] = &[
    include_str!("../../../../deploy/extender/second-scheduler.yaml"),
    include_str!("../../../../deploy/extender/beside-kube-scheduler.yaml"),
];

/// A verb, a group, and a resource of it.
type Right<'a> = (&'a str, &'a str, &'a str);

/// The permissions that the roles of a manifest grant. Each list of a rule is on one line.
fn granted(manifest: &str) -> BTreeSet<Right<'_>> {
    let mut rights = BTreeSet::new();
    let (mut groups, mut resources) = (Vec::new(), Vec::new());
    for line in manifest.lines() {
        let Some((key, list)) = line.split_once(": [") else { continue };
        let items = list.trim_end_matches(']').split(", ").map(|it| it.trim_matches('"'));
        match key.trim_start_matches(['-', ' ']) {
            "apiGroups" => groups = items.collect(),
            "resources" => resources = items.collect(),
            "verbs" => {
                for verb in items {
                    for group in &groups {
                        rights.extend(resources.iter().map(|resource| (verb, *group, *resource)));
                    }
                }
            }
            _ => {}
        }
    }
    rights
}

#[test]
fn each_process_has_the_permissions_that_its_descriptors_require() {
    for descriptor in DESCRIPTORS {
        let manifests = match descriptor.process {
            Process::Controller { by_default: true } => CONTROLLERS,
            Process::Controller { by_default: false } => PLACEMENT,
            Process::Agent => AGENTS,
            Process::Extender => EXTENDERS,
        };
        let own = Kind::for_family(descriptor.family);
        let read = descriptor.reads.iter().chain([&own]);
        let reads = read.flat_map(|kind| [("list", kind), ("watch", kind)]);
        let needed = reads.chain(descriptor.writes.iter().map(|kind| ("patch", kind)));
        let needed: Vec<(&str, &Kind)> = needed.collect();
        for manifest in manifests {
            let granted = granted(manifest);
            for (verb, kind) in &needed {
                let right = (*verb, kind.group(), kind.plural());
                assert!(granted.contains(&right), "{right:?} of {:?}", descriptor.family);
            }
        }
    }
}
