//! The controllers, by the names that `--controllers` takes. What each one reconciles is up to `almanac controller`.

use almanac_api::families::Controlled;
use almanac_engine::Family;
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

impl Controller {
    /// What it reconciles.
    pub(crate) fn controlled(self) -> Controlled {
        match self {
            Self::MetricsProducer => Family::ScheduledCapacity.into(),
            Self::CronFederatedHpa => Family::CronScaling.into(),
            Self::HorizontalAutoscaler => Family::MetricScaling.into(),
            Self::ScalableNodeGroup => Controlled::NodeGroups,
            Self::Placement => Family::Placement.into(),
        }
    }
}
