//! Reads a document: a value in it, by its word.

use super::word::{
    BITS_OF_TAG, DOUBLE, INT, LIST, LONG_TEXT, MAP, NAME, NULL, SHORT_TEXT, SIMPLE, TRUE, position,
    tag,
};
use super::{Document, Name};

/// A value in a document.
#[derive(Clone, Copy)]
pub(crate) struct Stored<'d> {
    pub(super) word: u32,
    pub(super) document: &'d Document,
}

/// A value in a document, with its type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'d> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(&'d str),
    List(StoredList<'d>),
    Map(StoredMap<'d>),
}

/// A list in a document, by its position.
#[derive(Clone, Copy)]
pub(crate) struct StoredList<'d> {
    at: u32,
    document: &'d Document,
}

/// A map in a document, by its position.
#[derive(Clone, Copy)]
pub(crate) struct StoredMap<'d> {
    at: u32,
    document: &'d Document,
}

impl<'d> Stored<'d> {
    pub(crate) fn map(self) -> Option<StoredMap<'d>> {
        let at = self.word >> BITS_OF_TAG;
        (tag(self.word) == MAP).then_some(StoredMap { at, document: self.document })
    }

    /// The length of the value, if it is a string.
    pub(crate) fn length_of_text(self) -> Option<usize> {
        match tag(self.word) {
            NAME => Some(self.document.text(self.word).len()),
            SHORT_TEXT | LONG_TEXT => Some(self.document.extent(self.word).1),
            _ => None,
        }
    }

    /// Whether the value is this string.
    pub(crate) fn is_text(self, text: &str) -> bool {
        self.document.is_text(self.word, text)
    }

    pub(crate) fn content(self) -> Content<'d> {
        let Stored { word, document } = self;
        let of = word >> BITS_OF_TAG;
        match tag(word) {
            SIMPLE if word == NULL => Content::Null,
            SIMPLE => Content::Bool(word == TRUE),
            INT => Content::Int(document.double_word(position(of)).cast_signed()),
            DOUBLE => Content::Double(f64::from_bits(document.double_word(position(of)))),
            LIST => Content::List(StoredList { at: of, document }),
            MAP => Content::Map(StoredMap { at: of, document }),
            _ => Content::Text(document.text(word)),
        }
    }
}

impl std::fmt::Debug for Stored<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.content() {
            Content::Null => formatter.write_str("null"),
            Content::Bool(value) => value.fmt(formatter),
            Content::Int(value) => value.fmt(formatter),
            Content::Double(value) => value.fmt(formatter),
            Content::Text(value) => value.fmt(formatter),
            Content::List(list) => list.fmt(formatter),
            Content::Map(map) => map.fmt(formatter),
        }
    }
}

impl<'d> StoredList<'d> {
    fn items(self) -> &'d [u32] {
        self.document.nested(position(self.at), 1)
    }

    pub(crate) fn len(self) -> usize {
        position(self.document.word(position(self.at)))
    }

    pub(crate) fn get(self, position: usize) -> Option<Stored<'d>> {
        let word = *self.items().get(position)?;
        Some(Stored { word, document: self.document })
    }
}

impl std::fmt::Debug for StoredList<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let items = (0..self.len()).filter_map(|position| self.get(position));
        formatter.debug_list().entries(items).finish()
    }
}

impl<'d> StoredMap<'d> {
    fn entries(self) -> &'d [u32] {
        self.document.nested(position(self.at), 2)
    }

    pub(crate) fn len(self) -> usize {
        position(self.document.word(position(self.at)))
    }

    /// The key and the value at an index.
    pub(crate) fn entry(self, position: usize) -> Option<(&'d str, Stored<'d>)> {
        let words = self.entries();
        let (key, word) = (*words.get(2 * position)?, *words.get(2 * position + 1)?);
        Some((self.document.text(key), Stored { word, document: self.document }))
    }

    pub(crate) fn get(self, key: &str) -> Option<Stored<'d>> {
        self.find(|word| self.document.is_text(word, key))
    }

    pub(crate) fn field(self, name: &Name) -> Option<Stored<'d>> {
        match name.word {
            Some(name) => self.find(|word| word == name),
            None => self.get(name),
        }
    }

    fn find(self, is_wanted: impl Fn(u32) -> bool) -> Option<Stored<'d>> {
        let words = self.entries();
        let entry = words.chunks_exact(2).find(|entry| is_wanted(entry[0]))?;
        Some(Stored { word: entry[1], document: self.document })
    }
}

impl std::fmt::Debug for StoredMap<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let entries = (0..self.len()).filter_map(|position| self.entry(position));
        formatter.debug_map().entries(entries).finish()
    }
}
