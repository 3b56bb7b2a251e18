//! Watches the `ConfigMaps` of the agent, keeps their policies, and reports content that cannot be used.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use almanac_api::checking::{CheckContext, check_json};
use almanac_api::exempt::is_marked;
use almanac_api::finding::{Finding, Severity};
use almanac_api::kinds::Kind;
use almanac_api::objects::document_key;
use almanac_engine::{Family, Identity, PolicyName, Slim};
use almanac_shell::event_log::{Event, EventLog};
use almanac_shell::following::{Follower, WatchFailure};
use kube::api::DynamicObject;
use tokio::task::JoinSet;

use super::event;
use super::resync::Resync;
use super::state::{AgentState, ConfigEntry};
use crate::cluster::{OLDEST_VERSION, is_older};
use crate::exemptions;
use crate::list_progress::ListReport;
use crate::policies::as_json;

/// Watches the `ConfigMap` of one name.
pub(super) struct ConfigFollower {
    pub(super) config: Identity,
    pub(super) resync: Arc<Resync>,
    pub(super) events: EventLog,
    /// The delay between a change and the Event about its findings.
    pub(super) event_delay: Duration,
    /// The tasks of delayed Events. The watch drops the tasks when it ends, so the end of a term does not wait for
    /// Events.
    pub(super) delayed: JoinSet<()>,
    pub(super) progress: ListReport,
    /// Whether the list in progress contains the `ConfigMap`.
    pub(super) is_listed: bool,
}

impl ConfigFollower {
    /// Stores changed content, and reports its findings.
    fn store(&mut self, state: &mut AgentState, object: DynamicObject, mut entry: ConfigEntry) {
        let text = document_of(&object).unwrap_or_default().to_owned();
        let clock = &self.resync.clock;
        let context = CheckContext {
            clock: clock.setting(),
            ..CheckContext::new(self.config.namespace(), clock.now())
        };
        let marked = is_marked(&object.metadata);
        exemptions::change(&mut state.world, |exempt| exempt.mark(&self.config, marked));
        let checked = check_json(Kind::ConfigMap, as_json(object), context);
        let Some(slim) = checked.slim else { return };
        entry.is_rejected = match &slim {
            Slim::QosLevels(object) => {
                object.policy.as_ref().is_none_or(|it| it.has_unusable_lists())
            }
            _ => false,
        };
        let (uid, version) = (entry.uid.to_string(), entry.version.to_string());
        let is_rejected = entry.is_rejected;
        state.store_config(self.config.clone(), slim, entry);
        let levels =
            state.world.qos_levels.policies.get(&self.config).and_then(|it| it.policy.clone());
        let lists = levels.iter().flat_map(|it| it.lists());
        let policies: usize = lists.map(|(_, list)| list.len()).sum();
        tracing::info!(config = %self.config, policies, "read policies");
        if is_rejected {
            self.resync.metrics.rejections.inc();
            let why = why_rejected(&self.config, &text, &checked.findings);
            let is_kept = levels.is_some_and(|it| !it.has_unusable_lists());
            let policy = PolicyName::new(Family::QosLevels, self.config.clone());
            let then = match state.world.why_not_applied(&policy) {
                Some(unused) => unused,
                None if is_kept => "the last valid policies stay in force".to_owned(),
                None => {
                    "no valid policies are known, so the pods under them are unchanged".to_owned()
                }
            };
            tracing::warn!(config = %self.config, "rejected: {why}; {then}");
            let note = format!("{why}; {then}");
            let event = event::about_config(&self.config, &uid, "ConfigRejected", note);
            self.emit_delayed(event, version);
        }
        self.report_unused(state);
    }

    /// Reports a `ConfigMap` whose policies are unused because of another `ConfigMap`.
    fn report_unused(&mut self, state: &AgentState) {
        for (config, entry) in &state.configs.present {
            let levels =
                state.world.qos_levels.policies.get(config).and_then(|it| it.policy.as_ref());
            let has_policies =
                levels.is_some_and(|it| it.has_unusable_lists() || it.lists().next().is_some());
            let policy = PolicyName::new(Family::QosLevels, config.clone());
            if let Some(note) = state.world.why_not_applied(&policy).filter(|_| has_policies) {
                tracing::warn!(%config, "{note}");
                let event = event::about_config(config, &entry.uid, "ConfigNotUsed", note);
                self.emit_delayed(event, entry.uid.to_string());
            }
        }
    }

    /// Emits an Event that the agents of all nodes emit, each after a delay of its own.
    fn emit_delayed(&mut self, event: Event, about: String) {
        let (events, delay) = (self.events.clone(), self.event_delay);
        while self.delayed.try_join_next().is_some() {}
        self.delayed.spawn(async move {
            tokio::time::sleep(delay).await;
            events.emit_once(event, &about);
        });
    }

    fn remove(&self) {
        let mut state = self.resync.state.lock();
        if state.drop_config(&self.config) {
            exemptions::change(&mut state.world, |exempt| exempt.mark(&self.config, false));
            tracing::info!(config = %self.config, "the ConfigMap was deleted");
            drop(state);
            self.resync.request();
        }
    }
}

impl Follower for ConfigFollower {
    fn begin_list(&mut self) {
        self.is_listed = false;
    }

    fn upsert(&mut self, object: DynamicObject) {
        let metadata = &object.metadata;
        if metadata.name.as_deref() != Some(self.config.name()) {
            return;
        }
        self.is_listed = true;
        // A `ConfigMap` that is being deleted has no effect, however long the deletion takes.
        if metadata.deletion_timestamp.is_some() {
            self.remove();
            return;
        }
        let new_entry = ConfigEntry {
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            version: metadata.resource_version.as_deref().unwrap_or_default().into(),
            content: content_of(&object),
            is_rejected: false,
        };
        let resync = Arc::clone(&self.resync);
        let mut state = resync.state.lock();
        match state.configs.present.get_mut(&self.config) {
            Some(entry) if entry.uid == new_entry.uid => {
                if is_older(&new_entry.version, &entry.version) {
                    return;
                }
                entry.version.clone_from(&new_entry.version);
                if entry.content == new_entry.content {
                    return;
                }
            }
            // The content of another object of this name is not the last valid version of this object.
            Some(_) => {
                state.drop_config(&self.config);
            }
            None => {}
        }
        self.store(&mut state, object, new_entry);
        drop(state);
        resync.request();
    }

    fn delete(&mut self, object: DynamicObject) {
        if object.metadata.name.as_deref() == Some(self.config.name()) {
            self.remove();
        }
    }

    fn list_complete(&mut self) {
        if !self.is_listed {
            self.remove();
        }
        self.resync.state.lock().note_listed(self.config.name());
        self.progress.complete();
        self.resync.request();
    }

    fn failed(&mut self, why: &WatchFailure) {
        self.progress.failed(why);
    }

    fn versions_went_back(&mut self) {
        for entry in self.resync.state.lock().configs.present.values_mut() {
            entry.version = OLDEST_VERSION.into();
            entry.content = 0;
        }
    }
}

/// The string with the policies.
fn document_of(object: &DynamicObject) -> Option<&str> {
    let key = document_key(object.metadata.name.as_deref()?)?;
    object.data["data"][key].as_str()
}

/// A hash of the relevant content: the string with the policies, and whether the object is exempt.
fn content_of(object: &DynamicObject) -> u64 {
    let mut hasher = DefaultHasher::new();
    (document_of(object), is_marked(&object.metadata)).hash(&mut hasher);
    hasher.finish()
}

/// The first mistake, with its line in the string, and the number of further mistakes.
fn why_rejected(config: &Identity, text: &str, findings: &[Finding]) -> String {
    let mut mistakes = findings.iter().filter(|it| it.severity() == Severity::Error);
    let Some(first) = mistakes.next() else {
        return "the ConfigMap has a list of policies that cannot be used".to_owned();
    };
    let key = document_key(config.name()).unwrap_or_default();
    let start = first.in_text.and_then(|span| usize::try_from(span.start).ok());
    let before = start.and_then(|start| text.get(..start));
    let location = before.map_or_else(
        || key.to_owned(),
        |before| format!("{key}, line {}", before.matches('\n').count() + 1),
    );
    let others = match mistakes.count() {
        0 => String::new(),
        1 => ", and another mistake".to_owned(),
        others => format!(", and {others} other mistakes"),
    };
    let fix = first.fix.as_ref().map_or_else(String::new, |fix| format!(" ({fix})"));
    format!("{location}: {}: {}{fix}{others}", first.field, first.message)
}

#[cfg(test)]
mod tests {
    use almanac_shell::budget::{WriteBudget, WriteLimits};
    use almanac_shell::clock::Clock;
    use almanac_shell::event_log::EventMetrics;
    use almanac_shell::lease::Fence;
    use almanac_shell::writer::{WriteMetrics, Writer};
    use almanac_stub::Stub;
    use jiff::Timestamp;
    use serde_json::json;
    use tokio::sync::Notify;
    use tokio::time::timeout;

    use super::*;
    use crate::agent::metrics::LevelMetrics;
    use crate::work_queue::WorkQueue;

    #[tokio::test(start_paused = true)]
    async fn a_delayed_event_does_not_delay_the_end_of_the_term() {
        let clock = Clock::from_fn(|| Timestamp::UNIX_EPOCH);
        let budget = WriteBudget::new(WriteLimits::default());
        let (client, fence) = (Stub::new().client(), Fence::open());
        let writer = Writer::new(client, fence, budget, WriteMetrics::default());
        let (events, writing_events) = EventLog::new(writer, "test", &EventMetrics::default());
        let resync = Resync {
            state: Arc::default(),
            queue: WorkQueue::new(clock.clone()),
            clock,
            metrics: LevelMetrics::default(),
            spread: Duration::ZERO,
            requests: Notify::new(),
        };
        let (namespace, name) = ("volcano-system", "volcano-agent-config");
        let mut follower = ConfigFollower {
            config: Kind::ConfigMap.identity(namespace, name),
            resync: Arc::new(resync),
            events,
            event_delay: Duration::from_hours(1),
            delayed: JoinSet::new(),
            progress: ListReport::new().0,
            is_listed: false,
        };
        let text = json!({ "globalConfig": { "timeBasedQoSPolicies": [{
            "name": "night", "startTime": "25:00", "endTime": "06:00", "targetQoSLevel": -1,
        }] } })
        .to_string();
        let rejected = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "namespace": namespace, "name": name, "uid": "config" },
            "data": { "config.yaml": text },
        });
        follower.upsert(serde_json::from_value(rejected).expect("the object is valid"));
        assert!(!follower.delayed.is_empty());
        drop(follower);
        let ended = timeout(Duration::from_secs(1), writing_events.run()).await;
        assert!(ended.is_ok(), "nothing else can report Events");
    }
}
