//! The clusters that a placement selects.

mod candidates;
mod costs;
mod expressions;
mod faults;
mod groups;
mod index;
mod influence;
mod known;
mod properties;
mod reasons;
mod scores;
mod selection;
mod taints;
mod writes;
