//! A map during reading: its keys, the keys from `<<`, and duplicate keys.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::text_finding::TextFinding;
use crate::finding::{Code, Span};
use crate::tree::{Entry, Node, Value};

/// The key that merges the fields of other maps, if written without quotes.
pub(crate) const MERGE_KEY: &str = "<<";

/// The entries so far.
#[derive(Default)]
pub(super) struct MapInProgress {
    entries: Vec<Entry>,
    /// The index of each key, used once the map is too large for a linear search.
    index: BTreeMap<Box<str>, usize>,
    /// The keys that came from `<<`.
    merged: BTreeSet<Box<str>>,
    /// The key whose value comes next.
    pub(super) key: Option<Key>,
}

/// A key whose value comes next.
pub(super) enum Key {
    Named(Box<str>, Span),
    /// `<<`: the following value is merged into the map.
    Merge(Span),
}

impl MapInProgress {
    /// The maximum number of keys for a linear search, which is cheaper than an index for few keys.
    const FEW: usize = 16;

    pub(super) fn into_entries(self) -> Arc<[Entry]> {
        self.entries.into()
    }

    /// Sets a key, and returns the replaced entry.
    fn put(&mut self, entry: Entry) -> Option<Entry> {
        let position = if self.entries.len() < Self::FEW {
            self.entries.iter().position(|other| has_key(other, &entry.key))
        } else {
            if self.index.is_empty() {
                let keys = self.entries.iter().map(|entry| entry.key.clone());
                self.index = keys.zip(0..).collect();
            }
            self.index.get(&entry.key).copied()
        };
        if let Some(position) = position {
            return Some(std::mem::replace(&mut self.entries[position], entry));
        }
        if !self.index.is_empty() {
            self.index.insert(entry.key.clone(), self.entries.len());
        }
        self.entries.push(entry);
        None
    }

    /// Sets a key that is written in this map, and returns whether it was set before. A key from `<<` may be set
    /// again: that is the purpose of merging.
    pub(super) fn put_written(&mut self, entry: Entry) -> Option<TextFinding> {
        let (span, key) = (entry.key_span, entry.key.clone());
        self.put(entry)?;
        if self.merged.remove(&key) {
            return None;
        }
        let message = format!("the key {key:?} appears twice in this map");
        Some(
            TextFinding::new(Code::DuplicateKey, span, message)
                .with_fix("remove one of them; kubectl would silently use the last"),
        )
    }
}

/// A step of the linear search through the entries of a map; tests count the steps.
fn has_key(entry: &Entry, key: &str) -> bool {
    #[cfg(test)]
    tests::STEPS.with(|steps| steps.set(steps.get() + 1));
    &*entry.key == key
}

/// `<<`: the entries of a map, or of a list of maps of which the earlier wins, are inserted as if they were written
/// here. As in kubectl, they replace earlier entries, and later entries replace them.
pub(super) fn merge(map: &mut MapInProgress, node: Node, span: Span) -> Result<(), TextFinding> {
    let sources = match node.value {
        Value::Map(entries) => vec![entries],
        Value::List(items) if items.iter().all(|item| matches!(item.value, Value::Map(_))) => items
            .iter()
            .rev()
            .filter_map(|item| match &item.value {
                Value::Map(entries) => Some(Arc::clone(entries)),
                _ => None,
            })
            .collect(),
        _ => {
            return Err(TextFinding::new(Code::Syntax, span, "'<<' takes a map or a list of maps")
                .with_fix("put \"<<\" in quotes if it is meant as an ordinary key"));
        }
    };
    for entry in sources.iter().flat_map(|entries| entries.iter()) {
        map.merged.insert(entry.key.clone());
        map.put(entry.clone());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        pub(super) static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    /// The number of steps to insert this number of different keys.
    fn steps_for(keys: usize) -> usize {
        STEPS.set(0);
        let mut map = MapInProgress::default();
        for key in 0..keys {
            let value = Node { span: Span::default(), value: Value::Null };
            let key = format!("key{key}").into();
            assert!(map.put_written(Entry { key, key_span: Span::default(), value }).is_none());
        }
        assert_eq!(map.into_entries().len(), keys);
        STEPS.get()
    }

    #[test]
    fn looking_up_a_key_does_not_slow_down_in_a_large_map() {
        assert_eq!(steps_for(10_000), steps_for(1_000));
        assert!(steps_for(1_000) > 0, "nothing is counted");
    }
}
