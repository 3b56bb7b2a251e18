//! The requests to the proxy, and their results.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use http::{Method, Request, header};

/// A request to the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// The instant of arrival.
    pub at: Instant,
    /// The HTTP method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The query string; empty if absent.
    pub query: String,
    /// The user agent; empty if absent.
    pub user_agent: String,
    /// The status of the response; `None` before the response, or if the connection was cut.
    pub status: Option<u16>,
    /// The status of the API server's response, whether or not it reached the program.
    pub api_server_status: Option<u16>,
    /// Whether a fault affected the request.
    pub injected: bool,
}

impl RecordedRequest {
    /// Whether the request is a POST, PUT, PATCH or DELETE. Access reviews are POSTs, too.
    #[must_use]
    pub fn is_write(&self) -> bool {
        [Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(&self.method)
    }

    /// Whether the request is about a Lease.
    #[must_use]
    pub fn is_for_lease(&self) -> bool {
        self.path.starts_with("/apis/coordination.k8s.io/")
            && self.path.split('/').any(|part| part == "leases")
    }

    /// Whether the request is a watch.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        self.query.split('&').any(|part| part == "watch=true" || part == "watch=1")
    }

    fn from_request<T>(request: &Request<T>) -> Self {
        let agent = request.headers().get(header::USER_AGENT);
        let agent = agent.map(|agent| String::from_utf8_lossy(agent.as_bytes()).into_owned());
        Self {
            at: Instant::now(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            query: request.uri().query().unwrap_or_default().to_owned(),
            user_agent: agent.unwrap_or_default(),
            status: None,
            api_server_status: None,
            injected: false,
        }
    }
}

/// All requests, each with a number assigned on arrival.
#[derive(Debug, Default)]
pub(super) struct RequestLog {
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    next: u64,
    entries: Vec<(u64, RecordedRequest)>,
}

impl RequestLog {
    /// Adds a request. The caller adds the result later, by the returned number.
    pub(super) fn add<T>(&self, request: &Request<T>) -> (u64, RecordedRequest) {
        let mut list = self.lock();
        let number = list.next;
        list.next += 1;
        let recorded = RecordedRequest::from_request(request);
        list.entries.push((number, recorded.clone()));
        (number, recorded)
    }

    /// Updates an entry, unless the log has been cleared since.
    pub(super) fn amend(&self, number: u64, change: impl FnOnce(&mut RecordedRequest)) {
        let mut list = self.lock();
        if let Ok(index) = list.entries.binary_search_by_key(&number, |(number, _)| *number) {
            change(&mut list.entries[index].1);
        }
    }

    pub(super) fn all(&self) -> Vec<RecordedRequest> {
        self.lock().entries.iter().map(|(_, recorded)| recorded.clone()).collect()
    }

    pub(super) fn clear(&self) {
        self.lock().entries.clear();
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(method: Method, uri: &str) -> RecordedRequest {
        RecordedRequest::from_request(
            &Request::builder().method(method).uri(uri).body(()).expect("build the request"),
        )
    }

    #[test]
    fn a_lease_is_recognized_by_its_group_and_kind_not_by_its_name() {
        let leases = "/apis/coordination.k8s.io/v1/namespaces/x/leases";
        assert!(recorded(Method::POST, leases).is_for_lease());
        assert!(recorded(Method::PUT, &format!("{leases}/almanac?a=b")).is_for_lease());
        let map = recorded(Method::PUT, "/api/v1/namespaces/x/configmaps/leases");
        assert!(map.is_write() && !map.is_for_lease());
    }

    #[test]
    fn a_watch_is_recognized_by_its_query_and_is_not_a_write() {
        let watch = recorded(Method::GET, "/api/v1/pods?resourceVersion=0&watch=true");
        assert!(watch.is_watch() && !watch.is_write());
        assert!(!recorded(Method::GET, "/api/v1/pods?labelSelector=watch").is_watch());
    }

    #[test]
    fn a_result_is_added_to_its_own_request_even_after_the_log_is_cleared() {
        let log = RequestLog::default();
        let request = Request::get("/a").body(()).expect("build the request");
        let (early, _) = log.add(&request);
        log.clear();
        let (late, _) = log.add(&request);
        log.amend(early, |recorded| recorded.status = Some(500));
        log.amend(late, |recorded| recorded.status = Some(200));
        let statuses: Vec<_> = log.all().into_iter().map(|recorded| recorded.status).collect();
        assert_eq!(statuses, [Some(200)]);
    }
}
