//! Accepts connections and serves them, within limits.
//!
//! Anything in a cluster may connect, so every client gets little: one request per connection, small headers, a short
//! time for all of it, and a limited number of connections. So clients cannot use up the memory and file descriptors
//! that the Lease and the requests to the API server need.

use std::convert::Infallible;
use std::future::ready;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::slots::{Slot, Slots};

/// The limits for clients.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// The maximum number of connections.
    pub(super) connections: usize,
    /// The maximum number of connections from one address.
    pub(super) of_one_address: usize,
    /// The maximum bytes of a request before its body. The library requires at least 8192.
    pub(super) head: usize,
    /// The time from the start of a connection until the client has read the response.
    pub(super) time: Duration,
}

/// Probes and scrapes take milliseconds, one connection each. The largest use of memory is the response with ten
/// thousand numbers, two megabytes, times the number of clients that do not read it.
pub(super) const DEFAULT_LIMITS: Limits =
    Limits { connections: 32, of_one_address: 8, head: 16 * 1024, time: Duration::from_secs(10) };

/// The delay before another attempt when no file descriptor is free.
const PAUSE: Duration = Duration::from_secs(1);

/// Serves until the token is canceled; responses in progress are finished.
pub(super) async fn serve_within<A>(
    limits: Limits,
    listener: TcpListener,
    answer: A,
    end: CancellationToken,
) where
    A: Fn(&Request<Incoming>) -> Response<String> + Send + Sync + 'static,
{
    let slots = Slots::new(limits.connections, limits.of_one_address);
    let answer = Arc::new(answer);
    let mut connections = JoinSet::new();
    while let Some((stream, peer)) = next(&listener, &mut connections, &end).await {
        let Some(slot) = slots.take(peer.ip()) else { continue };
        // The connection chosen to close is closed before the new one is served.
        while connections.len() >= limits.connections && connections.join_next().await.is_some() {}
        let (answer, end) = (Arc::clone(&answer), end.clone());
        connections.spawn(async move { serve_one(limits, stream, slot, &*answer, &end).await });
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// The next connection; `None` at shutdown. Removes finished connections while it waits.
pub(crate) async fn next(
    listener: &TcpListener,
    connections: &mut JoinSet<()>,
    end: &CancellationToken,
) -> Option<(TcpStream, SocketAddr)> {
    loop {
        let accepted = tokio::select! {
            () = end.cancelled() => return None,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let error = match accepted {
            Ok(connection) => return Some(connection),
            Err(error) => error,
        };
        // The client has already disconnected.
        if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) {
            continue;
        }
        tracing::warn!(%error, "failed to accept a connection");
        tokio::select! {
            () = end.cancelled() => return None,
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

async fn serve_one(
    limits: Limits,
    stream: TcpStream,
    slot: Slot,
    answer: &(impl Fn(&Request<Incoming>) -> Response<String> + Sync),
    end: &CancellationToken,
) {
    let service = service_fn(|request: Request<Incoming>| {
        slot.answer_at_once();
        ready(Ok::<_, Infallible>(answer(&request)))
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(limits.head)
        // The timeout of the connection also covers the head.
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let whole = async {
        tokio::select! {
            ended = connection.as_mut() => return ended,
            () = end.cancelled() => {}
        }
        // Shutdown does not wait for connections without a request.
        if slot.has_request() { connection.await } else { Ok(()) }
    };
    let whole = tokio::time::timeout(limits.time, whole);
    let ended = tokio::select! {
        ended = whole => ended,
        () = slot.is_lost() => {
            tracing::debug!("closed a connection to free a slot for a new connection");
            return;
        }
    };
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a connection ended early"),
        Err(_) => tracing::debug!("closed a connection after its timeout"),
    }
}
