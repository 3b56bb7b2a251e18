//! The version of the API server, which some checks of policies depend on.
//!
//! A term reads it before it lists policies, and then regularly, so that an upgrade is detected. The followers of policies
//! compare it with the version that each policy was checked for.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use almanac_api::kubernetes::KubernetesMinor;
use almanac_shell::backoff::Backoff;
use almanac_shell::writer::summarize;
use kube::Client;
use tokio::time::timeout;

use crate::list_progress::ListReport;

/// An upgraded API server is detected within this time.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// The first pause while no read has succeeded yet.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// The time limit of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The last known version. Clones share it.
#[derive(Clone, Default, Debug)]
pub(crate) struct ServerVersion {
    known: Arc<Mutex<Option<KubernetesMinor>>>,
}

impl ServerVersion {
    /// The last known version; `None` before the first successful read.
    pub(crate) fn get(&self) -> Option<KubernetesMinor> {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads it periodically, and reports when the first attempt has ended.
    pub(crate) async fn watch(self, client: Client, first: ListReport) {
        let mut retries = Backoff::new(FIRST_RETRY, CHECK_INTERVAL, 0);
        loop {
            self.read(&client).await;
            first.complete();
            let is_known = self.get().is_some();
            let pause = if is_known { CHECK_INTERVAL } else { retries.next_pause() };
            tokio::time::sleep(pause).await;
        }
    }

    /// Reads it once. After a failure, the last known version still counts.
    async fn read(&self, client: &Client) {
        let error = match timeout(REQUEST_TIMEOUT, client.apiserver_version()).await {
            Ok(Ok(info)) => match KubernetesMinor::of_server(&info.major, &info.minor) {
                Some(version) => return self.note(version),
                None => format!("{}.{} is not a known version", info.major, info.minor),
            },
            Ok(Err(error)) => summarize(&error),
            Err(_) => "no response in time".to_owned(),
        };
        tracing::debug!(error, "failed to read the version of the API server");
    }

    /// Records the version.
    pub(crate) fn note(&self, version: KubernetesMinor) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.replace(version) != Some(version) {
            tracing::info!(%version, "read the version of the API server");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response, StatusCode};
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;

    /// A client of an API server that returns this for every request.
    fn client(status: StatusCode, document: &Value) -> Client {
        let text = document.to_string();
        let service = tower::service_fn(move |_: Request<Body>| {
            let body = Body::from(text.clone().into_bytes());
            let response = Response::builder().status(status).body(body).unwrap();
            async move { Ok::<_, Infallible>(response) }
        });
        Client::new(service, "default")
    }

    fn info(minor: &str) -> Value {
        json!({
            "major": "1", "minor": minor, "gitVersion": "", "gitCommit": "", "gitTreeState": "",
            "buildDate": "", "goVersion": "", "compiler": "", "platform": "",
        })
    }

    #[tokio::test]
    async fn the_last_known_version_counts_until_another_one_is_read() {
        let version = ServerVersion::default();
        let absent = client(StatusCode::NOT_FOUND, &json!({}));
        version.read(&absent).await;
        assert_eq!(version.get(), None);
        version.read(&client(StatusCode::OK, &info("36+"))).await;
        assert_eq!(version.get(), "1.36".parse().ok());
        version.read(&absent).await;
        version.read(&client(StatusCode::OK, &info("unknown"))).await;
        assert_eq!(version.get(), "1.36".parse().ok());
        version.read(&client(StatusCode::OK, &info("37"))).await;
        assert_eq!(version.get(), "1.37".parse().ok());
    }
}
