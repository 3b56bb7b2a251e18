//! Faults: what goes wrong, with which requests, and how often. `forward` carries them out.

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
    /// The request gets this response, and the API server never receives it.
    Respond(InjectedResponse),
    /// The API server carries it out, and the connection is cut instead of the answer.
    LoseResponse,
    /// The API server carries it out, and it gets this answer.
    ReplaceResponse(InjectedResponse),
    /// The connection is cut before the API server receives it.
    Refuse,
    /// The request waits until it is released; then it is forwarded.
    Hang,
    /// The request is forwarded after a delay.
    Delay(Duration),
}

impl Fault {
    /// Answers in the API server's place.
    #[must_use]
    pub fn respond(response: InjectedResponse) -> Self {
        Self::with_effect(Effect::Respond(response))
    }

    /// The API server carries the request out, and the connection is cut instead of the answer.
    #[must_use]
    pub fn lose_response() -> Self {
        Self::with_effect(Effect::LoseResponse)
    }

    /// The API server applies the request, and this is the response instead, as by one whose store is lost in the
    /// middle of it.
    #[must_use]
    pub fn replace_response(response: InjectedResponse) -> Self {
        Self::with_effect(Effect::ReplaceResponse(response))
    }

    /// The connection is cut, and the API server never receives the request.
    #[must_use]
    pub fn refuse() -> Self {
        Self::with_effect(Effect::Refuse)
    }

    /// The request waits until [`Injected::release`]; then it is forwarded as if it had just
    /// arrived.
    #[must_use]
    pub fn hang() -> Self {
        Self::with_effect(Effect::Hang)
    }

    /// The request is forwarded after a delay.
    #[must_use]
    pub fn delay(by: Duration) -> Self {
        Self::with_effect(Effect::Delay(by))
    }

    /// Only with requests of this method.
    #[must_use]
    pub fn method(self, method: Method) -> Self {
        self.matching(move |request| request.method == method)
    }

    /// Only with requests whose path (without the query) contains this.
    #[must_use]
    pub fn path_contains(self, part: impl Into<String>) -> Self {
        let part = part.into();
        self.matching(move |request| request.path.contains(&part))
    }

    /// Only with requests that match. Called before any response.
    #[must_use]
    pub fn matching(
        mut self,
        fits: impl Fn(&RecordedRequest) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.fits.push(Box::new(fits));
        self
    }

    /// With this many requests, and then no more.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    /// With all of them, until it is withdrawn.
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

/// An answer with a Kubernetes `Status` as its body, or with a page.
#[derive(Clone, Debug)]
pub struct InjectedResponse {
    code: StatusCode,
    reason: String,
    message: String,
    retry_after: Option<Duration>,
    page: Option<String>,
}

impl InjectedResponse {
    /// One with this code. Its reason is the one Kubernetes gives such an answer.
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

    /// The page of a proxy, in HTML, with this code.
    #[must_use]
    pub fn page(code: StatusCode, html: impl Into<String>) -> Self {
        Self { page: Some(html.into()), ..Self::with(code) }
    }

    /// With another reason.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// With another message.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// With a `Retry-After` header, in whole seconds, and the same in the body's details.
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

/// A fault that was injected: how many requests it took, and how to end it. It outlives this.
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
    /// The number of requests it has struck so far.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.state.taken.load(Ordering::SeqCst)
    }

    /// Waits until it has struck this many requests.
    pub async fn await_taken(&self, times: usize) -> Result<()> {
        await_condition(&format!("a fault to take {times} requests"), PATIENCE, async || {
            let taken = self.taken();
            Ok(Observation::from_bool(taken >= times, format!("{taken} taken")))
        })
        .await
    }

    /// Releases the hanging requests, and strikes no more.
    pub fn release(&self) {
        self.withdraw();
        self.state.is_released.send_replace(true);
    }

    /// Strikes no more requests. Those that hang keep hanging.
    pub fn withdraw(&self) {
        self.state.left.store(0, Ordering::SeqCst);
    }
}

/// A request's fault: what happens, and the signal that ends a hang.
#[derive(Debug)]
pub(super) struct TakenFault {
    pub(super) effect: Effect,
    /// Kept alive, because the list drops a fault that is used up, and tests may, too.
    state: Arc<State>,
}

impl TakenFault {
    /// Waits as long as needed until hanging requests are released.
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

    /// The fault for a request; uses up one of its strikes.
    pub(super) fn take_for(&self, request: &RecordedRequest) -> Option<TakenFault> {
        let mut list = self.lock();
        list.retain(|(_, state)| state.left.load(Ordering::SeqCst) > 0);
        let (fault, state) =
            list.iter().find(|(fault, _)| fault.fits.iter().all(|fits| fits(request)))?;
        // It may be withdrawn at this very moment, and must not wrap around.
        let one_less = |left: usize| left.checked_sub(1);
        state.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).ok()?;
        state.taken.fetch_add(1, Ordering::SeqCst);
        Some(TakenFault { effect: fault.effect.clone(), state: Arc::clone(state) })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Fault, Arc<State>)>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
