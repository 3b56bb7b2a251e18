//! Object names on the command line: `shop`, `deployment/shop`, `cronfhpa/prod/shop`, and patterns
//! such as `'shop-*'`.

mod paths;
mod similar;

use std::collections::BTreeSet;
use std::path::Path;

use almanac_api::kinds::kind_named;
use almanac_engine::{Family, Identity, PolicyName, World};

use self::paths::is_surely_a_path;
pub(crate) use self::paths::split_words;
use crate::argument_error::ArgumentError;
use crate::pattern::{self, Pattern};
use crate::shell_word::quoted;

pub(crate) const POD: &str = "Pod";
const CONFIG_MAP: &str = "ConfigMap";
const CRON_JOB: &str = "CronJob";

/// A name that may match several objects.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) text: String,
    kind: Option<String>,
    namespace: Option<Pattern>,
    name: Pattern,
}

impl Subject {
    /// Reads the names of a command line. Each word is a name, or the words have the form of kubectl: a kind and
    /// names of that kind. In that form, the first word must be a known kind, and the names must not contain a kind.
    pub(crate) fn parse_all(
        argument: &'static str,
        texts: &[String],
    ) -> Result<Vec<Subject>, ArgumentError> {
        if let [kind, names @ ..] = texts
            && !names.is_empty()
            && kind_named(kind).is_some()
            && !texts.iter().any(|text| text.contains('/'))
        {
            let of_kind = |name| Subject::parse(argument, &format!("{kind}/{name}"));
            return names.iter().map(of_kind).collect();
        }
        texts.iter().map(|text| Subject::parse(argument, text)).collect()
    }

    /// Reads `NAME`, `KIND/NAME` or `KIND/NAMESPACE/NAME`.
    pub(crate) fn parse(argument: &'static str, text: &str) -> Result<Subject, ArgumentError> {
        if is_surely_a_path(text) {
            let path = quoted(text);
            let message = format!(
                "the word is a path, not the name of an object; to read it, write -f {path}"
            );
            return Err(ArgumentError::whole(argument, text, message));
        }
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, namespace, name) = match parts[..] {
            [name] => (None, None, name),
            [kind, name] => (Some(kind), None, name),
            [kind, namespace, name] => (Some(kind), Some(namespace), name),
            _ => ("".into(), None, ""),
        };
        if name.is_empty() || kind == Some("") || namespace == Some("") {
            let message = "name an object by NAME, KIND/NAME or KIND/NAMESPACE/NAME, such as \
                           deployment/shop";
            return Err(ArgumentError::whole(argument, text, message));
        }
        let pattern = |text: &str| {
            Pattern::new(text).map_err(|why| ArgumentError::whole(argument, text, why))
        };
        Ok(Subject {
            text: text.to_owned(),
            kind: kind.map(whole_kind),
            namespace: namespace.map(pattern).transpose()?,
            name: pattern(name)?,
        })
    }

    /// The name; `None` for a pattern.
    pub(crate) fn whole_name(&self) -> Option<&str> {
        let name = self.name.text();
        (!pattern::is_pattern(name)).then_some(name)
    }

    /// Whether the name may be that of a pod, or of policies for QoS levels.
    pub(crate) fn may_be_of_levels(&self) -> bool {
        self.kind.as_deref().is_none_or(|kind| kind == POD || kind == CONFIG_MAP)
    }

    /// Whether the name may be that of a `CronJob`.
    pub(crate) fn may_be_cron_job(&self) -> bool {
        self.kind.as_deref().is_none_or(|kind| kind == CRON_JOB)
    }

    /// The namespace that all names share; `None` if they differ. The pods of a `ConfigMap` are in other namespaces.
    pub(crate) fn only_namespace(subjects: &[Subject]) -> Option<&str> {
        if subjects.iter().any(|subject| subject.kind.as_deref() == Some(CONFIG_MAP)) {
            return None;
        }
        let (first, others) = subjects.split_first()?;
        let namespace = first.namespace.as_ref()?;
        let namespace = namespace.text();
        let is_same =
            |other: &Subject| other.namespace.as_ref().map(Pattern::text) == Some(namespace);
        (others.iter().all(is_same) && !first.is_pattern()).then_some(namespace)
    }

    /// An error from a cluster, with a hint if a word is also a path.
    pub(crate) fn name_paths(subjects: &[Subject], error: anyhow::Error) -> anyhow::Error {
        let is_there = |text: &&str| Path::new(text).exists();
        let mut paths: Vec<&str> = Vec::new();
        for Subject { text, .. } in subjects {
            match Some(text.as_str()).filter(is_there) {
                Some(path) => paths.push(path),
                // Two words may have been typed, as in `deploy web`.
                None => paths.extend(text.split('/').filter(is_there)),
            }
        }
        if paths.is_empty() {
            return error;
        }
        let (are, them) =
            if paths.len() == 1 { ("is a path", "it") } else { ("are paths", "them") };
        let flags: Vec<String> = paths.iter().map(|it| format!("-f {}", quoted(it))).collect();
        let (names, flags) = (paths.join(" and "), flags.join(" "));
        error
            .context(format!("{names} {are}; to read {them} instead of the cluster, write {flags}"))
    }

    /// Whether the name is intended to match several objects.
    pub(crate) fn is_pattern(&self) -> bool {
        pattern::is_pattern(&self.text)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The name alone, or its pattern.
    pub(crate) fn name(&self) -> &str {
        self.name.text()
    }

    /// Whether an object matches.
    pub(crate) fn fits(&self, identity: &Identity) -> bool {
        let kind = self.kind.as_ref().is_none_or(|kind| kind.eq_ignore_ascii_case(identity.kind()));
        let namespace = self.namespace.as_ref().is_none_or(|it| it.matches(identity.namespace()));
        kind && namespace && self.name.matches(identity.name())
    }

    /// The matching policies, by their own names or those of their targets.
    pub(crate) fn policies(&self, world: &World) -> Vec<PolicyName> {
        let is_match = |policy: &PolicyName| {
            let target = || world.target_of(policy);
            self.fits(&policy.identity)
                || target().is_some_and(|reference| self.fits(reference.target.identity()))
                || self.objects(world, policy).next().is_some()
        };
        world.policies().filter(is_match).collect()
    }

    /// The matching objects of a policy for several objects, unless the policy itself matches. A pod that is named
    /// with its kind is included even if the policy does not set it.
    pub(crate) fn objects(
        &self,
        world: &World,
        policy: &PolicyName,
    ) -> impl Iterator<Item = Identity> {
        let is_of_several = world.target_of(policy).is_none() && !self.fits(&policy.identity);
        let writes = is_of_several.then(|| world.footprint(policy).writes);
        let writes = writes.into_iter().flatten().map(|(object, _)| object);
        let mut objects: BTreeSet<Identity> = writes.filter(|it| self.fits(it)).collect();
        if is_of_several && objects.is_empty() && self.is_of_pod() {
            match policy.family {
                Family::QosLevels => {
                    objects.extend(world.objects.pods.keys().filter(|it| self.fits(it)).cloned());
                }
                Family::Units => {
                    let pods =
                        world.units.extra.pods_and_nodes.pods.keys().filter(|it| self.fits(it));
                    objects.extend(pods.filter(|pod| explains(world, policy, pod)).cloned());
                }
                // Policies of other families set no field of pods.
                _ => {}
            }
        }
        objects.into_iter()
    }

    /// Whether the name can only be that of a pod.
    pub(crate) fn is_of_pod(&self) -> bool {
        self.kind.as_deref() == Some(POD)
    }
}

/// Whether a policy for units explains a pod. The policy selects the pod. Of a pod without such a policy, the first
/// policy of the namespace has the reason.
fn explains(world: &World, policy: &PolicyName, pod: &Identity) -> bool {
    let near =
        |it: &PolicyName| it.family == Family::Units && it.identity.namespace() == pod.namespace();
    let mut of_namespace = world.policies().filter(near);
    world.selects_pod(policy, pod)
        || near(policy)
            && !world.policies().any(|it| world.selects_pod(&it, pod))
            && of_namespace.next().as_ref() == Some(policy)
}

/// `MetricsProducer/default/nodes`: the text to type for this object.
pub(crate) fn called(identity: &Identity) -> String {
    match identity.namespace() {
        "" => format!("{}/{}", identity.kind(), identity.name()),
        namespace => format!("{}/{namespace}/{}", identity.kind(), identity.name()),
    }
}

/// The known kind, or else the typed text without the plural and the group that kubectl prints.
fn whole_kind(typed: &str) -> String {
    if let Some(kind) = kind_named(typed) {
        return kind.to_owned();
    }
    let lower = typed.to_ascii_lowercase();
    let lower = lower.split('.').next().unwrap_or_default();
    lower.strip_suffix('s').filter(|_| lower.len() > 4).unwrap_or(lower).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_that_is_a_path_is_named_if_the_cluster_is_absent() {
        // Tests run in the directory of the crate.
        let described = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
            let subjects = Subject::parse_all("NAME", &words).unwrap();
            Subject::name_paths(&subjects, anyhow::anyhow!("no cluster")).to_string()
        };
        let one = "src is a path; to read it instead of the cluster, write -f src";
        assert_eq!(described(&["src"]), one);
        assert_eq!(described(&["deployment", "src"]), one);
        let both =
            "src and tests are paths; to read them instead of the cluster, write -f src -f tests";
        assert_eq!(described(&["src", "tests"]), both);
        assert_eq!(described(&["src/tests"]), both);
        assert_eq!(described(&["shop"]), "no cluster");
    }

    fn fits(text: &str) -> bool {
        let shop = Identity::new("apps", "Deployment", "prod", "shop");
        Subject::parse("NAME", text).unwrap().fits(&shop)
    }

    #[test]
    fn an_object_is_given_by_name_and_if_needed_kind_and_namespace() {
        for text in ["shop", "deploy/shop", "Deployments/shop", "deployment.apps/prod/shop"] {
            assert!(fits(text), "{text}");
        }
        for text in ["shopp", "sts/shop", "deploy/test/shop"] {
            assert!(!fits(text), "{text}");
        }
    }

    #[test]
    fn a_kind_may_precede_the_names_of_its_objects() {
        let texts = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let subjects = Subject::parse_all("NAME", &words).unwrap();
            subjects.iter().map(|subject| subject.text().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(texts("deployment shop"), "deployment/shop");
        assert_eq!(texts("deploy shop web"), "deploy/shop deploy/web");
        assert_eq!(texts("pods batch-07 batch-08"), "pods/batch-07 pods/batch-08");
        for unchanged in ["shop web", "deploy", "deploy sts/web", "deploy/shop sts/web"] {
            assert_eq!(texts(unchanged), unchanged);
        }
    }

    #[test]
    fn a_pod_is_named_by_each_word_for_its_kind() {
        let pod = Identity::new("", "Pod", "shop", "batch-07");
        for text in
            ["batch-07", "pod/batch-07", "pods/batch-07", "po/batch-07", "Pod/shop/batch-07"]
        {
            assert!(Subject::parse("NAME", text).unwrap().fits(&pod), "{text}");
        }
        assert!(!Subject::parse("NAME", "po/test/batch-07").unwrap().fits(&pod));
    }

    #[test]
    fn a_name_may_be_a_pattern() {
        for text in ["sh*", "deploy/s?op", "deploy/*/shop", "deployment/p*/*"] {
            assert!(fits(text), "{text}");
        }
        for text in ["*-shop", "sts/*", "deploy/test-*/shop"] {
            assert!(!fits(text), "{text}");
        }
    }

    #[test]
    fn a_path_in_place_of_a_name_is_recognized() {
        for text in ["./policies", "policies/shop.yaml", "../shop.json", "/etc", "."] {
            let error = Subject::parse("NAME", text).unwrap_err().to_string();
            assert!(error.contains(&format!("write -f {text}")), "{error}");
        }
    }

    #[test]
    fn names_imply_a_namespace_if_they_all_name_the_same_one() {
        let namespace = |texts: &[&str]| {
            let parsed = texts.iter().map(|text| Subject::parse("NAME", text).unwrap());
            Subject::only_namespace(&parsed.collect::<Vec<_>>()).map(str::to_owned)
        };
        assert_eq!(namespace(&["deploy/prod/shop", "mp/prod/nodes"]).as_deref(), Some("prod"));
        assert_eq!(namespace(&["deploy/prod/shop", "mp/test/nodes"]), None);
        assert_eq!(namespace(&["deploy/prod/shop", "shop"]), None);
        assert_eq!(namespace(&["shop"]), None);
        assert_eq!(namespace(&["deploy/prod-*/shop"]), None);
        assert_eq!(namespace(&["pod/prod/batch-07"]).as_deref(), Some("prod"));
        assert_eq!(namespace(&["cm/volcano-system/volcano-agent-config"]), None);
        assert_eq!(namespace(&[]), None);
    }

    #[test]
    fn an_invalid_name_is_an_error() {
        for text in ["", "/", "deploy/", "/shop", "a/b/c/d", "deploy//shop"] {
            let error = Subject::parse("NAME", text).expect_err(text);
            assert_eq!(error.span(), 0..text.len(), "{text}");
            assert!(error.to_string().contains("KIND/NAMESPACE/NAME"), "{error}");
        }
    }
}
