//! Chooses the replica that answers a call: this one while it decides, and otherwise the leader.

use std::sync::Arc;
use std::time::Duration;

use almanac_shell::calls::{Answer, Answering, Call, PassingOn};
use almanac_shell::lease::Addresses;
use http::StatusCode;

use super::deciding::Deciding;
use super::filtering::json;
use super::metrics::CallMetrics;
use super::peers::{Peers, Stranger};
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

    /// As the path has it, and the metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Verb::Filter => "filter",
            Verb::Prioritize => "prioritize",
            Verb::Preempt => "preempt",
            Verb::Bind => "bind",
        }
    }

    fn of(path: &str) -> Option<Verb> {
        let asked = path.strip_prefix('/')?;
        Verb::ALL.into_iter().find(|verb| verb.name() == asked)
    }
}

/// How long the answer of another replica is awaited. It may take a binding so long.
const PASSED_ON_FOR: Duration = Duration::from_secs(15);

/// Answers the calls of a kube-scheduler.
pub(super) struct Calls {
    pub(super) leading: Leadership<Deciding>,
    pub(super) metrics: CallMetrics,
    /// The other replicas; `None` if there are none.
    pub(super) others: Option<Others>,
}

/// How calls are passed on to the replica that decides.
pub(super) struct Others {
    pub(super) addresses: Addresses,
    pub(super) passing_on: PassingOn,
    /// By which tokens replicas know each other; `None` where they do by their certificates.
    pub(super) peers: Option<Peers>,
}

impl Answering for Calls {
    async fn answer(&self, call: Call) -> Answer {
        let Some(verb) = Verb::of(&call.path) else { return unknown_path() };
        let answer = match self.leading.cluster() {
            Some(deciding) => self.decide(verb, &deciding, &call).await,
            None => self.pass_on(verb, call).await,
        };
        as_kube_scheduler_shows(verb, answer)
    }
}

/// Kube-scheduler drops the body of a response with a status other than 200, and shows the error in the answer. So
/// the Event of a pending pod shows that there is no leader at the moment.
fn as_kube_scheduler_shows(verb: Verb, answer: Answer) -> Answer {
    let is_for_lack_of_a_leader =
        matches!(answer.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::BAD_GATEWAY);
    if !is_for_lack_of_a_leader {
        return answer;
    }
    let why = String::from_utf8_lossy(&answer.body);
    match verb {
        Verb::Filter => json(&FilterResult { error: why.trim_end(), ..FilterResult::default() }),
        Verb::Bind => json(&BindingResult { error: why.trim_end() }),
        Verb::Prioritize | Verb::Preempt => answer,
    }
}

impl Calls {
    async fn decide(&self, verb: Verb, deciding: &Arc<Deciding>, call: &Call) -> Answer {
        let timer = self.metrics.begin(verb);
        let answer = match verb {
            Verb::Filter => filtering::filter(deciding, &call.body).await,
            Verb::Prioritize => filtering::prioritize(deciding, &call.body),
            Verb::Preempt => filtering::preempt(deciding, &call.body),
            Verb::Bind => binding::bind(deciding, &call.body).await,
        };
        timer.end(answer.status);
        answer
    }

    async fn pass_on(&self, verb: Verb, call: Call) -> Answer {
        let nobody = |why: &str| Answer::refusal(StatusCode::SERVICE_UNAVAILABLE, why);
        let Some(others) = &self.others else {
            return nobody("this replica does not decide at the moment");
        };
        let leader = others.addresses.leader();
        let Some(leader) = leader.filter(|it| **it != *others.addresses.own()) else {
            return nobody("no replica decides at the moment");
        };
        let token = match others.peers.as_ref().map(Peers::own_token).transpose() {
            Ok(token) => token,
            Err(why) => return nobody(&why),
        };
        let passed_on = others.passing_on.pass_on(&leader, Call { token, ..call }, PASSED_ON_FOR);
        match passed_on.await {
            Ok(answer) => {
                self.metrics.passed_on(verb, answer.status);
                answer
            }
            Err(error) => {
                self.metrics.passed_on(verb, StatusCode::BAD_GATEWAY);
                Answer::refusal(StatusCode::BAD_GATEWAY, &error.to_string())
            }
        }
    }
}

/// Answers calls that another replica has passed on. They are passed on no further.
pub(super) struct CallsOfPeers(pub(super) Arc<Calls>);

impl Answering for CallsOfPeers {
    async fn admit(&self, token: Option<&str>) -> Result<(), Answer> {
        let Some(others) = &self.0.others else {
            return Err(Answer::refusal(StatusCode::FORBIDDEN, "this replica has no others"));
        };
        let Some(peers) = &others.peers else { return Ok(()) };
        peers.check(token).await.map_err(|stranger| {
            let status = match stranger {
                Stranger::NoToken | Stranger::WrongToken => StatusCode::FORBIDDEN,
                // It may still be one of us.
                Stranger::NotReviewed(_) => StatusCode::SERVICE_UNAVAILABLE,
            };
            Answer::refusal(status, &stranger.to_string())
        })
    }

    async fn answer(&self, call: Call) -> Answer {
        let Some(verb) = Verb::of(&call.path) else { return unknown_path() };
        match self.0.leading.cluster() {
            Some(deciding) => self.0.decide(verb, &deciding, &call).await,
            None => Answer::refusal(
                StatusCode::SERVICE_UNAVAILABLE,
                "this replica does not decide at the moment",
            ),
        }
    }
}

fn unknown_path() -> Answer {
    Answer::refusal(StatusCode::NOT_FOUND, "try /filter, /prioritize, /preempt or /bind")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_a_leader_returns_an_extender_error() {
        let away = || Answer::refusal(StatusCode::SERVICE_UNAVAILABLE, "no replica decides");
        let answered = as_kube_scheduler_shows(Verb::Bind, away());
        let error: &[u8] = br#"{"Error":"no replica decides"}"#;
        assert_eq!((answered.status, &*answered.body), (StatusCode::OK, error));
        let answered = as_kube_scheduler_shows(Verb::Filter, away());
        let body: serde_json::Value = serde_json::from_slice(&answered.body).expect("it is JSON");
        assert_eq!(body["Error"], "no replica decides");
        // The answers to these have no place for an error.
        assert_eq!(as_kube_scheduler_shows(Verb::Preempt, away()), away());
        let malformed = || Answer::refusal(StatusCode::BAD_REQUEST, "Pod is missing");
        assert_eq!(as_kube_scheduler_shows(Verb::Filter, malformed()), malformed());
    }
}
