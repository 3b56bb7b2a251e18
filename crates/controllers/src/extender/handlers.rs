//! Chooses the replica that responds to a request: this replica while it decides, and otherwise the leader.

use std::sync::Arc;
use std::time::Duration;

use almanac_shell::lease::Addresses;
use almanac_shell::server::{Forwarder, Handler, ServerRequest, ServerResponse};
use http::StatusCode;

use super::filtering::json;
use super::leader::Leader;
use super::metrics::RequestMetrics;
use super::peers::{PeerError, Peers};
use super::protocol::{BindingResult, FilterResult};
use super::{binding, filtering};
use crate::leadership::Leadership;

/// The verbs of the extender API.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verb {
    Filter,
    Prioritize,
    Preempt,
    Bind,
}

impl Verb {
    const ALL: [Verb; 4] = [Verb::Filter, Verb::Prioritize, Verb::Preempt, Verb::Bind];

    /// The name of the verb in the path and in the metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Verb::Filter => "filter",
            Verb::Prioritize => "prioritize",
            Verb::Preempt => "preempt",
            Verb::Bind => "bind",
        }
    }

    fn from_path(path: &str) -> Option<Verb> {
        let name = path.strip_prefix('/')?;
        Verb::ALL.into_iter().find(|verb| verb.name() == name)
    }
}

/// The time limit of a forwarded request. A binding may take this long.
const FORWARD_TIMEOUT: Duration = Duration::from_secs(15);

/// Responds to the requests of a kube-scheduler.
pub(super) struct SchedulerHandler {
    pub(super) leading: Leadership<Leader>,
    pub(super) metrics: RequestMetrics,
    /// The other replicas; `None` for a single replica.
    pub(super) others: Option<OtherReplicas>,
}

/// The means to forward requests to the leader.
pub(super) struct OtherReplicas {
    pub(super) addresses: Addresses,
    pub(super) forwarder: Forwarder,
    /// The tokens that identify replicas; `None` if certificates do.
    pub(super) peers: Option<Peers>,
}

impl Handler for SchedulerHandler {
    async fn handle(&self, request: ServerRequest) -> ServerResponse {
        let Some(verb) = Verb::from_path(&request.path) else { return unknown_path() };
        let response = match self.leading.cluster() {
            Some(leader) => self.decide(verb, &leader, &request).await,
            None => self.forward(verb, request).await,
        };
        for_kube_scheduler(verb, response)
    }
}

/// Kube-scheduler drops the body of a response with a status other than 200, but shows the `error` of one with 200. So
/// the Event of a pending pod shows that no leader exists at the moment.
fn for_kube_scheduler(verb: Verb, response: ServerResponse) -> ServerResponse {
    let is_for_lack_of_a_leader =
        matches!(response.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::BAD_GATEWAY);
    if !is_for_lack_of_a_leader {
        return response;
    }
    let why = String::from_utf8_lossy(&response.body);
    match verb {
        Verb::Filter => json(&FilterResult { error: why.trim_end(), ..FilterResult::default() }),
        Verb::Bind => json(&BindingResult { error: why.trim_end() }),
        Verb::Prioritize | Verb::Preempt => response,
    }
}

impl SchedulerHandler {
    async fn decide(
        &self,
        verb: Verb,
        leader: &Arc<Leader>,
        request: &ServerRequest,
    ) -> ServerResponse {
        let timer = self.metrics.start(verb);
        let response = match verb {
            Verb::Filter => filtering::filter(leader, &request.body).await,
            Verb::Prioritize => filtering::prioritize(leader, &request.body),
            Verb::Preempt => filtering::preempt(leader, &request.body),
            Verb::Bind => binding::bind(leader, &request.body).await,
        };
        timer.end(response.status);
        response
    }

    async fn forward(&self, verb: Verb, request: ServerRequest) -> ServerResponse {
        let unavailable = |why: &str| ServerResponse::refusal(StatusCode::SERVICE_UNAVAILABLE, why);
        let Some(others) = &self.others else {
            return unavailable("this replica does not decide at the moment");
        };
        let leader = others.addresses.leader();
        let Some(leader) = leader.filter(|it| **it != *others.addresses.own()) else {
            return unavailable("no replica decides at the moment");
        };
        let token = match others.peers.as_ref().map(Peers::own_token).transpose() {
            Ok(token) => token,
            Err(why) => return unavailable(&why),
        };
        let response =
            others.forwarder.forward(&leader, ServerRequest { token, ..request }, FORWARD_TIMEOUT);
        match response.await {
            Ok(response) => {
                self.metrics.count_forwarded(verb, response.status);
                response
            }
            Err(error) => {
                self.metrics.count_forwarded(verb, StatusCode::BAD_GATEWAY);
                ServerResponse::refusal(StatusCode::BAD_GATEWAY, &error.to_string())
            }
        }
    }
}

/// Responds to requests that another replica has forwarded. Such requests are not forwarded again.
pub(super) struct PeerHandler(pub(super) Arc<SchedulerHandler>);

impl Handler for PeerHandler {
    async fn admit(&self, token: Option<&str>) -> Result<(), ServerResponse> {
        let Some(others) = &self.0.others else {
            return Err(ServerResponse::refusal(
                StatusCode::FORBIDDEN,
                "this replica runs without other replicas",
            ));
        };
        let Some(peers) = &others.peers else { return Ok(()) };
        peers.check(token).await.map_err(|error| {
            let status = match error {
                PeerError::NoToken | PeerError::WrongToken => StatusCode::FORBIDDEN,
                // The client may still be a replica.
                PeerError::NotReviewed(_) => StatusCode::SERVICE_UNAVAILABLE,
            };
            ServerResponse::refusal(status, &error.to_string())
        })
    }

    async fn handle(&self, request: ServerRequest) -> ServerResponse {
        let Some(verb) = Verb::from_path(&request.path) else { return unknown_path() };
        match self.0.leading.cluster() {
            Some(leader) => self.0.decide(verb, &leader, &request).await,
            None => ServerResponse::refusal(
                StatusCode::SERVICE_UNAVAILABLE,
                "this replica does not decide at the moment",
            ),
        }
    }
}

fn unknown_path() -> ServerResponse {
    ServerResponse::refusal(StatusCode::NOT_FOUND, "try /filter, /prioritize, /preempt or /bind")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_a_leader_returns_an_extender_error() {
        let away =
            || ServerResponse::refusal(StatusCode::SERVICE_UNAVAILABLE, "no replica decides");
        let response = for_kube_scheduler(Verb::Bind, away());
        let error: &[u8] = br#"{"Error":"no replica decides"}"#;
        assert_eq!((response.status, &*response.body), (StatusCode::OK, error));
        let response = for_kube_scheduler(Verb::Filter, away());
        let body: serde_json::Value =
            serde_json::from_slice(&response.body).expect("the body is JSON");
        assert_eq!(body["Error"], "no replica decides");
        // These responses have no field for an error.
        assert_eq!(for_kube_scheduler(Verb::Preempt, away()), away());
        let malformed = || ServerResponse::refusal(StatusCode::BAD_REQUEST, "Pod is missing");
        assert_eq!(for_kube_scheduler(Verb::Filter, malformed()), malformed());
    }
}
