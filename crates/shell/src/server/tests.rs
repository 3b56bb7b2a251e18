//! The effects of clients, over real sockets, and the responses to forwarded requests.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::*;

/// The timeout of each wait; only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(30);
const MAX_RESPONSE_BYTES: usize = 1024 * 1024;

/// Echoes the request; `/never` is answered only once notified.
#[derive(Default)]
struct Echo {
    now: Notify,
    received: Notify,
}

impl Handler for Echo {
    async fn admit(&self, token: Option<&str>) -> Result<(), ServerResponse> {
        let is_unauthorized = token == Some("stranger");
        let refusal = || Err(ServerResponse::refusal(StatusCode::FORBIDDEN, "who are you?"));
        if is_unauthorized { refusal() } else { Ok(()) }
    }

    async fn handle(&self, request: ServerRequest) -> ServerResponse {
        if request.path == "/never" {
            self.received.notify_one();
            self.now.notified().await;
        }
        let token = request.token.unwrap_or_default();
        let body = String::from_utf8_lossy(&request.body).into_owned();
        ServerResponse::json(format!("{} {token} {body}", request.path))
    }
}

struct Server {
    address: SocketAddr,
    echo: Arc<Echo>,
    end: CancellationToken,
    task: JoinHandle<()>,
}

async fn serving(limits: ServerLimits, tls: Option<Tls>) -> Server {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("bind the listener");
    let address = listener.local_addr().expect("an address");
    let (echo, end) = (Arc::new(Echo::default()), CancellationToken::new());
    let served = serve_requests(listener, tls, limits, Arc::clone(&echo), end.clone());
    Server { address, echo, end, task: tokio::spawn(served) }
}

impl Server {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("connect to the server")
    }
}

async fn send(stream: &mut TcpStream, text: &str) {
    // A rejected client may fail here, or when it reads.
    let _ = stream.write_all(text.as_bytes()).await;
}

/// Everything received until the connection is closed, including by a reset.
async fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    let _ = read.expect("the connection is closed in time");
    String::from_utf8(bytes).expect("a text response")
}

fn call(path: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: almanac\r\nContent-Length: {length}\r\n\r\n{body}")
}

fn last_call(path: &str, body: &str) -> String {
    call(path, body).replacen("\r\n", "\r\nConnection: close\r\n", 1)
}

#[tokio::test]
async fn a_connection_is_kept_for_several_calls() {
    let server = serving(ServerLimits::default(), None).await;
    let mut stream = server.connect().await;
    send(&mut stream, &call("/filter", "a")).await;
    send(&mut stream, &last_call("/bind", "b")).await;
    let answers = rest(stream).await;
    assert!(answers.contains("\r\n\r\n/filter  aHTTP/1.1 200 OK"), "{answers}");
    assert!(answers.ends_with("\r\n\r\n/bind  b"), "{answers}");
}

#[tokio::test]
async fn an_invalid_request_is_rejected_with_a_sentence() {
    let server = serving(ServerLimits { body: 10, ..ServerLimits::default() }, None).await;
    for (sent, status, why) in [
        (last_call("/a", "").replacen("POST", "GET", 1), "405 ", "only POST\n"),
        (last_call("/a", "elevenbytes"), "413 ", "the body has more than 10 bytes\n"),
    ] {
        let mut stream = server.connect().await;
        send(&mut stream, &sent).await;
        let answer = rest(stream).await;
        let is_refused = answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.ends_with(why);
        assert!(is_refused, "{sent:?}: {answer:?}");
    }
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let limits = ServerLimits { body_time: Duration::from_millis(200), ..ServerLimits::default() };
    let server = serving(limits, None).await;
    let mut stream = server.connect().await;
    send(&mut stream, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nxx").await;
    let answer = rest(stream).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[tokio::test]
async fn large_bodies_wait_for_memory_and_small_bodies_do_not() {
    let large_bodies = SMALL_BODY;
    let room_time = Duration::from_millis(300);
    let limits = ServerLimits { large_bodies, room_time, ..ServerLimits::default() };
    let server = serving(limits, None).await;
    let mut pending = server.connect().await;
    send(&mut pending, &last_call("/never", &"x".repeat(2 * SMALL_BODY))).await;
    server.echo.received.notified().await;
    let mut large = server.connect().await;
    send(&mut large, &last_call("/large", &"y".repeat(SMALL_BODY + 1))).await;
    let mut small = server.connect().await;
    send(&mut small, &last_call("/small", "z")).await;
    let answer = rest(small).await;
    assert!(answer.ends_with("/small  z"), "{answer}");
    let answer = rest(large).await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    server.echo.now.notify_one();
    let answer = rest(pending).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{}", &answer[..60]);
    let mut large = server.connect().await;
    send(&mut large, &last_call("/large", &"y".repeat(SMALL_BODY + 1))).await;
    let answer = rest(large).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{}", &answer[..60]);
}

#[tokio::test]
async fn a_client_that_announces_large_bodies_and_sends_little_blocks_no_other() {
    let limits = ServerLimits { large_bodies: 4 * SMALL_BODY, ..ServerLimits::default() };
    let server = serving(limits, None).await;
    let mut slow = Vec::new();
    for _ in 0..16 {
        let mut stream = server.connect().await;
        let head = format!("Host: a\r\nContent-Length: {}", 4 * SMALL_BODY);
        send(&mut stream, &format!("POST /slow HTTP/1.1\r\n{head}\r\n\r\nx")).await;
        slow.push(stream);
    }
    let mut large = server.connect().await;
    send(&mut large, &last_call("/large", &"y".repeat(4 * SMALL_BODY))).await;
    assert!(rest(large).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn half_a_request_does_not_delay_the_end() {
    let limits = ServerLimits { body_time: Duration::from_secs(1), ..ServerLimits::default() };
    let server = serving(limits, None).await;
    let mut half = server.connect().await;
    send(&mut half, "POST /half HTTP/1.1\r\nHost: a\r\n").await;
    let mut unfinished = server.connect().await;
    send(&mut unfinished, "POST /half HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx").await;
    let mut pending = server.connect().await;
    send(&mut pending, &call("/never", "x")).await;
    server.echo.received.notified().await;
    server.end.cancel();
    assert_eq!(rest(half).await, "");
    let answer = rest(unfinished).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
    server.echo.now.notify_one();
    assert!(rest(pending).await.ends_with("/never  x"));
    timeout(PATIENCE, server.task)
        .await
        .expect("the server stops in time")
        .expect("the server does not panic");
}

#[tokio::test]
async fn an_unauthorized_client_is_rejected_before_the_body_is_read() {
    let server = serving(ServerLimits::default(), None).await;
    let mut stream = server.connect().await;
    let head = "Host: a\r\nAuthorization: Bearer stranger\r\nContent-Length: 9000000";
    send(&mut stream, &format!("POST /a HTTP/1.1\r\n{head}\r\n\r\n")).await;
    let answer = rest(stream).await;
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.ends_with("who are you?\n"), "{answer}");
}

#[tokio::test]
async fn idle_connections_are_closed_first_and_a_pending_request_is_answered() {
    let limits = ServerLimits { connections: 2, of_one_address: 2, ..ServerLimits::default() };
    let server = serving(limits, None).await;
    let mut pending = server.connect().await;
    send(&mut pending, &last_call("/never", "")).await;
    server.echo.received.notified().await;
    let idle = server.connect().await;
    for _ in 0..5 {
        let mut another = server.connect().await;
        send(&mut another, &last_call("/quick", "")).await;
        assert!(rest(another).await.ends_with("/quick  "));
    }
    assert_eq!(rest(idle).await, "");
    server.echo.now.notify_one();
    assert!(rest(pending).await.ends_with("/never  "));
}

#[tokio::test]
async fn calls_under_way_are_finished_at_shutdown_and_idle_connections_are_not_waited_for() {
    let server = serving(ServerLimits::default(), None).await;
    let idle = server.connect().await;
    let mut pending = server.connect().await;
    send(&mut pending, &call("/never", "x")).await;
    server.echo.received.notified().await;
    server.end.cancel();
    assert_eq!(rest(idle).await, "");
    server.echo.now.notify_one();
    assert!(rest(pending).await.ends_with("/never  x"));
    timeout(PATIENCE, server.task)
        .await
        .expect("the server stops in time")
        .expect("the server does not panic");
}

#[tokio::test]
async fn a_call_is_passed_on_with_its_token_and_the_answer_comes_back() {
    let server = serving(ServerLimits::default(), None).await;
    let forwarder = Forwarder::new(None, MAX_RESPONSE_BYTES).expect("a forwarder without TLS");
    let token = Some("secret".to_owned());
    let call = ServerRequest { path: "/filter".to_owned(), body: "x".into(), token };
    let passed_on = forwarder.forward(&server.address.to_string(), call, PATIENCE).await;
    assert_eq!(passed_on.expect("a forwarded response"), ServerResponse::json("/filter secret x"));
}

#[tokio::test]
async fn a_failed_forward_reports_its_reason() {
    let server = serving(ServerLimits::default(), None).await;
    let forwarder = Forwarder::new(None, MAX_RESPONSE_BYTES).expect("a forwarder without TLS");
    let call =
        |path: &str| ServerRequest { path: path.to_owned(), body: Bytes::new(), token: None };
    let address = server.address.to_string();
    let late = forwarder.forward(&address, call("/never"), Duration::ZERO).await;
    let late = late.expect_err("no response").to_string();
    assert_eq!(late, format!("failed to forward the request to {address}: no response within 0 s"));
    let short = Forwarder::new(None, 3).expect("a forwarder without TLS");
    let long = short.forward(&address, call("/filter"), PATIENCE).await;
    let long = long.expect_err("the response is too long").to_string();
    assert!(long.ends_with("length limit exceeded"), "{long}");
    server.end.cancel();
    server.task.await.expect("the server does not panic");
    let gone = forwarder.forward(&address, call("/filter"), PATIENCE).await;
    let gone = gone.expect_err("no server listens").to_string();
    assert!(gone.contains("refused") || gone.contains("connect"), "{gone}");
}

/// A CA, and the certificates that it has signed, in files.
struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Authority {
        let folder = tempfile::tempdir().expect("create a temporary directory");
        let key = KeyPair::generate().expect("a key");
        let mut parameters = CertificateParams::new(vec![]).expect("parameters");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let own = parameters.self_signed(&key).expect("a self-signed certificate");
        std::fs::write(folder.path().join("ca.pem"), own.pem()).expect("write a file");
        Authority { folder, issuer: Issuer::new(parameters, key) }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn sign(&self, name: &str) {
        let key = KeyPair::generate().expect("a key");
        let parameters =
            CertificateParams::new(vec!["extender.example".to_owned()]).expect("parameters");
        let signed = parameters.signed_by(&key, &self.issuer).expect("a signed certificate");
        let write = |kind: &str, text: String| {
            std::fs::write(self.file(&format!("{name}.{kind}")), text).expect("write a file");
        };
        write("pem", signed.pem());
        write("key", key.serialize_pem());
    }

    fn own_files(&self, authorities: &Path, name: &str) -> ClientTlsFiles {
        ClientTlsFiles {
            authorities: authorities.to_owned(),
            certificate: self.file(&format!("{name}.pem")),
            key: self.file(&format!("{name}.key")),
            name: "extender.example".to_owned(),
        }
    }
}

#[tokio::test]
async fn with_tls_only_clients_with_a_certificate_of_a_trusted_ca_are_served() {
    let (ours, foreign) = (Authority::new(), Authority::new());
    ours.sign("server");
    ours.sign("caller");
    foreign.sign("caller");
    let files = TlsFiles {
        certificate: ours.file("server.pem"),
        key: ours.file("server.key"),
        client_authorities: Some(ours.file("ca.pem")),
    };
    let tls = Tls::read(&files).expect("matching files");
    let server = serving(ServerLimits::default(), Some(tls)).await;
    let address = server.address.to_string();
    let call = || ServerRequest { path: "/filter".to_owned(), body: "x".into(), token: None };
    let known =
        Forwarder::new(Some(&ours.own_files(&ours.file("ca.pem"), "caller")), MAX_RESPONSE_BYTES);
    let known = known.expect("matching files");
    let answer = known.forward(&address, call(), PATIENCE).await.expect("a forwarded response");
    assert_eq!(answer, ServerResponse::json("/filter  x"));
    let foreign_client = foreign.own_files(&ours.file("ca.pem"), "caller");
    let foreign_client =
        Forwarder::new(Some(&foreign_client), MAX_RESPONSE_BYTES).expect("matching files");
    foreign_client.forward(&address, call(), PATIENCE).await.expect_err("no authority signed it");
    let mistaken = ours.own_files(&foreign.file("ca.pem"), "caller");
    let mistaken = Forwarder::new(Some(&mistaken), MAX_RESPONSE_BYTES).expect("matching files");
    mistaken.forward(&address, call(), PATIENCE).await.expect_err("the server is not trusted");
    let plain = Forwarder::new(None, MAX_RESPONSE_BYTES).expect("a forwarder without TLS");
    plain.forward(&address, call(), PATIENCE).await.expect_err("the server requires TLS");
}

#[test]
fn unusable_files_are_named_with_their_problem() {
    let authority = Authority::new();
    authority.sign("one");
    authority.sign("other");
    let file = |name: &str| authority.file(name);
    std::fs::write(file("empty"), "").expect("write a file");
    let read = |certificate: &str, key: &str| {
        let (certificate, key) = (file(certificate), file(key));
        let files = TlsFiles { certificate, key, client_authorities: None };
        Tls::read(&files).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(read("one.pem", "one.key"), Ok(()));
    for (certificate, key, named, what) in [
        ("gone", "one.key", "gone", "failed to read a certificate from "),
        ("empty", "one.key", "empty", "failed to read a certificate from "),
        ("one.pem", "empty", "empty", "failed to read a private key from "),
        ("one.pem", "other.key", "other.key", "failed to use the certificate in "),
    ] {
        let why = read(certificate, key).expect_err("the files are unusable");
        assert!(why.starts_with(what) && why.contains(named), "{why}");
    }
}
