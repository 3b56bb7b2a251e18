//! What an API server means when it says no, in words for people.

use std::time::Duration;

use kube::core::Status;

/// An API server's no.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The HTTP code; 0 when nothing was sent.
    code: u16,
    message: String,
    retry_after: Option<Duration>,
}

impl Refusal {
    pub(super) fn unsent(message: String) -> Self {
        Self { code: 0, message, retry_after: None }
    }

    /// Whether the object has changed since it was read.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.code == 409
    }

    /// Whether there is no such object.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code == 404
    }

    /// Whether we lack the right to do it.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self.code, 401 | 403)
    }

    /// Whether nothing can be created there any more, because the namespace is being deleted or is gone.
    pub(crate) fn is_of_an_ending_namespace(&self) -> bool {
        let is_ending = self.code == 403 && self.message.contains("because it is being terminated");
        is_ending || (self.code == 404 && self.message.starts_with("namespaces "))
    }

    /// How long to wait, if that is all that is asked for.
    pub(super) fn asks_to_wait(&self) -> Option<Duration> {
        match self.code {
            429 => Some(self.retry_after.unwrap_or(Duration::from_secs(1))),
            503 => self.retry_after,
            _ => None,
        }
    }

    /// The code, but for what is in order when a namespace is deleted.
    pub(super) fn told_in_metrics(&self) -> String {
        if self.is_of_an_ending_namespace() {
            return "terminating".to_owned();
        }
        self.code.to_string()
    }

    /// A server that fails within may have written before it failed.
    pub(super) fn may_have_been_carried_out(&self) -> bool {
        self.code >= 500
    }
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        let retry_after = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
        let message = if status.message.is_empty() {
            format!("the API server answered {}", status.code)
        } else {
            status.message
        };
        Self {
            code: status.code,
            message,
            retry_after: (retry_after > 0).then(|| Duration::from_secs(u64::from(retry_after))),
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

/// An error of the client in one line, without what it repeats.
#[must_use]
pub fn in_short(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => Refusal::from((**status).clone()).to_string(),
        other => {
            let mut deepest: &dyn std::error::Error = other;
            while let Some(source) = deepest.source() {
                deepest = source;
            }
            deepest.to_string()
        }
    }
}
