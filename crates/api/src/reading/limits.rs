//! The limits of reading. The limits allow anything people write, and no input can exhaust memory or time. At its peak,
//! reading needs less than 64 bytes per byte of text, plus 4 MB, including the result (`tests/peak_memory.rs`).

/// The maximum size of a file, in bytes.
pub const FILE_BYTES: usize = 64 << 20;

/// The maximum depth of nested lists and maps. Kubernetes objects stay below 30.
pub(super) const DEPTH: usize = 128;

/// The maximum number of values in one document, including those of aliases.
pub(super) const NODES: usize = 1_000_000;

/// The maximum number of values that aliases may add to one document.
pub(super) const ALIASED_NODES: usize = 100_000;

/// The maximum number of bytes of strings and keys that aliases may add to one document. A Kubernetes object has at
/// most 1.5 MB.
pub(super) const ALIASED_BYTES: usize = 1_000_000;

/// The maximum number of reported findings about the text of one file; the others are only counted.
pub(super) const FINDINGS_A_FILE: usize = 50;
