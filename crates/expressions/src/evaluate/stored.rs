//! Reads documents without intermediate values: the value of a field, and its comparison with a string. Most
//! lookups of expressions in clusters are one of these. They take the same steps as the operations that they replace.

use crate::document::{Name, Stored, StoredMap};
use crate::node::{Fields, Node};
use crate::value::{Value, steps_to_key};

/// The value at a path of fields of a map, with the steps to find it; `None` if it is missing, or a value
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
    // One step for each field, and one for the map of the first field.
    let mut steps = 2 + names.len();
    for name in names {
        let found = map.field(name)?.map()?;
        steps += steps_to_key(map.len(), name);
        map = found;
    }
    Some((map.field(last)?, steps + steps_to_key(map.len(), last)))
}

/// Whether the value of a field is this string, with the steps of the check; `None` if the value is not a string.
#[inline]
pub(super) fn is_text(map: StoredMap<'_>, names: &[Name], text: &str) -> Option<(bool, usize)> {
    let (found, steps) = field(map, names)?;
    let length = found.length_of_text()?;
    let is_as_long = length == text.len();
    // One step for the string, and one for the comparison.
    let steps = 2 + steps + if is_as_long { length / 16 } else { 0 };
    Some((is_as_long && found.is_text(text), steps))
}

/// The first condition on each item of a list, if it compares a field with a text. If it does not hold, the rest is
/// skipped: of many claims or conditions, an expression needs one.
pub(super) struct FirstCondition<'v> {
    names: &'v [Name],
    text: &'v str,
    /// The steps in addition to those of the condition.
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

    /// The steps to find that the condition fails for an item; `None` if it may hold.
    #[inline]
    pub(super) fn steps_to_no(&self, item: Stored<'v>) -> Option<usize> {
        let (is_text, steps) = is_text(item.map()?, self.names, self.text)?;
        (!is_text).then_some(self.around + steps)
    }
}
