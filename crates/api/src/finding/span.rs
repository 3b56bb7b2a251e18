//! A range of bytes in a text. Lines and columns are up to the owner of the text.

use std::ops::Range;

/// A range of bytes in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of a range of bytes. Sources are far smaller than 4 GiB.
    pub(crate) fn new(range: Range<usize>) -> Self {
        let saturated = |byte: usize| u32::try_from(byte).unwrap_or(u32::MAX);
        Self { start: saturated(range.start), end: saturated(range.end) }
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}
