//! The words of a document: each has the type of a value, and the value or its position in the words.

use super::Unreadable;

// The lowest bits of a word are the kind of the value. The others are the value, or its position in the words.
pub(super) const BITS_OF_TAG: u32 = 3;
pub(super) const SIMPLE: u32 = 0;
/// The index of a predefined name.
pub(super) const NAME: u32 = 1;
/// Two words, the lower one first.
pub(super) const INT: u32 = 2;
/// Two words, the lower one first.
pub(super) const DOUBLE: u32 = 3;
/// A short string: the word contains its start and its length.
pub(super) const SHORT_TEXT: u32 = 4;
/// A long string, in two words: its start and its length.
pub(super) const LONG_TEXT: u32 = 5;
/// The number of items, and a word for each.
pub(super) const LIST: u32 = 6;
/// The number of entries, and two words for each: its key and its value.
pub(super) const MAP: u32 = 7;

pub(super) const NULL: u32 = SIMPLE;
pub(super) const FALSE: u32 = 1 << BITS_OF_TAG | SIMPLE;
pub(super) const TRUE: u32 = 2 << BITS_OF_TAG | SIMPLE;

/// The number of bits for the length of a short text, and for its start.
pub(super) const BITS_OF_LENGTH: u32 = 11;
pub(super) const BITS_OF_START: u32 = u32::BITS - BITS_OF_TAG - BITS_OF_LENGTH;

pub(super) fn tag(word: u32) -> u32 {
    word & ((1 << BITS_OF_TAG) - 1)
}

pub(super) fn word(tag: u32, of: usize) -> Result<u32, Unreadable> {
    let of = number(of)?;
    if of >> (u32::BITS - BITS_OF_TAG) == 0 {
        Ok(of << BITS_OF_TAG | tag)
    } else {
        Err(Unreadable::TooLarge)
    }
}

pub(super) fn number(of: usize) -> Result<u32, Unreadable> {
    u32::try_from(of).map_err(|_| Unreadable::TooLarge)
}

pub(super) fn position(of: u32) -> usize {
    usize::try_from(of).unwrap_or(usize::MAX)
}
