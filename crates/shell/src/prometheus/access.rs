//! Authentication and TLS: the token and the CA certificates, which are read again when their files are replaced.
//!
//! Both come from volumes that the kubelet replaces while the process runs. The client of kube also reads both again,
//! but only once a minute, and keeps connections with the previous contents. So a new client, which opens a
//! new connection, is created as soon as one of the files has changed.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use http::header::{AUTHORIZATION, USER_AGENT};
use kube::{Client, Config};
use tokio::time::Instant;

use super::{PrometheusAddress, PrometheusOptions};
use crate::client::USER_AGENT_VALUE;
use crate::writer::summarize;

/// The interval of the checks. A token is replaced minutes before it expires, a CA days before.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The timeout of a connection: a retry is more useful than a longer wait.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);

/// The reason that a Prometheus cannot be queried at all.
#[derive(Debug, thiserror::Error)]
pub enum PrometheusError {
    /// A file cannot be read.
    #[error("failed to read the {what} {file}")]
    Unreadable {
        /// The kind of file.
        what: &'static str,
        /// The file.
        file: String,
        /// The cause.
        #[source]
        cause: std::io::Error,
    },
    /// The token file contains no token.
    #[error(
        "failed to use the token in {file}: the token must be one line of printable characters"
    )]
    Token {
        /// The file.
        file: String,
    },
    /// A CA has no effect if the connection is not encrypted.
    #[error("failed to use a CA with {address}, which is not encrypted: write https://")]
    NotEncrypted {
        /// The address.
        address: String,
    },
    /// No client can be built from the configuration.
    #[error("failed to create a client for {address}: {cause}")]
    Unusable {
        /// The address.
        address: String,
        /// The cause.
        cause: String,
    },
}

/// A client that is recreated when a file is replaced.
pub(super) struct Access {
    options: PrometheusOptions,
    opened: Mutex<ClientState>,
}

struct ClientState {
    client: Client,
    files: Files,
    looked_at: Instant,
    /// The problem with the files at the last check, which is logged once.
    complaint: Option<String>,
}

/// The contents of the files. Some are secret, so this type cannot be printed.
#[derive(PartialEq, Eq)]
struct Files {
    token: Option<HeaderValue>,
    ca: Option<Vec<u8>>,
}

impl Access {
    pub(super) fn open(options: PrometheusOptions) -> Result<Self, PrometheusError> {
        let PrometheusOptions { address, token_file, ca_file } = &options;
        if ca_file.is_some() && !address.is_encrypted() {
            return Err(PrometheusError::NotEncrypted { address: address.to_string() });
        }
        if token_file.is_some() && !address.is_encrypted() {
            tracing::warn!(%address, "the token for Prometheus is sent over a connection without TLS");
        }
        let files = Files::read(&options)?;
        let client = client(&options, &files)?;
        let opened = ClientState { client, files, looked_at: Instant::now(), complaint: None };
        Ok(Self { options, opened: Mutex::new(opened) })
    }

    /// Whether a token is sent.
    pub(super) fn has_token(&self) -> bool {
        self.options.token_file.is_some()
    }

    /// The client, with the current contents of the files. While a file cannot be used, as when it is just
    /// being written, the previous content applies.
    pub(super) fn client(&self) -> Client {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.looked_at.elapsed() >= CHECK_INTERVAL {
            opened.looked_at = Instant::now();
            let complaint = opened.look_again(&self.options).err().map(|error| with_cause(&error));
            if let Some(complaint) = complaint.as_ref().filter(|_| opened.complaint != complaint) {
                tracing::warn!("{complaint}; using the previous contents");
            }
            opened.complaint = complaint;
        }
        opened.client.clone()
    }
}

impl ClientState {
    fn look_again(&mut self, options: &PrometheusOptions) -> Result<(), PrometheusError> {
        let files = Files::read(options)?;
        if files != self.files {
            self.client = client(options, &files)?;
            self.files = files;
            tracing::info!(address = %options.address, "read the replaced token or CA for Prometheus");
        }
        Ok(())
    }
}

impl Files {
    fn read(options: &PrometheusOptions) -> Result<Self, PrometheusError> {
        let token = options.token_file.as_deref().map(token).transpose()?;
        let ca = options.ca_file.as_deref().map(|file| read("CA", file));
        Ok(Self { token, ca: ca.transpose()? })
    }
}

fn read(what: &'static str, file: &Path) -> Result<Vec<u8>, PrometheusError> {
    std::fs::read(file).map_err(|cause| {
        let file = file.display().to_string();
        PrometheusError::Unreadable { what, file, cause }
    })
}

fn token(file: &Path) -> Result<HeaderValue, PrometheusError> {
    let content = read("token", file)?;
    let content = content.trim_ascii();
    let header = HeaderValue::from_bytes(&[b"Bearer ", content].concat());
    let header = header.ok().filter(|_| !content.is_empty());
    let mut header =
        header.ok_or_else(|| PrometheusError::Token { file: file.display().to_string() })?;
    header.set_sensitive(true);
    Ok(header)
}

fn client(options: &PrometheusOptions, files: &Files) -> Result<Client, PrometheusError> {
    let address: &PrometheusAddress = &options.address;
    let mut config = Config::new(address.uri().clone());
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.default_retry = false;
    config.headers.push((USER_AGENT, HeaderValue::from_static(USER_AGENT_VALUE)));
    let token = files.token.iter().cloned().map(|token| (AUTHORIZATION, token));
    config.headers.extend(token);
    let uses_system_cas = address.is_encrypted() && options.ca_file.is_none();
    if !uses_system_cas {
        // The CAs of the machine would be read even if they are not needed, and might be absent.
        config.root_cert = Some(Vec::new());
    }
    config.root_cert_file.clone_from(&options.ca_file);
    Client::try_from(config).map_err(|error| {
        let (address, cause) = (address.to_string(), summarize(&error));
        PrometheusError::Unusable { address, cause }
    })
}

fn with_cause(error: &PrometheusError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}
