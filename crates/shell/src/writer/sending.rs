//! Sends the requests of a writer, counts them, and repeats those for which an overloaded API server requests a wait.
//! `writer` decides what to write.

use std::fmt::Write as _;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::time::{sleep, timeout};

use super::{Inner, Refusal, StillWanted, WriteError, Writer, summarize};
use crate::budget::Urgency;

/// The timeout of a request.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of retries at a busy API server, and the maximum delay that it may request.
const MAX_RETRIES: u32 = 3;
const MAX_RETRY_AFTER: Duration = Duration::from_secs(5);

/// Requests only the metadata of an object from the API server.
pub(crate) const METADATA_ONLY: http::HeaderValue =
    http::HeaderValue::from_static("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");

/// A request, or the reason that it cannot be built.
pub(super) type Built = Result<http::Request<Vec<u8>>, kube::core::request::Error>;

impl Writer {
    /// Sends a request once the budget admits it, and again while the API server is overloaded.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        urgency: Urgency,
        still_wanted: StillWanted<'_>,
        request: impl Fn() -> Built,
    ) -> Result<T, WriteError> {
        let Inner { fence, budget, .. } = &*self.inner;
        let mut retries = 0;
        loop {
            let permit = budget.permit(urgency).await;
            let request = request().map_err(|error| WriteError::unbuilt(&error))?;
            if !still_wanted() {
                return Err(WriteError::Withdrawn);
            }
            // Immediately before the request: after any wait, the lease may be lost.
            let time = fence.check()?.min(REQUEST_TIMEOUT);
            let answer = self.exchange(urgency, request, time, time).await;
            drop(permit);
            let refusal = match answer {
                Err(WriteError::Refused(refusal)) => refusal,
                other => return other,
            };
            match refusal.retry_after_hint() {
                Some(pause) if retries < MAX_RETRIES => {
                    retries += 1;
                    sleep(pause.min(MAX_RETRY_AFTER)).await;
                }
                _ => return Err(WriteError::from_refusal(refusal)),
            }
        }
    }

    /// Sends a request once. The response is awaited for as long as `time`, and an error about its absence states
    /// `stated`. A rejection is returned unchanged.
    pub(super) async fn exchange<T: DeserializeOwned>(
        &self,
        urgency: Urgency,
        request: http::Request<Vec<u8>>,
        time: Duration,
        stated: Duration,
    ) -> Result<T, WriteError> {
        let Inner { client, metrics, .. } = &*self.inner;
        let success = if request.method() == http::Method::POST { "201" } else { "200" };
        let (code, answer) = match timeout(time, client.request::<T>(request)).await {
            Ok(Ok(written)) => (success.to_owned(), Ok(written)),
            Ok(Err(kube::Error::Api(status))) => {
                let refusal = Refusal::from(*status);
                (refusal.metric_label(), Err(WriteError::Refused(refusal)))
            }
            Ok(Err(error)) => ("lost".to_owned(), Err(WriteError::Unknown(summarize(&error)))),
            Err(_) => {
                let why = format!("no response within {} s", stated.as_secs());
                ("timeout".to_owned(), Err(WriteError::Unknown(why)))
            }
        };
        metrics.count(urgency, code);
        answer
    }
}

impl WriteError {
    /// The error of a request that cannot be built and is not sent.
    pub(super) fn unbuilt(error: &dyn std::fmt::Display) -> Self {
        Self::Refused(Refusal::unsent(format!("failed to build a request: {error}")))
    }

    /// The effect of a rejection on the object.
    fn from_refusal(refusal: Refusal) -> Self {
        if refusal.may_have_been_applied() {
            Self::Unknown(refusal.to_string())
        } else {
            Self::Refused(refusal)
        }
    }

    /// The effect of a rejection of a request that is never repeated: a proxy may have requested the delay, although
    /// the API server has received the request.
    pub(super) fn from_only_attempt(refusal: Refusal) -> Self {
        match refusal.retry_after_hint() {
            Some(_) => Self::Unknown(refusal.to_string()),
            None => Self::from_refusal(refusal),
        }
    }
}

/// A request that returns only the metadata of the object.
pub(super) fn metadata_only(mut request: http::Request<Vec<u8>>) -> http::Request<Vec<u8>> {
    request.headers_mut().insert(http::header::ACCEPT, METADATA_ONLY);
    request
}

/// JSON with only characters that YAML allows, because an API server reads the body of an apply as YAML. Other
/// characters can only be in a string, and are escaped there.
pub(super) fn as_yaml(json: Vec<u8>) -> Vec<u8> {
    let is_plain = |byte: &u8| byte.is_ascii() && *byte != 0x7f;
    if json.iter().all(is_plain) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len());
    for letter in String::from_utf8_lossy(&json).chars() {
        match letter {
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
            }
            _ => escaped.push(letter),
        }
    }
    escaped.into_bytes()
}
