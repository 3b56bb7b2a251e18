//! QoS levels of pods over time, from lists of policies with daily windows.

mod policy;

pub use policy::{
    Level, LevelFormat, ListInForce, NodeList, NodeLists, PolicyList, QosLevels, QosPolicy,
};
