//! Collects the warnings and errors that are logged by a test's own thread.
//!
//! One subscriber serves the whole test program: a subscriber of a single thread would make it random. `tracing`
//! checks only in the first thread that reaches a log statement whether it has a subscriber.

use std::cell::RefCell;
use std::sync::Once;

use tracing::span;

thread_local! {
    static COLLECTED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Collects the warnings and errors of this thread, of any crate, until it is dropped.
pub(crate) struct Warnings(());

impl Warnings {
    pub(crate) fn collect() -> Self {
        static SUBSCRIBED: Once = Once::new();
        SUBSCRIBED.call_once(|| {
            tracing::subscriber::set_global_default(OfThisThread)
                .expect("no other subscriber exists");
        });
        COLLECTED.set(Some(Vec::new()));
        Self(())
    }

    /// The lines logged so far.
    #[expect(clippy::unused_self, reason = "only a collector may read the lines")]
    pub(crate) fn lines(&self) -> Vec<String> {
        COLLECTED.with_borrow(|lines| lines.clone().unwrap_or_default())
    }
}

impl Drop for Warnings {
    fn drop(&mut self) {
        COLLECTED.set(None);
    }
}

struct OfThisThread;

impl tracing::Subscriber for OfThisThread {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn event(&self, event: &tracing::Event<'_>) {
        COLLECTED.with_borrow_mut(|lines| {
            if let Some(lines) = lines {
                lines.push(format!("{event:?}"));
            }
        });
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}
