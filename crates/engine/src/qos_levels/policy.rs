//! A checked `ConfigMap` of Volcano's agent: the policies for the QoS levels of pods, in lists.
//!
//! Each list is independent. One that cannot be used is [`PolicyList::Unusable`], which differs from an empty one:
//! its content is unknown, so pods that follow it stay unchanged.

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
    /// There is none.
    Absent,
    /// The policies in order, which affects the result. May be empty.
    Known(Arc<[QosPolicy]>),
    /// There is one that cannot be used as written.
    Unusable,
}

/// The lists of certain nodes.
#[derive(Clone, PartialEq, Debug)]
pub enum NodeLists {
    /// In their order: the last one that selects a node replaces the global list there.
    Known(Box<[NodeList]>),
    /// The lists are unknown.
    Unusable,
}

/// The list of the nodes that a selector selects.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeList {
    /// Its position among all entries, including those without a list.
    pub position: u32,
    /// The nodes; `None` when the selector cannot be used as written.
    pub selector: Option<LabelSelector>,
    /// Never [`PolicyList::Absent`].
    pub list: PolicyList,
}

/// One policy: while its window is open, the pods it selects have its level.
#[derive(Clone, PartialEq, Debug)]
pub struct QosPolicy {
    /// Its name, unique in its list.
    pub name: Arc<str>,
    /// Whether it is applied at all.
    pub is_enabled: bool,
    /// The windows in which it is open.
    pub windows: Windows,
    /// The pods.
    pub selector: LabelSelector,
    /// Their level.
    pub target: Level,
    /// The interval at which a shell evaluates its pods again, apart from boundaries and changes.
    pub check_interval: SignedDuration,
}

/// A QoS level: -1 to 2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Level(i8);

/// The format of levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LevelFormat {
    /// `-1`, as the design has it.
    #[default]
    Number,
    /// `BE`, which is what Volcano's agent reads today.
    Name,
}

impl Level {
    /// The lowest.
    pub const LOWEST: i8 = -1;
    /// The highest.
    pub const HIGHEST: i8 = 2;

    /// A level by its number, if there is one.
    #[must_use]
    pub fn new(number: i64) -> Option<Level> {
        let number = i8::try_from(number).ok()?;
        (Self::LOWEST..=Self::HIGHEST).contains(&number).then_some(Level(number))
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> i8 {
        self.0
    }

    /// The text of the annotation; `None` when the level is written by having none.
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
    /// The list at this position of its entry; `None` for the global one. An absent list is empty.
    Known(Option<u32>, &'a [QosPolicy]),
    /// The content of the list is unknown.
    Unusable,
    /// The list depends on the labels of the node, which are unknown.
    UnknownNode,
}

impl QosLevels {
    /// No policies at all, as without a `ConfigMap`.
    #[must_use]
    pub fn none() -> QosLevels {
        QosLevels { global: PolicyList::Absent, nodes: NodeLists::Known(Box::default()) }
    }

    /// Nothing of it can be used.
    #[must_use]
    pub fn unusable() -> QosLevels {
        QosLevels { global: PolicyList::Unusable, nodes: NodeLists::Unusable }
    }

    /// The same, with the last usable form of each list that cannot be used. The list of certain nodes is
    /// the same as before if its selector is; a selector that cannot be used is that of the same position.
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

    /// Whether the content of a part of it is unknown.
    #[must_use]
    pub fn has_unusable_lists(&self) -> bool {
        let NodeLists::Known(lists) = &self.nodes else { return true };
        let is_unusable =
            |list: &NodeList| list.selector.is_none() || list.list == PolicyList::Unusable;
        self.global == PolicyList::Unusable || lists.iter().any(is_unusable)
    }

    /// The list that a node with these labels follows; without labels, as for a pod without a node, the
    /// global one.
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
        // An entry that might select the node is used: its content is unknown, so the result is too.
        let last = lists
            .iter()
            .rev()
            .find(|it| it.selector.as_ref().is_none_or(|it| it.selects(labels)))?;
        match last.selector {
            Some(_) => Some((Some(last.position), &last.list)),
            None => Some((None, &PolicyList::Unusable)),
        }
    }

    /// Whether the list that a node follows depends on its labels.
    #[must_use]
    pub fn reads_node_labels(&self) -> bool {
        match &self.nodes {
            NodeLists::Known(lists) => lists
                .iter()
                .any(|list| list.selector.as_ref().is_some_and(|it| !it.is_everything())),
            NodeLists::Unusable => false,
        }
    }

    /// Every usable list, the global one first, with the position of its entry.
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
