//! Faults: the effect, the matching requests, and the number of strikes.

use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::Value;

use crate::responses::Refusal;
use crate::{ReceivedRequest, Stub};

type Fits = Box<dyn Fn(&ReceivedRequest) -> bool + Send + Sync>;

/// A fault that strikes once, with any request, unless stated otherwise.
pub struct Fault {
    effect: Effect,
    fits: Vec<Fits>,
    times: usize,
}

/// The effect on a request.
#[derive(Clone)]
pub(crate) enum Effect {
    Respond(Refusal),
    LoseResponse,
    Refuse,
    Hang,
    Silence,
    ConcurrentChange(Arc<dyn Fn(&Stub) + Send + Sync>),
    Admit(Arc<dyn Fn(&mut Value) + Send + Sync>),
    Overtake(Arc<dyn Fn(&Stub) + Send + Sync>),
}

impl Fault {
    /// The request is rejected with this code and message.
    #[must_use]
    pub fn respond(code: StatusCode, message: impl Into<String>) -> Self {
        Self::with_effect(Effect::Respond(Refusal::new(code, message)))
    }

    /// The request is rejected with this code, with a `Retry-After` of this many seconds.
    #[must_use]
    pub fn wait(code: StatusCode, seconds: u32) -> Self {
        let refusal = Refusal::new(code, "try again later");
        Self::with_effect(Effect::Respond(refusal.retry_after(seconds)))
    }

    /// The request is applied, and the connection is cut instead of the response.
    #[must_use]
    pub fn lose_response() -> Self {
        Self::with_effect(Effect::LoseResponse)
    }

    /// The connection is cut before anything is applied.
    #[must_use]
    pub fn refuse() -> Self {
        Self::with_effect(Effect::Refuse)
    }

    /// The request gets no response, and is not applied.
    #[must_use]
    pub fn hang() -> Self {
        Self::with_effect(Effect::Hang)
    }

    /// The request succeeds, and then the stream stays silent.
    #[must_use]
    pub fn silence() -> Self {
        Self::with_effect(Effect::Silence)
    }

    /// A concurrent change happens just before the request is applied.
    #[must_use]
    pub fn concurrent_change(act: impl Fn(&Stub) + Send + Sync + 'static) -> Self {
        Self::with_effect(Effect::ConcurrentChange(Arc::new(act)))
    }

    /// The request is applied. The stub delays the response until all watches have delivered a concurrent change.
    #[must_use]
    pub fn overtake(act: impl Fn(&Stub) + Send + Sync + 'static) -> Self {
        Self::with_effect(Effect::Overtake(Arc::new(act)))
    }

    /// An admission webhook changes the object before the request is applied.
    #[must_use]
    pub fn admit(change: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        Self::with_effect(Effect::Admit(Arc::new(change)))
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

    /// Limits the fault to requests that match.
    #[must_use]
    pub fn matching(
        mut self,
        fits: impl Fn(&ReceivedRequest) -> bool + Send + Sync + 'static,
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

    /// The fault strikes all requests, until the faults are cleared.
    #[must_use]
    pub fn always(self) -> Self {
        self.times(usize::MAX)
    }

    fn with_effect(effect: Effect) -> Self {
        Self { effect, fits: Vec::new(), times: 1 }
    }

    /// The effect on a request; `None` if the fault does not strike.
    pub(crate) fn strikes(&mut self, request: &ReceivedRequest) -> Option<Effect> {
        let strikes = self.times > 0 && self.fits.iter().all(|fits| fits(request));
        strikes.then(|| {
            self.times -= 1;
            self.effect.clone()
        })
    }
}

impl std::fmt::Debug for Fault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let effect = match &self.effect {
            Effect::Respond(refusal) => {
                return write!(formatter, "{refusal:?}, {} times", self.times);
            }
            Effect::LoseResponse => "the response is lost",
            Effect::Refuse => "the connection is cut",
            Effect::Hang => "no response",
            Effect::Silence => "a response that never ends",
            Effect::ConcurrentChange(_) => "a concurrent change",
            Effect::Admit(_) => "a webhook changes the object",
            Effect::Overtake(_) => "the response is late",
        };
        write!(formatter, "{effect}, {} times", self.times)
    }
}
