//! The progress of the first list of a kind, and waiting for it: a term decides nothing before its lists are complete.

use std::time::Duration;

use almanac_shell::endpoints::Health;
use almanac_shell::following::WatchFailure;
use futures::future::select_all;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::namespaces::Part;

/// The time to wait for a namespace whose list is forbidden, if the kind may be listed in another namespace. An API
/// server that has just started does not serve all roles yet.
pub(crate) const FORBIDDEN_PATIENCE: Duration = Duration::from_secs(10);

/// The progress of the first list of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ListProgress {
    /// In progress.
    NotYet,
    /// Failing, but may succeed later.
    Failing(WatchFailure),
    /// Complete.
    Whole,
}

/// Receives the progress of a list.
pub(crate) type ListReceiver = watch::Receiver<ListProgress>;

/// The failing lists that a term waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListNeed {
    /// All lists.
    Always,
    /// The lists of a kind that the cluster serves. It may serve the kind later.
    IfServed,
    /// The lists that the process is allowed to request.
    UnlessRefused,
}

impl ListNeed {
    /// Whether the term need not wait for the list.
    fn is_settled(self, progress: &ListProgress) -> bool {
        match progress {
            ListProgress::NotYet => false,
            ListProgress::Failing(failure) => match self {
                Self::Always => false,
                Self::IfServed => failure.is_absent,
                Self::UnlessRefused => failure.is_absent || failure.is_forbidden,
            },
            ListProgress::Whole => true,
        }
    }
}

/// Reports the progress, from the watch of the kind.
pub(crate) struct ListReport {
    progress: watch::Sender<ListProgress>,
}

impl ListReport {
    pub(crate) fn new() -> (Self, ListReceiver) {
        let (progress, receiver) = watch::channel(ListProgress::NotYet);
        (Self { progress }, receiver)
    }

    /// Records that a list is complete; returns whether it is the first one.
    pub(crate) fn complete(&self) -> bool {
        self.progress.send_replace(ListProgress::Whole) != ListProgress::Whole
    }

    /// Records that the kind cannot be watched. Only the first list is waited for.
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

/// First lists that a term waits for: one for each part of a kind, or a single one.
pub(crate) struct AwaitedLists {
    /// The listed objects, such as `all Pod objects`.
    what: String,
    need: ListNeed,
    parts: Vec<(Part, ListReceiver)>,
}

impl AwaitedLists {
    /// A single list.
    pub(crate) fn new(what: impl Into<String>, listed: ListReceiver, need: ListNeed) -> Self {
        Self { what: what.into(), need, parts: vec![(Part::Whole, listed)] }
    }

    /// The lists of the parts of a kind.
    pub(crate) fn for_kind(kind: &str, parts: Vec<(Part, ListReceiver)>) -> Self {
        Self { what: format!("all {kind} objects"), need: ListNeed::IfServed, parts }
    }

    /// Waits until the lists are complete, and reports the missing lists. Skips lists that are not needed. Waits only
    /// briefly for a namespace whose list is forbidden, if the kind may be listed in another namespace: the forbidden
    /// namespace, or its role, may be created later. The first kind that waits only for such namespaces starts the time
    /// limit for itself and the next kinds.
    pub(crate) async fn wait(self, health: &Health, patient_until: &mut Option<Instant>) {
        let Self { what, need, mut parts } = self;
        let mut is_any_settled = false;
        loop {
            let mut is_refused_only = true;
            parts.retain_mut(|(part, listed)| {
                let now = listed.borrow_and_update().clone();
                let is_settled = need.is_settled(&now);
                is_any_settled |= is_settled;
                match &now {
                    ListProgress::Failing(failure) if is_settled => {
                        if failure.is_absent {
                            tracing::warn!(
                                "skipping {what}: the cluster does not serve the kind yet"
                            );
                        }
                    }
                    ListProgress::Failing(failure) => {
                        is_refused_only &= failure.is_forbidden;
                        let waiting = waiting_for(&what, part);
                        health.set_waiting_for(format!("{waiting}: {}", failure.reason));
                    }
                    ListProgress::NotYet => {
                        is_refused_only = false;
                        health.set_waiting_for(waiting_for(&what, part));
                    }
                    ListProgress::Whole => {}
                }
                !is_settled
            });
            let may_continue = is_any_settled && is_refused_only && !parts.is_empty();
            let now = Instant::now();
            let patient_until = may_continue
                .then(|| *patient_until.get_or_insert_with(|| now + FORBIDDEN_PATIENCE));
            if parts.is_empty() || patient_until.is_some_and(|until| now >= until) {
                for (part, _) in &parts {
                    tracing::warn!("skipping {what} in {part}: not allowed to list them");
                }
                return;
            }
            let notifications = parts.iter_mut().map(|(_, listed)| Box::pin(listed.changed()));
            tokio::select! {
                (changed, ..) = select_all(notifications) => if changed.is_err() {
                    // The watch has stopped, which ends the term.
                    std::future::pending::<()>().await;
                },
                () = sleep_until(patient_until.unwrap_or(now)), if may_continue => {}
            }
        }
    }
}

fn waiting_for(what: &str, part: &Part) -> String {
    match part {
        Part::Whole => format!("{what} to be listed"),
        Part::Namespace(name) => format!("{what} in {name} to be listed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_forbidden_namespace_does_not_delay_an_unserved_kind_of_another() {
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
        let listings = AwaitedLists::for_kind("ResourcePolicy", parts);
        listings.wait(&Health::default(), &mut None).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_list_does_not_change_the_wait_for_a_forbidden_namespace() {
        let (late, listed) = ListReport::new();
        tokio::spawn(async move {
            tokio::time::sleep(2 * FORBIDDEN_PATIENCE).await;
            late.complete();
        });
        let reports =
            ["east", "west"].map(|name| (Part::Namespace(name.into()), ListReport::new()));
        let [allowed, refused] = reports.each_ref().map(|(_, (report, _))| report);
        allowed.complete();
        let (is_absent, is_forbidden, reason) = (false, true, "no".to_owned());
        refused.failed(&WatchFailure { is_absent, is_forbidden, reason });
        let pods = || reports.iter().map(|(part, (_, listed))| (part.clone(), listed.clone()));
        let (started, mut patient_until) = (Instant::now(), None);
        let config = AwaitedLists::new("a ConfigMap", listed, ListNeed::Always);
        config.wait(&Health::default(), &mut patient_until).await;
        for _ in 0..2 {
            let pods = AwaitedLists::for_kind("Pod", pods().collect());
            pods.wait(&Health::default(), &mut patient_until).await;
            assert_eq!(started.elapsed().as_secs(), 3 * FORBIDDEN_PATIENCE.as_secs());
        }
    }
}
