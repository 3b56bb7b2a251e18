//! The names of kinds on the command line and in messages.

use super::Kind;

/// A kind whose objects are pods, or create pods. Almanac reads only these pods.
struct KindOfPods {
    name: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    groups: &'static [&'static str],
}

/// The kinds of pods in every cluster, and those of Volcano. Two kinds have the name Job; the group distinguishes them.
const OF_PODS: [KindOfPods; 4] = [
    KindOfPods { name: "Pod", plural: "pods", short_names: &["po"], groups: &["", "v1", "v1."] },
    KindOfPods {
        name: "DaemonSet",
        plural: "daemonsets",
        short_names: &["ds"],
        groups: &["apps", "v1.apps"],
    },
    KindOfPods {
        name: "CronJob",
        plural: "cronjobs",
        short_names: &["cj"],
        groups: &["batch", "v1.batch"],
    },
    KindOfPods {
        name: "Job",
        plural: "jobs",
        short_names: &["vcjob", "vj"],
        groups: &["batch", "v1.batch", "batch.volcano.sh", "v1alpha1.batch.volcano.sh"],
    },
];

/// Looks up a kind like [`Kind::named`], including kinds of which only the pods are read.
#[must_use]
pub fn kind_named(text: &str) -> Option<&'static str> {
    let of_pods = || {
        let typed = text.to_ascii_lowercase();
        let (word, qualifier) = match typed.split_once('.') {
            Some((word, qualifier)) => (word, Some(qualifier)),
            None => (typed.as_str(), None),
        };
        let is_meant = |kind: &&KindOfPods| {
            kind.is_called(word) && qualifier.is_none_or(|it| kind.groups.contains(&it))
        };
        OF_PODS.iter().find(is_meant).map(|kind| kind.name)
    };
    Kind::named(text).map(Kind::name).or_else(of_pods)
}

impl KindOfPods {
    fn is_called(&self, word: &str) -> bool {
        word == self.plural
            || word.eq_ignore_ascii_case(self.name)
            || self.short_names.contains(&word)
    }
}

impl Kind {
    /// Looks up a kind by its name, its plural or a short name, in any letter case, with or without its group, such as
    /// `deployments.apps`.
    #[must_use]
    pub fn named(text: &str) -> Option<Kind> {
        let typed = text.to_ascii_lowercase();
        let (word, qualifier) = match typed.split_once('.') {
            Some((word, qualifier)) => (word, Some(qualifier)),
            None => (typed.as_str(), None),
        };
        let is_meant = |kind: &Kind| {
            kind.is_called(word) && qualifier.is_none_or(|it| kind.is_qualified_by(it))
        };
        Kind::ALL.iter().copied().find(is_meant)
    }

    /// Whether a word in lower case names the kind. Users also write `hpas`.
    fn is_called(self, word: &str) -> bool {
        let is_short = |word: &str| self.short_names().contains(&word);
        word == self.plural()
            || word.eq_ignore_ascii_case(self.name())
            || is_short(word)
            || word.strip_suffix('s').is_some_and(is_short)
    }

    /// Whether a qualifier may follow the name of the kind: its group, or a version and its group.
    fn is_qualified_by(self, qualifier: &str) -> bool {
        let with_version = |version: &&str| {
            let rest = qualifier.strip_prefix(version);
            rest.is_some_and(|rest| rest.strip_prefix('.').unwrap_or(rest) == self.group())
        };
        qualifier == self.group() || self.versions().iter().any(with_version)
    }

    /// The plural with the group, as in a role: `deployments.apps`.
    #[must_use]
    pub fn resource_name(self) -> String {
        self.qualified(self.plural())
    }

    /// The kind in the names of objects in messages: `Deployment.apps`.
    #[must_use]
    pub fn display_name(self) -> String {
        self.qualified(self.name())
    }

    fn qualified(self, word: &str) -> String {
        match self.group() {
            "" => word.to_owned(),
            group => format!("{word}.{group}"),
        }
    }
}

/// The name that was probably meant: it differs by few slips, and fewer than any other name.
pub(crate) fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest_within(written, names, |name| (name.len() / 3).clamp(1, 4))
}

/// The nearest name with at most `most(name)` slips. A different letter case is not a slip.
pub(super) fn nearest_within<'a>(
    written: &str,
    names: impl Iterator<Item = &'a str>,
    most: impl Fn(&str) -> usize,
) -> Option<&'a str> {
    let lower = written.to_lowercase();
    names
        .map(|name| (strsim::damerau_levenshtein(&lower, &name.to_lowercase()), name))
        .filter(|(slips, name)| *slips <= most(name))
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_can_be_given_by_name_plural_or_short_name() {
        for (text, kind) in [
            ("Deployment", Kind::Deployment),
            ("DEPLOYMENTS", Kind::Deployment),
            ("deploy", Kind::Deployment),
            ("deployments.apps", Kind::Deployment),
            ("deployment.v1.apps", Kind::Deployment),
            ("rc", Kind::ReplicationController),
            ("replicationcontrollers.v1.", Kind::ReplicationController),
            ("replicationcontroller.v1", Kind::ReplicationController),
            ("sts", Kind::StatefulSet),
            ("rs", Kind::ReplicaSet),
            ("hpas", Kind::HorizontalPodAutoscaler),
            ("ha", Kind::HorizontalAutoscaler),
            ("cronfhpa", Kind::CronFederatedHPA),
            ("fhpa.autoscaling.karmada.io", Kind::FederatedHPA),
            ("mp", Kind::MetricsProducer),
            ("sng", Kind::ScalableNodeGroup),
        ] {
            assert_eq!(Kind::named(text), Some(kind), "{text}");
        }
        for text in
            ["", "s", "shop", "deployments.extensions", "deployment.v2.apps", "pod", ".apps"]
        {
            assert_eq!(Kind::named(text), None, "{text}");
        }
    }

    #[test]
    fn a_kind_that_is_of_interest_for_its_pods_alone_is_known_by_all_its_names_too() {
        for (text, kind) in [
            ("pod", "Pod"),
            ("Pods", "Pod"),
            ("po", "Pod"),
            ("pods.v1", "Pod"),
            ("pods.v1.", "Pod"),
            ("ds", "DaemonSet"),
            ("daemonsets.apps", "DaemonSet"),
            ("cj", "CronJob"),
            ("cronjobs.v1.batch", "CronJob"),
            ("jobs.batch", "Job"),
            ("jobs.batch.volcano.sh", "Job"),
            ("vcjob", "Job"),
            ("deploy", "Deployment"),
        ] {
            assert_eq!(kind_named(text), Some(kind), "{text}");
            let is_in_table = Kind::ALL.iter().any(|it| it.name() == kind);
            assert_eq!(Kind::named(text).is_some(), is_in_table, "{text}");
        }
        for text in ["", "p", "pods.apps", "jobs.apps", "shop", "nodes"] {
            assert_eq!(kind_named(text), None, "{text}");
        }
    }

    #[test]
    fn no_name_is_shared_by_two_kinds() {
        for kind in Kind::ALL {
            let words = [kind.name(), kind.plural()].into_iter().chain(kind.short_names().to_vec());
            for word in words.flat_map(|word| [word.to_owned(), format!("{word}s")]) {
                let lower = word.to_lowercase();
                let meant = Kind::ALL.iter().filter(|it| it.is_called(&lower)).count();
                assert!(meant <= 1, "{word} means {meant}");
            }
            assert_eq!(Kind::named(&kind.resource_name()), Some(*kind));
            assert_eq!(Kind::named(&kind.display_name()), Some(*kind));
        }
    }

    #[test]
    fn the_core_group_is_omitted() {
        assert_eq!(Kind::Deployment.resource_name(), "deployments.apps");
        assert_eq!(Kind::Deployment.display_name(), "Deployment.apps");
        assert_eq!(Kind::ReplicationController.resource_name(), "replicationcontrollers");
        assert_eq!(Kind::ReplicationController.display_name(), "ReplicationController");
    }
}
