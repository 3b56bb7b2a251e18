//! `ScalableNodeGroup`: makes a provider create and remove nodes until a group has its desired number, and reports the
//! number in the status.
//!
//! Node groups are not a family of policies: nothing here depends on time, and a forecast treats a group as a target. A
//! turn is level-triggered: it compares the current state, regardless of earlier events. The nodes of a deleted group
//! get a turn like any other group. The providers create the nodes; without a provider, no node is created.

mod entry;
mod follower;
mod metrics;
mod provider;
mod status;

use std::sync::Arc;
use std::time::Duration;

use almanac_api::families::Controlled;
use almanac_api::kinds::Kind;
use almanac_engine::{Exempt, Exemption, Identity};
use almanac_shell::clock::Clock;
use almanac_shell::event_log::{Event, EventLog, ObjectReference};
use almanac_shell::lease::Switch;
use almanac_shell::writer::Writer;
use jiff::{SignedDuration, Timestamp};
use tokio::time::timeout;

use self::entry::{GroupSpec, Subject};
use self::status::{GroupState, Outcome};
use crate::cluster::Cluster;
use crate::served_schemas::ServedSchemas;
use crate::upstream::Upstreams;
use crate::work_queue::WorkQueue;

pub(crate) use self::entry::KnownNodeGroups;
pub(crate) use self::follower::NodeGroupFollower;
pub(crate) use self::metrics::NodeGroupMetrics;
pub use self::provider::{
    MayWrite, NodeGroup, NodeProvider, NodeProviders, NodesChanged, ProvidedNodes, ProviderError,
};

/// The maximum number of groups with a running turn.
pub(crate) const MAX_CONCURRENT_TURNS: usize = 16;

/// The time limit of a provider. Its changes until then stay, and the next turn continues.
const PROVIDER_TIMEOUT: Duration = Duration::from_mins(1);

/// The delay before a group that is held back, or reconciled elsewhere, is checked again.
const RECHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// The delay before a withdrawn write is decided again.
const WITHDRAWN_DELAY: SignedDuration = SignedDuration::from_secs(1);

/// The groups of one term, and the providers of their nodes.
pub(crate) struct NodeGroups {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) queue: Arc<WorkQueue<Identity>>,
    pub(crate) providers: NodeProviders,
    pub(crate) writer: Writer,
    pub(crate) events: EventLog,
    pub(crate) clock: Clock,
    pub(crate) switch: Switch,
    pub(crate) upstreams: Upstreams,
    pub(crate) schemas: ServedSchemas,
    pub(crate) metrics: NodeGroupMetrics,
    pub(crate) seed: u64,
}

impl NodeGroups {
    /// Runs the turn of one group; returns when its next one is due.
    pub(crate) async fn take_turn(&self, group: &Identity) -> Option<Timestamp> {
        let Some(subject) = self.subject(group) else {
            return self.clear_up(group).await;
        };
        let outcome = self.reconcile(group, &subject).await;
        self.record(group, &subject, outcome).await
    }

    /// Lets every provider report changes of its nodes. Never ends by itself.
    pub(crate) fn serve(&self) -> impl Future<Output = ()> + Send + 'static {
        let (queue, providers) = (Arc::clone(&self.queue), self.providers.clone());
        let changed: NodesChanged = Arc::new(move |namespace, name| {
            queue.wake(&Kind::ScalableNodeGroup.identity(namespace, name));
        });
        async move {
            let serving = providers.values().map(|provider| provider.serve(Arc::clone(&changed)));
            futures::future::join_all(serving).await;
            // Without providers, this task has no work.
            if providers.is_empty() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn subject(&self, group: &Identity) -> Option<Subject> {
        self.cluster.lock().node_groups.get(group).map(|entry| entry.subject(group))
    }

    /// Compares the nodes of a group with its spec, and changes them if that is needed and allowed.
    async fn reconcile(&self, group: &Identity, subject: &Subject) -> Outcome {
        if let Some(upstream) = self.upstreams.running(Controlled::NodeGroups) {
            return Outcome::without_nodes(GroupState::LeftAlone(upstream));
        }
        let GroupSpec { kind, replicas: wanted, .. } = match &subject.spec {
            Ok(spec) => spec,
            Err(why) => return Outcome::without_nodes(GroupState::invalid(why.clone())),
        };
        let exempt = self.exempt(group);
        if exempt.is_none()
            && let Err(error) = self.abandon(group, Some(subject), Some(kind)).await
        {
            return Outcome::without_nodes(error.into());
        }
        let Some(provider) = self.providers.get(kind.as_str()) else {
            let of_exempt = exempt.map(GroupState::Exempt);
            return Outcome::without_nodes(
                of_exempt.unwrap_or(GroupState::Unsupported { kind: kind.clone() }),
            );
        };
        let before = match observe(&**provider, &subject.group).await {
            Ok(before) => before,
            Err(error) => {
                return Outcome::without_nodes(
                    exempt.map_or_else(|| error.into(), GroupState::Exempt),
                );
            }
        };
        let has = before.replicas;
        let with = |nodes, state| Outcome { nodes: Some(nodes), state };
        if let Some(exempt) = exempt {
            return with(before, GroupState::Exempt(exempt));
        }
        let Some(wanted) = wanted.filter(|wanted| *wanted != has) else {
            return with(before, GroupState::Provided { replicas: has, wanted: *wanted });
        };
        if self.switch.is_stopped() {
            return with(before, GroupState::Stopped { replicas: has, wanted });
        }
        self.scale(group, subject, &**provider, before, wanted).await
    }

    /// Lets the provider change the number of nodes, and checks the result.
    async fn scale(
        &self,
        group: &Identity,
        subject: &Subject,
        provider: &dyn NodeProvider,
        before: ProvidedNodes,
        wanted: u32,
    ) -> Outcome {
        let may_write = || self.may_write(group, Some(subject));
        let scaled = in_time(provider.scale(&subject.group, wanted, &may_write)).await;
        let after = match observe(provider, &subject.group).await {
            Ok(after) => after,
            Err(error) => return Outcome { nodes: Some(before), state: error.into() },
        };
        let replicas = after.replicas;
        if replicas != before.replicas {
            self.report_scaled(subject, before.replicas, replicas);
        }
        let state = match scaled {
            Err(error) => error.into(),
            Ok(()) if replicas == wanted => GroupState::Provided { replicas, wanted: Some(wanted) },
            Ok(()) if !may_write() => GroupState::Withdrawn,
            Ok(()) => GroupState::failed(format!(
                "the provider received a request for {wanted} nodes and has {replicas}"
            )),
        };
        Outcome { nodes: Some(after), state }
    }

    /// The turn of a group that is deleted, or never existed: its nodes are removed, too.
    async fn clear_up(&self, group: &Identity) -> Option<Timestamp> {
        let is_held = self.switch.is_stopped()
            || self.upstreams.running(Controlled::NodeGroups).is_some()
            || self.exempt(group).is_some()
            // If the cluster does not serve the kind, the group may still exist.
            || !self.cluster.lock().node_groups.would_have(group);
        if is_held {
            // A deleted group without nodes has no further turn, however long its turns would be held back.
            if !self.may_have_nodes(group).await {
                return None;
            }
        } else {
            match self.abandon(group, None, None).await {
                Ok(()) if self.may_write(group, None) => return None,
                Ok(()) => {}
                Err(error) => {
                    self.metrics.count_failure();
                    tracing::warn!(%error, "failed to remove the nodes of a deleted group");
                }
            }
        }
        self.clock.now().saturating_add(RECHECK_INTERVAL).ok()
    }

    /// Whether a provider has nodes for a deleted group, or fails to count them.
    async fn may_have_nodes(&self, group: &Identity) -> bool {
        let [namespace, name] = [group.namespace(), group.name()].map(str::to_owned);
        let gone = NodeGroup { namespace, name, id: String::new() };
        for provider in self.providers.values() {
            let observed = observe(&**provider, &gone).await;
            if !observed.is_ok_and(|nodes| nodes.replicas == 0) {
                return true;
            }
        }
        false
    }

    /// Removes the nodes that providers have for a group of another type, or of no type.
    async fn abandon(
        &self,
        group: &Identity,
        subject: Option<&Subject>,
        kind: Option<&str>,
    ) -> Result<(), ProviderError> {
        let may_write = || self.may_write(group, subject);
        for (_, provider) in self.providers.iter().filter(|(provided, _)| Some(**provided) != kind)
        {
            in_time(provider.abandon(group.namespace(), group.name(), &may_write)).await?;
        }
        Ok(())
    }

    /// Whether nodes of a group may be changed now: this process leads, nothing holds the group back, and the object is
    /// unchanged since the turn started.
    fn may_write(&self, group: &Identity, subject: Option<&Subject>) -> bool {
        let is_as_before = {
            let state = self.cluster.lock();
            match (state.node_groups.get(group), subject) {
                (Some(entry), Some(subject)) => subject.is(entry),
                (None, None) => state.node_groups.would_have(group),
                _ => false,
            }
        };
        is_as_before
            && self.writer.fence().check().is_ok()
            && !self.switch.is_stopped()
            && self.upstreams.running(Controlled::NodeGroups).is_none()
            && self.exempt(group).is_none()
    }

    fn exempt(&self, group: &Identity) -> Option<Exempt> {
        let state = self.cluster.lock();
        let is_marked = state.node_groups.get(group).is_some_and(|entry| entry.is_marked);
        let marked = is_marked.then_some(Exempt::Policy(Exemption::Marked));
        let of_namespace = state.world.objects.exempt.get(group).map(Exempt::Policy);
        of_namespace.filter(|it| !it.is_unread()).or(marked).or(of_namespace)
    }

    fn report_scaled(&self, subject: &Subject, from: u32, to: u32) {
        let note = format!("scaled from {} to {to}", status::counted(from));
        tracing::info!(from, to, "scaled");
        self.events.emit(subject.event(false, "Scaled", note));
    }
}

impl Subject {
    fn event(&self, is_warning: bool, reason: &'static str, note: String) -> Event {
        let kind = Kind::ScalableNodeGroup;
        let regarding = ObjectReference {
            api_version: kind.api_version(),
            kind: kind.name(),
            namespace: self.group.namespace.clone(),
            name: self.group.name.clone(),
            uid: self.uid.to_string(),
        };
        Event { regarding, is_warning, reason, action: "Scale", note }
    }
}

async fn observe(
    provider: &dyn NodeProvider,
    group: &NodeGroup,
) -> Result<ProvidedNodes, ProviderError> {
    in_time(provider.observe(group)).await
}

async fn in_time<T>(
    request: impl Future<Output = Result<T, ProviderError>>,
) -> Result<T, ProviderError> {
    let seconds = PROVIDER_TIMEOUT.as_secs();
    let late = |_| ProviderError::Failed(format!("the provider did not finish within {seconds} s"));
    timeout(PROVIDER_TIMEOUT, request).await.map_err(late)?
}

#[cfg(test)]
mod tests;
