//! Serves requests of other programs over HTTP: requests with a body, answered by a handler.
//!
//! Clients may be slow, send too much, or disconnect. Connections, bytes and times are limited, so that none of this
//! costs more than the request. TLS, if configured, and the handler decide which clients are allowed. `forwarding`
//! forwards a request to another process.

mod forwarding;
#[cfg(test)]
mod tests;
mod tls;

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

pub use self::forwarding::{ClientTlsFiles, ForwardError, Forwarder};
pub use self::tls::{ServingCertificate, Tls, TlsError, TlsFiles};
use crate::endpoints::listener::next;
use crate::slots::{Slot, Slots};

/// A request of a client.
#[derive(Clone, Debug)]
pub struct ServerRequest {
    /// The path, such as `/filter`.
    pub path: String,
    /// The body.
    pub body: Bytes,
    /// The client's bearer token, if any.
    pub token: Option<String>,
}

/// The response to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerResponse {
    /// The status code.
    pub status: StatusCode,
    /// JSON after a success, and otherwise a sentence with the reason.
    pub body: Bytes,
}

impl ServerResponse {
    /// A success with this JSON.
    #[must_use]
    pub fn json(body: impl Into<Bytes>) -> ServerResponse {
        ServerResponse { status: StatusCode::OK, body: body.into() }
    }

    /// A refusal with its reason, as a sentence.
    #[must_use]
    pub fn refusal(status: StatusCode, why: &str) -> ServerResponse {
        ServerResponse { status, body: format!("{why}\n").into() }
    }
}

/// Responds to requests.
pub trait Handler: Send + Sync + 'static {
    /// Checks whether a client with this token is allowed; if not, returns the response. Called before the body is
    /// read, so that an unauthorized request costs no more than this check.
    fn admit(
        &self,
        _token: Option<&str>,
    ) -> impl Future<Output = Result<(), ServerResponse>> + Send {
        std::future::ready(Ok(()))
    }

    /// The response to a request.
    fn handle(&self, request: ServerRequest) -> impl Future<Output = ServerResponse> + Send;
}

/// The limits for clients.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// The maximum number of connections.
    pub connections: usize,
    /// The maximum number of connections from one address.
    pub of_one_address: usize,
    /// The maximum bytes of a body.
    pub body: usize,
    /// The maximum bytes of all large bodies together, each without its first 64 KiB. Further bodies wait for free
    /// memory.
    pub large_bodies: usize,
    /// Whether a request in progress is never canceled to free its slot for another one, because its effect cannot be
    /// undone.
    pub keeps_requests: bool,
    /// The time in which the body must arrive.
    pub body_time: Duration,
    /// The maximum wait of a large body for memory.
    pub room_time: Duration,
    /// The time for which an idle connection is kept, and in which the head of a request must arrive.
    pub idle_time: Duration,
}

impl Default for ServerLimits {
    /// A client that keeps connections usually drops them after a minute and a half without a request. If the server
    /// dropped one first, the next request might be lost with it.
    fn default() -> Self {
        Self {
            connections: 256,
            of_one_address: 128,
            body: 16 * 1024 * 1024,
            large_bodies: 256 * 1024 * 1024,
            keeps_requests: true,
            body_time: Duration::from_secs(30),
            room_time: Duration::from_secs(2),
            idle_time: Duration::from_mins(3),
        }
    }
}

/// The bytes of a body that are read without a memory permit.
const SMALL_BODY: usize = 64 * 1024;

/// The maximum bytes of a request before its body.
const HEAD: usize = 16 * 1024;

/// The time in which the body of a request must arrive after the shutdown has begun, and the interval of the checks.
const BODY_AT_THE_END: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(100);

/// The timeout of a handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// Serves requests until the token is canceled; those in progress are finished.
pub async fn serve_requests<A: Handler>(
    listener: TcpListener,
    tls: Option<Tls>,
    limits: ServerLimits,
    handler: Arc<A>,
    end: CancellationToken,
) {
    let slots = Slots::new(limits.connections, limits.of_one_address);
    let room = Arc::new(Semaphore::new(limits.large_bodies));
    let mut connections = JoinSet::new();
    while let Some((stream, peer)) = next(&listener, &mut connections, &end).await {
        let Some(slot) = slots.take(peer.ip()) else {
            tracing::debug!("refused a connection, because all others have a request in progress");
            continue;
        };
        // The connection chosen to close is closed before the new one is served.
        while connections.len() >= limits.connections && connections.join_next().await.is_some() {}
        let (handler, room) = (Arc::clone(&handler), Arc::clone(&room));
        let served = Connection { limits, slot, room, handler, end: end.clone() };
        let tls = tls.clone();
        connections.spawn(async move { served.accept(stream, tls).await });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Serves a connection.
struct Connection<A> {
    limits: ServerLimits,
    slot: Slot,
    room: Arc<Semaphore>,
    handler: Arc<A>,
    end: CancellationToken,
}

impl<A: Handler> Connection<A> {
    async fn accept(self, stream: TcpStream, tls: Option<Tls>) {
        // Responses are short, and the client waits for them.
        let _is_faster = stream.set_nodelay(true);
        let Some(tls) = tls else { return self.serve(stream).await };
        let shaken = tokio::select! {
            shaken = timeout(HANDSHAKE_TIME, tls.accept(stream)) => shaken,
            () = self.slot.is_lost() => return,
            () = self.end.cancelled() => return,
        };
        match shaken {
            Ok(Ok(stream)) => self.serve(stream).await,
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => tracing::debug!("TLS handshake took too long"),
        }
    }

    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let service = service_fn(|request| async {
            self.slot.await_body();
            let response = self.respond(request).await;
            self.slot.end_request();
            Ok::<_, Infallible>(response)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .max_buf_size(HEAD.max(8192))
            .header_read_timeout(self.limits.idle_time)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.slot.is_lost() => {
                tracing::debug!("closed a connection to free a slot for a new connection");
                return;
            }
            () = self.end.cancelled() => {
                connection.as_mut().graceful_shutdown();
                // Shutdown does not wait for a client that sends only a part of a request.
                let (end, body_time) = (Instant::now(), self.limits.body_time.min(BODY_AT_THE_END));
                loop {
                    match timeout(LOOK, connection.as_mut()).await {
                        Ok(ended) => break ended,
                        Err(_) if self.slot.is_waited_for(end.elapsed(), body_time) => {}
                        Err(_) => return,
                    }
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended early");
        }
    }

    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let answer = match self.read(request).await {
            Ok(_) if !self.begin() => ServerResponse::refusal(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many connections; try again",
            ),
            Ok((request, _room)) => self.handler.handle(request).await,
            Err(refusal) => refusal,
        };
        let is_json = answer.status == StatusCode::OK;
        let content_type = if is_json { "application/json" } else { "text/plain; charset=utf-8" };
        let mut response = Response::new(Full::new(answer.body));
        *response.status_mut() = answer.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        if answer.status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(ALLOW, HeaderValue::from_static("POST"));
        }
        response
    }

    /// Whether the request gets a response: another connection may have taken its slot.
    fn begin(&self) -> bool {
        if self.limits.keeps_requests {
            return self.slot.begin_request();
        }
        self.slot.answer_at_once();
        true
    }

    /// The request, and its memory permit until the response.
    async fn read(
        &self,
        request: Request<Incoming>,
    ) -> Result<(ServerRequest, Option<SemaphorePermit<'_>>), ServerResponse> {
        if request.method() != Method::POST {
            return Err(ServerResponse::refusal(StatusCode::METHOD_NOT_ALLOWED, "only POST"));
        }
        let (head, body) = request.into_parts();
        let token = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = token.and_then(|value| value.strip_prefix("Bearer "));
        self.handler.admit(token).await?;
        let Ok(read) = timeout(self.limits.body_time, self.read_body(body)).await else {
            let why = "the body took too long to arrive";
            return Err(ServerResponse::refusal(StatusCode::REQUEST_TIMEOUT, why));
        };
        let (body, room) = read?;
        let path = head.uri.path().to_owned();
        Ok((ServerRequest { path, body, token: token.map(str::to_owned) }, room))
    }

    /// A body with its memory permit. Memory is reserved for the received bytes, not for the announced bytes, so
    /// that a client that announces a large body and sends nothing blocks no other.
    async fn read_body(
        &self,
        mut body: Incoming,
    ) -> Result<(Bytes, Option<SemaphorePermit<'_>>), ServerResponse> {
        let limit = self.limits.body.min(SMALL_BODY.saturating_add(self.limits.large_bodies));
        let is_too_large = |bytes: usize| {
            let why = format!("the body has more than {limit} bytes");
            let refusal = || ServerResponse::refusal(StatusCode::PAYLOAD_TOO_LARGE, &why);
            if bytes > limit { Err(refusal()) } else { Ok(()) }
        };
        is_too_large(usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX))?;
        let mut read = Vec::new();
        let mut room: Option<SemaphorePermit<'_>> = None;
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                return Err(ServerResponse::refusal(
                    StatusCode::BAD_REQUEST,
                    "the body is incomplete",
                ));
            };
            let Ok(data) = frame.into_data() else { continue };
            let arrived = read.len().saturating_add(data.len());
            is_too_large(arrived)?;
            let charged = read.len().saturating_sub(SMALL_BODY);
            let more = arrived.saturating_sub(SMALL_BODY) - charged;
            if more > 0 {
                let more = self.make_room(more).await?;
                match &mut room {
                    Some(room) => room.merge(more),
                    None => room = Some(more),
                }
            }
            read.extend_from_slice(&data);
        }
        Ok((read.into(), room))
    }

    /// Reserves memory for this number of bytes more. Waiting requests may have reserved some already, so none waits
    /// long.
    async fn make_room(&self, bytes: usize) -> Result<SemaphorePermit<'_>, ServerResponse> {
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        let room = timeout(self.limits.room_time, self.room.acquire_many(permits)).await;
        room.ok().and_then(Result::ok).ok_or_else(|| {
            let why = "too many large bodies at once; try again";
            ServerResponse::refusal(StatusCode::SERVICE_UNAVAILABLE, why)
        })
    }
}
