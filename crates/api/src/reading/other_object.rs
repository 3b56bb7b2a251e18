//! The part that is kept of an object of a kind we do not know: its name and its replicas.
//!
//! A policy may scale anything; whether one scales this object is up to the owner of the policies.

use almanac_engine::Identity;

use crate::exempt::{MARK, exempts};
use crate::kinds::group_and_version;
use crate::tree::{Node, Value};

/// An object of a kind we do not know. Repositories have thousands, so only these fields are kept.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OtherObject {
    /// Its `apiVersion`.
    pub api_version: Box<str>,
    /// Its `kind`.
    pub kind: Box<str>,
    /// The namespace it names, if it names one.
    pub namespace: Option<Box<str>>,
    /// Its name.
    pub name: Box<str>,
    /// The index of its source in [`super::Reading::sources`].
    pub source: usize,
    /// `spec.replicas`, if that is a number of replicas.
    pub replicas: Option<u32>,
    /// Whether it bears the mark that exempts it, or a namespace, from all policies.
    pub is_marked: bool,
}

impl OtherObject {
    /// Reads the fields that are kept; `None` for an object without a name.
    pub(super) fn read(
        api_version: &str,
        kind: &str,
        source: usize,
        node: &Node,
    ) -> Option<OtherObject> {
        let metadata = node.get("metadata")?;
        let text = |field: &str| {
            let text = metadata.get(field).and_then(Node::as_text);
            text.filter(|text| !text.is_empty()).map(Box::from)
        };
        let replicas = node.get("spec").and_then(|spec| spec.get("replicas")).and_then(count);
        Some(OtherObject {
            api_version: api_version.into(),
            kind: kind.into(),
            namespace: text("namespace"),
            name: text("name")?,
            source,
            replicas,
            is_marked: ["annotations", "labels"].into_iter().any(|field| {
                let mark = metadata.get(field).and_then(|texts| texts.get(MARK));
                mark.and_then(Node::as_text).is_some_and(exempts)
            }),
        })
    }

    /// Whether it is a namespace, and what is in it is exempt from all policies.
    #[must_use]
    pub fn is_exempt_namespace(&self) -> bool {
        self.is_marked && (&*self.api_version, &*self.kind) == ("v1", "Namespace")
    }

    /// Its identity, in the namespace that it names, or else in the given one.
    #[must_use]
    pub fn identity(&self, namespace: &str) -> Identity {
        let (group, _) = group_and_version(&self.api_version);
        let namespace = self.namespace.as_deref().unwrap_or(namespace);
        Identity::new(group, &*self.kind, namespace, &*self.name)
    }
}

/// A number of replicas, if it is one.
pub(super) fn count(node: &Node) -> Option<u32> {
    match &node.value {
        Value::Number(number) => u32::try_from(i32::try_from(number.as_i64()?).ok()?).ok(),
        _ => None,
    }
}
