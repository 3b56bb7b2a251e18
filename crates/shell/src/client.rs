//! The client: its cluster, its credentials, and the timeouts of its requests.
//!
//! The client does not retry by itself: writers must check the Lease before another attempt, and watchers have a
//! backoff of their own.

mod kubeconfig;
mod proxy;
mod read_once;

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::Client;
use kube::config::{Config, Kubeconfig, KubeconfigError};

pub use kubeconfig::{UnusableKubeconfig, configuration_of};
pub use proxy::ProxyError;
pub use read_once::ReadOnce;

/// The options that select a cluster. By default, `KUBECONFIG` or `~/.kube/config` selects it; without them, the
/// client uses the cluster that the process runs in.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// A kubeconfig file to use instead of the usual ones.
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use instead of its current one.
    pub context: Option<String>,
}

/// The reason that no client can be created. Causes are included as far as users need them: the causes of the
/// library repeat themselves at every level, and do not name their file.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The kubeconfig cannot be used.
    #[error("failed to use the kubeconfig {files}: {cause}")]
    Kubeconfig {
        /// The path of the kubeconfig; several paths if several files are merged.
        files: String,
        /// The cause of the failure.
        cause: String,
    },
    /// Neither a kubeconfig nor an in-cluster configuration exists.
    #[error("failed to find a cluster: no kubeconfig at {files}, and not running in a pod")]
    Nowhere {
        /// The paths that were searched.
        files: String,
    },
    /// No client can be built from the configuration.
    #[error("failed to create a client for {server}: {cause}")]
    Unusable {
        /// The address of the API server.
        server: String,
        /// The cause of the failure.
        cause: String,
    },
}

/// A client with its configuration.
#[derive(Clone)]
pub struct Connection {
    /// The client of the API server.
    pub client: Client,
    /// The default namespace.
    pub namespace: String,
    /// The address of the API server, for messages.
    pub server: String,
    /// The files that the client read once, at its creation.
    pub read_once: ReadOnce,
}

/// The timeout of a connection: a retry or another address is more useful than a longer wait.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The timeout of a silent connection. [`crate::following`] checks a silent watch sooner.
const READ_TIMEOUT: Duration = Duration::from_secs(150);

/// The name of our requests in an audit log.
pub(crate) const USER_AGENT_VALUE: &str = concat!("almanac/", env!("CARGO_PKG_VERSION"));

/// Creates a client without sending a request.
pub fn connect(options: &ClientOptions) -> Result<Connection, ClientError> {
    let (mut config, read_once) = configuration(options)?;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    // A connection that is silent for this long is dead.
    config.read_timeout = Some(READ_TIMEOUT);
    config.reset_reader_on_write = true;
    config.default_retry = false;
    config.headers.push((USER_AGENT, HeaderValue::from_static(USER_AGENT_VALUE)));
    let server = config.cluster_url.to_string();
    let namespace = config.default_namespace.clone();
    let client = Client::try_from(config).map_err(|error| {
        let cause = match error {
            kube::Error::Auth(error) => error.to_string(),
            other => other.to_string(),
        };
        ClientError::Unusable { server: server.clone(), cause }
    })?;
    Ok(Connection { client, namespace, server, read_once })
}

fn configuration(options: &ClientOptions) -> Result<(Config, ReadOnce), ClientError> {
    let files = match &options.kubeconfig {
        Some(file) => vec![file.clone()],
        None => usual_files(),
    };
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let files = names.join(" and ");
    let read = match &options.kubeconfig {
        Some(file) => Kubeconfig::read_from(file),
        None => Kubeconfig::read(),
    };
    let contexts: Vec<String> =
        read.iter().flat_map(|read| &read.contexts).map(|context| context.name.clone()).collect();
    // Read before the client reads them, so that a replacement in between is detected.
    let context = options.context.as_deref();
    let read_once = |read| ReadOnce::read(read_once::files_of(read, context));
    let read_once = read.as_ref().map(read_once).unwrap_or_default();
    let made = read.map_err(UnusableKubeconfig::from);
    let made = made.and_then(|read| configuration_of(&read, context));
    let error = match made {
        Ok(config) => return Ok((config, read_once)),
        Err(error) => error,
    };
    if options.kubeconfig.is_none() && options.context.is_none() {
        let read_once = ReadOnce::read([read_once::POD_CA_FILE.into()]);
        if let Ok(config) = Config::incluster() {
            return Ok((config, read_once));
        }
        if is_missing(&error) {
            return Err(ClientError::Nowhere { files });
        }
    }
    Err(ClientError::Kubeconfig { files, cause: cause_of(&error, &contexts) })
}

/// The files that kubectl reads.
fn usual_files() -> Vec<PathBuf> {
    let named = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let named: Vec<PathBuf> =
        std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()).collect();
    if !named.is_empty() {
        return named;
    }
    let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("~"));
    vec![home.join(".kube/config")]
}

fn is_missing(error: &UnusableKubeconfig) -> bool {
    match error {
        UnusableKubeconfig::Kubeconfig(KubeconfigError::ReadConfig(error, _)) => {
            error.kind() == ErrorKind::NotFound
        }
        UnusableKubeconfig::Kubeconfig(KubeconfigError::FindPath) => true,
        _ => false,
    }
}

fn cause_of(error: &UnusableKubeconfig, contexts: &[String]) -> String {
    let UnusableKubeconfig::Kubeconfig(error) = error else { return error.to_string() };
    match error {
        KubeconfigError::ReadConfig(error, _) => error.to_string(),
        KubeconfigError::Parse(error) => {
            // The following lines quote a part of the file, which may contain a secret.
            let error = error.to_string();
            let first = error.lines().next().unwrap_or_default();
            format!("not a valid kubeconfig: {}", first.trim_start_matches("error: "))
        }
        KubeconfigError::LoadContext(name) if contexts.is_empty() => {
            format!("there is no context {name:?} in it, and no other")
        }
        KubeconfigError::LoadContext(name) => {
            format!("there is no context {name:?} in it; there are {}", contexts.join(", "))
        }
        KubeconfigError::LoadClusterOfContext(name) => {
            format!("the context names the cluster {name:?}, but the file has no such cluster")
        }
        KubeconfigError::CurrentContextNotSet => {
            "the file has no current context, and none was requested".to_owned()
        }
        other => other.to_string(),
    }
}
