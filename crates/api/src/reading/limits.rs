//! The limits of reading. They are generous for anything people write, and small enough that no
//! input can exhaust memory or time: at its peak, reading takes less than 64 bytes per byte of text, plus 4 MB. That
//! includes the result (`tests/peak_memory.rs`).

/// The largest file, in bytes.
pub const FILE_BYTES: usize = 64 << 20;

/// The maximum depth of nested lists and maps. Kubernetes objects stay below 30.
pub(super) const DEPTH: usize = 128;

/// The most values in one document, including those of aliases.
pub(super) const NODES: usize = 1_000_000;

/// The most values aliases may add to one document.
pub(super) const ALIASED_NODES: usize = 100_000;

/// The most bytes of text and of keys that aliases may add to one document. A Kubernetes object has at most 1.5 MB.
pub(super) const ALIASED_BYTES: usize = 1_000_000;

/// The number of findings about one file's text that are reported; the others are only counted.
pub(super) const FINDINGS_A_FILE: usize = 50;
