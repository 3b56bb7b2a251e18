//! `almanac` next to a real kubectl, on the cluster that all tests share.

mod completion;
mod kustomize;
