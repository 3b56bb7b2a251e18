//! A server between a program and the API server that injects faults: this file listens, cuts connections, and blocks
//! the port. `forward` handles a single request, `fault` contains the faults, and `request_log` the recorded requests.

mod fault;
mod forward;
mod request_log;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use serde_json::json;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;

pub use self::fault::{Fault, Injected, InjectedResponse};
pub use self::request_log::RecordedRequest;

use self::fault::Faults;
use self::request_log::RequestLog;
use almanac_local::{ReservedPort, RunFolder};

/// The listen backlog, as of an API server.
const BACKLOG: u32 = 1024;

/// A plain HTTP server on loopback that forwards every request to an API server, with the permissions of the client
/// that started the proxy, unless a [`Fault`] changes the result.
///
/// Responses are streamed, so watches work. When the program disconnects, its request to the API
/// server ends, too. Protocol upgrades (exec, attach, port-forward) are not supported.
#[derive(Debug)]
pub struct FaultProxy {
    service: Arc<Service>,
    listening: Mutex<Option<JoinHandle<()>>>,
    port: ReservedPort,
    folder: RunFolder,
}

/// The shared state of all connections.
struct Service {
    api_server: Client,
    faults: Faults,
    log: RequestLog,
    connections: Mutex<Vec<JoinHandle<()>>>,
}

impl FaultProxy {
    /// Starts a proxy. Its requests have the client's permissions.
    ///
    /// The proxy lives on the runtime of the caller.
    pub fn start(api_server: Client) -> Result<Self> {
        let folder = RunFolder::create()?;
        let port = ReservedPort::take()?;
        let namespace = api_server.default_namespace().to_owned();
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "proxy", "cluster": {
                "server": format!("http://127.0.0.1:{}", port.number()),
            }}],
            "users": [{"name": "proxy", "user": {}}],
            "contexts": [{"name": "proxy", "context": {
                "cluster": "proxy", "user": "proxy", "namespace": namespace,
            }}],
            "current-context": "proxy",
        });
        let service = Service {
            api_server,
            faults: Faults::default(),
            log: RequestLog::default(),
            connections: Mutex::default(),
        };
        let proxy = Self { service: Arc::new(service), listening: Mutex::default(), port, folder };
        let file = proxy.kubeconfig();
        std::fs::write(&file, config.to_string())
            .with_context(|| format!("failed to write {}", file.display()))?;
        proxy.unblock()?;
        Ok(proxy)
    }

    /// The listen address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port.number())
    }

    /// A kubeconfig with the proxy as the server. The file contains no credentials, and the default namespace is that
    /// of the client that started the proxy.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("proxy.kubeconfig")
    }

    /// Injects a fault. If several faults match a request, the first injected fault applies, until its strikes are used
    /// up.
    #[must_use = "a fault without a check might never have happened"]
    pub fn inject(&self, fault: Fault) -> Injected {
        self.service.faults.add(fault)
    }

    /// All requests since the start, or since the log was last cleared, in order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.service.log.all()
    }

    /// All writes except for those of Leases.
    #[must_use]
    pub fn writes(&self) -> Vec<RecordedRequest> {
        let mut requests = self.requests();
        requests.retain(|request| request.is_write() && !request.is_for_lease());
        requests
    }

    /// Clears the log. Requests in flight are not recorded again.
    pub fn clear(&self) {
        self.service.log.clear();
    }

    /// The number of open connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.service.connections().iter().filter(|connection| !connection.is_finished()).count()
    }

    /// Cuts every open connection, including watches and partial responses, and waits until all are closed. The proxy
    /// accepts new connections. Returns the number of cut connections.
    pub async fn cut_all(&self) -> usize {
        let connections = std::mem::take(&mut *self.service.connections());
        let mut cut = 0;
        for connection in &connections {
            cut += usize::from(!connection.is_finished());
            connection.abort();
        }
        for connection in connections {
            // The error would only report the cut.
            let _ = connection.await;
        }
        cut
    }

    /// Stops serving, like an API server that does not run: cuts every connection, and refuses new connections. The
    /// port stays reserved.
    pub async fn block(&self) {
        let listening = self.listening().take();
        if let Some(listening) = listening {
            listening.abort();
            let _ = listening.await;
        }
        self.cut_all().await;
    }

    /// Serves again after [`Self::block`].
    pub fn unblock(&self) -> Result<()> {
        let mut listening = self.listening();
        if listening.is_none() {
            let listener = self.listen().context("failed to listen on 127.0.0.1")?;
            *listening = Some(tokio::spawn(accept(listener, Arc::clone(&self.service))));
        }
        Ok(())
    }

    fn listen(&self) -> Result<TcpListener> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseport(true)?;
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port.number())))?;
        Ok(socket.listen(BACKLOG)?)
    }

    fn listening(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        if let Some(listening) = self.listening().take() {
            listening.abort();
        }
        for connection in &*self.service.connections() {
            connection.abort();
        }
    }
}

impl Service {
    fn connections(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Service").finish_non_exhaustive()
    }
}

/// Each connection is a task: ending the task cuts the connection.
async fn accept(listener: TcpListener, service: Arc<Service>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let connection = tokio::spawn(serve(stream, Arc::clone(&service)));
                let mut connections = service.connections();
                connections.retain(|connection| !connection.is_finished());
                connections.push(connection);
            }
            Err(error) => {
                eprintln!("the proxy listens no more: {error}");
                return;
            }
        }
    }
}

async fn serve(stream: TcpStream, service: Arc<Service>) {
    // Small responses are sent without delay.
    let _ = stream.set_nodelay(true);
    let respond = service_fn(|request| forward::respond(Arc::clone(&service), request));
    // Failing connections are intended: the program sees them, and the test checks the program.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), respond).await;
}
