//! The request paths for the objects of a kind. This module sends no requests.

use kube::core::ApiResource;

use super::Kind;

impl Kind {
    /// The API resource of the kind, in its usual version.
    #[must_use]
    pub fn resource(self) -> ApiResource {
        ApiResource {
            group: self.group().to_owned(),
            version: self.version().to_owned(),
            api_version: self.api_version(),
            kind: self.name().to_owned(),
            plural: self.plural().to_owned(),
        }
    }

    /// The request path of the objects in a namespace: `/apis/apps/v1/namespaces/default/deployments`.
    #[must_use]
    pub fn collection(self, namespace: &str) -> String {
        let root = if self.group().is_empty() { "/api" } else { "/apis" };
        let (api_version, plural) = (self.api_version(), self.plural());
        if self.is_namespaced() {
            format!("{root}/{api_version}/namespaces/{namespace}/{plural}")
        } else {
            format!("{root}/{api_version}/{plural}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_kind_has_its_group_its_usual_version_and_the_namespace() {
        let path = Kind::Deployment.collection("shop");
        assert_eq!(path, "/apis/apps/v1/namespaces/shop/deployments");
        let path = Kind::ReplicationController.collection("shop");
        assert_eq!(path, "/api/v1/namespaces/shop/replicationcontrollers");
    }
}
