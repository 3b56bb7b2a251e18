//! Tokens and CA certificates in files that are replaced.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::server::{AfterResponse, Server, vector};
use super::*;
use crate::prometheus::access::CHECK_INTERVAL;

/// A CA that signs certificates for this machine.
struct Ca {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Ca {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// A server that responds with one sample, and with a certificate from this CA.
    async fn serving(&self) -> Server {
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("a name");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(vec![certificate.der().clone()], key);
        let tls = TlsAcceptor::from(Arc::new(config.expect("a certificate with its key")));
        Server::start_with(vector(&["1"]), AfterResponse::Close, Some(tls)).await
    }
}

fn encrypted(server: &Server) -> String {
    format!("https://{}", server.address())
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("create a temporary directory")
}

fn write(file: &Path, content: &str) {
    fs::write(file, content).expect("write a file");
}

/// Waits until the files are checked again.
async fn a_while() {
    tokio::time::sleep(CHECK_INTERVAL).await;
}

#[tokio::test(start_paused = true)]
async fn a_rotated_token_is_used_and_an_unreadable_one_is_ignored() {
    let (folder, server) = (folder(), Server::start(vector(&["1"]), AfterResponse::Close).await);
    let file = folder.path().join("token");
    write(&file, "first\n");
    let options = PrometheusOptions { token_file: Some(file.clone()), ..options(&server.url()) };
    let prometheus = Prometheus::new(options, QueryMetrics::default()).expect("a Prometheus");
    let mut sent = Vec::new();
    for content in [None, Some("second"), Some(""), Some("a\nb"), Some("third")] {
        if let Some(content) = content {
            write(&file, content);
            a_while().await;
        }
        assert_eq!(send_query(&prometheus, "shop", "tide").await, Ok(1.0));
        let request = server.requests().pop().expect("a request arrived");
        let token = request.lines().find_map(|line| line.strip_prefix("authorization: Bearer "));
        sent.push(token.expect("a sent token").to_owned());
    }
    fs::remove_file(&file).expect("remove the file");
    a_while().await;
    assert_eq!(send_query(&prometheus, "shop", "tide").await, Ok(1.0));
    assert_eq!(sent, ["first", "second", "second", "second", "third"]);
}

#[tokio::test(start_paused = true)]
async fn a_rotated_ca_is_trusted_and_the_old_one_is_not() {
    let (folder, old, new) = (folder(), Ca::new(), Ca::new());
    let file = folder.path().join("ca.crt");
    write(&file, &old.pem);
    let server = old.serving().await;
    let url = encrypted(&server);
    let options = PrometheusOptions { ca_file: Some(file.clone()), ..options(&url) };
    let prometheus = Prometheus::new(options, QueryMetrics::default()).expect("a Prometheus");
    assert_eq!(send_query(&prometheus, "shop", "tide").await, Ok(1.0));
    // While the file is being written.
    for unfinished in ["", "-----BEGIN CERTIFICATE-----\nMIIB"] {
        write(&file, unfinished);
        a_while().await;
        assert_eq!(send_query(&prometheus, "shop", "tide").await, Ok(1.0));
    }
    write(&file, &new.pem);
    a_while().await;
    let problem =
        send_query(&prometheus, "shop", "tide").await.expect_err("the CA is no longer trusted");
    assert!(problem.to_string().contains("certificate"), "{problem}");
    write(&file, &format!("{}{}", new.pem, old.pem));
    a_while().await;
    assert_eq!(send_query(&prometheus, "shop", "tide").await, Ok(1.0));
}

#[tokio::test]
async fn only_a_certificate_from_the_configured_ca_is_trusted() {
    let (folder, ca, stranger) = (folder(), Ca::new(), Ca::new());
    let file = folder.path().join("ca.crt");
    write(&file, &ca.pem);
    let server = stranger.serving().await;
    let url = encrypted(&server);
    let options = PrometheusOptions { ca_file: Some(file), ..options(&url) };
    let prometheus = Prometheus::new(options, QueryMetrics::default()).expect("a Prometheus");
    let problem = send_query(&prometheus, "shop", "tide").await.expect_err("the CA is not trusted");
    assert_eq!(problem.reason(), "unreachable");
    assert!(problem.to_string().contains("certificate"), "{problem}");
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn unusable_files_are_rejected_at_startup_without_printing_the_token() {
    let folder = folder();
    let [token, ca, missing] = ["token", "ca", "missing"].map(|name| folder.path().join(name));
    write(&token, "s3cret\u{7f}\ns3cret");
    write(&ca, "no certificate");
    let plain = options("http://127.0.0.1:1");
    let encrypted = options("https://127.0.0.1:1");
    let cases = [
        (PrometheusOptions { token_file: Some(token), ..plain.clone() }, "one line"),
        (
            PrometheusOptions { token_file: Some(missing.clone()), ..plain.clone() },
            "read the token",
        ),
        (PrometheusOptions { ca_file: Some(missing), ..encrypted.clone() }, "read the CA"),
        (PrometheusOptions { ca_file: Some(ca.clone()), ..encrypted }, "create a client"),
        (PrometheusOptions { ca_file: Some(ca), ..plain }, "write https://"),
    ];
    for (options, words) in cases {
        let error = Prometheus::new(options, QueryMetrics::default()).err().expect(words);
        let error = error.to_string();
        assert!(error.contains(words) && !error.contains("s3cret"), "{error}");
    }
}
