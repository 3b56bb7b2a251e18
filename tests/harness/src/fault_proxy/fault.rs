//! Faults: the effect, the matching requests, and the number of strikes. `forward` applies the faults.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use http::{Method, Response, StatusCode, header};
use kube::client::Body;
use serde_json::json;
use tokio::sync::watch;

use super::request_log::RecordedRequest;
use almanac_local::{Observation, PATIENCE, await_condition};

type Fits = Box<dyn Fn(&RecordedRequest) -> bool + Send + Sync>;

/// A fault that strikes once, with any request, unless stated otherwise.
pub struct Fault {
    effect: Effect,
    fits: Vec<Fits>,
    times: usize,
}

/// The effect on a request.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    /// The proxy sends this response, and the API server never receives the request.
    Respond(InjectedResponse),
    /// The API server applies the request, and the proxy cuts the connection instead of responding.
    LoseResponse,
    /// The API server applies the request, and the proxy sends this response.
    ReplaceResponse(InjectedResponse),
    /// The proxy cuts the connection before the API server receives the request.
    Refuse,
    /// The request waits for the release, and is forwarded then.
    Hang,
    /// The request is forwarded after a delay.
    Delay(Duration),
}

impl Fault {
    /// The proxy responds instead of the API server.
    #[must_use]
    pub fn respond(response: InjectedResponse) -> Self {
        Self::with_effect(Effect::Respond(response))
    }

    /// The API server applies the request, and the proxy cuts the connection instead of responding.
    #[must_use]
    pub fn lose_response() -> Self {
        Self::with_effect(Effect::LoseResponse)
    }

    /// The API server applies the request, and the proxy sends this response, like an API server that loses its store
    /// during the request.
    #[must_use]
    pub fn replace_response(response: InjectedResponse) -> Self {
        Self::with_effect(Effect::ReplaceResponse(response))
    }

    /// The connection is cut, and the API server never receives the request.
    #[must_use]
    pub fn refuse() -> Self {
        Self::with_effect(Effect::Refuse)
    }

    /// The request waits until [`Injected::release`], and is forwarded then like a new request.
    #[must_use]
    pub fn hang() -> Self {
        Self::with_effect(Effect::Hang)
    }

    /// The request is forwarded after a delay.
    #[must_use]
    pub fn delay(by: Duration) -> Self {
        Self::with_effect(Effect::Delay(by))
    }

    /// Limits the fault to requests with this method.
    #[must_use]
    pub fn method(self, method: Method) -> Self {
        self.matching(move |request| request.method == method)
    }

    /// Limits the fault to requests whose path (without the query) contains this string.
    #[must_use]
    pub fn path_contains(self, part: impl Into<String>) -> Self {
        let part = part.into();
        self.matching(move |request| request.path.contains(&part))
    }

    /// Limits the fault to requests that match. The proxy calls the function before any response.
    #[must_use]
    pub fn matching(
        mut self,
        fits: impl Fn(&RecordedRequest) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.fits.push(Box::new(fits));
        self
    }

    /// Sets the number of affected requests.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    /// The fault strikes all requests, until the fault is withdrawn.
    #[must_use]
    pub fn always(self) -> Self {
        self.times(usize::MAX)
    }

    fn with_effect(effect: Effect) -> Self {
        Self { effect, fits: Vec::new(), times: 1 }
    }
}

impl std::fmt::Debug for Fault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Fault").field("effect", &self.effect).finish_non_exhaustive()
    }
}

/// A response with a Kubernetes `Status`, or with a page, as its body.
#[derive(Clone, Debug)]
pub struct InjectedResponse {
    code: StatusCode,
    reason: String,
    message: String,
    retry_after: Option<Duration>,
    page: Option<String>,
}

impl InjectedResponse {
    /// A response with this code, and the reason that Kubernetes uses for the code.
    #[must_use]
    pub fn with(code: StatusCode) -> Self {
        let reason = match code {
            StatusCode::UNAUTHORIZED => "Unauthorized",
            StatusCode::FORBIDDEN => "Forbidden",
            StatusCode::NOT_FOUND => "NotFound",
            StatusCode::CONFLICT => "Conflict",
            StatusCode::GONE => "Expired",
            StatusCode::UNPROCESSABLE_ENTITY => "Invalid",
            StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
            StatusCode::INTERNAL_SERVER_ERROR => "InternalError",
            StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
            StatusCode::GATEWAY_TIMEOUT => "Timeout",
            _ => "",
        };
        Self {
            code,
            reason: reason.to_owned(),
            message: String::from("injected by a test"),
            retry_after: None,
            page: None,
        }
    }

    /// A response with this code, and the HTML page of a proxy.
    #[must_use]
    pub fn page(code: StatusCode, html: impl Into<String>) -> Self {
        Self { page: Some(html.into()), ..Self::with(code) }
    }

    /// Replaces the reason.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// Replaces the message.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Adds a `Retry-After` header, in whole seconds, and the same value in the body's details.
    #[must_use]
    pub fn retry_after(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self
    }

    pub(super) fn code(&self) -> StatusCode {
        self.code
    }

    pub(super) fn response(&self) -> Result<Response<Body>> {
        if let Some(page) = &self.page {
            let response =
                Response::builder().status(self.code).header(header::CONTENT_TYPE, "text/html");
            return Ok(response.body(Body::from(page.clone().into_bytes()))?);
        }
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code.as_u16(),
        });
        let mut response =
            Response::builder().status(self.code).header(header::CONTENT_TYPE, "application/json");
        if let Some(after) = self.retry_after {
            status["details"] = json!({"retryAfterSeconds": after.as_secs()});
            response = response.header(header::RETRY_AFTER, after.as_secs());
        }
        Ok(response.body(Body::from(status.to_string().into_bytes()))?)
    }
}

/// An injected fault: the number of strikes so far, and methods to end the fault. Dropping this value does not end the
/// fault.
#[derive(Clone, Debug)]
pub struct Injected {
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    left: AtomicUsize,
    taken: AtomicUsize,
    is_released: watch::Sender<bool>,
}

impl Injected {
    /// The number of requests that the fault has struck so far.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.state.taken.load(Ordering::SeqCst)
    }

    /// Waits until the fault has struck this many requests.
    pub async fn await_taken(&self, times: usize) -> Result<()> {
        await_condition(&format!("a fault to take {times} requests"), PATIENCE, async || {
            let taken = self.taken();
            Ok(Observation::from_bool(taken >= times, format!("{taken} taken")))
        })
        .await
    }

    /// Releases the hanging requests, and ends the fault.
    pub fn release(&self) {
        self.withdraw();
        self.state.is_released.send_replace(true);
    }

    /// Ends the fault. Hanging requests keep hanging.
    pub fn withdraw(&self) {
        self.state.left.store(0, Ordering::SeqCst);
    }
}

/// The fault of a request: the effect, and the signal that ends a hang.
#[derive(Debug)]
pub(super) struct TakenFault {
    pub(super) effect: Effect,
    /// A reference keeps the fault alive, because the list drops a fault without remaining strikes, and tests may drop
    /// theirs, too.
    state: Arc<State>,
}

impl TakenFault {
    /// Waits for the release of hanging requests.
    pub(super) async fn released(&self) -> Result<()> {
        self.state.is_released.subscribe().wait_for(|is_released| *is_released).await?;
        Ok(())
    }
}

/// The injected faults, in order.
#[derive(Debug, Default)]
pub(super) struct Faults {
    list: Mutex<Vec<(Fault, Arc<State>)>>,
}

impl Faults {
    pub(super) fn add(&self, fault: Fault) -> Injected {
        let state = Arc::new(State {
            left: AtomicUsize::new(fault.times),
            taken: AtomicUsize::new(0),
            is_released: watch::Sender::new(false),
        });
        self.lock().push((fault, Arc::clone(&state)));
        Injected { state }
    }

    /// The fault for a request. The call uses one strike.
    pub(super) fn take_for(&self, request: &RecordedRequest) -> Option<TakenFault> {
        let mut list = self.lock();
        list.retain(|(_, state)| state.left.load(Ordering::SeqCst) > 0);
        let (fault, state) =
            list.iter().find(|(fault, _)| fault.fits.iter().all(|fits| fits(request)))?;
        // A test may withdraw the fault concurrently; the counter must not wrap around.
        let one_less = |left: usize| left.checked_sub(1);
        state.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).ok()?;
        state.taken.fetch_add(1, Ordering::SeqCst);
        Some(TakenFault { effect: fault.effect.clone(), state: Arc::clone(state) })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Fault, Arc<State>)>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
