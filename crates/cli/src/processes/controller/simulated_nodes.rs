//! Groups of type `Simulated`, whose nodes exist only as objects. `almanac-local` defines the simulated nodes and keeps
//! them alive; the controllers decide their number.

use almanac_controllers::scalable_node_group::{
    MayWrite, NodeGroup, NodeProvider, NodesChanged, ProvidedNodes, ProviderError,
};
use almanac_local::{self as local, NodeGroups};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Client;

/// The type of the groups.
pub(super) const TYPE: &str = "Simulated";

/// The maximum number of nodes in a group: a typing error must not fill the etcd of a laptop.
const MAX_NODES: u32 = 1_000;

/// The maximum length of a label value. The names of groups and nodes become labels.
const MAX_LABEL_LENGTH: usize = 63;

/// The maximum length of an id. The name of a node adds its number.
const MAX_ID_LENGTH: usize = MAX_LABEL_LENGTH - "-999".len();

/// Provides simulated nodes.
pub(super) struct SimulatedNodes {
    nodes: NodeGroups,
}

impl SimulatedNodes {
    pub(super) fn new(client: Client) -> Self {
        Self { nodes: NodeGroups::new(client) }
    }
}

fn local_group(group: &NodeGroup) -> local::NodeGroup<'_> {
    local::NodeGroup { namespace: &group.namespace, name: &group.name }
}

fn failed(error: &anyhow::Error) -> ProviderError {
    ProviderError::Failed(format!("{error:#}"))
}

/// The reason that a group is invalid; `None` for a valid group.
fn why_invalid(group: &NodeGroup, replicas: u32) -> Option<String> {
    let NodeGroup { name, id, .. } = group;
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = id.bytes().all(|byte| is_plain(byte) || byte == b'-')
        && [id.bytes().next(), id.bytes().last()]
            .into_iter()
            .all(|byte| byte.is_some_and(is_plain));
    if !is_label || id.len() > MAX_ID_LENGTH {
        return Some(format!(
            "spec.id is {id:?}, the prefix of node names; use lower-case letters, digits and '-', begin and end \
             with a letter or digit, and use at most {MAX_ID_LENGTH} characters"
        ));
    }
    if name.len() > MAX_LABEL_LENGTH {
        return Some(format!(
            "the name of the group has {} characters; it becomes a label of its nodes, so it must have at most \
             {MAX_LABEL_LENGTH}",
            name.len()
        ));
    }
    (replicas > MAX_NODES).then(|| {
        format!("spec.replicas is {replicas}; a group of simulated nodes has at most {MAX_NODES}")
    })
}

/// Fails if node names belong to nodes outside the group, or to nodes that are still being deleted.
fn check_names(resized: local::Resized) -> Result<(), ProviderError> {
    let local::Resized { taken, leaving } = resized;
    if let [first, others @ ..] = &*taken {
        let others = match others.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        return Err(ProviderError::NameTaken(format!(
            "node names in use outside this group: {first}{others}; these nodes are unchanged; give the group another \
             spec.id, or remove the nodes if nothing uses them"
        )));
    }
    match leaving.first() {
        Some(name) => Err(ProviderError::Failed(format!(
            "node {name} is still being deleted; it is created again after the deletion"
        ))),
        None => Ok(()),
    }
}

impl NodeProvider for SimulatedNodes {
    fn serve(&self, changed: NodesChanged) -> BoxFuture<'_, ()> {
        async move {
            let changed = |group: local::NodeGroup<'_>| changed(group.namespace, group.name);
            let failed = |error| tracing::warn!("failed to serve simulated nodes: {error:#}");
            self.nodes.serve(changed, failed).await;
        }
        .boxed()
    }

    fn observe<'a>(
        &'a self,
        group: &'a NodeGroup,
    ) -> BoxFuture<'a, Result<ProvidedNodes, ProviderError>> {
        async {
            let group = local_group(group);
            let count = self.nodes.count(group).await.map_err(|error| failed(&error))?;
            let replicas = u32::try_from(count).unwrap_or(u32::MAX);
            Ok(ProvidedNodes { replicas, selector: group.selector() })
        }
        .boxed()
    }

    fn scale<'a>(
        &'a self,
        group: &'a NodeGroup,
        replicas: u32,
        may_write: MayWrite<'a>,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        async move {
            if let Some(why) = why_invalid(group, replicas) {
                return Err(ProviderError::Invalid(why));
            }
            let count = usize::try_from(replicas).unwrap_or(usize::MAX);
            let resized = self.nodes.resize(local_group(group), &group.id, count, may_write).await;
            check_names(resized.map_err(|error| failed(&error))?)
        }
        .boxed()
    }

    fn abandon<'a>(
        &'a self,
        namespace: &'a str,
        name: &'a str,
        may_write: MayWrite<'a>,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        async move {
            let group = local::NodeGroup { namespace, name };
            self.nodes.remove_all(group, may_write).await.map_err(|error| failed(&error))
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, id: &str) -> NodeGroup {
        NodeGroup { namespace: "shop".to_owned(), name: name.to_owned(), id: id.to_owned() }
    }

    #[test]
    fn an_id_must_fit_in_a_node_name_and_a_group_name_in_a_label() {
        for id in ["pool", "p", "spot-1", &"x".repeat(59)] {
            assert_eq!(why_invalid(&group("pool", id), 1_000), None, "{id}");
        }
        for id in ["", "Pool", "-pool", "pool-", "a.b", "a/b", "ü", &"x".repeat(60)] {
            let why = why_invalid(&group("pool", id), 1).expect(id);
            assert!(why.starts_with("spec.id is "), "{why}");
        }
        let why = why_invalid(&group(&"x".repeat(64), "pool"), 1).expect("the name is too long");
        assert!(why.contains("64 characters"), "{why}");
        let why = why_invalid(&group("pool", "pool"), 1_001).expect("too many replicas");
        assert_eq!(why, "spec.replicas is 1001; a group of simulated nodes has at most 1000");
    }

    #[test]
    fn an_error_names_conflicting_nodes_and_other_owners_first() {
        let resized = |taken: &[&str], leaving: &[&str]| {
            let [taken, leaving] =
                [taken, leaving].map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            check_names(local::Resized { taken, leaving })
        };
        assert_eq!(resized(&[], &[]), Ok(()));
        let Err(ProviderError::NameTaken(why)) = resized(&["pool-0", "pool-2"], &["pool-1"]) else {
            panic!("a name that is taken is not reported");
        };
        assert!(
            why.starts_with("node names in use outside this group: pool-0 and 1 more;"),
            "{why}"
        );
        assert!(matches!(resized(&[], &["pool-1"]), Err(ProviderError::Failed(_))));
    }
}
