//! The effects of clients on the listener, over real sockets.

use std::net::{Ipv4Addr, SocketAddr};

use hyper::body::Incoming;
use prometheus_client::metrics::counter::Counter;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;

use super::listener::{DEFAULT_LIMITS, Limits, serve_within};
use super::*;
use crate::following::Need;

/// The timeout of each wait; only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(30);
/// For connections that are to last as long as their test.
const LONG: Duration = Duration::from_mins(10);
const SHORT: Duration = Duration::from_millis(200);

struct Server {
    address: SocketAddr,
    end: CancellationToken,
    task: JoinHandle<()>,
}

async fn serving(limits: Limits) -> Server {
    let served = EndpointState { health: Health::default(), registry: Arc::default() };
    serving_this(limits, move |request: &Request<_>| answer(&served, request)).await
}

async fn serving_this(
    limits: Limits,
    answer: impl Fn(&Request<Incoming>) -> Response<String> + Send + Sync + 'static,
) -> Server {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("bind the listener");
    let address = listener.local_addr().expect("an address");
    let end = CancellationToken::new();
    let task = tokio::spawn(serve_within(limits, listener, answer, end.clone()));
    Server { address, end, task }
}

impl Server {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("connect to the listener")
    }

    async fn connect_from(&self, last: u8) -> TcpStream {
        let socket = TcpSocket::new_v4().expect("create a socket");
        let own = SocketAddr::from(([127, 0, 0, last], 0));
        socket.bind(own).expect("all of 127/8 is this machine");
        socket.connect(self.address).await.expect("connect to the listener")
    }

    /// A request over a connection of its own, from this address.
    async fn ask_from(&self, last: u8, path: &str) -> String {
        let mut stream = self.connect_from(last).await;
        send_request(&mut stream, path).await;
        rest(stream).await
    }
}

async fn send_request(stream: &mut TcpStream, path: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: almanac\r\n\r\n");
    // A rejected client may notice here, or when it reads.
    let _ = stream.write_all(request.as_bytes()).await;
}

/// Everything received until the connection is closed, including by a reset.
async fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    let _ = read.expect("the connection is closed in time");
    String::from_utf8(bytes).expect("a text response")
}

fn is_ok(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 200 OK\r\n")
}

#[tokio::test]
async fn metrics_and_health_are_answered_and_nothing_else_is() {
    let mut registry = Registry::default();
    registry.register("firings", "Firings", Counter::<u64>::default());
    let health = Health::default();
    let content = EndpointState { health: health.clone(), registry: Arc::new(registry) };
    let server =
        serving_this(DEFAULT_LIMITS, move |request: &Request<_>| answer(&content, request));
    let server = server.await;
    let metrics = server.ask_from(1, "/metrics").await;
    assert!(is_ok(&metrics) && metrics.contains(OPEN_METRICS), "{metrics}");
    assert!(metrics.ends_with("\nfirings_total 0\n# EOF\n"), "{metrics}");
    for path in ["/healthz", "/readyz?verbose"] {
        let answer = server.ask_from(1, path).await;
        assert!(is_ok(&answer) && answer.ends_with("\r\n\r\nok\n"), "{answer}");
    }
    health.set_waiting_for("the first list");
    assert!(is_ok(&server.ask_from(1, "/healthz").await));
    let answer = server.ask_from(1, "/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.ends_with("\r\n\r\nwaiting for the first list\n"), "{answer}");
    let answer = server.ask_from(1, "/debug").await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
}

#[tokio::test]
async fn only_get_and_head_are_allowed() {
    let server = serving(DEFAULT_LIMITS).await;
    let send = async |method: &str| {
        let mut stream = server.connect().await;
        let request = format!("{method} /healthz HTTP/1.1\r\nHost: almanac\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("send the request");
        rest(stream).await
    };
    let answer = send("HEAD").await;
    assert!(is_ok(&answer) && answer.ends_with("\r\n\r\n"), "{answer}");
    let answer = send("POST").await;
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    assert!(answer.contains("\r\nallow: GET, HEAD\r\n"), "{answer}");
}

#[tokio::test]
async fn an_unfinished_head_times_out() {
    let server = serving(Limits { time: SHORT, ..DEFAULT_LIMITS }).await;
    let mut stream = server.connect().await;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: alm").await.expect("send the request");
    assert_eq!(rest(stream).await, "");
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let server = serving(Limits { time: SHORT, ..DEFAULT_LIMITS }).await;
    assert_eq!(rest(server.connect().await).await, "");
}

#[tokio::test]
async fn an_oversized_head_is_rejected_and_one_within_the_limit_is_not() {
    let server = serving(Limits { time: LONG, ..DEFAULT_LIMITS }).await;
    let long = format!("/healthz?{}", "x".repeat(DEFAULT_LIMITS.head - 1024));
    let answer = server.ask_from(1, &long).await;
    assert!(is_ok(&answer), "{answer}");
    let mut stream = server.connect().await;
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: almanac\r\nX: ")
        .await
        .expect("send the request");
    let junk = vec![b'x'; DEFAULT_LIMITS.head];
    let _ = stream.write_all(&junk).await;
    let answer = rest(stream).await;
    // Closed without a response if the rejection arrived while the client was still sending.
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test]
async fn an_excess_connection_takes_the_slot_of_a_silent_one() {
    let server = serving(Limits { connections: 1, time: LONG, ..DEFAULT_LIMITS }).await;
    let silent = server.connect().await;
    assert!(is_ok(&server.ask_from(1, "/healthz").await));
    assert_eq!(rest(silent).await, "");
}

#[tokio::test]
async fn one_client_that_holds_all_its_connections_blocks_no_other() {
    let server = serving(Limits { time: LONG, ..DEFAULT_LIMITS }).await;
    let mut held = Vec::new();
    for _ in 0..200 {
        let mut stream = server.connect().await;
        let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ").await;
        held.push(stream);
    }
    let kept = held.split_off(held.len() - DEFAULT_LIMITS.of_one_address);
    for stream in held {
        assert_eq!(rest(stream).await, "");
    }
    let answer = server.ask_from(2, "/healthz").await;
    assert!(is_ok(&answer), "{answer}");
    for stream in kept {
        let stream = stream.into_std().expect("a standard socket");
        let open = stream.peek(&mut [0]).expect_err("nothing is sent, and it is not closed");
        assert_eq!(open.kind(), std::io::ErrorKind::WouldBlock);
    }
}

/// More connections than the limit, held from several addresses.
async fn held_from_everywhere(server: &Server, sent: &[u8]) -> Vec<TcpStream> {
    let mut held = Vec::new();
    for address in 2..10 {
        for _ in 0..DEFAULT_LIMITS.of_one_address {
            let mut stream = server.connect_from(address).await;
            let _ = stream.write_all(sent).await;
            held.push(stream);
        }
    }
    held
}

#[tokio::test]
async fn several_clients_that_hold_all_their_connections_block_no_other() {
    let server = serving(Limits { time: LONG, ..DEFAULT_LIMITS }).await;
    for sent in [&b""[..], b"GET /metrics HTTP/1.1\r\nX: "] {
        let held = held_from_everywhere(&server, sent).await;
        for kubelet in [1, 1, 10] {
            let answer = server.ask_from(kubelet, "/healthz").await;
            assert!(is_ok(&answer), "{answer}");
        }
        drop(held);
    }
}

#[tokio::test]
async fn several_clients_that_do_not_read_their_responses_block_no_other() {
    let answer = |request: &Request<_>| {
        let is_large = request.uri().path() == "/metrics";
        Response::new(if is_large { "x".repeat(LARGE) } else { "ok".to_owned() })
    };
    let server = serving_this(Limits { time: LONG, ..DEFAULT_LIMITS }, answer).await;
    let sent = b"GET /metrics HTTP/1.1\r\nHost: almanac\r\n\r\n";
    let held = held_from_everywhere(&server, sent).await;
    for kubelet in [1, 1, 10] {
        let answer = server.ask_from(kubelet, "/healthz").await;
        assert!(is_ok(&answer), "{answer}");
    }
    drop(held);
}

#[tokio::test]
async fn shutdown_does_not_wait_for_silent_connections() {
    let server = serving(Limits { time: LONG, ..DEFAULT_LIMITS }).await;
    let idle = server.connect().await;
    let mut unfinished = server.connect().await;
    unfinished.write_all(b"GET /metrics HT").await.expect("send the request");
    // When this connection gets its response, the other connections have been accepted.
    assert!(is_ok(&server.ask_from(1, "/healthz").await));
    server.end.cancel();
    tokio::time::timeout(PATIENCE, server.task)
        .await
        .expect("the server stops in time")
        .expect("the server does not panic");
    assert_eq!(rest(idle).await, "");
    assert!(TcpStream::connect(server.address).await.is_err(), "no server listens any more");
}

/// More bytes than the buffers of both sockets.
const LARGE: usize = 16 << 20;

#[tokio::test]
async fn shutdown_waits_for_a_response_in_progress() {
    let large = |_: &Request<_>| Response::new("x".repeat(LARGE));
    let server = serving_this(Limits { time: LONG, ..DEFAULT_LIMITS }, large).await;
    let mut stream = server.connect().await;
    send_request(&mut stream, "/metrics").await;
    assert_eq!(stream.read_u8().await.expect("the first byte of the response"), b'H');
    server.end.cancel();
    let refused = async { while TcpStream::connect(server.address).await.is_ok() {} };
    tokio::time::timeout(PATIENCE, refused).await.expect("nothing else is accepted");
    let answer = rest(stream).await;
    assert!(answer.len() > LARGE, "{} bytes", answer.len());
    tokio::time::timeout(PATIENCE, server.task)
        .await
        .expect("the server stops in time")
        .expect("the server does not panic");
}

#[tokio::test]
async fn a_client_that_does_not_read_its_response_is_disconnected() {
    let large = |_: &Request<_>| Response::new("x".repeat(LARGE));
    let server = serving_this(Limits { time: SHORT, ..DEFAULT_LIMITS }, large).await;
    let mut slow = server.connect().await;
    send_request(&mut slow, "/metrics").await;
    assert_eq!(slow.read_u8().await.expect("the first byte of the response"), b'H');
    // Shutdown waits for responses in progress, so it ends with this response.
    server.end.cancel();
    tokio::time::timeout(PATIENCE, server.task)
        .await
        .expect("the server stops in time")
        .expect("the server does not panic");
    assert!(rest(slow).await.len() < LARGE, "the response was cut off");
}

#[tokio::test(start_paused = true)]
async fn a_process_with_a_stale_watch_is_not_ready_until_the_next_watch_event() {
    let health = Health::default();
    health.set_ready();
    let watch_age = health.watch_ages().begin("cronfederatedhpas", Need::Always);
    assert_eq!(health.waiting_for(), None);
    tokio::time::sleep(Duration::from_mins(3)).await;
    assert_eq!(health.waiting_for(), None);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let awaited = health.waiting_for().expect("the process is not ready");
    assert!(awaited.starts_with("a watch event of cronfederatedhpas"), "{awaited}");
    watch_age.mark_fresh();
    assert_eq!(health.waiting_for(), None);
}

#[test]
fn heartbeats_count_until_their_term_is_over() {
    let health = Health::default();
    let alive_at = || health.inner.alive_at.load(Ordering::SeqCst);
    let first = health.heartbeat();
    assert_eq!(alive_at(), 0, "no heartbeat is expected before the first");
    first.beat();
    assert!(alive_at() > 0);
    health.stop_heartbeat();
    first.beat();
    assert_eq!(alive_at(), 0, "the heartbeat belongs to an ended term");
    health.heartbeat().beat();
    assert!(alive_at() > 0);
}

#[test]
fn a_process_is_stuck_when_no_heartbeat_came_for_a_minute_of_its_monotonic_clock() {
    let shown = Arc::new(AtomicU64::new(0));
    let source = Arc::clone(&shown);
    let clock = Monotonic::from_fn(move || Duration::from_secs(source.load(Ordering::SeqCst)));
    let served = EndpointState { health: Health::new(clock), registry: Arc::default() };
    let healthz = |seconds: u64| {
        shown.store(seconds, Ordering::SeqCst);
        healthz(&served).status()
    };
    assert_eq!(healthz(1_000), StatusCode::OK, "no heartbeat is expected before the first");
    let heartbeat = served.health.heartbeat();
    assert_eq!(healthz(0), StatusCode::OK);
    heartbeat.beat();
    assert_eq!(healthz(62), StatusCode::INTERNAL_SERVER_ERROR, "a heartbeat at 0 counts");
    assert_eq!(healthz(1_000), StatusCode::INTERNAL_SERVER_ERROR);
    heartbeat.beat();
    assert_eq!(healthz(1_060), StatusCode::OK);
    assert_eq!(healthz(1_061), StatusCode::INTERNAL_SERVER_ERROR);
    heartbeat.beat();
    assert_eq!(healthz(1_121), StatusCode::OK);
    served.health.stop_heartbeat();
    assert_eq!(healthz(9_000), StatusCode::OK, "no heartbeat is expected after the term");
}
