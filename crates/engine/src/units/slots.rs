//! Slots that assign small numbers to entries, so that references between entries are cheap.
//!
//! The number of an entry depends on earlier entries, so no output of the ledger may be ordered by it.

use std::ops::{Index, IndexMut};

/// The number of a slot, with a separate type for each type of entry.
pub(super) trait SlotId: Copy {
    fn from_index(index: u32) -> Self;
    fn index(self) -> usize;
}

/// Declares the number types of slots.
macro_rules! slot_ids {
    ($($(#[$about:meta])* $visibility:vis $name:ident;)+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        $visibility struct $name(u32);

        impl SlotId for $name {
            fn from_index(index: u32) -> Self {
                Self(index)
            }

            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

slot_ids! {
    /// A node of a ledger. The number may be reused for another node after the node is deleted.
    pub NodeId;
    /// A pod.
    pub(super) PodId;
    /// The pods of a namespace that have the same labels.
    pub(super) ShapeId;
    /// A policy.
    pub(super) PolicyId;
    /// A group of a policy.
    pub(super) GroupId;
}

/// Entries, by the numbers of their slots.
#[derive(Clone, Debug)]
pub(super) struct Slots<Id, Thing> {
    things: Vec<Option<Thing>>,
    free: Vec<Id>,
}

impl<Id, Thing> Default for Slots<Id, Thing> {
    fn default() -> Self {
        Self { things: Vec::new(), free: Vec::new() }
    }
}

impl<Id: SlotId, Thing> Slots<Id, Thing> {
    pub(super) fn insert(&mut self, thing: Thing) -> Id {
        if let Some(id) = self.free.pop() {
            self.things[id.index()] = Some(thing);
            return id;
        }
        // Four billion entries do not fit into RAM.
        let id = Id::from_index(u32::try_from(self.things.len()).unwrap_or(u32::MAX));
        self.things.push(Some(thing));
        id
    }

    pub(super) fn remove(&mut self, id: Id) -> Option<Thing> {
        let thing = self.things[id.index()].take();
        if thing.is_some() {
            self.free.push(id);
        }
        thing
    }

    /// The entry of a slot; `None` for an empty slot.
    pub(super) fn get(&self, id: Id) -> Option<&Thing> {
        self.things.get(id.index())?.as_ref()
    }

    /// The numbers of all slots that are not empty.
    pub(super) fn ids(&self) -> Vec<Id> {
        self.iter().map(|(id, _)| id).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Id, &Thing)> {
        (0..).map(Id::from_index).zip(&self.things).filter_map(|(id, it)| Some((id, it.as_ref()?)))
    }
}

impl<Id: SlotId, Thing> Index<Id> for Slots<Id, Thing> {
    type Output = Thing;

    #[expect(clippy::expect_used, reason = "emptying a slot removes its number everywhere")]
    fn index(&self, id: Id) -> &Thing {
        self.things[id.index()].as_ref().expect("a number is removed when its slot is emptied")
    }
}

impl<Id: SlotId, Thing> IndexMut<Id> for Slots<Id, Thing> {
    #[expect(clippy::expect_used, reason = "emptying a slot removes its number everywhere")]
    fn index_mut(&mut self, id: Id) -> &mut Thing {
        self.things[id.index()].as_mut().expect("a number is removed when its slot is emptied")
    }
}
