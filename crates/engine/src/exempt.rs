//! The objects that are exempt from all policies: namespaces by name, and objects with the ignore annotation. An exempt
//! policy is not applied, and an exempt target is not changed, in production and in a forecast.
//!
//! The caller that fills the world defines the ignore annotation, and the namespaces that are exempt by name.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::Identity;

/// The exempt objects. Most worlds share one such set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exemptions {
    namespaces: BTreeSet<Arc<str>>,
    marked_namespaces: BTreeSet<Arc<str>>,
    unread_namespaces: BTreeSet<Arc<str>>,
    marked: BTreeSet<Identity>,
}

/// Whether a namespace has the ignore annotation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NamespaceMark {
    /// The namespace does not have the ignore annotation.
    Absent,
    /// The namespace has the ignore annotation.
    Present,
    /// The namespace might have it: reading the namespace is not permitted.
    Unread,
}

/// The reason that an object is exempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exemption {
    /// The namespace is exempt by name.
    Namespace,
    /// Its namespace has the ignore annotation.
    MarkedNamespace,
    /// Its namespace might have the ignore annotation: reading the namespace is not permitted.
    UnreadNamespace,
    /// The object itself has the ignore annotation.
    Marked,
}

/// The exempt object of a decision, and the reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exempt {
    /// The policy is exempt.
    Policy(Exemption),
    /// The target of the policy is exempt.
    Target(Exemption),
}

impl Exemptions {
    /// Exempts only these namespaces.
    #[must_use]
    pub fn for_namespaces<Name: AsRef<str>>(names: impl IntoIterator<Item = Name>) -> Self {
        Self::default().with_namespaces(names)
    }

    /// Adds these namespaces to the exemptions. Empty names are ignored.
    #[must_use]
    pub fn with_namespaces<Name: AsRef<str>>(
        mut self,
        names: impl IntoIterator<Item = Name>,
    ) -> Self {
        let names = names.into_iter().filter(|name| !name.as_ref().is_empty());
        self.namespaces.extend(names.map(|name| Arc::from(name.as_ref())));
        self
    }

    /// The reason that an object is exempt; `None` if it is not.
    #[must_use]
    pub fn get(&self, object: &Identity) -> Option<Exemption> {
        let namespace = object.namespace();
        if self.namespaces.contains(namespace) {
            Some(Exemption::Namespace)
        } else if self.marked_namespaces.contains(namespace) {
            Some(Exemption::MarkedNamespace)
        } else if self.marked.contains(object) {
            Some(Exemption::Marked)
        } else {
            self.unread_namespaces.contains(namespace).then_some(Exemption::UnreadNamespace)
        }
    }

    /// Whether the ignore annotation of any namespace is unreadable.
    #[must_use]
    pub fn has_unread(&self) -> bool {
        !self.unread_namespaces.is_empty()
    }

    /// Records the ignore annotation of a namespace; returns whether it has changed.
    pub fn mark_namespace(&mut self, name: &str, mark: NamespaceMark) -> bool {
        let mut note = |is_kept, names: fn(&mut Self) -> &mut BTreeSet<Arc<str>>| {
            let names = names(self);
            if is_kept {
                !names.contains(name) && names.insert(name.into())
            } else {
                names.remove(name)
            }
        };
        let is_marked = note(mark == NamespaceMark::Present, |it| &mut it.marked_namespaces);
        let is_unread = note(mark == NamespaceMark::Unread, |it| &mut it.unread_namespaces);
        is_marked || is_unread
    }

    /// The namespaces with the ignore annotation.
    pub fn marked_namespaces(&self) -> impl Iterator<Item = &Arc<str>> {
        self.marked_namespaces.iter()
    }

    /// Records whether an object has the ignore annotation; returns whether this has changed.
    pub fn mark(&mut self, object: &Identity, is_marked: bool) -> bool {
        if is_marked {
            !self.marked.contains(object) && self.marked.insert(object.clone())
        } else {
            self.marked.remove(object)
        }
    }
}

impl Exempt {
    /// Whether the object might turn out not to be exempt. The policy is then applied later, and nothing is skipped.
    #[must_use]
    pub fn is_unread(self) -> bool {
        matches!(self, Self::Policy(why) | Self::Target(why) if why == Exemption::UnreadNamespace)
    }

    /// The reason that a policy is not applied; `None` unless the policy or its target is exempt.
    #[must_use]
    pub fn for_policy(
        exemptions: &Exemptions,
        policy: &Identity,
        target: Option<&Identity>,
    ) -> Option<Self> {
        let of_policy = exemptions.get(policy).map(Self::Policy);
        let of_target = || exemptions.get(target?).map(Self::Target);
        match of_policy {
            // An exempt target takes precedence, even if the namespace turns out to have no ignore annotation.
            Some(may_be) if may_be.is_unread() => {
                of_target().filter(|it| !it.is_unread()).or(of_policy)
            }
            _ => of_policy.or_else(of_target),
        }
    }
}

impl fmt::Display for Exempt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, why) = match self {
            Self::Policy(why) => ("the object", why),
            Self::Target(why) => ("the target", why),
        };
        match why {
            Exemption::Namespace => write!(formatter, "the namespace of {what} is exempt"),
            Exemption::MarkedNamespace => {
                write!(formatter, "the namespace of {what} is marked with almanac.dev/ignore")
            }
            Exemption::UnreadNamespace => write!(
                formatter,
                "the namespace of {what} cannot be read, and may be marked with almanac.dev/ignore"
            ),
            Exemption::Marked => write!(formatter, "{what} is marked with almanac.dev/ignore"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(namespace: &str, name: &str) -> Identity {
        Identity::new("apps", "Deployment", namespace, name)
    }

    #[test]
    fn an_object_is_exempt_by_its_namespace_or_by_an_annotation() {
        let mut exempt = Exemptions::for_namespaces(["kube-system"]);
        let [dns, shop, cart] = [("kube-system", "dns"), ("shop", "web"), ("shop", "cart")]
            .map(|(namespace, name)| object(namespace, name));
        assert_eq!(exempt.get(&dns), Some(Exemption::Namespace));
        assert_eq!(exempt.get(&shop), None);
        assert!(exempt.mark(&shop, true));
        assert!(!exempt.mark(&shop, true), "that is known");
        assert_eq!(exempt.get(&shop), Some(Exemption::Marked));
        assert_eq!(exempt.get(&cart), None);
        assert!(exempt.mark_namespace("shop", NamespaceMark::Present));
        assert_eq!(exempt.get(&cart), Some(Exemption::MarkedNamespace));
        assert!(exempt.mark_namespace("shop", NamespaceMark::Unread));
        assert!(!exempt.mark_namespace("shop", NamespaceMark::Unread), "that is known");
        assert_eq!(exempt.get(&cart), Some(Exemption::UnreadNamespace));
        assert_eq!(
            exempt.get(&shop),
            Some(Exemption::Marked),
            "it is, whatever its namespace says"
        );
        assert!(Exempt::for_policy(&exempt, &cart, None).is_some_and(Exempt::is_unread));
        assert!(Exempt::for_policy(&exempt, &cart, Some(&cart)).is_some_and(Exempt::is_unread));
        let of_target = Exempt::for_policy(&exempt, &cart, Some(&shop));
        assert_eq!(of_target, Some(Exempt::Target(Exemption::Marked)));
        let of_policy = Exempt::for_policy(&exempt, &shop, Some(&cart));
        assert_eq!(of_policy, Some(Exempt::Policy(Exemption::Marked)));
        assert!(exempt.mark_namespace("shop", NamespaceMark::Absent) && exempt.mark(&shop, false));
        assert_eq!([exempt.get(&shop), exempt.get(&cart)], [None, None]);
        assert!(
            !exempt.mark(&shop, false) && !exempt.mark_namespace("shop", NamespaceMark::Absent)
        );
    }

    #[test]
    fn a_cluster_scoped_object_is_exempt_only_by_its_own_annotation() {
        let mut exempt = Exemptions::for_namespaces([""]);
        let group = object("", "pool");
        assert_eq!(exempt.get(&group), None);
        exempt.mark(&group, true);
        assert_eq!(exempt.get(&group), Some(Exemption::Marked));
    }
}
