//! The recorded part of an object of an unknown kind: its name and its replicas.
//!
//! A policy may scale any kind. The owner of the policies determines whether one scales this object.

use almanac_engine::Identity;

use crate::exempt::{MARK, exempts};
use crate::kinds::group_and_version;
use crate::tree::{Node, Value};

/// An object of an unknown kind. Repositories have thousands of these, so only a few fields are recorded.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OtherObject {
    /// The `apiVersion` of the object.
    pub api_version: Box<str>,
    /// The `kind` of the object.
    pub kind: Box<str>,
    /// The namespace in the object; `None` if absent.
    pub namespace: Option<Box<str>>,
    /// The name of the object.
    pub name: Box<str>,
    /// The index of the source in [`super::Reading::sources`].
    pub source: usize,
    /// `spec.replicas`, if that is a number of replicas.
    pub replicas: Option<u32>,
    /// Whether the object has the ignore annotation, which exempts the object, or all objects of a namespace, from all
    /// policies.
    pub is_marked: bool,
}

impl OtherObject {
    /// Reads the recorded fields; `None` for an object without a name.
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

    /// Whether the object is a namespace whose objects are exempt from all policies.
    #[must_use]
    pub fn is_exempt_namespace(&self) -> bool {
        self.is_marked && (&*self.api_version, &*self.kind) == ("v1", "Namespace")
    }

    /// The identity in the namespace of the object, or in the given namespace if that is absent.
    #[must_use]
    pub fn identity(&self, namespace: &str) -> Identity {
        let (group, _) = group_and_version(&self.api_version);
        let namespace = self.namespace.as_deref().unwrap_or(namespace);
        Identity::new(group, &*self.kind, namespace, &*self.name)
    }
}

/// Reads a number of replicas; `None` for any other value.
pub(super) fn count(node: &Node) -> Option<u32> {
    match &node.value {
        Value::Number(number) => u32::try_from(i32::try_from(number.as_i64()?).ok()?).ok(),
        _ => None,
    }
}
