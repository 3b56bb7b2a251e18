//! Reads documents without making intermediate values: the value of a field, and whether it is a given text. Most
//! lookups of expressions in clusters are one of these. They take the same steps as the operations that they stand for.

use crate::document::{Name, Stored, StoredMap};
use crate::node::{Fields, Node};
use crate::value::{Value, steps_to_key};

/// The value of a field of a field of a map, and so on, with the steps to find it; `None` if it is missing, or a value
/// on the way is not a map.
#[inline]
pub(super) fn field<'v>(map: StoredMap<'v>, names: &[Name]) -> Option<(Stored<'v>, usize)> {
    match names {
        [name] => Some((map.field(name)?, 2 + steps_to_key(map.len(), name))),
        names => field_of_field(map, names),
    }
}

#[inline(never)]
fn field_of_field<'v>(map: StoredMap<'v>, names: &[Name]) -> Option<(Stored<'v>, usize)> {
    let (last, names) = names.split_last()?;
    let mut map = map;
    // One for each field, and one for what the first is of.
    let mut steps = 2 + names.len();
    for name in names {
        let found = map.field(name)?.map()?;
        steps += steps_to_key(map.len(), name);
        map = found;
    }
    Some((map.field(last)?, steps + steps_to_key(map.len(), last)))
}

/// Whether what is in a field is this text, with the steps to find that out; `None` if there is no text.
#[inline]
pub(super) fn is_text(map: StoredMap<'_>, names: &[Name], text: &str) -> Option<(bool, usize)> {
    let (found, steps) = field(map, names)?;
    let length = found.length_of_text()?;
    let is_as_long = length == text.len();
    // One for the text, and one to compare them.
    let steps = 2 + steps + if is_as_long { length / 16 } else { 0 };
    Some((is_as_long && found.is_text(text), steps))
}

/// The first condition on each item of a list, if it compares a field with a text. If it does not hold, the rest is
/// skipped: of many claims or conditions, an expression needs one.
pub(super) struct FirstCondition<'v> {
    names: &'v [Name],
    text: &'v str,
    /// The steps that are taken in addition to those of the condition.
    around: usize,
}

impl<'v> FirstCondition<'v> {
    /// The first condition of `holds`, if it is about the variable of the item.
    pub(super) fn from_condition(holds: &'v Node) -> Option<FirstCondition<'v>> {
        let (first, around) = match holds {
            Node::Logical { parts, decides: false } => (parts.first()?, 2),
            first => (first, 1),
        };
        let Node::Equals { one, other, is_negated: false } = first else { return None };
        let (Node::Fields(Fields { of, names }), Node::Constant(Value::Text(text))) =
            (&**one, &**other)
        else {
            return None;
        };
        matches!(**of, Node::Variable(0)).then_some(FirstCondition { names, text, around })
    }

    /// The steps to find out that an item does not hold; `None` if it may.
    #[inline]
    pub(super) fn steps_to_no(&self, item: Stored<'v>) -> Option<usize> {
        let (is_text, steps) = is_text(item.map()?, self.names, self.text)?;
        (!is_text).then_some(self.around + steps)
    }
}
