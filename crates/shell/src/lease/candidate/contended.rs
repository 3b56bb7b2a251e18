//! Tests of a Lease that other clients write too, against an API server that compares versions like a real one.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use jiff::Timestamp;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::service_fn;

use super::*;
use crate::clock::Clock;

/// The times at which another client writes the Lease.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OtherWrites {
    EachSecond,
    /// During each read, so that the read is already outdated.
    EachSecondAndAfterEachReading,
}

/// A Lease in an API server.
struct Server {
    lease: Value,
    version: u64,
    others: OtherWrites,
    annotated: Instant,
    /// The number of reads that will still get no response once the Lease is held.
    unanswered: usize,
    /// The attempts to replace the Lease, and whether they succeeded.
    replaced: Vec<(Instant, bool)>,
}

impl Server {
    fn without_holder(others: OtherWrites) -> Self {
        let lease = json!({ "metadata": { "name": "almanac", "namespace": "default" } });
        let annotated = Instant::now();
        Self { lease, version: 1, others, annotated, unanswered: 0, replaced: Vec::new() }
    }

    /// The code and the body of the response; `None` for no response.
    fn answer(&mut self, method: &Method, sent: &[u8]) -> Option<(u16, Value)> {
        let now = Instant::now();
        if now - self.annotated >= Duration::from_secs(1) {
            (self.version, self.annotated) = (self.version + 1, now);
        }
        if *method == Method::GET {
            if self.unanswered > 0 && !self.replaced.is_empty() {
                self.unanswered -= 1;
                return None;
            }
            let read = self.lease();
            let is_held = !self.replaced.is_empty();
            if self.others == OtherWrites::EachSecondAndAfterEachReading && is_held {
                self.version += 1;
            }
            return Some((200, read));
        }
        // Endless retries eventually get no response, so that such a test ends.
        let at_once = self.replaced.iter().filter(|(at, _)| *at == now).count();
        if at_once > 20 {
            return None;
        }
        let sent: Value = serde_json::from_slice(sent).expect("valid JSON");
        let is_as_read = sent["metadata"]["resourceVersion"] == json!(self.version.to_string());
        self.replaced.push((now, is_as_read));
        if !is_as_read {
            let conflict = json!({ "kind": "Status", "code": 409, "message": "it has changed" });
            return Some((409, conflict));
        }
        (self.lease, self.version) = (sent, self.version + 1);
        Some((200, self.lease()))
    }

    fn lease(&self) -> Value {
        let mut lease = self.lease.clone();
        lease["metadata"]["resourceVersion"] = json!(self.version.to_string());
        lease
    }
}

fn candidate(server: &Arc<Mutex<Server>>) -> Candidate {
    let server = Arc::clone(server);
    let service = service_fn(move |request: Request<Body>| {
        let server = Arc::clone(&server);
        async move {
            let method = request.method().clone();
            let sent = request.into_body().collect_bytes().await.expect("the whole body");
            let answer = server.lock().expect("the lock is not poisoned").answer(&method, &sent);
            let Some((code, body)) = answer else { return std::future::pending().await };
            let body = Body::from(body.to_string().into_bytes());
            let response = Response::builder().status(code).body(body);
            Ok::<_, Infallible>(response.expect("a valid response"))
        }
    });
    let names = ["default", "almanac", "us"].map(str::to_owned);
    let [namespace, name, identity] = names;
    let options = LeaseOptions::new(namespace, name, identity);
    let switch = Switch::new(Clock::from_fn(|| Timestamp::UNIX_EPOCH));
    Candidate::new(Client::new(service, "default"), options, Health::default(), switch, 1)
}

/// Leads for a minute; returns the attempts to acquire, renew or release the Lease, and whether
/// they succeeded.
async fn lead_for_a_minute(server: Server) -> (Result<(), LeadershipLoss>, Vec<(Instant, bool)>) {
    let server = Arc::new(Mutex::new(server));
    let (mut candidate, end) = (candidate(&server), CancellationToken::new());
    let minute = async |_| tokio::time::sleep(Duration::from_mins(1)).await;
    let led = candidate.lead(&end, minute).await;
    let replaced = server.lock().expect("the lock is not poisoned").replaced.clone();
    (led, replaced)
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_others_keep_writing_is_still_renewed() {
    let (led, replaced) = lead_for_a_minute(Server::without_holder(OtherWrites::EachSecond)).await;
    let succeeded = replaced.iter().filter(|(_, succeeded)| *succeeded).count();
    assert_eq!(led, Ok(()));
    assert!(succeeded >= 25, "renewed {succeeded} times of {}", replaced.len());
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_read_leaves_time_to_read_again() {
    let mut server = Server::without_holder(OtherWrites::EachSecond);
    server.unanswered = 1;
    let (led, replaced) = lead_for_a_minute(server).await;
    assert_eq!(led, Ok(()), "{replaced:?}");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_keeps_conflicting_is_tried_three_times_in_a_row() {
    let server = Server::without_holder(OtherWrites::EachSecondAndAfterEachReading);
    let (_, replaced) = lead_for_a_minute(server).await;
    let at_once = |at: Instant| replaced.iter().filter(|(other, _)| *other == at).count();
    let most = replaced.iter().map(|(at, _)| at_once(*at)).max();
    assert_eq!(most, Some(3));
}
