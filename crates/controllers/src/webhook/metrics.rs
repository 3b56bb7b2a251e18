//! The metrics of the webhook's responses.

use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// From a tenth of a millisecond, as for a small object, to the timeout of the API server.
const SECONDS: [f64; 12] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 1.0, 5.0];

/// The outcome of a review.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// The object may be applied.
    Allowed,
    /// The object may be applied, with warnings.
    Warned,
    /// The object must not be applied.
    Refused,
    /// The request could not be read.
    Malformed,
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Warned => "warned",
            Self::Refused => "refused",
            Self::Malformed => "malformed",
        }
    }
}

/// The counters of the webhook's responses.
#[derive(Clone, Debug)]
pub(super) struct ReviewMetrics {
    reviews: Family<[(&'static str, &'static str); 1], Counter>,
    seconds: Histogram,
    certificate_expires: Gauge,
}

impl Default for ReviewMetrics {
    fn default() -> Self {
        Self {
            reviews: Family::default(),
            seconds: Histogram::new(SECONDS),
            certificate_expires: Gauge::default(),
        }
    }
}

impl ReviewMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Reviewed objects, by result";
        registry.register("almanac_webhook_reviews", help, self.reviews.clone());
        let help = "Seconds from the complete request to its response";
        registry.register("almanac_webhook_review_seconds", help, self.seconds.clone());
    }

    /// The expiry of our own certificate; another product reports the expiry of its own.
    pub(super) fn register_certificate(&self, registry: &mut Registry) {
        let help = "Expiry of the serving certificate, in seconds since the epoch";
        let name = "almanac_webhook_certificate_expires_timestamp_seconds";
        registry.register(name, help, self.certificate_expires.clone());
    }

    pub(super) fn certificate_expires(&self, at: Timestamp) {
        self.certificate_expires.set(at.as_second());
    }

    pub(super) fn count(&self, outcome: Outcome) {
        self.reviews.get_or_create(&[("answer", outcome.name())]).inc();
    }

    pub(super) fn timed(&self, elapsed: Duration) {
        self.seconds.observe(elapsed.as_secs_f64());
    }
}
