//! Maps. Maps of a document are read in place. Maps that an expression creates find their keys as fast,
//! independent of the number of keys.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Text, Value, one_deeper};
use crate::document::{Name, StoredMap};
use crate::failure::Failure;
use crate::meter::Meter;

/// A map, with its entries in their order.
#[derive(Clone, Debug)]
pub(crate) enum Map<'v> {
    Stored(StoredMap<'v>),
    /// A score, with its `name` and its `value`.
    Score {
        name: &'v str,
        score: i32,
    },
    Made(Arc<MadeMap<'v>>),
}

/// A map that an expression has made.
#[derive(Debug)]
pub(crate) struct MadeMap<'v> {
    entries: Vec<(Value<'v>, Value<'v>)>,
    /// The positions of the entries, in the order of their keys; empty if they are in this order themselves.
    sorted: Box<[usize]>,
    depth: u8,
}

impl<'v> Map<'v> {
    /// The map of some entries. Of two with the same key, the last counts.
    pub(crate) fn from_entries(
        mut entries: Vec<(Value<'v>, Value<'v>)>,
    ) -> Result<Map<'v>, Failure> {
        if let Some((key, _)) = entries.iter().find(|(key, _)| !is_key(key)) {
            return Err(Failure::other(format!("a map has no keys of type {}", key.type_name())));
        }
        let depth = one_deeper(entries.iter().map(|(_, value)| value))?;
        if entries.is_sorted_by(|(one, _), (other, _)| key_order(one, other).is_lt()) {
            return Ok(Map::Made(Arc::new(MadeMap { entries, sorted: Box::default(), depth })));
        }
        let mut sorted: Vec<usize> = (0..entries.len()).collect();
        sorted.sort_by(|one, other| key_order(&entries[*one].0, &entries[*other].0));
        let is_same =
            |one: usize, other: usize| key_order(&entries[one].0, &entries[other].0).is_eq();
        let groups = sorted.chunk_by(|one, other| is_same(*one, *other));
        let repeated: Vec<Vec<usize>> =
            groups.filter(|group| group.len() > 1).map(<[usize]>::to_vec).collect();
        if repeated.is_empty() {
            return Ok(Map::Made(Arc::new(MadeMap { entries, sorted: sorted.into(), depth })));
        }
        let mut is_kept = vec![true; entries.len()];
        for group in repeated {
            if let [first, others @ .., last] = &*group {
                entries[*first].1 = entries[*last].1.clone();
                others.iter().chain([last]).for_each(|other| is_kept[*other] = false);
            }
        }
        let mut is_kept = is_kept.into_iter();
        entries.retain(|_| is_kept.next().unwrap_or(true));
        Map::from_entries(entries)
    }

    pub(super) fn depth(&self) -> u8 {
        match self {
            Map::Stored(_) => 0,
            Map::Score { .. } => 1,
            Map::Made(map) => map.depth,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Map::Stored(map) => map.len(),
            Map::Score { .. } => 2,
            Map::Made(map) => map.entries.len(),
        }
    }

    /// The value of a key. A whole number finds keys that are integers with or without a sign.
    pub(crate) fn get(&self, key: &Value<'v>, meter: &Meter) -> Result<Option<Value<'v>>, Failure> {
        let map = match (self, key) {
            (Map::Stored(_) | Map::Score { .. }, Value::Text(text)) => {
                return self.get_text(text, meter);
            }
            (Map::Stored(_), _) => return Ok(None),
            (Map::Score { .. }, key) => {
                return meter.spend(1 + key.steps()).map(|()| None);
            }
            (Map::Made(map), _) => map,
        };
        meter.spend(1 + key.steps())?;
        let of_int = |int: i64| u64::try_from(int).map(Value::Uint).ok();
        let others = match key {
            Value::Double(double) => match whole(*double) {
                Some(whole) => [
                    i64::try_from(whole).map(Value::Int).ok(),
                    u64::try_from(whole).map(Value::Uint).ok(),
                ],
                None => [None, None],
            },
            Value::Int(int) => [of_int(*int), None],
            Value::Uint(uint) => [i64::try_from(*uint).map(Value::Int).ok(), None],
            _ => [None, None],
        };
        let found = map.find(key).or_else(|| others.iter().flatten().find_map(|it| map.find(it)));
        Ok(found.cloned())
    }

    /// The value of a string key.
    fn get_text(&self, key: &str, meter: &Meter) -> Result<Option<Value<'v>>, Failure> {
        match self {
            Map::Stored(map) => {
                meter.spend(steps_to_key(map.len(), key))?;
                Ok(map.get(key).map(Value::from))
            }
            Map::Score { name, score } => {
                meter.spend(1 + key.len() / 16)?;
                Ok(match key {
                    "name" => Some(Value::Text(Text::Stored(name))),
                    "value" => Some(Value::Int((*score).into())),
                    _ => None,
                })
            }
            Map::Made(map) => {
                meter.spend(1 + key.len() / 16)?;
                let found = map.search(|known| match known {
                    Value::Text(known) => (**known).cmp(key),
                    other => rank(other).cmp(&RANK_OF_TEXT),
                });
                Ok(found.cloned())
            }
        }
    }

    /// The value of a field.
    pub(crate) fn field(&self, name: &Name, meter: &Meter) -> Result<Option<Value<'v>>, Failure> {
        match self {
            Map::Stored(map) => {
                meter.spend(steps_to_key(map.len(), name))?;
                Ok(map.field(name).map(Value::from))
            }
            map => map.get_text(name, meter),
        }
    }

    /// The key and the value at a position.
    fn entry(&self, position: usize) -> Option<(Value<'v>, Value<'v>)> {
        let text = |text| Value::Text(Text::Stored(text));
        match (self, position) {
            (Map::Stored(map), _) => {
                map.entry(position).map(|(key, value)| (text(key), Value::from(value)))
            }
            (Map::Score { name, .. }, 0) => Some((text("name"), text(name))),
            (Map::Score { score, .. }, 1) => Some((text("value"), Value::Int((*score).into()))),
            (Map::Score { .. }, _) => None,
            (Map::Made(map), _) => map.entries.get(position).cloned(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Value<'v>, Value<'v>)> + '_ {
        (0..self.len()).filter_map(|position| self.entry(position))
    }
}

impl<'v> MadeMap<'v> {
    fn find(&self, key: &Value<'v>) -> Option<&Value<'v>> {
        if matches!(key, Value::Double(double) if double.is_nan()) {
            return None;
        }
        self.search(|known| key_order(known, key))
    }

    /// The value of the key that an order finds equal.
    fn search(&self, order: impl Fn(&Value<'v>) -> Ordering) -> Option<&Value<'v>> {
        let position = if self.sorted.is_empty() {
            self.entries.binary_search_by(|(known, _)| order(known)).ok()?
        } else {
            let by_key = |at: &usize| order(&self.entries[*at].0);
            self.sorted[self.sorted.binary_search_by(by_key).ok()?]
        };
        Some(&self.entries[position].1)
    }
}

/// The steps to find a key among `keys` keys of a document: those of the same length are compared letter by letter.
pub(crate) fn steps_to_key(keys: usize, key: &str) -> usize {
    keys / 4 + keys * (key.len() / 256) + key.len() / 16
}

/// Whether a map may have a key of this type.
pub(crate) fn is_key(value: &Value<'_>) -> bool {
    rank(value) <= RANK_OF_TEXT
}

const RANK_OF_TEXT: u8 = 4;

/// The rank of a type of keys. Keys of different types are different.
fn rank(key: &Value<'_>) -> u8 {
    match key {
        Value::Bool(_) => 0,
        Value::Int(_) => 1,
        Value::Uint(_) => 2,
        Value::Double(_) => 3,
        Value::Text(_) => RANK_OF_TEXT,
        _ => u8::MAX,
    }
}

fn key_order(one: &Value<'_>, other: &Value<'_>) -> Ordering {
    match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Int(one), Value::Int(other)) => one.cmp(other),
        (Value::Uint(one), Value::Uint(other)) => one.cmp(other),
        // Zero is the same with either sign.
        (Value::Double(one), Value::Double(other)) => (one + 0.0).total_cmp(&(other + 0.0)),
        (Value::Text(one), Value::Text(other)) => (**one).cmp(&**other),
        (one, other) => rank(one).cmp(&rank(other)),
    }
}

/// A number without a fraction, within 64 bits with or without a sign.
#[expect(clippy::cast_possible_truncation, reason = "it is whole, and within the bounds")]
fn whole(double: f64) -> Option<i128> {
    (double.fract() == 0.0 && double.abs() < 2e19).then_some(double as i128)
}
