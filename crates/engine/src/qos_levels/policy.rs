//! A checked `ConfigMap` of Volcano's agent: the policies for the QoS levels of pods, in lists.
//!
//! Each list is independent. An unusable list is [`PolicyList::Unusable`], which differs from an empty list: its
//! content is unknown, so pods that follow it stay unchanged.

use std::fmt;
use std::sync::Arc;

use almanac_calendar::Windows;
use jiff::SignedDuration;

use crate::{LabelSelector, Labels};

/// All policies of one `ConfigMap`.
#[derive(Clone, PartialEq, Debug)]
pub struct QosLevels {
    /// The policies for nodes without a list of their own.
    pub global: PolicyList,
    /// The policies for certain nodes.
    pub nodes: NodeLists,
}

/// A list of policies.
#[derive(Clone, PartialEq, Debug)]
pub enum PolicyList {
    /// The list does not exist.
    Absent,
    /// The policies in order. The order affects the result. May be empty.
    Known(Arc<[QosPolicy]>),
    /// The list exists and cannot be used as written.
    Unusable,
}

/// The lists of certain nodes.
#[derive(Clone, PartialEq, Debug)]
pub enum NodeLists {
    /// The lists in order: the last list that selects a node replaces the global list for that node.
    Known(Box<[NodeList]>),
    /// The lists are unknown.
    Unusable,
}

/// The list of the nodes that a selector selects.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeList {
    /// The position of the entry among all entries, including entries without a list.
    pub position: u32,
    /// The selector of the nodes; `None` when it cannot be used as written.
    pub selector: Option<LabelSelector>,
    /// The policies. Never [`PolicyList::Absent`].
    pub list: PolicyList,
}

/// One policy: while its window is open, it sets the level of the pods that it selects.
#[derive(Clone, PartialEq, Debug)]
pub struct QosPolicy {
    /// The name of the policy, unique in its list.
    pub name: Arc<str>,
    /// Whether the policy is applied at all.
    pub is_enabled: bool,
    /// The windows of the policy.
    pub windows: Windows,
    /// The selector of the pods.
    pub selector: LabelSelector,
    /// The level of the selected pods.
    pub target: Level,
    /// The interval at which a shell evaluates the pods again, apart from boundaries and changes.
    pub check_interval: SignedDuration,
}

/// A QoS level: -1 to 2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Level(i8);

/// The format of levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LevelFormat {
    /// `-1`, as in the design.
    #[default]
    Number,
    /// `BE`, which Volcano's agent reads today.
    Name,
}

impl Level {
    /// The minimum level.
    pub const MIN: i8 = -1;
    /// The maximum level.
    pub const MAX: i8 = 2;

    /// Creates a level; `None` if the number is out of range.
    #[must_use]
    pub fn new(number: i64) -> Option<Level> {
        let number = i8::try_from(number).ok()?;
        (Self::MIN..=Self::MAX).contains(&number).then_some(Level(number))
    }

    /// The level as a number.
    #[must_use]
    pub fn number(self) -> i8 {
        self.0
    }

    /// The value of the annotation; `None` if the absence of the annotation represents the level.
    #[must_use]
    pub fn written(self, format: LevelFormat) -> Option<Arc<str>> {
        match (format, self.0) {
            (LevelFormat::Number, number) => Some(number.to_string().into()),
            (LevelFormat::Name, -1) => Some("BE".into()),
            (LevelFormat::Name, 1) => Some("LS".into()),
            (LevelFormat::Name, 2) => Some("LC".into()),
            (LevelFormat::Name, _) => None,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The list that a node follows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ListInForce<'a> {
    /// The list of the entry at this position; `None` for the global list. An absent list is empty.
    Known(Option<u32>, &'a [QosPolicy]),
    /// The content of the list is unknown.
    Unusable,
    /// The list depends on the labels of the node, and these are unknown.
    UnknownNode,
}

impl QosLevels {
    /// Policies without any list, as without a `ConfigMap`.
    #[must_use]
    pub fn none() -> QosLevels {
        QosLevels { global: PolicyList::Absent, nodes: NodeLists::Known(Box::default()) }
    }

    /// Policies of which every list is unusable.
    #[must_use]
    pub fn unusable() -> QosLevels {
        QosLevels { global: PolicyList::Unusable, nodes: NodeLists::Unusable }
    }

    /// Replaces each unusable list by its last usable form. Lists of certain nodes are the same list if their selectors
    /// are equal; an unusable selector is matched by its position.
    #[must_use]
    pub fn keeping(self, before: &QosLevels) -> QosLevels {
        let global = match self.global {
            PolicyList::Unusable => before.global.clone(),
            usable => usable,
        };
        let nodes = match (self.nodes, &before.nodes) {
            (NodeLists::Unusable, before) => before.clone(),
            (NodeLists::Known(lists), NodeLists::Unusable) => NodeLists::Known(lists),
            (NodeLists::Known(lists), NodeLists::Known(before)) => {
                NodeLists::Known(lists.into_iter().map(|list| list.keeping(before)).collect())
            }
        };
        QosLevels { global, nodes }
    }

    /// Whether the content of any list is unknown.
    #[must_use]
    pub fn has_unusable_lists(&self) -> bool {
        let NodeLists::Known(lists) = &self.nodes else { return true };
        let is_unusable =
            |list: &NodeList| list.selector.is_none() || list.list == PolicyList::Unusable;
        self.global == PolicyList::Unusable || lists.iter().any(is_unusable)
    }

    /// The list that a node with these labels follows. Without labels, as for a pod without a node, the global list.
    #[must_use]
    pub fn in_force(&self, node: Option<&Labels>) -> ListInForce<'_> {
        let own = node.map(|labels| self.own_list(labels));
        match own {
            Some(Some((position, list))) => list.in_force(position),
            Some(None) | None => self.global.in_force(None),
        }
    }

    fn own_list(&self, labels: &Labels) -> Option<(Option<u32>, &PolicyList)> {
        let NodeLists::Known(lists) = &self.nodes else {
            return Some((None, &PolicyList::Unusable));
        };
        // An entry that might select the node applies: its content is unknown, so the result is unknown, too.
        let last = lists
            .iter()
            .rev()
            .find(|it| it.selector.as_ref().is_none_or(|it| it.selects(labels)))?;
        match last.selector {
            Some(_) => Some((Some(last.position), &last.list)),
            None => Some((None, &PolicyList::Unusable)),
        }
    }

    /// Whether the list of a node depends on the labels of the node.
    #[must_use]
    pub fn reads_node_labels(&self) -> bool {
        match &self.nodes {
            NodeLists::Known(lists) => lists
                .iter()
                .any(|list| list.selector.as_ref().is_some_and(|it| !it.is_everything())),
            NodeLists::Unusable => false,
        }
    }

    /// Every usable list, the global list first, with the position of its entry.
    pub fn lists(&self) -> impl Iterator<Item = (Option<u32>, &[QosPolicy])> {
        let of_nodes = match &self.nodes {
            NodeLists::Known(lists) => &lists[..],
            NodeLists::Unusable => &[],
        };
        let of_nodes = of_nodes.iter().map(|it| (Some(it.position), &it.list));
        std::iter::once((None, &self.global)).chain(of_nodes).filter_map(|(position, list)| {
            match list {
                PolicyList::Known(policies) => Some((position, &policies[..])),
                PolicyList::Absent | PolicyList::Unusable => None,
            }
        })
    }
}

impl PolicyList {
    fn in_force(&self, position: Option<u32>) -> ListInForce<'_> {
        match self {
            PolicyList::Absent => ListInForce::Known(position, &[]),
            PolicyList::Known(policies) => ListInForce::Known(position, policies),
            PolicyList::Unusable => ListInForce::Unusable,
        }
    }
}

impl NodeList {
    fn keeping(self, before: &[NodeList]) -> NodeList {
        let known = match &self.selector {
            Some(selector) => before.iter().find(|it| it.selector.as_ref() == Some(selector)),
            None => before.iter().find(|it| it.position == self.position),
        };
        let (is_lost, Some(known)) = (self.selector.is_none(), known) else { return self };
        match (is_lost, &self.list) {
            (true, _) => NodeList { position: self.position, ..known.clone() },
            (false, PolicyList::Unusable) => NodeList { list: known.list.clone(), ..self },
            (false, _) => self,
        }
    }
}
