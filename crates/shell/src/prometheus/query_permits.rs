//! Permits for queries in flight, with a limit for the process and a lower one for each namespace. A released permit goes
//! to the namespace with the fewest queries in flight, and there to the request that has waited longest.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The permits of the process.
#[derive(Clone)]
pub(super) struct QueryPermits(Arc<Mutex<State>>);

struct State {
    free: usize,
    /// The limit for one namespace.
    limit: usize,
    /// The number of requests so far.
    requests: u64,
    /// The namespaces with queries in flight or waiting requests.
    namespaces: BTreeMap<Arc<str>, NamespaceQueue>,
}

#[derive(Default)]
struct NamespaceQueue {
    in_flight: usize,
    waiting: VecDeque<PermitRequest>,
}

struct PermitRequest {
    number: u64,
    reply: oneshot::Sender<QueryPermit>,
}

/// A permit for one query, until it is dropped.
pub struct QueryPermit {
    /// `None` after the release of the permit.
    held: Option<(QueryPermits, Arc<str>)>,
}

impl QueryPermits {
    pub(super) fn new(all: usize, limit: usize) -> Self {
        let namespaces = BTreeMap::new();
        Self(Arc::new(Mutex::new(State { free: all, limit, requests: 0, namespaces })))
    }

    /// Waits for a permit. The timeout of a query bounds the time for which a permit is held.
    pub(super) async fn acquire(&self, namespace: &str) -> QueryPermit {
        loop {
            let (reply, permit) = oneshot::channel();
            {
                let mut state = self.lock();
                state.requests += 1;
                let request = PermitRequest { number: state.requests, reply };
                let queue = state.namespaces.entry(namespace.into()).or_default();
                queue.waiting.push_back(request);
            }
            self.grant();
            // A queue drops no request without a reply.
            if let Ok(permit) = permit.await {
                return permit;
            }
        }
    }

    /// Grants the free permits.
    fn grant(&self) {
        loop {
            let next = self.lock().next();
            let Some((namespace, reply)) = next else { return };
            let permit = QueryPermit { held: Some((self.clone(), namespace)) };
            // A canceled request returns its permit, and the next one receives it.
            if let Err(mut permit) = reply.send(permit)
                && let Some((_, namespace)) = permit.held.take()
            {
                self.lock().release(&namespace);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Reserves a free permit for the next request.
    fn next(&mut self) -> Option<(Arc<str>, oneshot::Sender<QueryPermit>)> {
        if self.free == 0 {
            return None;
        }
        let limit = self.limit;
        let eligible = self.namespaces.iter_mut().filter_map(|(namespace, queue)| {
            let first = queue.waiting.front().filter(|_| queue.in_flight < limit)?;
            Some(((queue.in_flight, first.number), namespace, queue))
        });
        let (_, namespace, queue) = eligible.min_by_key(|(rank, ..)| *rank)?;
        let request = queue.waiting.pop_front()?;
        queue.in_flight += 1;
        self.free -= 1;
        Some((Arc::clone(namespace), request.reply))
    }

    fn release(&mut self, namespace: &str) {
        self.free += 1;
        if let Some(queue) = self.namespaces.get_mut(namespace) {
            queue.in_flight -= 1;
            if queue.in_flight == 0 && queue.waiting.is_empty() {
                self.namespaces.remove(namespace);
            }
        }
    }
}

impl Drop for QueryPermit {
    fn drop(&mut self) {
        if let Some((permits, namespace)) = self.held.take() {
            permits.lock().release(&namespace);
            permits.grant();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn one_namespace_leaves_permits_to_others() {
        let permits = QueryPermits::new(4, 3);
        let at_once = |namespace| permits.acquire(namespace).now_or_never();
        let noisy = [0; 3].map(|_| at_once("noisy"));
        assert!(noisy.iter().all(Option::is_some));
        assert!(at_once("noisy").is_none(), "the namespace is at its limit");
        let other = at_once("shop");
        assert!(other.is_some());
        assert!(at_once("sea").is_none(), "all permits are in use");
        drop(noisy);
        assert!(at_once("sea").is_some());
        drop(other);
        assert!(permits.lock().namespaces.is_empty(), "idle namespaces are removed");
        assert_eq!(permits.lock().free, 4);
    }

    #[test]
    fn the_namespace_with_the_fewest_queries_is_next_and_then_the_oldest_request() {
        let permits = QueryPermits::new(3, 3);
        let granted = ["a", "a", "b"].map(|namespace| permits.acquire(namespace).now_or_never());
        let mut held: VecDeque<QueryPermit> = granted.into_iter().flatten().collect();
        assert_eq!(held.len(), 3);
        let mut requests: Vec<_> =
            ["a", "b", "c", "d", "b"].map(|namespace| Box::pin(permits.acquire(namespace))).into();
        assert!(requests.iter_mut().all(|it| it.as_mut().now_or_never().is_none()));
        let mut order = Vec::new();
        for _ in 0..5 {
            drop(held.pop_front());
            let granted = requests
                .iter_mut()
                .enumerate()
                .find_map(|(index, it)| it.as_mut().now_or_never().map(|permit| (index, permit)));
            let (index, permit) = granted.expect("a permit was free");
            drop(requests.remove(index));
            let (_, namespace) = permit.held.as_ref().expect("a held permit");
            order.push(namespace.to_string());
            held.push_back(permit);
        }
        assert_eq!(order, ["c", "a", "b", "d", "b"]);
    }

    #[test]
    fn a_canceled_request_keeps_no_permit() {
        let permits = QueryPermits::new(1, 1);
        let first = permits.acquire("shop").now_or_never();
        {
            let mut canceled = Box::pin(permits.acquire("shop"));
            assert!(canceled.as_mut().now_or_never().is_none());
            // The canceled request receives the permit, and is dropped without a poll.
            drop(first);
        }
        assert!(permits.acquire("shop").now_or_never().is_some());
        let last = permits.acquire("shop").now_or_never();
        for _ in 0..100_000 {
            assert!(permits.acquire("shop").now_or_never().is_none());
        }
        drop(last);
        assert!(permits.lock().namespaces.is_empty(), "canceled requests are left in the queue");
    }
}
