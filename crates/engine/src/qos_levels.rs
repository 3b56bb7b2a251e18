//! QoS levels of pods over time, by lists of policies with daily windows.

mod begin;
mod decide;
mod gather;
mod logic;
mod policy;
mod reasons;
mod settle;

pub use crate::objects::{LeftAlone, Node, Pod, QosAnnotations};
pub use decide::{DecidedPod, Decision, decide, explain};
pub use gather::{AgentSettings, FollowingPod, Input, gather, gather_only};
pub use policy::{
    Level, LevelFormat, ListInForce, NodeList, NodeLists, PolicyList, QosLevels, QosPolicy,
};
pub use reasons::{Cause, render};
pub use settle::{Recorded, Settlement, settle};

pub use logic::Levels;
pub(crate) use settle::value_of;
