//! Counts and logs objects with unreadable parts. The log has at most one warning a minute for each kind.

use std::time::Duration;

use kube::api::DynamicObject;
use tokio::time::Instant;

use super::WatchAge;
use super::reading::ReadObject;

/// The objects in one warning.
const MAX_NAMED: usize = 10;
/// The minimum time between two warnings.
const PAUSE: Duration = Duration::from_mins(1);

/// The objects of a kind since the last warning.
#[derive(Default)]
pub(super) struct UnreadObjects {
    count: usize,
    /// The first objects, with their unreadable parts.
    named: Vec<String>,
    warned_at: Option<Instant>,
}

impl UnreadObjects {
    /// Returns the readable parts of an object, and counts objects with unreadable parts.
    pub(super) fn record(&mut self, read: ReadObject, counted: &WatchAge) -> Option<DynamicObject> {
        let ReadObject { object, unread } = read;
        if unread.is_empty() {
            return object;
        }
        counted.count_unread();
        self.count += 1;
        if self.named.len() < MAX_NAMED {
            let metadata = object.as_ref().map(|object| &object.metadata);
            let namespace = metadata.and_then(|it| it.namespace.as_deref()).unwrap_or_default();
            let name = metadata.and_then(|it| it.name.as_deref()).unwrap_or("(no name)");
            self.named.push(format!("{namespace}/{name}: {}", unread.join(", ")));
        }
        object
    }

    /// Logs a warning, unless the last one is too recent.
    pub(super) fn warn(&mut self, kind: &str) {
        let is_recent = self.warned_at.is_some_and(|at| at.elapsed() < PAUSE);
        if self.count == 0 || is_recent {
            return;
        }
        tracing::warn!(
            kind,
            count = self.count,
            objects = self.named.join("; "),
            "failed to read parts of objects; these parts are skipped"
        );
        *self = Self { warned_at: Some(Instant::now()), ..Self::default() };
    }
}
