//! A document: an object in as little memory as it can be read from, a few kilobytes for one cluster.
//!
//! It is two pieces of memory, all values in a row and all texts in a row, so that ten thousand of them are neither
//! millions of allocations nor a tree to walk, and no text has to be checked again when it is read. Maps are in the
//! order of their keys.

use serde_json::{Map, Value as Json};

use crate::failure::Failure;

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const INT: u8 = 3;
const DOUBLE: u8 = 4;
const TEXT: u8 = 5;
const LIST: u8 = 6;
const MAP: u8 = 7;

/// How many lists and maps are in each other at most: what JSON is read with.
const MOST_NESTED: usize = 128;

/// An object, or any other value that can be written as JSON.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Document {
    values: Box<[u8]>,
    texts: Box<str>,
    is_too_deep: bool,
}

impl Document {
    /// The document that says the same as some JSON. Of what is nested too deep for the stack, no expression has a
    /// result.
    #[must_use]
    pub fn of(json: &Json) -> Document {
        let mut texts = String::new();
        let mut values = Vec::new();
        let is_too_deep = !write(json, 0, &mut values, &mut texts);
        if is_too_deep {
            return Document { is_too_deep, ..Document::default() };
        }
        Document { values: values.into(), texts: texts.into(), is_too_deep }
    }

    /// The whole of it.
    pub(crate) fn root(&self) -> Result<Stored<'_>, Failure> {
        if self.is_too_deep {
            let message = format!("the object is nested more than {MOST_NESTED} levels deep");
            return Err(Failure::other(message));
        }
        Ok(Stored { bytes: &self.values, texts: &self.texts })
    }

    /// How many bytes it takes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.values.len() + self.texts.len()
    }
}

impl std::fmt::Debug for Document {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Stored { bytes: &self.values, texts: &self.texts }.fmt(formatter)
    }
}

/// Writes a value that is in so many others, unless that is too deep.
#[must_use]
fn write(json: &Json, level: usize, bytes: &mut Vec<u8>, texts: &mut String) -> bool {
    match json {
        Json::Null => bytes.push(NULL),
        Json::Bool(value) => bytes.push(if *value { TRUE } else { FALSE }),
        Json::Number(number) => {
            if let Some(whole) = number.as_i64() {
                bytes.push(INT);
                bytes.extend(whole.to_le_bytes());
            } else {
                bytes.push(DOUBLE);
                bytes.extend(number.as_f64().unwrap_or_default().to_le_bytes());
            }
        }
        Json::String(text) => {
            bytes.push(TEXT);
            write_text(text, bytes, texts);
        }
        Json::Array(_) | Json::Object(_) if level == MOST_NESTED => return false,
        Json::Array(items) => {
            let mut content = Vec::new();
            if !items.iter().all(|item| write(item, level + 1, &mut content, texts)) {
                return false;
            }
            write_nested(LIST, items.len(), &content, bytes);
        }
        Json::Object(entries) => {
            let mut content = Vec::new();
            let is_written = sorted(entries).into_iter().all(|(key, value)| {
                write_text(key, &mut content, texts);
                write(value, level + 1, &mut content, texts)
            });
            if !is_written {
                return false;
            }
            write_nested(MAP, entries.len(), &content, bytes);
        }
    }
    true
}

/// In the order of the keys, whichever order the map has them in.
fn sorted(entries: &Map<String, Json>) -> Vec<(&String, &Json)> {
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_unstable_by_key(|(key, _)| *key);
    sorted
}

/// Where it begins among all texts, and how long it is.
fn write_text(text: &str, bytes: &mut Vec<u8>, texts: &mut String) {
    write_length(texts.len(), bytes);
    write_length(text.len(), bytes);
    texts.push_str(text);
}

fn write_nested(tag: u8, length: usize, content: &[u8], bytes: &mut Vec<u8>) {
    bytes.push(tag);
    write_length(content.len(), bytes);
    write_length(length, bytes);
    bytes.extend(content);
}

/// Seven bits to a byte, the last byte below 128.
fn write_length(mut length: usize, bytes: &mut Vec<u8>) {
    loop {
        let low = u8::try_from(length & 0x7f).unwrap_or_default();
        length >>= 7;
        if length == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

/// A value in a document.
#[derive(Clone, Copy)]
pub(crate) struct Stored<'d> {
    /// From its first byte on.
    bytes: &'d [u8],
    texts: &'d str,
}

/// What a value in a document is.
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

/// A list in a document.
#[derive(Clone, Copy)]
pub(crate) struct StoredList<'d> {
    length: usize,
    bytes: &'d [u8],
    texts: &'d str,
}

/// A map in a document.
#[derive(Clone, Copy)]
pub(crate) struct StoredMap<'d> {
    length: usize,
    bytes: &'d [u8],
    texts: &'d str,
}

impl<'d> Stored<'d> {
    pub(crate) fn content(self) -> Content<'d> {
        let mut reader = Reader { bytes: self.bytes, texts: self.texts };
        reader.value()
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
    pub(crate) fn len(self) -> usize {
        self.length
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Stored<'d>> {
        let mut reader = Reader { bytes: self.bytes, texts: self.texts };
        (0..self.length).map(move |_| reader.skip_value())
    }

    pub(crate) fn get(self, position: usize) -> Option<Stored<'d>> {
        self.iter().nth(position)
    }
}

impl std::fmt::Debug for StoredList<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

impl<'d> StoredMap<'d> {
    pub(crate) fn len(self) -> usize {
        self.length
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = (&'d str, Stored<'d>)> {
        let mut reader = Reader { bytes: self.bytes, texts: self.texts };
        (0..self.length).map(move |_| (reader.text(), reader.skip_value()))
    }

    pub(crate) fn get(self, key: &str) -> Option<Stored<'d>> {
        self.iter().find(|(known, _)| *known == key).map(|(_, value)| value)
    }
}

impl std::fmt::Debug for StoredMap<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

/// Reads what has been written. What is cut off reads as nothing: there is no way to make such a document.
struct Reader<'d> {
    bytes: &'d [u8],
    texts: &'d str,
}

impl<'d> Reader<'d> {
    fn value(&mut self) -> Content<'d> {
        match self.take(1).first().copied().unwrap_or(NULL) {
            FALSE => Content::Bool(false),
            TRUE => Content::Bool(true),
            INT => Content::Int(i64::from_le_bytes(self.eight())),
            DOUBLE => Content::Double(f64::from_le_bytes(self.eight())),
            TEXT => Content::Text(self.text()),
            LIST => {
                let (length, bytes) = self.nested();
                Content::List(StoredList { length, bytes, texts: self.texts })
            }
            MAP => {
                let (length, bytes) = self.nested();
                Content::Map(StoredMap { length, bytes, texts: self.texts })
            }
            _ => Content::Null,
        }
    }

    /// The next value, without reading it.
    fn skip_value(&mut self) -> Stored<'d> {
        let start = Stored { bytes: self.bytes, texts: self.texts };
        match self.take(1).first().copied().unwrap_or(NULL) {
            INT | DOUBLE => {
                self.take(8);
            }
            TEXT => {
                self.text();
            }
            LIST | MAP => {
                self.nested();
            }
            _ => {}
        }
        start
    }

    fn nested(&mut self) -> (usize, &'d [u8]) {
        let (size, length) = (self.length(), self.length());
        (length, self.take(size))
    }

    fn text(&mut self) -> &'d str {
        let (start, length) = (self.length(), self.length());
        self.texts.get(start..start + length).unwrap_or_default()
    }

    fn eight(&mut self) -> [u8; 8] {
        self.take(8).try_into().unwrap_or_default()
    }

    fn length(&mut self) -> usize {
        let (mut length, mut shift) = (0, 0);
        loop {
            let Some(byte) = self.take(1).first().copied() else { return length };
            length |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return length;
            }
            shift += 7;
        }
    }

    fn take(&mut self, length: usize) -> &'d [u8] {
        let (taken, rest) = self.bytes.split_at(length.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(json: &Json) -> String {
        format!("{:?}", Document::of(json))
    }

    #[test]
    fn a_document_says_what_the_object_says() {
        let long = "x".repeat(300);
        let json = json!({
            "none": null, "yes": true, "no": false, "whole": -3, "large": i64::MIN, "half": 0.5,
            "text": "grün", "long": long, "empty": [], "nothing": {},
            "list": [1, "two", [3], { "four": 4 }]
        });
        let expected = format!(
            "{{\"empty\": [], \"half\": 0.5, \"large\": {}, \"list\": [1, \"two\", [3], {{\"four\": 4}}], \
             \"long\": {long:?}, \"no\": false, \"none\": null, \"nothing\": {{}}, \"text\": \"grün\", \
             \"whole\": -3, \"yes\": true}}",
            i64::MIN
        );
        assert_eq!(shown(&json), expected);
        assert_eq!(shown(&json!(u64::MAX)), format!("{:?}", 1.844_674_407_370_955_2e19));
        assert_eq!(format!("{:?}", Document::default()), "null");
    }

    #[test]
    fn the_parts_of_a_map_and_a_list_are_found() {
        let document = Document::of(&json!({ "a": [10, { "b": "c" }] }));
        let Content::Map(map) = document.root().unwrap().content() else { panic!("a map") };
        assert_eq!((map.len(), map.get("b").is_none()), (1, true));
        let Some(Content::List(list)) = map.get("a").map(Stored::content) else { panic!("a list") };
        assert_eq!((list.len(), list.get(2).is_none()), (2, true));
        assert_eq!(format!("{:?}", list.get(1)), "Some({\"b\": \"c\"})");
    }
}
