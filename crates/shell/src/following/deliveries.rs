//! The deliveries of a watch, in a queue: for a reader that waits between one object and the next, or that keeps
//! nothing.

use kube::Client;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Follower, Need, Selection, WatchAges, WatchFailure, follow_selected};

/// A delivery of a watch.
#[derive(Debug)]
pub enum Delivery {
    /// A list starts: all objects follow.
    ListBegins,
    /// An object of the list.
    Listed(DynamicObject),
    /// An object that has appeared or changed since the list.
    Changed(DynamicObject),
    /// A deleted object.
    Gone(DynamicObject),
    /// The list is complete. Objects that were known before and are not in the list were deleted.
    ListComplete,
}

/// A watch with a queue. The queue has no limit, so the reader must be fast, or the objects must be few.
pub struct Deliveries {
    queue: mpsc::UnboundedReceiver<Delivery>,
    /// The task of the watch, which ends when this value is dropped.
    _watch: JoinSet<()>,
}

impl Deliveries {
    /// Starts a watch in the runtime of the caller. The watch lasts until this value is dropped, and bridges
    /// interruptions.
    #[must_use]
    pub fn begin(client: Client, kind: ApiResource, selection: Selection) -> Self {
        let (queue, received) = mpsc::unbounded_channel();
        let mut follower = QueueingFollower { queue, is_listing: false };
        let mut watch = JoinSet::new();
        watch.spawn(async move {
            let watch_age = WatchAges::default().begin(&kind.plural, Need::Never);
            follow_selected(client, &kind, &selection, watch_age, &mut follower).await;
        });
        Self { queue: received, _watch: watch }
    }

    /// Waits for the next delivery; `None` once the runtime shuts down.
    pub async fn receive(&mut self) -> Option<Delivery> {
        self.queue.recv().await
    }
}

struct QueueingFollower {
    queue: mpsc::UnboundedSender<Delivery>,
    is_listing: bool,
}

impl QueueingFollower {
    fn send(&self, delivery: Delivery) {
        // Without a reader, the watch is about to be dropped.
        let _ = self.queue.send(delivery);
    }
}

impl Follower for QueueingFollower {
    fn begin_list(&mut self) {
        self.is_listing = true;
        self.send(Delivery::ListBegins);
    }

    fn upsert(&mut self, object: DynamicObject) {
        let delivery = if self.is_listing { Delivery::Listed } else { Delivery::Changed };
        self.send(delivery(object));
    }

    fn delete(&mut self, object: DynamicObject) {
        self.send(Delivery::Gone(object));
    }

    fn list_complete(&mut self) {
        self.is_listing = false;
        self.send(Delivery::ListComplete);
    }

    // The watch logs a failure, and restarts after a backoff.
    fn failed(&mut self, _why: &WatchFailure) {}

    // A list follows, and its objects are delivered with any version.
    fn versions_went_back(&mut self) {}
}

#[cfg(test)]
mod tests {
    use almanac_fixtures::objects;
    use almanac_stub::{Fault, ReceivedRequest, Stub};
    use http::StatusCode;
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    fn put(stub: &Stub, name: &str) {
        stub.put(objects::config_map(name, &json!({})));
    }

    fn begin(stub: &Stub, selection: Selection) -> Deliveries {
        Deliveries::begin(stub.client(), ApiResource::erase::<ConfigMap>(&()), selection)
    }

    /// The next deliveries, in words.
    async fn received(deliveries: &mut Deliveries, count: usize) -> Vec<String> {
        let mut received = Vec::new();
        for _ in 0..count {
            let (what, object) = match deliveries.receive().await.expect("a running watch") {
                Delivery::ListBegins => ("begin", None),
                Delivery::Listed(object) => ("listed", Some(object)),
                Delivery::Changed(object) => ("changed", Some(object)),
                Delivery::Gone(object) => ("gone", Some(object)),
                Delivery::ListComplete => ("complete", None),
            };
            let name = object.and_then(|it| it.metadata.name).unwrap_or_default();
            received.push(format!("{what} {name}"));
        }
        received
    }

    #[tokio::test(start_paused = true)]
    async fn objects_of_a_list_differ_from_changes_after_it() {
        let stub = Stub::new();
        put(&stub, "a");
        let mut deliveries = begin(&stub, Selection::default());
        assert_eq!(received(&mut deliveries, 3).await, ["begin ", "listed a", "complete "]);
        put(&stub, "b");
        assert_eq!(received(&mut deliveries, 1).await, ["changed b"]);
        stub.delete("configmaps", "default", "a");
        assert_eq!(received(&mut deliveries, 1).await, ["gone a"]);
        stub.inject(
            Fault::respond(StatusCode::GONE, "too old").matching(ReceivedRequest::is_watch),
        );
        stub.end_watches();
        assert_eq!(received(&mut deliveries, 3).await, ["begin ", "listed b", "complete "]);
    }

    #[tokio::test(start_paused = true)]
    async fn lists_and_watches_carry_the_label_selector() {
        let stub = Stub::new();
        put(&stub, "a");
        let labels = Some("team".to_owned());
        let mut deliveries = begin(&stub, Selection { labels, ..Selection::default() });
        received(&mut deliveries, 3).await;
        put(&stub, "b");
        received(&mut deliveries, 1).await;
        let requests = stub.requests();
        assert_eq!(requests.len(), 2, "a list and a watch");
        for request in requests {
            assert_eq!(request.parameter("labelSelector"), Some("team"), "{request:?}");
        }
    }
}
