//! From text to trees that know where everything stands.
//!
//! Text is read as kubectl reads it: documents are split at `---` lines, scalars are those of
//! YAML 1.1, and whatever starts with `{` is JSON first. What comes out is a tree of plain JSON
//! values with positions; what the values mean is for others.

mod events;
pub mod files;
mod json;
mod limits;
mod map;
mod mistakes;
mod objects;
mod other_object;
mod scalar;
mod source;
mod stream;
mod text_finding;
mod tree;
mod yaml;

pub(crate) use map::MERGE_KEY;
pub use objects::{PlacedFinding, ReadObject, Reading, read_objects};
pub use other_object::OtherObject;
pub use source::{Position, Source, Span};
pub use tree::{Entry, Node, Value};

/// Whether text means itself in YAML without quotes, and not a number, a boolean or nothing.
#[must_use]
pub fn reads_as_text(text: &str) -> bool {
    matches!(scalar::resolve(text), scalar::Scalar::Text)
}
