//! The inputs and the changes of a kustomization that affect the separation of files. `kubectl kustomize` builds a
//! kustomization.

use super::stream;
use super::text_finding::TextFinding;
use crate::finding::Severity;
use crate::tree::Node;

/// The content of a kustomization.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Kustomization {
    /// The input files and directories, as the kustomization names them.
    pub resources: Vec<Box<str>>,
    /// The directories of components, whose changes apply to the kustomization.
    pub components: Vec<Box<str>>,
    /// The files that are patches instead of objects, as the kustomization names them.
    pub patches: Vec<Box<str>>,
    /// Whether the output differs from the input.
    pub changes: bool,
    /// Whether the kustomization is a component, which changes nothing alone.
    pub is_component: bool,
}

/// The fields by which a kustomization changes its input.
const CHANGING: &[&str] = &[
    "namePrefix",
    "nameSuffix",
    "namespace",
    "patches",
    "patchesJson6902",
    "patchesStrategicMerge",
    "replacements",
    "replicas",
    "transformers",
    "vars",
];

/// Whether a file of this name is a kustomization.
#[must_use]
pub fn is_kustomization(file_name: &str) -> bool {
    matches!(file_name, "kustomization.yaml" | "kustomization.yml" | "Kustomization")
}

impl Kustomization {
    /// Reads a kustomization. The result of an invalid one is empty; kustomize reports its mistakes.
    #[must_use]
    pub fn read(text: &str) -> Kustomization {
        let documents = stream::read(text).documents;
        let Some(document) = documents.first() else { return Kustomization::default() };
        let list = |key: &str| document.get(key).and_then(Node::as_list).unwrap_or_default();
        let texts =
            |key: &'static str| list(key).iter().filter_map(Node::as_text).map(Box::<str>::from);
        let paths = |key: &'static str| {
            list(key)
                .iter()
                .filter_map(|it| it.get("path").and_then(Node::as_text))
                .map(Box::<str>::from)
        };
        let resources = ["resources", "bases"].into_iter().flat_map(texts);
        let patches =
            texts("patchesStrategicMerge").chain(paths("patches")).chain(paths("patchesJson6902"));
        // An older form has inline patches; a string of several lines is not a path.
        let patches = patches.filter(|path| !path.contains('\n'));
        Kustomization {
            resources: resources.collect(),
            components: texts("components").collect(),
            patches: patches.collect(),
            changes: CHANGING.iter().any(|key| document.get(key).is_some()),
            is_component: document.get("kind").and_then(Node::as_text) == Some("Component"),
        }
    }
}

/// A kustomization as JSON, which every program reads in the same way; or the reason that its meaning is ambiguous.
pub fn kustomization_as_json(text: &str) -> Result<serde_json::Value, String> {
    let read = stream::read(text);
    let is_error = |it: &&TextFinding| it.finding.severity() == Severity::Error;
    if let Some(first) = read.findings.iter().find(is_error) {
        return Err(first.finding.to_string());
    }
    match &*read.documents {
        [document] => Ok(document.to_json()),
        documents => Err(format!("the file has {} documents instead of one", documents.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kustomization_with_a_single_meaning_is_json() {
        let json = kustomization_as_json("# all\nresources: [a.yaml]\n").unwrap();
        assert_eq!(json, serde_json::json!({"resources": ["a.yaml"]}));
        for text in ["resources: {a\n", "a: 1\n---\nb: 2\n"] {
            assert!(kustomization_as_json(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_kustomization_lists_its_resources_and_its_patches() {
        let text = "resources: [../../base, hours.yaml]\npatches:\n- path: more.yaml\n- patch: |-\n    a: b\n\
                    patchesStrategicMerge: [old.yaml, \"a: b\\nc: d\"]\n";
        let read = Kustomization::read(text);
        assert_eq!(read.resources, [Box::from("../../base"), Box::from("hours.yaml")]);
        assert_eq!(read.patches, [Box::from("old.yaml"), Box::from("more.yaml")]);
        assert!(read.changes);
        let plain = Kustomization::read("kind: Kustomization\nresources: [a.yaml]\n");
        assert!(!plain.changes && !plain.is_component);
        let component = Kustomization::read("kind: Component\ncomponents: [../night]\n");
        assert!(component.is_component && component.components == [Box::from("../night")]);
        assert_eq!(Kustomization::read("resources: {a\n"), Kustomization::default());
    }
}
