//! A kind of objects, as in discovery.

use serde_json::{Value, json};

/// A served kind of objects. All kinds have a `status` subresource.
#[derive(Clone, Debug)]
pub struct Kind {
    pub(crate) api_version: String,
    pub(crate) name: String,
    pub(crate) plural: String,
    has_scale: bool,
    is_cluster_scoped: bool,
}

impl Kind {
    /// A kind, such as `apps/v1`, `Deployment`, `deployments`.
    #[must_use]
    pub fn new(api_version: &str, kind: &str, plural: &str) -> Self {
        let [api_version, name, plural] = [api_version, kind, plural].map(str::to_owned);
        Self { api_version, name, plural, has_scale: false, is_cluster_scoped: false }
    }

    /// Makes the kind scalable, by its `spec.replicas`.
    #[must_use]
    pub fn with_scale(mut self) -> Self {
        self.has_scale = true;
        self
    }

    /// Makes the kind cluster-scoped.
    #[must_use]
    pub fn cluster_scoped(mut self) -> Self {
        self.is_cluster_scoped = true;
        self
    }

    pub(crate) fn has(&self, subresource: &str) -> bool {
        match subresource {
            "" | "status" => true,
            "scale" => self.has_scale,
            _ => false,
        }
    }

    pub(crate) fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Whether the kind is built in, and not a custom resource.
    pub(crate) fn is_built_in(&self) -> bool {
        !self.group().contains('.') || self.group().ends_with(".k8s.io")
    }

    /// The name in messages: `deployments.apps`.
    pub(crate) fn full_name(&self) -> String {
        match self.group() {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// The entries of the kind in discovery.
    pub(crate) fn discovered(&self) -> Vec<Value> {
        let verbs = ["create", "delete", "get", "list", "patch", "update", "watch"];
        let resource = |name: &str, kind: &str| {
            json!({
                "name": name, "singularName": "", "namespaced": !self.is_cluster_scoped,
                "kind": kind, "verbs": verbs,
            })
        };
        let mut found = vec![resource(&self.plural, &self.name)];
        if self.has_scale {
            let mut scale = resource(&format!("{}/scale", self.plural), "Scale");
            scale["group"] = json!("autoscaling");
            scale["version"] = json!("v1");
            found.push(scale);
        }
        found.push(resource(&format!("{}/status", self.plural), &self.name));
        found
    }
}
