//! The version of the API server, which some checks of policies depend on.
//!
//! A term reads the version before it lists policies, and then regularly, so that an upgrade is detected. The followers
//! of policies compare it with the version that each policy was checked for.
//!
//! A rejected rule loses its firings, so the checks reject only what is certain. While the version is unknown, and once
//! any replica of the API server was new enough, the API server decides.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use almanac_api::kubernetes::KubernetesMinor;
use almanac_shell::backoff::Backoff;
use almanac_shell::writer::summarize;
use k8s_openapi::apimachinery::pkg::version::Info;
use kube::Client;
use tokio::time::timeout;

use crate::list_progress::ListReport;

/// An upgraded API server is detected within this time.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// The first delay while no read has succeeded yet.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// The time limit of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The newest version that was read. Clones share the version.
#[derive(Clone, Default, Debug)]
pub(crate) struct ServerVersion {
    newest: Arc<Mutex<Option<KubernetesMinor>>>,
}

impl ServerVersion {
    /// The version to check policies for. Versions between which no check differs are the same here, so that policies
    /// are checked again only when that matters.
    pub(crate) fn for_checks(&self) -> Option<KubernetesMinor> {
        let scales_to_zero = |newest: KubernetesMinor| newest >= KubernetesMinor::SCALES_TO_ZERO;
        self.newest().is_none_or(scales_to_zero).then_some(KubernetesMinor::SCALES_TO_ZERO)
    }

    fn newest(&self) -> Option<KubernetesMinor> {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the version periodically, and reports when the first attempt has ended.
    pub(crate) async fn watch(self, client: Client, first: ListReport) {
        let mut retries = Backoff::new(FIRST_RETRY, CHECK_INTERVAL, 0);
        loop {
            self.read(&client).await;
            first.complete();
            let is_known = self.newest().is_some();
            let delay = if is_known { CHECK_INTERVAL } else { retries.next_pause() };
            tokio::time::sleep(delay).await;
        }
    }

    /// Reads the version once. A failure changes nothing.
    async fn read(&self, client: &Client) {
        let error = match timeout(REQUEST_TIMEOUT, client.apiserver_version()).await {
            Ok(Ok(info)) => match version_in(&info) {
                Some(version) => return self.note(version),
                None => format!("{}.{} is not a known version", info.major, info.minor),
            },
            Ok(Err(error)) => summarize(&error),
            Err(_) => "no response in time".to_owned(),
        };
        tracing::debug!(error, "failed to read the version of the API server");
    }

    /// Records a version that was read. During an upgrade, replicas of the API server have different versions.
    pub(crate) fn note(&self, version: KubernetesMinor) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.is_none_or(|newest| newest < version) {
            *newest = Some(version);
            tracing::info!(%version, "read the version of the API server");
        }
    }
}

/// The version whose behavior an API server has: it may emulate an older version.
fn version_in(info: &Info) -> Option<KubernetesMinor> {
    let emulated = info.emulation_minor.as_deref().filter(|minor| !minor.is_empty());
    KubernetesMinor::from_server(&info.major, emulated.unwrap_or(&info.minor))
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
    async fn only_a_known_older_api_server_changes_the_checks() {
        let version = ServerVersion::default();
        let [absent, old, new] = [
            client(StatusCode::NOT_FOUND, &json!({})),
            client(StatusCode::OK, &info("36+")),
            client(StatusCode::OK, &info("37")),
        ];
        let permissive = Some(KubernetesMinor::SCALES_TO_ZERO);
        version.read(&absent).await;
        assert_eq!(version.for_checks(), permissive);
        version.read(&old).await;
        assert_eq!(version.for_checks(), None);
        version.read(&absent).await;
        version.read(&client(StatusCode::OK, &info("unknown"))).await;
        assert_eq!(version.for_checks(), None);
        // An upgrade starts with one of several replicas.
        for replica in [&new, &old, &new] {
            version.read(replica).await;
            assert_eq!(version.for_checks(), permissive);
        }
    }

    #[tokio::test]
    async fn an_api_server_that_emulates_an_older_version_is_checked_as_that_version() {
        let version = ServerVersion::default();
        let mut emulating = info("37");
        emulating["emulationMinor"] = json!("36");
        version.read(&client(StatusCode::OK, &emulating)).await;
        assert_eq!(version.for_checks(), None);
    }
}
