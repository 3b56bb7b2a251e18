//! Watches: a line for each change, bookmarks in between, and an end in time.

use std::time::Duration;

use futures::stream::{self, Stream};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};

use crate::kind::Kind;
use crate::responses::{Cut, Refusal, ResponseBody};
use crate::store::Change;

/// The interval of bookmarks. An API server also sends a bookmark before a watch ends.
const BOOKMARKS_EVERY: Duration = Duration::from_mins(1);
const BEFORE_THE_END: Duration = Duration::from_secs(2);

/// The parameters of a watch.
pub(crate) struct Watched {
    pub(crate) kind: usize,
    pub(crate) described: Kind,
    pub(crate) namespace: String,
    /// Changes after this version are delivered.
    pub(crate) after: u64,
    /// The version up to which all changes are delivered.
    pub(crate) version: u64,
    pub(crate) lasts: Duration,
    pub(crate) with_bookmarks: bool,
}

impl Watched {
    /// Whether the change is delivered.
    fn has(&self, change: &Change) -> bool {
        let is_in_namespace = self.namespace.is_empty() || self.namespace == change.key.namespace;
        change.key.kind == self.kind && is_in_namespace && change.version > self.after
    }

    fn bookmark(&self) -> Bytes {
        let object = json!({
            "kind": self.described.name, "apiVersion": self.described.api_version,
            "metadata": { "resourceVersion": self.version.to_string() },
        });
        line("BOOKMARK", &object)
    }
}

fn line(of: &str, object: &Value) -> Bytes {
    format!("{}\n", json!({ "type": of, "object": object })).into()
}

/// A watch from an expired version: reports the expiry, and ends.
pub(crate) fn expired_watch(version: u64) -> ResponseBody {
    let message = format!("too old resource version: {version}");
    let refusal = Refusal::new(http::StatusCode::GONE, message);
    let lines = [Ok(Frame::data(line("ERROR", &refusal.status())))];
    StreamBody::new(stream::iter(lines)).boxed_unsync()
}

/// A watch: the past changes, and the future changes.
pub(crate) fn watch(
    watched: Watched,
    known: Vec<Change>,
    coming: UnboundedReceiver<Change>,
) -> ResponseBody {
    let changes: Vec<Change> = known.into_iter().filter(|it| watched.has(it)).collect();
    StreamBody::new(lines(watched, changes, coming)).boxed_unsync()
}

struct Watching {
    watched: Watched,
    known: std::vec::IntoIter<Change>,
    coming: UnboundedReceiver<Change>,
    ends: Instant,
    bookmark: Instant,
}

fn lines(
    watched: Watched,
    known: Vec<Change>,
    coming: UnboundedReceiver<Change>,
) -> impl Stream<Item = Result<Frame<Bytes>, Cut>> {
    let ends = Instant::now() + watched.lasts;
    let bookmark = (Instant::now() + BOOKMARKS_EVERY).min(ends - BEFORE_THE_END);
    let begun = Watching { watched, known: known.into_iter(), coming, ends, bookmark };
    stream::unfold(begun, async |mut watching| {
        let line = watching.next().await?;
        Some((Ok(Frame::data(line)), watching))
    })
}

impl Watching {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(change) = self.known.next() {
            return Some(self.change_line(&change));
        }
        loop {
            tokio::select! {
                biased;
                change = self.coming.recv() => {
                    let change = change?;
                    if self.watched.has(&change) {
                        return Some(self.change_line(&change));
                    }
                    // Bookmarks also cover versions of unrelated changes.
                    self.watched.version = self.watched.version.max(change.version);
                }
                () = sleep_until(self.bookmark), if self.watched.with_bookmarks => {
                    let last = self.ends - BEFORE_THE_END;
                    self.bookmark = if self.bookmark < last {
                        last.min(self.bookmark + BOOKMARKS_EVERY)
                    } else {
                        self.ends + BOOKMARKS_EVERY
                    };
                    return Some(self.watched.bookmark());
                }
                () = sleep_until(self.ends) => return None,
            }
        }
    }

    fn change_line(&mut self, change: &Change) -> Bytes {
        self.watched.version = self.watched.version.max(change.version);
        line(change.of, &change.object)
    }
}
