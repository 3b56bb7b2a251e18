//! Converts text to trees with the position of every value.
//!
//! Text is read as kubectl reads it: documents are split at `---` lines, scalars follow YAML 1.1, and a text that
//! starts with `{` is first read as JSON. The result is a tree of plain JSON values with positions; the caller
//! interprets the values.

mod agent_config_name;
mod claim;
mod cron_jobs;
mod embedded;
mod encoding;
mod envelope;
mod events;
mod fixing;
mod folder;
mod foreign;
mod ignoring;
mod json;
mod kustomization;
mod limits;
mod locator;
mod map;
mod mistakes;
mod near_misses;
mod near_names;
mod objects;
mod other_object;
mod placeholder;
mod pods;
mod quotas;
mod reported;
mod scheduler_profile;
mod source;
mod stream;
mod text_finding;
mod typography;
mod yaml;

pub(crate) use claim::values_of;
pub use claim::{Names, claims_kind_of_ours, may_hold_policies};
pub use cron_jobs::{CronJob, Starts};
pub(crate) use embedded::{EmbeddedDocument, read_embedded};
pub use fixing::{Change, FixedText, fix_text};
pub use folder::Folder;
pub use foreign::{ForeignPolicy, ForeignScaler, labels};
pub use ignoring::Ignores;
pub use kustomization::{Kustomization, is_kustomization, kustomization_as_json};
pub use limits::FILE_BYTES;
pub use locator::Locator;
pub(crate) use map::MERGE_KEY;
pub use near_names::NearNames;
pub use objects::{PlacedFinding, ReadObject, Reading, Skipped, read_objects, read_targets};
pub use other_object::OtherObject;
pub(crate) use placeholder::placeholder;
pub use placeholder::{Engine, Template, substituting_program};
pub use pods::{ReadNode, ReadPod, may_hold_pods};
pub use quotas::{Hard, ReadLimitRange, ReadQuota, may_bound_pods};
pub(crate) use reported::unfilled;
pub use source::{Position, Source};
pub use typography::ConfusableCharacter;
pub(crate) use typography::{as_meant, name_letters};

pub use crate::tree::{Entry, Node, Value, reads_as_text};
