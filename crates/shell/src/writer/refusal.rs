//! The meaning of a rejection by the API server, and its message for users.

use std::time::Duration;

use kube::core::Status;

/// A rejection by the API server.
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

    /// Whether the object does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code == 404
    }

    /// Whether the same request will be refused again: it is not valid, not permitted or not admitted.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        matches!(self.code, 400 | 401 | 403 | 422)
    }

    /// Whether Almanac lacks the permission for the request. Quotas and admission policies use the same codes, so a
    /// missing permission is recognized by the wording of RBAC.
    #[must_use]
    pub fn is_permission_denied(&self) -> bool {
        let is_refused = self.code == 401 || (self.code == 403 && self.is_from_rbac());
        // A webhook chooses its own message, which may equal that of RBAC.
        is_refused && !self.is_admission_denied()
    }

    /// Whether the permission exists but the request was not admitted: by a policy, a webhook or a quota, with any
    /// code.
    #[must_use]
    pub fn is_admission_denied(&self) -> bool {
        let is_denied = ["denied the request", "denied request"].iter();
        let is_denied = is_denied.into_iter().any(|words| self.message.contains(words));
        let is_forbidden = self.code == 403 && self.message.contains(" is forbidden: ");
        is_denied || (is_forbidden && !self.is_from_rbac())
    }

    /// `… is forbidden: User "u" cannot patch resource "deployments/scale" …`
    fn is_from_rbac(&self) -> bool {
        let words = self.message.split_once("forbidden: User \"");
        words.is_some_and(|(_, rest)| rest.contains("\" cannot "))
    }

    /// Whether the namespace accepts no new objects, because it is being deleted or does not exist.
    pub(crate) fn is_namespace_terminating(&self) -> bool {
        let is_ending = self.code == 403 && self.message.contains("because it is being terminated");
        is_ending || (self.code == 404 && self.message.starts_with("namespaces "))
    }

    /// The delay, if the server only requests a retry after it.
    pub(super) fn retry_after_hint(&self) -> Option<Duration> {
        match self.code {
            429 => Some(self.retry_after.unwrap_or(Duration::from_secs(1))),
            503 => self.retry_after,
            _ => None,
        }
    }

    /// The code, except where a namespace being deleted makes the rejection expected.
    pub(super) fn metric_label(&self) -> String {
        if self.is_namespace_terminating() {
            return "terminating".to_owned();
        }
        self.code.to_string()
    }

    /// A server with an internal error may have written before it failed.
    pub(super) fn may_have_been_applied(&self) -> bool {
        self.code >= 500 && !self.is_admission_denied()
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

/// An error of the client in one line, without repetitions.
#[must_use]
pub fn summarize(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => Refusal::from((**status).clone()).to_string(),
        other => deepest(other),
    }
}

/// The last cause of an error, which is the most precise.
pub(crate) fn deepest(mut error: &(dyn std::error::Error + 'static)) -> String {
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A response of the API server.
    fn refusal(code: u16, message: &str) -> Refusal {
        Refusal { code, message: message.to_owned(), retry_after: None }
    }

    #[test]
    fn a_permission_is_missing_only_if_rbac_denies_it() {
        let account = "system:serviceaccount:default:almanac";
        let of_object = format!(
            "deployments.apps \"shop\" is forbidden: User \"{account}\" cannot patch resource \
             \"deployments/scale\" in API group \"apps\" in the namespace \"default\""
        );
        let with_reason = format!(
            "{of_object}: RBAC: clusterrole.rbac.authorization.k8s.io \"scaler\" not found"
        );
        for message in [of_object, with_reason] {
            let refusal = refusal(403, &message);
            assert!(refusal.is_permission_denied() && !refusal.is_admission_denied(), "{message}");
        }
        assert!(refusal(401, "Unauthorized").is_permission_denied());
    }

    #[test]
    fn a_denial_by_admission_of_any_code_is_not_a_missing_permission() {
        let webhook =
            "admission webhook \"scales.example.org\" denied the request: not on a Friday";
        let policy = "deployments.apps \"shop\" is forbidden: ValidatingAdmissionPolicy 'few' with \
                      binding 'few' denied request: five are too many";
        for code in [400, 401, 403, 404, 409, 422, 500] {
            for message in [webhook, policy] {
                let refusal = refusal(code, message);
                assert!(refusal.is_admission_denied(), "{code} {message}");
                assert!(!refusal.is_permission_denied(), "{code} {message}");
                assert!(!refusal.may_have_been_applied(), "{code} {message}");
            }
        }
        let quota = refusal(
            403,
            "replicas.example.org \"shop\" is forbidden: exceeded quota: few, requested: \
             count/replicas=1, used: count/replicas=1, limited: count/replicas=1",
        );
        assert!(quota.is_admission_denied() && !quota.is_permission_denied());
        let gone = refusal(404, "deployments.apps \"shop\" not found");
        assert!(!gone.is_admission_denied() && !gone.is_permission_denied());
    }

    #[test]
    fn a_webhook_that_words_its_denial_like_rbac_is_still_admission() {
        let webhook = "admission webhook \"scales.example.org\" denied the request: forbidden: User \
                       \"ann\" cannot scale today";
        let refusal = refusal(403, webhook);
        assert!(refusal.is_admission_denied() && !refusal.is_permission_denied());
    }
}
