//! Groups of simulated nodes that grow and shrink. Labels assign a node to a group. A simulated node is identified by
//! its provider ID, which cannot be set on a real machine later; no other node is counted, changed or removed.
//!
//! This module keeps no state: it reads the nodes from the API server each time. The caller decides the desired number
//! of nodes and whether writes are allowed now.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use almanac_shell::following::{Deliveries, Delivery, Selection};
use anyhow::{Context as _, Result};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ApiResource, ListParams, PostParams};
use kube::{Client, ResourceExt};

use super::simulator::{NODES_AT_ONCE, NodeSimulator, at_once, delete_only};
use super::spec::NodeSpec;

/// The label with the name of a node's group.
pub const NODE_GROUP: &str = "almanac.dev/node-group";
/// The label with the namespace of a node's group.
pub const NODE_GROUP_NAMESPACE: &str = "almanac.dev/node-group-namespace";

/// The prefix of the provider IDs of simulated nodes.
const SIMULATED: &str = "simulated://";

/// The delay before the nodes are listed again after a failure.
const BETWEEN_ATTEMPTS: Duration = Duration::from_secs(5);

/// The object that describes a group.
#[derive(Clone, Copy, Debug)]
pub struct NodeGroup<'a> {
    /// The namespace of the object.
    pub namespace: &'a str,
    /// The name of the object.
    pub name: &'a str,
}

impl NodeGroup<'_> {
    /// Selects the nodes of the group.
    #[must_use]
    pub fn selector(&self) -> String {
        let Self { namespace, name } = self;
        format!("{NODE_GROUP}={name},{NODE_GROUP_NAMESPACE}={namespace}")
    }
}

/// A node of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Member {
    name: String,
    uid: Option<String>,
    /// Whether the node is being deleted, so that its name is not free yet.
    is_leaving: bool,
}

/// The outcome of an attempt to resize a group.
#[derive(Debug, Default)]
pub struct Resized {
    /// The names of the new nodes that other nodes already use.
    pub taken: Vec<String>,
    /// Nodes of the group that are still being deleted, and whose names are needed again.
    pub leaving: Vec<String>,
}

/// Groups of simulated nodes in a cluster.
#[derive(Clone)]
pub struct NodeGroups {
    client: Client,
}

impl NodeGroups {
    /// The node groups of the cluster of this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// The number of nodes of a group.
    pub async fn count(&self, group: NodeGroup<'_>) -> Result<usize> {
        let members = self.members(group).await?;
        Ok(members.iter().filter(|member| !member.is_leaving).count())
    }

    /// Adds or removes nodes until a group has this many. Their names are `ID-0`, `ID-1` and so on. The
    /// lowest free numbers are added first, and the highest are removed first. `may_write` is evaluated before every
    /// write; if it returns false, the remaining writes are skipped.
    pub async fn resize(
        &self,
        group: NodeGroup<'_>,
        id: &str,
        wanted: usize,
        may_write: &(dyn Fn() -> bool + Sync),
    ) -> Result<Resized> {
        let plan = plan(&self.members(group).await?, id, wanted);
        let spec = NodeSpec::named(id)
            .label(NODE_GROUP, group.name)
            .label(NODE_GROUP_NAMESPACE, group.namespace);
        self.remove(plan.remove, may_write).await?;
        let added = futures::stream::iter(plan.add)
            .map(|name| self.add(&spec, group, name, may_write))
            .buffer_unordered(NODES_AT_ONCE)
            .try_collect::<Vec<_>>();
        let mut names: Vec<String> = added.await?.into_iter().flatten().collect();
        names.sort();
        Ok(Resized { taken: names, leaving: plan.leaving })
    }

    /// Removes all nodes of a group.
    pub async fn remove_all(
        &self,
        group: NodeGroup<'_>,
        may_write: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        let members = self.members(group).await?;
        self.remove(members.into_iter().filter(|member| !member.is_leaving).collect(), may_write)
            .await
    }

    /// Keeps the nodes of all groups alive and serves their pods until it is dropped. `changed` is called with the
    /// group when one of its nodes is added, changed or deleted, `failed` with the action that is retried.
    pub async fn serve(
        &self,
        changed: impl Fn(NodeGroup<'_>) + Sync,
        failed: impl Fn(anyhow::Error) + Sync,
    ) {
        let simulator = NodeSimulator::without_nodes(&self.client);
        let mut known = BTreeMap::new();
        loop {
            if let Err(error) = self.follow(&simulator, &mut known, &changed).await {
                failed(error);
            }
            tokio::time::sleep(BETWEEN_ATTEMPTS).await;
        }
    }

    async fn follow(
        &self,
        simulator: &NodeSimulator,
        known: &mut BTreeMap<String, (String, String)>,
        changed: &impl Fn(NodeGroup<'_>),
    ) -> Result<()> {
        let labels = Some(format!("{NODE_GROUP},{NODE_GROUP_NAMESPACE}"));
        let selection = Selection { labels, ..Selection::default() };
        let resource = ApiResource::erase::<Node>(&());
        let mut nodes = Deliveries::begin(self.client.clone(), resource, selection);
        let mut listed = BTreeSet::new();
        while let Some(delivery) = nodes.receive().await {
            let removed = match delivery {
                Delivery::ListBegins => {
                    listed.clear();
                    Vec::new()
                }
                Delivery::Listed(node) | Delivery::Changed(node) => {
                    let node: Node = node.try_parse().context("failed to read a node")?;
                    let Some(group) = group_of(&node).filter(|_| is_simulated(&node)) else {
                        continue;
                    };
                    listed.insert(node.name_any());
                    known.insert(node.name_any(), group.clone());
                    changed(NodeGroup { namespace: &group.0, name: &group.1 });
                    simulator.adopt(&node).await?;
                    Vec::new()
                }
                Delivery::Gone(node) => {
                    listed.remove(&node.name_any());
                    vec![node.name_any()]
                }
                Delivery::ListComplete => {
                    known.keys().filter(|name| !listed.contains(*name)).cloned().collect()
                }
            };
            for name in removed {
                if let Some((namespace, group)) = known.remove(&name) {
                    changed(NodeGroup { namespace: &namespace, name: &group });
                    simulator.let_go(&name).await?;
                }
            }
        }
        Ok(())
    }

    async fn members(&self, group: NodeGroup<'_>) -> Result<Vec<Member>> {
        let selected = ListParams::default().labels(&group.selector());
        let nodes = Api::<Node>::all(self.client.clone()).list(&selected).await;
        let nodes = nodes.context("failed to list nodes")?.items;
        let members = nodes.into_iter().filter(is_simulated).map(|node| Member {
            name: node.name_any(),
            is_leaving: node.metadata.deletion_timestamp.is_some(),
            uid: node.metadata.uid,
        });
        Ok(members.collect())
    }

    /// Creates a node; returns its name if the name is taken.
    async fn add(
        &self,
        spec: &NodeSpec,
        group: NodeGroup<'_>,
        name: String,
        may_write: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<String>> {
        let mut node = spec.node(&name)?;
        let id = format!("{SIMULATED}{}/{}/{name}", group.namespace, group.name);
        node.spec.get_or_insert_default().provider_id = Some(id);
        if !may_write() {
            return Ok(None);
        }
        let nodes = Api::<Node>::all(self.client.clone());
        match nodes.create(&PostParams::default(), &node).await {
            Ok(_) => Ok(None),
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(Some(name)),
            Err(error) => Err(error).with_context(|| format!("failed to create node {name}")),
        }
    }

    async fn remove(
        &self,
        members: Vec<Member>,
        may_write: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        let nodes = Api::<Node>::all(self.client.clone());
        let remove = |member: Member| {
            let nodes = nodes.clone();
            async move {
                if !may_write() {
                    return Ok(());
                }
                let deleted = delete_only(&nodes, &member.name, member.uid).await.map(drop);
                deleted.with_context(|| format!("failed to delete node {}", member.name))
            }
        };
        at_once(members.into_iter().map(remove)).await
    }
}

fn is_simulated(node: &Node) -> bool {
    let id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
    id.is_some_and(|id| id.starts_with(SIMULATED))
}

/// The namespace and the name of a node's group.
fn group_of(node: &Node) -> Option<(String, String)> {
    let label = |key: &str| node.labels().get(key).cloned();
    label(NODE_GROUP_NAMESPACE).zip(label(NODE_GROUP))
}

/// The nodes to add and to remove.
#[derive(PartialEq, Debug, Default)]
struct Plan {
    add: Vec<String>,
    remove: Vec<Member>,
    leaving: Vec<String>,
}

/// A node under deletion does not count, but its name stays in use until then. A node without a number of this group
/// is removed first.
fn plan(members: &[Member], id: &str, wanted: usize) -> Plan {
    let number = |member: &Member| -> Option<usize> {
        member.name.strip_prefix(id)?.strip_prefix('-')?.parse().ok()
    };
    let mut staying: Vec<&Member> = members.iter().filter(|member| !member.is_leaving).collect();
    // Nodes without a number come last.
    staying.sort_by_key(|member| (number(member).is_none(), number(member), &member.name));
    let remove = staying.iter().skip(wanted).map(|member| Member::clone(member)).collect();
    let missing = wanted.saturating_sub(staying.len());
    let has_name = |name: &str| staying.iter().any(|member| member.name == name);
    let free = (0..).map(|number| format!("{id}-{number}")).filter(|name| !has_name(name));
    let is_leaving = |name: &String| members.iter().any(|it| it.is_leaving && it.name == *name);
    let (leaving, add) = free.take(missing).partition(is_leaving);
    Plan { add, remove, leaving }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str) -> Member {
        Member { name: name.to_owned(), uid: Some(format!("uid of {name}")), is_leaving: false }
    }

    fn leaving(name: &str) -> Member {
        Member { is_leaving: true, ..member(name) }
    }

    /// The names of the nodes that are added, and of those that are removed.
    fn planned(members: &[Member], wanted: usize) -> (Vec<String>, Vec<String>) {
        let plan = plan(members, "pool", wanted);
        (plan.add, plan.remove.into_iter().map(|member| member.name).collect())
    }

    fn names<const N: usize>(names: [&str; N]) -> Vec<String> {
        names.map(str::to_owned).to_vec()
    }

    #[test]
    fn the_lowest_free_numbers_are_added_first_and_the_highest_are_removed_first() {
        let some = ["pool-0", "pool-10", "pool-2"].map(member);
        assert_eq!(planned(&some, 5), (names(["pool-1", "pool-3"]), names([])));
        assert_eq!(planned(&some, 3), (names([]), names([])));
        assert_eq!(planned(&some, 1), (names([]), names(["pool-2", "pool-10"])));
        assert_eq!(planned(&[], 2), (names(["pool-0", "pool-1"]), names([])));
    }

    #[test]
    fn a_member_that_was_named_after_another_id_counts_and_is_removed_first() {
        let some = ["pool-0", "old-0", "pool-x"].map(member);
        assert_eq!(planned(&some, 3), (names([]), names([])));
        assert_eq!(planned(&some, 1), (names([]), names(["old-0", "pool-x"])));
        assert_eq!(planned(&some, 4), (names(["pool-1"]), names([])));
    }

    #[test]
    fn a_node_that_is_being_deleted_does_not_count_and_its_name_is_waited_for() {
        let some = [leaving("pool-0"), member("pool-1")];
        let expected =
            Plan { add: names(["pool-2"]), leaving: names(["pool-0"]), remove: Vec::new() };
        assert_eq!(plan(&some, "pool", 3), expected);
        assert_eq!(planned(&some, 1), (names([]), names([])));
        assert_eq!(planned(&some, 0), (names([]), names(["pool-1"])));
    }

    #[test]
    fn the_provider_id_alone_marks_a_simulated_node() {
        let spec = NodeSpec::named("pool").label(NODE_GROUP, "pool");
        let mut node = spec.label(NODE_GROUP_NAMESPACE, "shop").node("pool-0").unwrap();
        assert_eq!(group_of(&node), Some(("shop".to_owned(), "pool".to_owned())));
        assert!(!is_simulated(&node));
        for (id, is_ours) in [("aws:///eu-1a/i-0", false), ("simulated://shop/pool/pool-0", true)] {
            node.spec.get_or_insert_default().provider_id = Some(id.to_owned());
            assert_eq!(is_simulated(&node), is_ours, "{id}");
        }
    }
}
