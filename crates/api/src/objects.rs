//! The objects themselves: the types users write, and the schemas the API server checks.
//!
//! The doc comments of the fields are what `kubectl explain` prints. CEL rules in the schema cover
//! the constraints that its types cannot express; `checking` covers the rest.

#![allow(
    clippy::duplicated_attributes,
    reason = "columns of a table share types; clippy reports them as one attribute twice"
)]
#![allow(unreachable_pub, reason = "kube's derive of a schema declares an inner copy of each type")]

pub(crate) mod agent_config;
mod cron_federated_hpa;
mod federated_hpa;
mod horizontal_autoscaler;
mod hub;
mod metrics_producer;
mod placement;
mod placement_status;
mod resource_policy;
mod scalable_node_group;
mod schema;

pub use agent_config::{AGENT_CONFIGS, CONFIG_NAMESPACE, document_key};
pub use cron_federated_hpa::{
    CronFederatedHPA, CronFederatedHPARule, CronFederatedHPASpec, CronFederatedHPAStatus,
    ExecutionHistory, FailedExecution, SuccessfulExecution,
};
pub(crate) use cron_federated_hpa::{MAX_EXECUTIONS, MAX_MESSAGE, MAX_RULE_NAME, MAX_RULES};
pub use federated_hpa::{FederatedHPA, FederatedHPASpec};
pub use horizontal_autoscaler::{
    Behavior, CurrentMetric, HorizontalAutoscaler, HorizontalAutoscalerSpec,
    HorizontalAutoscalerStatus, Metric, MetricTarget, MetricTargetType, PrometheusMetric,
    Recommendation, ScaleEvent, ScalingPolicy, ScalingPolicyType, ScalingRules, SelectPolicy,
};
pub(crate) use hub::definitions as hub_definitions;
pub use hub::{
    CLUSTER_SET_LABEL, GROUP_INDEX_LABEL, GROUP_NAME_LABEL, PLACEMENT_LABEL, dates_of_taints,
};
pub(crate) use hub::{GROUP_SIZE, LABEL_KEY, NAME_OF_GROUP, NAME_OF_NAMESPACE, RATE_LIMIT};
pub use metrics_producer::{
    MetricsProducer, MetricsProducerSpec, MetricsProducerStatus, Pattern, Schedule,
    ScheduledBehavior, ScheduledCapacityStatus,
};
pub use placement::{
    AddOnScore, CelSelector, ClaimSelector, ClusterPredicate, ClusterSelector, DISABLE_ANNOTATION,
    DecisionGroup, DecisionStrategy, GroupClusterSelector, GroupStrategy, Placement, PlacementSpec,
    PrioritizerConfig, PrioritizerPolicy, ScoreCoordinate, SortBy, SpreadConstraint, SpreadPolicy,
    Toleration, TopologyKeyType, WhenUnsatisfiable,
};
pub use placement_status::{DecisionGroupStatus, PlacementStatus};
pub use resource_policy::MAX_POLICIES;
pub(crate) use resource_policy::{MAX_GROUPS, MAX_POD_TERMS, MAX_TERMS};
pub use resource_policy::{
    MatchPolicy, ResourcePolicy, ResourcePolicySpec, ResourcePolicyStatus, Unit, UnitGroupStatus,
    UnitStatus, UnitStrategy,
};
pub use scalable_node_group::{ScalableNodeGroup, ScalableNodeGroupSpec, ScalableNodeGroupStatus};
pub(crate) use schema::MAX_CONDITION_MESSAGE;
pub use schema::{Observed, ScaleTargetReference};
