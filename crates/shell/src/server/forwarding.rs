//! Forwards a request to another process, and returns its response.

use std::path::PathBuf;
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::time::timeout;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, ServerName};

use super::tls::{authorities, certificates, unreadable};
use super::{ServerRequest, ServerResponse, TlsError};

/// The reason that a request could not be forwarded.
#[derive(Debug, thiserror::Error)]
#[error("failed to forward the request to {address}: {why}")]
pub struct ForwardError {
    /// The address of the other process.
    pub address: String,
    /// The problem.
    pub why: String,
}

/// The certificates with which requests are forwarded over TLS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientTlsFiles {
    /// The CAs of the other processes.
    pub authorities: PathBuf,
    /// The client certificate of this process.
    pub certificate: PathBuf,
    /// The key of the client certificate.
    pub key: PathBuf,
    /// The name in the certificates of the other processes, for every address.
    pub name: String,
}

/// Forwards requests, and keeps the connections.
#[derive(Clone, Debug)]
pub struct Forwarder {
    client: Client<hyper_rustls::HttpsConnector<HttpConnector>, Full<Bytes>>,
    scheme: &'static str,
    max_response_bytes: usize,
}

/// The timeout of connecting.
const CONNECT_TIME: Duration = Duration::from_secs(2);

impl Forwarder {
    /// Forwards without TLS, or with TLS by these certificates. Rejects longer responses.
    pub fn new(
        tls: Option<&ClientTlsFiles>,
        max_response_bytes: usize,
    ) -> Result<Forwarder, TlsError> {
        let settings = match tls {
            None => ClientConfig::builder()
                .with_root_certificates(tokio_rustls::rustls::RootCertStore::empty())
                .with_no_client_auth(),
            Some(files) => {
                let roots = authorities("a certificate of an authority", &files.authorities)?;
                let own = certificates("a certificate", &files.certificate)?;
                let key = PrivateKeyDer::from_pem_file(&files.key)
                    .map_err(|error| unreadable("a private key", &files.key, &error))?;
                let settings = ClientConfig::builder().with_root_certificates(roots);
                settings.with_client_auth_cert(own, key).map_err(|error| TlsError::Unusable {
                    certificate: files.certificate.clone(),
                    key: files.key.clone(),
                    why: error.to_string(),
                })?
            }
        };
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIME));
        let builder = HttpsConnectorBuilder::new().with_tls_config(settings);
        let (scheme, builder) = match tls {
            None => ("http", builder.https_or_http()),
            Some(files) => {
                let name = ServerName::try_from(files.name.clone())
                    .map_err(|_| TlsError::Name { name: files.name.clone() })?;
                let resolver = FixedServerNameResolver::new(name);
                ("https", builder.https_only().with_server_name_resolver(resolver))
            }
        };
        let connector = builder.enable_http1().wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Forwarder { client, scheme, max_response_bytes })
    }

    /// The response of the process at this address (`host:port`) to a request, if it arrives in time.
    pub async fn forward(
        &self,
        address: &str,
        request: ServerRequest,
        time: Duration,
    ) -> Result<ServerResponse, ForwardError> {
        let failed = |why: String| ForwardError { address: address.to_owned(), why };
        let ServerRequest { path, body, token } = request;
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}://{address}{path}", self.scheme))
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|error| failed(error.to_string()))?;
        if let Some(token) = token {
            let value = HeaderValue::try_from(format!("Bearer {token}"));
            let mut value =
                value.map_err(|_| failed("the token is not a valid header value".to_owned()))?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        let response = async {
            let response = self.client.request(request).await.map_err(|error| {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                failed(cause.unwrap_or_else(|| error.to_string()))
            })?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, self.max_response_bytes).collect().await;
            let body = body.map_err(|error| failed(error.to_string()))?.to_bytes();
            Ok(ServerResponse { status: head.status, body })
        };
        let in_time = timeout(time, response).await;
        in_time.unwrap_or_else(|_| Err(failed(format!("no response within {} s", time.as_secs()))))
    }
}
