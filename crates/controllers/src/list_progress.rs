//! The progress of the first list of a kind, which everything waits for that depends on the kind.

use almanac_shell::following::WatchFailure;
use tokio::sync::watch;

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
