//! The progress of the first list of a kind, which everything waits for that depends on the kind.

use std::time::Duration;

use almanac_shell::endpoints::Health;
use almanac_shell::following::WatchFailure;
use futures::future::select_all;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::namespaces::Part;

/// A namespace in which a kind may not be listed is waited for this long, if the kind may be listed in another one: an
/// API server that has just started does not know all roles yet.
pub(crate) const FORBIDDEN_PATIENCE: Duration = Duration::from_secs(10);

/// The progress of the first list of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ListProgress {
    /// In progress.
    NotYet,
    /// Failing for now.
    Failing(WatchFailure),
    /// Complete.
    Whole,
}

impl ListProgress {
    /// Whether there is nothing to wait for. A kind that the cluster does not serve may come later,
    /// and is not waited for.
    pub(crate) fn is_settled(&self) -> bool {
        match self {
            Self::NotYet => false,
            Self::Failing(failure) => failure.is_absent,
            Self::Whole => true,
        }
    }
}

/// Tells of the progress, from the watch of the kind.
pub(crate) struct ListReport {
    progress: watch::Sender<ListProgress>,
}

impl ListReport {
    pub(crate) fn new() -> (Self, watch::Receiver<ListProgress>) {
        let (progress, receiver) = watch::channel(ListProgress::NotYet);
        (Self { progress }, receiver)
    }

    /// A list is complete; whether it is the first one.
    pub(crate) fn complete(&self) -> bool {
        self.progress.send_replace(ListProgress::Whole) != ListProgress::Whole
    }

    /// The kind cannot be watched. Only the first list is waited for.
    pub(crate) fn failed(&self, why: &WatchFailure) {
        self.progress.send_if_modified(|progress| {
            let is_first = *progress != ListProgress::Whole;
            if is_first {
                *progress = ListProgress::Failing(why.clone());
            }
            is_first
        });
    }

    /// Whether a list has been complete.
    pub(crate) fn is_complete(&self) -> bool {
        *self.progress.borrow() == ListProgress::Whole
    }
}

/// The first lists of a kind: one a part.
pub(crate) struct Listings {
    kind: &'static str,
    parts: Vec<(Part, watch::Receiver<ListProgress>)>,
}

impl Listings {
    pub(crate) fn new(
        kind: &'static str,
        parts: Vec<(Part, watch::Receiver<ListProgress>)>,
    ) -> Self {
        Self { kind, parts }
    }

    /// Waits until all objects of the kind are known, and reports meanwhile what it is waiting for. A kind that the
    /// cluster does not serve is not waited for, and neither, for long, are namespaces in which it may not be listed:
    /// they, or their roles, may be yet to come.
    pub(crate) async fn wait(mut self, health: &Health, patient_until: Instant) {
        let name = self.kind;
        let mut is_any_settled = false;
        loop {
            let mut is_refused_only = true;
            self.parts.retain_mut(|(part, listed)| {
                let now = listed.borrow_and_update().clone();
                is_any_settled |= now.is_settled();
                match &now {
                    ListProgress::Failing(failure) if failure.is_absent => {
                        tracing::warn!(kind = name, "the cluster does not serve this kind yet");
                    }
                    ListProgress::Failing(failure) => {
                        is_refused_only &= failure.is_forbidden;
                        let waiting = waiting_for(name, part);
                        health.set_waiting_for(format!("{waiting}: {}", failure.reason));
                    }
                    ListProgress::NotYet => {
                        is_refused_only = false;
                        health.set_waiting_for(waiting_for(name, part));
                    }
                    ListProgress::Whole => {}
                }
                !now.is_settled()
            });
            let may_go_on = is_any_settled && is_refused_only;
            if self.parts.is_empty() || (may_go_on && Instant::now() >= patient_until) {
                for (part, _) in &self.parts {
                    tracing::warn!(
                        kind = name,
                        "not allowed to list this kind in {part}: going on without it"
                    );
                }
                return;
            }
            let news = self.parts.iter_mut().map(|(_, listed)| Box::pin(listed.changed()));
            tokio::select! {
                (changed, ..) = select_all(news) => if changed.is_err() {
                    // The watch has stopped, which ends the term.
                    std::future::pending::<()>().await;
                },
                () = sleep_until(patient_until), if may_go_on => {}
            }
        }
    }
}

fn waiting_for(kind: &str, part: &Part) -> String {
    match part {
        Part::Whole => format!("all {kind} objects to be listed"),
        Part::Namespace(name) => format!("all {kind} objects in {name} to be listed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_namespace_that_is_refused_does_not_hold_up_a_kind_that_is_not_served_in_another() {
        let failing = |is_absent| {
            let reason = "no".to_owned();
            let failure = WatchFailure { is_absent, is_forbidden: !is_absent, reason };
            let (report, listed) = ListReport::new();
            report.failed(&failure);
            (report, listed)
        };
        let [(_served_later, absent), (_allowed_later, refused)] = [true, false].map(failing);
        let parts = ["east", "west"].map(|name| Part::Namespace(name.into()));
        let parts = parts.into_iter().zip([absent, refused]).collect();
        let listings = Listings::new("ResourcePolicy", parts);
        listings.wait(&Health::default(), Instant::now() + FORBIDDEN_PATIENCE).await;
    }
}
