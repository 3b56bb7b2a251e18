//! TLS for requests: the serving certificate, and the allowed clients.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;

/// The files of the certificates, as PEM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// The serving certificate, with the intermediate certificates.
    pub certificate: PathBuf,
    /// The key of the serving certificate.
    pub key: PathBuf,
    /// The CAs of the allowed clients; `None` if every client is allowed.
    pub client_authorities: Option<PathBuf>,
}

/// The reason that TLS cannot use these files.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be used.
    #[error("failed to read {what} from {}: {why}", file.display())]
    File {
        /// The expected content of the file.
        what: &'static str,
        /// The file.
        file: PathBuf,
        /// The cause.
        why: String,
    },
    /// No certificate can have this name.
    #[error(
        "failed to use {name:?} as the name of a certificate: it is neither a DNS name nor an IP address"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The key does not belong to the certificate.
    #[error("failed to use the certificate in {} with the key in {}: {why}", certificate.display(), key.display())]
    Unusable {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of its key.
        key: PathBuf,
        /// The cause.
        why: String,
    },
}

/// Accepts TLS connections of clients.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Tls")
    }
}

impl Tls {
    /// Reads the current certificates in these files.
    pub fn read(files: &TlsFiles) -> Result<Tls, TlsError> {
        let own = certificates("a certificate", &files.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&files.key);
        let key = key.map_err(|error| unreadable("a private key", &files.key, &error))?;
        let builder = ServerConfig::builder();
        let builder = match &files.client_authorities {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let what = "a certificate of an authority";
                let roots = Arc::new(authorities(what, file)?);
                let verifier = WebPkiClientVerifier::builder(roots).build();
                builder.with_client_cert_verifier(
                    verifier.map_err(|error| unreadable(what, file, &error))?,
                )
            }
        };
        let settings = builder.with_single_cert(own, key).map_err(|error| TlsError::Unusable {
            certificate: files.certificate.clone(),
            key: files.key.clone(),
            why: error.to_string(),
        })?;
        Ok(Tls { acceptor: Arc::new(settings).into() })
    }

    /// Uses the current serving certificate; without a certificate, every handshake fails.
    #[must_use]
    pub fn serving(certificate: &ServingCertificate) -> Tls {
        let builder = ServerConfig::builder().with_no_client_auth();
        let settings = builder.with_cert_resolver(Arc::new(certificate.clone()));
        Tls { acceptor: Arc::new(settings).into() }
    }

    pub(super) async fn accept(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        self.acceptor.accept(stream).await
    }
}

/// The serving certificate for new connections. Copies share the certificate.
#[derive(Clone, Default)]
pub struct ServingCertificate {
    current: Arc<RwLock<Option<Arc<CertifiedKey>>>>,
}

impl ServingCertificate {
    /// Replaces the serving certificate and its key, both as PEM.
    pub fn show(&self, certificate: &str, key: &str) -> Result<(), String> {
        let chain = CertificateDer::pem_slice_iter(certificate.as_bytes());
        let chain = chain.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        let key =
            PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| error.to_string())?;
        let certified = CertifiedKey::from_der(chain, key, &ring::default_provider());
        let certified = Arc::new(certified.map_err(|error| error.to_string())?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(certified);
        Ok(())
    }
}

impl std::fmt::Debug for ServingCertificate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ServingCertificate")
    }
}

impl ResolvesServerCert for ServingCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The CAs in a file.
pub(super) fn authorities(what: &'static str, file: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(what, file)? {
        roots.add(certificate).map_err(|error| unreadable(what, file, &error))?;
    }
    Ok(roots)
}

/// The certificates in a file, which must contain at least one.
pub(super) fn certificates(
    what: &'static str,
    file: &Path,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unreadable(what, file, &error))?;
    if found.is_empty() {
        return Err(unreadable(what, file, &"the file has no certificate"));
    }
    Ok(found)
}

pub(super) fn unreadable(
    what: &'static str,
    file: &Path,
    why: &impl std::fmt::Display,
) -> TlsError {
    TlsError::File { what, file: file.to_owned(), why: why.to_string() }
}
