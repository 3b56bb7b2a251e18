//! One running term: its tasks, in groups with names. The term waits for its lists, runs until a task stops or the
//! process ends, and ends its groups in the order that the process chooses.

use std::collections::BTreeMap;
use std::task::Poll;
use std::time::Duration;

use almanac_shell::endpoints::Health;
use kube::Client;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::list_progress::{AwaitedLists, ListNeed, ListReceiver};

/// The group of the watches.
pub(crate) const WATCHES: &str = "watching";

/// The group of the task that writes Events.
pub(crate) const EVENTS: &str = "writing Events";

/// The time limit for writing Events at the end of a term. The other replicas wait for the Lease.
const EVENT_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The tasks of a term. All of them end when this value is dropped.
pub(crate) struct RunningTerm {
    pub(super) client: Client,
    pub(super) health: Health,
    end: CancellationToken,
    groups: BTreeMap<&'static str, JoinSet<()>>,
    /// The lists that the term waits for.
    awaited: Vec<AwaitedLists>,
}

impl RunningTerm {
    pub(crate) fn new(client: &Client, health: &Health, end: &CancellationToken) -> Self {
        let (client, health, end) = (client.clone(), health.clone(), end.clone());
        Self { client, health, end, groups: BTreeMap::new(), awaited: Vec::new() }
    }

    /// Starts a task of a group. No task ends by itself: without one of its tasks, the term would only seem to work.
    pub(crate) fn spawn(
        &mut self,
        group: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        self.groups.entry(group).or_default().spawn(task);
    }

    /// Adds a list that the term waits for.
    pub(crate) fn await_list(
        &mut self,
        what: impl Into<String>,
        listed: ListReceiver,
        need: ListNeed,
    ) {
        self.add_awaited(AwaitedLists::new(what, listed, need));
    }

    pub(super) fn add_awaited(&mut self, awaited: AwaitedLists) {
        self.awaited.push(awaited);
    }

    /// Waits until the lists are complete. Returns `false` if the term ends before that.
    pub(crate) async fn is_listed(&mut self) -> bool {
        let (awaited, health) = (std::mem::take(&mut self.awaited), self.health.clone());
        let lists = async {
            let mut patient_until = None;
            for list in awaited {
                list.wait(&health, &mut patient_until).await;
            }
        };
        self.is_reached(lists).await
    }

    /// Waits for a future. Returns `false` if the term ends before that.
    pub(crate) async fn is_reached(&mut self, awaited: impl Future<Output = ()>) -> bool {
        let end = self.end.clone();
        tokio::select! {
            () = awaited => true,
            group = self.first_to_stop() => {
                self.restart(group);
                false
            }
            () = end.cancelled() => false,
        }
    }

    /// Runs until the process ends. Returns `false` if a task stops before that, or another future, which returns its
    /// name.
    pub(crate) async fn runs_until_end(
        &mut self,
        stopped: impl Future<Output = &'static str>,
    ) -> bool {
        let end = self.end.clone();
        let stopped = tokio::select! {
            () = end.cancelled() => return true,
            group = self.first_to_stop() => group,
            other = stopped => other,
        };
        self.restart(stopped);
        false
    }

    /// Waits until all tasks of a group have ended.
    pub(crate) async fn finish(&mut self, group: &'static str) {
        if let Some(tasks) = self.groups.get_mut(group) {
            while tasks.join_next().await.is_some() {}
        }
    }

    /// Aborts the tasks of a group, without waiting: a long computation ends first.
    pub(crate) fn abort(&mut self, group: &'static str) {
        self.groups.remove(group);
    }

    /// Waits briefly until the Events are written. The caller must drop every other handle of their log before.
    pub(crate) async fn flush_events(&mut self) {
        let _in_time = timeout(EVENT_FLUSH_TIMEOUT, self.finish(EVENTS)).await;
    }

    /// Waits until a task has ended, and returns its group.
    async fn first_to_stop(&mut self) -> &'static str {
        std::future::poll_fn(|context| {
            let ended = self.groups.iter_mut().find_map(|(group, tasks)| {
                matches!(tasks.poll_join_next(context), Poll::Ready(Some(_))).then_some(*group)
            });
            ended.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    fn restart(&self, stopped: &str) {
        tracing::error!("{stopped} stopped unexpectedly; the term ends");
        self.health.set_waiting_for("a new term to start");
    }
}

/// Waits for the end of a term, at most for this long.
pub(crate) async fn end_within(limit: Duration, ending: impl Future<Output = ()>) {
    if timeout(limit, ending).await.is_err() {
        tracing::warn!("shut down before all work was finished");
    }
}

#[cfg(test)]
mod tests {
    use almanac_stub::Stub;
    use tokio::time::{Instant, sleep};

    use super::*;

    fn term(end: &CancellationToken) -> RunningTerm {
        RunningTerm::new(&Stub::new().client(), &Health::default(), end)
    }

    #[tokio::test]
    async fn a_task_that_panics_or_ends_ends_the_term_and_is_named() {
        for ends in [true, false] {
            let mut term = term(&CancellationToken::new());
            term.spawn("one", std::future::pending());
            term.spawn("the other", async move { assert!(ends, "it panics") });
            assert_eq!(term.first_to_stop().await, "the other");
            term.spawn("the other", async {});
            assert!(!term.runs_until_end(std::future::pending()).await);
            assert_eq!(term.health.waiting_for().as_deref(), Some("a new term to start"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_group_finishes_while_the_others_run_and_the_events_have_a_second() {
        let end = CancellationToken::new();
        let mut term = term(&end);
        term.spawn(WATCHES, std::future::pending());
        term.spawn(EVENTS, std::future::pending());
        let until_end = end.clone();
        term.spawn("working", async move {
            until_end.cancelled().await;
            sleep(Duration::from_secs(3)).await;
        });
        end.cancel();
        assert!(term.runs_until_end(std::future::pending()).await);
        let started = Instant::now();
        term.finish("working").await;
        assert_eq!(started.elapsed().as_secs(), 3);
        term.abort(WATCHES);
        term.flush_events().await;
        assert_eq!(started.elapsed().as_secs(), 4);
    }
}
