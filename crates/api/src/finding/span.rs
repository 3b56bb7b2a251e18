//! A range of bytes in a text. The owner of the text computes lines and columns.

use std::ops::Range;

/// A range of bytes in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// The index of the first byte.
    pub start: u32,
    /// The index after the last byte.
    pub end: u32,
}

impl Span {
    /// Converts a range of bytes. Sources are far smaller than 4 GiB.
    pub(crate) fn new(range: Range<usize>) -> Self {
        let saturated = |byte: usize| u32::try_from(byte).unwrap_or(u32::MAX);
        Self { start: saturated(range.start), end: saturated(range.end) }
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}
