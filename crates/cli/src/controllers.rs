//! The controllers, by the names that `--controllers` takes. What each one reconciles is up to `almanac controller`.

use clap::ValueEnum;

/// A controller.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Controller {
    MetricsProducer,
    CronFederatedHpa,
    HorizontalAutoscaler,
    ScalableNodeGroup,
    Placement,
}
