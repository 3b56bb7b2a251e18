//! The simulated nodes of `almanac up`: the nodes in a file, or three nodes in three topology zones. `almanac_api`
//! checks the file, and `almanac_local` simulates the nodes.
//!
//! ```yaml
//! nodes:
//! - name: reserved        # reserved-0 and reserved-1
//!   count: 2              # default: 1
//!   cpu: 8                # default: 4
//!   memory: 32Gi          # default: 16Gi
//!   pods: 50              # default: 110
//!   zone: eu-1a           # the label topology.kubernetes.io/zone
//!   labels: {capacity: reserved}
//!   taints: [{key: team, value: shop, effect: NoSchedule}]
//! ```

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use almanac_api::checking::{DescribedEffect, DescribedNodes, check_described_nodes};
use almanac_api::reading::{FILE_BYTES, PlacedFinding, Source};
use almanac_local::{NodeSpec, TaintEffect};
use anyhow::{Context as _, bail};

use crate::invisible::printable;

/// Reads a file that describes nodes.
pub(crate) fn source(path: &Path) -> anyhow::Result<Source> {
    let name = path.display().to_string();
    let failed = || format!("failed to read {name}");
    let mut bytes = Vec::new();
    // A device may return bytes without end.
    let most = FILE_BYTES as u64;
    File::open(path)
        .and_then(|file| file.take(most).read_to_end(&mut bytes))
        .with_context(failed)?;
    Ok(Source::from_bytes(name, bytes))
}

/// Parses a description of nodes.
pub(crate) fn parse(source: &Source) -> anyhow::Result<Vec<NodeSpec>> {
    match check_described_nodes(source) {
        Ok(nodes) => Ok(nodes.iter().map(spec).collect()),
        Err(findings) => {
            let lines: Vec<_> = findings.iter().map(|it| line(source, it)).collect();
            let name = printable(source.name());
            bail!("failed to use the nodes of {name}:\n  {}", lines.join("\n  "))
        }
    }
}

/// The default nodes, without a description.
pub(crate) fn usual() -> Vec<NodeSpec> {
    ["a", "b", "c"]
        .map(|zone| {
            NodeSpec::named(&format!("node-{zone}")).label("topology.kubernetes.io/zone", zone)
        })
        .to_vec()
}

fn line(source: &Source, placed: &PlacedFinding) -> String {
    let place = match placed.span.map(|span| source.position(span.start)) {
        Some(at) => format!("{}:{}:{}", source.name(), at.line, at.column),
        None => source.name().to_owned(),
    };
    printable(&format!("{place}: {}", placed.finding.sentence()))
}

fn spec(nodes: &DescribedNodes) -> NodeSpec {
    let mut spec = NodeSpec::named(&nodes.name);
    if let Some(count) = nodes.count {
        spec = spec.count(count);
    }
    if let Some(cpu) = &nodes.cpu {
        spec = spec.cpu(cpu);
    }
    if let Some(memory) = &nodes.memory {
        spec = spec.memory(memory);
    }
    if let Some(pods) = nodes.pods {
        spec = spec.pods(pods);
    }
    for (key, value) in &nodes.labels {
        spec = spec.label(key, value);
    }
    for taint in &nodes.taints {
        let effect = match taint.effect {
            DescribedEffect::NoSchedule => TaintEffect::NoSchedule,
            DescribedEffect::PreferNoSchedule => TaintEffect::PreferNoSchedule,
            DescribedEffect::NoExecute => TaintEffect::NoExecute,
        };
        spec = spec.taint(&taint.key, &taint.value, effect);
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> anyhow::Result<Vec<NodeSpec>> {
        parse(&Source::new("nodes.yaml", text))
    }

    /// The problems in a description, a line each.
    fn problems(text: &str) -> Vec<String> {
        let error = parsed(text).expect_err(text).to_string();
        let mut lines = error.lines().map(|line| line.trim_start().to_owned());
        assert_eq!(lines.next().as_deref(), Some("failed to use the nodes of nodes.yaml:"));
        lines.collect()
    }

    #[test]
    fn all_fields_of_a_node_description_apply() {
        let nodes = parsed(
            "nodes:\n- name: reserved\n  count: 2\n  cpu: 0.5\n  memory: 32Gi\n  pods: 50\n  zone: eu-1a\n  \
             labels: {capacity: reserved}\n  taints: [{key: team, value: shop, effect: NoSchedule}]\n- name: spot\n",
        )
        .expect("a valid description");
        let reserved = NodeSpec::named("reserved")
            .count(2)
            .size("0.5", "32Gi")
            .pods(50)
            .label("topology.kubernetes.io/zone", "eu-1a")
            .label("capacity", "reserved")
            .taint("team", "shop", TaintEffect::NoSchedule);
        assert_eq!(nodes, [reserved, NodeSpec::named("spot")]);
        assert_eq!(parsed("nodes: []\n").expect("a valid description"), []);
        assert_eq!(usual().len(), 3);
    }

    #[test]
    fn every_mistake_is_reported_with_its_line_its_field_and_a_fix() {
        let lines = problems(
            "nodes:\n- name: a\n  cuont: 3\n- name: b\n  cpu: four\n  memory: 0\n- name: a\n  count: \"2\"\n",
        );
        assert_eq!(
            lines,
            [
                "nodes.yaml:3:3: nodes[0].cuont: Unknown field: no such field here; write count",
                "nodes.yaml:5:8: nodes[1].cpu: Invalid value: \"four\": must be a quantity above zero, such as 4 or \
                 500m; write a quantity such as 4 or 500m",
                "nodes.yaml:6:11: nodes[1].memory: Invalid value: \"0\": must be a quantity above zero, such as 16Gi; \
                 write a quantity such as 16Gi",
                "nodes.yaml:7:9: nodes[2].name: Duplicate value: \"a\"; rename one of them",
                "nodes.yaml:8:10: nodes[2].count: Invalid value: \"2\": must be a whole number, not text; remove the \
                 quotes: 2",
            ]
        );
    }

    #[test]
    fn labels_and_taints_are_those_that_a_node_can_have() {
        let lines = problems(
            "nodes:\n- name: a\n  zone: eu 1\n  labels:\n    -x: z\n    almanac.dev/node-group: pool\n    b: 1\n  \
             taints:\n  - {key: night, effect: NoSchedul}\n  - {key: night, effect: NoExecute}\n  - {key: night, \
             effect: NoExecute}\n  - {value: \"a b\"}\n",
        );
        let starts = [
            "nodes.yaml:3:9: nodes[0].zone: Invalid value: \"eu 1\": the value of a label has",
            "nodes.yaml:5:9: nodes[0].labels.-x: Invalid value: \"-x\": the key of a label has",
            "nodes.yaml:6:29: nodes[0].labels[almanac.dev/node-group]: Forbidden: labels and taints of almanac.dev",
            "nodes.yaml:7:8: nodes[0].labels.b: Invalid value: 1: must be text, not a number; put it in quotes",
            "nodes.yaml:9:26: nodes[0].taints[0].effect: Unsupported value: \"NoSchedul\": supported values: \
             \"NoSchedule\"",
            "nodes.yaml:11:11: nodes[0].taints[2].key: Duplicate value: \"night\": two taints of one effect",
            "nodes.yaml:12:6: nodes[0].taints[3].key: Required value",
            "nodes.yaml:12:6: nodes[0].taints[3].effect: Required value",
            "nodes.yaml:12:13: nodes[0].taints[3].value: Invalid value: \"a b\"",
        ];
        assert_eq!(lines.len(), starts.len(), "{lines:#?}");
        for start in starts {
            assert!(lines.iter().any(|line| line.starts_with(start)), "{start}\n{lines:#?}");
        }
    }

    #[test]
    fn a_description_has_one_to_five_thousand_nodes() {
        for (count, why) in
            [(0, "greater than or equal to 1"), (5_001, "less than or equal to 5000")]
        {
            let lines = problems(&format!("nodes:\n- name: a\n  count: {count}\n"));
            let start =
                format!("nodes.yaml:3:10: nodes[0].count: Invalid value: {count}: must be {why}");
            assert!(lines.len() == 1 && lines[0].starts_with(&start), "{lines:?}");
        }
        let lines = problems("nodes:\n- {name: a, count: 5000}\n- {name: b}\n");
        assert!(
            lines.len() == 1 && lines[0].starts_with("nodes.yaml:1:1: nodes: Too many: 5001"),
            "{lines:?}"
        );
    }

    #[test]
    fn a_file_without_a_description_is_rejected() {
        assert_eq!(
            problems("# nothing\n"),
            [
                "nodes.yaml: nodes: Required value: the file describes nothing; write a list under nodes, such as - name: \
              node"
            ]
        );
        for (text, start) in [
            ("- name: a\n", "nodes.yaml:1:1: Invalid value: […]: must be a map, not a list"),
            (
                "nodes:\n  name: a\n",
                "nodes.yaml:1:1: nodes: Invalid value: {…}: must be a list, not a map",
            ),
            (
                "node:\n- name: a\n",
                "nodes.yaml:1:1: node: Unknown field: no such field here; write nodes",
            ),
            ("nodes:\n\t- name: a\n", "nodes.yaml:2:1: a tab can't be used to indent YAML"),
            ("nodes:\n- {name: Sail}\n", "nodes.yaml:2:10: nodes[0].name: Invalid value: \"Sail\""),
            ("nodes: [{}]\n", "nodes.yaml:1:9: nodes[0].name: Required value"),
        ] {
            let lines = problems(text);
            assert!(lines.len() == 1 && lines[0].starts_with(start), "{text}: {lines:?}");
        }
    }
}
