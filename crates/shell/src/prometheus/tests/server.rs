//! A server that answers every connection in the same way, however wrong that is.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// The behavior after the response.
#[derive(Clone, Copy)]
pub(super) enum AfterResponse {
    /// Close the connection.
    Close,
    /// Send nothing, for as long as the client stays connected.
    Hang,
    /// Send a space every second.
    Drip,
    /// Send spaces, as fast as the client reads them.
    Endless,
}

/// A server that ends with its test.
pub(super) struct Server {
    address: SocketAddr,
    seen: Arc<ServerState>,
    _accepting: JoinSet<()>,
}

struct ServerState {
    requests: Mutex<Vec<String>>,
    /// The number of connections, and its maximum so far.
    connections: watch::Sender<(usize, usize)>,
}

pub(super) fn ok(body: &str) -> Vec<u8> {
    let length = body.len();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
    format!("{head}\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

/// A success with these samples, each of a series of its own.
pub(super) fn vector(values: &[&str]) -> Vec<u8> {
    let sample = |(index, value): (usize, &&str)| {
        let value = format!(r#"[1754000000.123,"{value}"]"#);
        format!(r#"{{"metric":{{"__name__":"tide","quay":"{index}"}},"value":{value}}}"#)
    };
    let result = values.iter().enumerate().map(sample).collect::<Vec<_>>().join(",");
    let data = format!(r#"{{"resultType":"vector","result":[{result}]}}"#);
    ok(&format!(r#"{{"status":"success","data":{data}}}"#))
}

impl Server {
    pub(super) async fn start(answer: impl Into<Vec<u8>>, after: AfterResponse) -> Self {
        Self::start_with(answer, after, None).await
    }

    pub(super) async fn start_with(
        answer: impl Into<Vec<u8>>,
        after: AfterResponse,
        tls: Option<TlsAcceptor>,
    ) -> Self {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("bind the listener");
        let address = listener.local_addr().expect("an address");
        let connections = watch::Sender::new((0, 0));
        let seen = Arc::new(ServerState { requests: Mutex::default(), connections });
        let (answer, accepted): (Arc<[u8]>, _) = (answer.into().into(), Arc::clone(&seen));
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, seen, tls) = (Arc::clone(&answer), Arc::clone(&accepted), tls.clone());
                tokio::spawn(async move {
                    seen.connections.send_modify(|(now, most)| {
                        *now += 1;
                        *most = (*most).max(*now);
                    });
                    match tls {
                        None => serve(stream, &answer, after, &seen).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, &answer, after, &seen).await;
                            }
                        }
                    }
                    seen.connections.send_modify(|(now, _)| *now -= 1);
                });
            }
        });
        Self { address, seen, _accepting: accepting }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The complete requests so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.seen.requests.lock().expect("the lock is not poisoned").clone()
    }

    pub(super) fn most_at_once(&self) -> usize {
        self.seen.connections.borrow().1
    }

    /// Waits until every client has disconnected.
    pub(super) async fn is_left(&self) {
        let mut connections = self.seen.connections.subscribe();
        connections.wait_for(|(now, _)| *now == 0).await.expect("a running server");
    }
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: &[u8],
    after: AfterResponse,
    seen: &ServerState,
) {
    let Some(request) = request(&mut stream).await else { return };
    seen.requests.lock().expect("the lock is not poisoned").push(request);
    let mut goes_on = stream.write_all(answer).await.is_ok();
    let spaces = vec![b' '; 64 * 1024];
    while goes_on {
        goes_on = match after {
            AfterResponse::Close => stream.shutdown().await.is_err(),
            AfterResponse::Hang => stream.read(&mut [0; 1]).await.is_ok_and(|read| read > 0),
            AfterResponse::Drip => {
                tokio::time::sleep(Duration::from_secs(1)).await;
                stream.write_all(b" ").await.is_ok()
            }
            AfterResponse::Endless => stream.write_all(&spaces).await.is_ok(),
        };
    }
}

/// A request with its body; `None` if the client disconnects before the end.
async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let (mut bytes, mut part) = (Vec::new(), vec![0; 4096]);
    loop {
        let read = stream.read(&mut part).await.ok().filter(|read| *read > 0)?;
        bytes.extend(&part[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length = length.map_or(0, |length| length.parse().expect("a length"));
            if body.len() >= length {
                return Some(text);
            }
        }
    }
}
