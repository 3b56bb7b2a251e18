//! The checks of single fields that objects of several kinds have: names, references to targets, selectors of labels.

pub(crate) mod envelope;
pub(crate) mod label_selector;
pub(crate) mod label_sets;
pub(crate) mod target;
