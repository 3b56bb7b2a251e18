//! Detects the objects in a text by its words alone: a fast filter for files without objects of interest, and for files
//! that cannot be parsed.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::mistakes::is_command;
use super::{cron_jobs, foreign};
use crate::exempt::MARK;
use crate::kinds::{Kind, Role, group_and_version, is_group_of_ours, near_kind};
use crate::objects::AGENT_CONFIGS;
use crate::objects::agent_config::POLICIES;

/// The words without which a file is skipped. A file without them contains no policy, no autoscaler, no other object in
/// the API groups of policies, and no ignore annotation.
static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let kinds = Kind::ALL.iter().filter(|kind| is_looked_for(**kind));
    let words = kinds.flat_map(|kind| {
        let group = if is_group_of_ours(kind.group()) { kind.group() } else { kind.name() };
        [kind.name(), group]
    });
    // The reader of the file reports a wrong letter case.
    let mut builder = AhoCorasick::builder();
    let names = AGENT_CONFIGS.iter().map(|(name, _)| *name);
    let words = words.chain(names).chain([POLICIES]);
    let words = words.chain(foreign::WORDS).chain([MARK, cron_jobs::WORD]);
    builder.ascii_case_insensitive(true).build(words).ok()
});

fn is_looked_for(kind: Kind) -> bool {
    match kind.role() {
        Role::Hub | Role::Bounds => true,
        // Most ConfigMaps are of no interest; those of interest are found by their names.
        Role::Policy(_) | Role::Workload { .. } => is_group_of_ours(kind.group()),
    }
}

/// Whether a file may have a policy or an autoscaler. Never `false` for a file with one, unless the file writes the
/// letters of the kind as escapes.
#[must_use]
pub fn may_hold_policies(bytes: &[u8]) -> bool {
    may_be_wide(bytes) || WORDS.as_ref().is_none_or(|words| words.is_match(bytes))
}

/// Whether a file declares a policy or an autoscaler, perhaps with placeholders. Other templates are not reported.
#[must_use]
pub fn claims_kind_of_ours(bytes: &[u8]) -> bool {
    let is_ours = |kind: &str| {
        let mut kinds = Kind::ALL.iter().filter(|it| is_looked_for(**it));
        kinds.any(|it| it.name().eq_ignore_ascii_case(kind))
    };
    let text = String::from_utf8_lossy(bytes);
    values_of(&text, "kind").any(is_ours) || claims_agent_config(&text)
}

/// Whether characters may have several bytes, so that a search for words fails.
fn may_be_wide(bytes: &[u8]) -> bool {
    bytes.iter().take(8).any(|byte| *byte == 0)
}

/// A search of texts for many names of objects in one pass.
#[derive(Debug)]
pub struct Names(Option<AhoCorasick>);

impl Names {
    /// Creates a search for these names.
    #[must_use]
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Names {
        Names(AhoCorasick::new(names).ok())
    }

    /// Whether a file may have an object of one of the names; see [`may_hold_policies`].
    #[must_use]
    pub fn may_be_in(&self, bytes: &[u8]) -> bool {
        may_be_wide(bytes) || self.0.as_ref().is_none_or(|names| names.is_match(bytes))
    }
}

/// The document around a byte: the text between lines that begin with `---`. Comments, directives and shell commands
/// are not a document alone; they belong to the next document.
pub(super) fn document_around(text: &str, byte: usize) -> Range<usize> {
    let byte = text.floor_char_boundary(byte);
    // The byte may be in a separator line.
    let line = text[byte..].find('\n').map_or(text.len(), |newline| byte + newline);
    let start = text[..line].rfind("\n---").map_or(0, |at| at + 1);
    let next = |from: usize| text[from..].find("\n---").map_or(text.len(), |at| from + at + 1);
    let mut end = next(line);
    let is_nothing = |line: &str| {
        line.is_empty() || line.starts_with(['#', '%']) || line == "---" || is_command(line)
    };
    while end < text.len() && text[start..end].lines().all(is_nothing) {
        end = next(end);
    }
    start..end
}

/// Whether a text declares a policy, or another object of the groups of policies.
pub(super) fn claims_policy(text: &str) -> bool {
    let is_policy = |kind: &str| {
        let named_kind = Kind::ALL.iter().find(|it| it.name().eq_ignore_ascii_case(kind));
        named_kind.is_some_and(|it| is_group_of_ours(it.group()))
    };
    // An API description contains the kinds that it describes.
    let describes = ["openapi", "swagger"].iter().any(|key| values_of(text, key).next().is_some())
        || values_of(text, "kind").any(|kind| kind == "CustomResourceDefinition");
    if describes {
        return false;
    }
    values_of(text, "kind").any(is_policy)
        || claims_agent_config(text)
        || claims_group_of_ours(text)
}

/// The number of values of `kind` in which a near miss is searched, so that a hostile text cannot slow the search.
const MAX_KINDS: usize = 1_000;

/// Whether a text declares an object of the groups of policies that is not of an unknown kind.
fn claims_group_of_ours(text: &str) -> bool {
    let groups = values_of(text, "apiVersion").map(|it| group_and_version(it).0);
    let groups: BTreeSet<&str> = groups.filter(|group| is_group_of_ours(group)).collect();
    if groups.is_empty() {
        return false;
    }
    let is_name = |kind: &&str| kind.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let kinds = values_of(text, "kind").filter(is_name);
    let mut kinds = kinds.take(MAX_KINDS).peekable();
    let is_near = |kind: &str| groups.iter().any(|group| near_kind(group, kind).is_some());
    kinds.peek().is_none() || kinds.any(is_near)
}

/// Whether a text declares a `ConfigMap` of Volcano's agent.
fn claims_agent_config(text: &str) -> bool {
    AGENT_CONFIGS.iter().any(|(name, _)| claims(text, "ConfigMap", name))
}

/// Whether a text declares an object of this kind and this name.
pub(super) fn claims(text: &str, kind: &str, name: &str) -> bool {
    values_of(text, "kind").any(|it| it == kind) && values_of(text, "name").any(|it| it == name)
}

/// Whether a text looks like an object to apply, perhaps with placeholders.
pub(super) fn looks_like_manifest(text: &str) -> bool {
    // In an API description, the value of the key is a map.
    let is_given = |key: &str| {
        values_of(text, key).any(|it| {
            it.starts_with("{{") || it.starts_with(|letter: char| letter.is_ascii_alphabetic())
        })
    };
    is_given("apiVersion") && is_given("kind")
}

/// The plain values of a key anywhere in a text except in comments.
pub(crate) fn values_of<'a>(text: &'a str, key: &str) -> impl Iterator<Item = &'a str> {
    text.match_indices(key).filter_map(move |(at, _)| {
        let before = text[..at].chars().next_back();
        let is_whole = before.is_none_or(|it| it.is_whitespace() || "\"'{,-".contains(it));
        let rest = text[at + key.len()..].trim_start_matches(['"', '\'', ' ']);
        let value = rest.strip_prefix(':').filter(|_| is_whole && !is_in_comment(text, at))?;
        let value = value.trim_start_matches(['"', '\'', ' ', '\t']);
        let end = value.find(|it: char| it.is_whitespace() || "\"',}#".contains(it));
        Some(&value[..end.unwrap_or(value.len())])
    })
}

/// Whether a comment starts before a byte on the line of the byte.
fn is_in_comment(text: &str, byte: usize) -> bool {
    let before = text[..byte].rsplit('\n').next().unwrap_or_default();
    let is_line = before.trim_start().starts_with('#') || before.trim_start().starts_with("//");
    is_line || before.contains(" #") || before.contains("\t#")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_the_keywords_of_a_policy_contains_none() {
        for kind in Kind::ALL.iter().copied().filter(|kind| is_looked_for(*kind)) {
            let text = format!("apiVersion: {}\nkind: {}\n", kind.api_version(), kind.name());
            assert!(may_hold_policies(text.as_bytes()), "{text}");
            assert!(may_hold_policies(text.to_lowercase().as_bytes()), "{text}");
            let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            assert!(may_hold_policies(&wide), "{text}");
        }
        // A kind of ours in another group is a mistake.
        assert!(may_hold_policies(b"apiVersion: karpenter.sh/v1alpha1\nkind: ScalableNodeGroup\n"));
        assert!(!may_hold_policies(b"apiVersion: apps/v1\nkind: Deployment\n"));
        assert!(!may_hold_policies(b"autoscaling: {enabled: true}\n"));
    }

    #[test]
    fn the_kind_of_an_unreadable_text_is_recognized() {
        for text in [
            "kind: CronFederatedHPA\n\tname: a\n",
            "{\"kind\":\"MetricsProducer\",}",
            "- {apiVersion: autoscaling.karmada.io/v1alpha1, kind: [",
            "  \"apiVersion\" : \"autoscaling.karpenter.sh/v1alpha1\"",
            "apiVersion: autoscaling.karpenter.sh/v1alpha1\nkind: {{ .Values.kind }}\n",
            "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placment\n\tname: a\n",
        ] {
            assert!(claims_policy(text), "{text}");
        }
        for text in [
            "kind: HorizontalPodAutoscaler\n",
            "kind: CustomResourceDefinition\nspec: {names: {listKind: CronFederatedHPAList}}\n",
            "apiGroups: [autoscaling.karmada.io]\n",
            "kind: CustomResourceDefinition\nspec: {names: {kind: CronFederatedHPA}}\n",
            "openapi: 3.0.0\nx: {group: autoscaling.karmada.io, kind: CronFederatedHPA}\n",
            "# mankind: CronFederatedHPA\n",
            "# kind: CronFederatedHPA\n",
            "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: BackupSchedule\n\tname: a\n",
            "a: b # kind: CronFederatedHPA\n",
            "// \"kind\": \"CronFederatedHPA\"\n",
        ] {
            assert!(!claims_policy(text), "{text}");
        }
        assert!(claims("kind: Deployment\nmetadata:\n\tname: shop\n", "Deployment", "shop"));
        assert!(!claims("kind: Deployment\nmetadata: {name: shop-2}", "Deployment", "shop"));
    }

    #[test]
    fn a_template_is_of_interest_by_the_kinds_of_policies_and_autoscalers_in_it() {
        for text in [
            "{{ if .a }}\nkind: CronFederatedHPA\n{{ end }}\n",
            "{\"kind\": \"horizontalpodautoscaler\", {{ .Values.b }}}",
            "kind: ConfigMap\nmetadata: {name: volcano-agent-config}\n{{ .Values.c }}\n",
        ] {
            assert!(claims_kind_of_ours(text.as_bytes()), "{text}");
        }
        for text in [
            "kind: CronJob\n{{ .Values.a }}\n",
            "kind: ApplicationSet\nlabels: {cluster.open-cluster-management.io/placement: {{name}}}\n",
            "kind: ScaledObject\napiVersion: keda.sh/v1alpha1\n{{ .Values.a }}\n",
            "kind: Namespace\nmetadata: {annotations: {almanac.dev/ignore: {{ .Values.a }}}}\n",
            "# kind: CronFederatedHPA\n{{ .Values.a }}\n",
        ] {
            assert!(!claims_kind_of_ours(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_manifest_has_an_api_version_and_a_kind() {
        for text in [
            "apiVersion: v1\nkind: Secret\n",
            "{{ if .a }}\napiVersion: {{ .b }}\nkind: {{ .c }}\n",
            "{\"kind\": \"Secret\", \"apiVersion\": \"v1\"}",
        ] {
            assert!(looks_like_manifest(text), "{text}");
        }
        for text in [
            "kind: Secret\n",
            "# apiVersion: v1\nkind: Secret\n",
            "apiVersion:\n  type: string\nkind: {type: string}\n",
            "{\"apiVersion\": {\"type\": \"string\"}, \"kind\": \"Secret\"}",
        ] {
            assert!(!looks_like_manifest(text), "{text}");
        }
    }

    #[test]
    fn comments_above_a_document_belong_to_it() {
        let text = "# a\n%YAML 1.1\n---\nb: 2\n---\nc: 3\n";
        assert_eq!(&text[document_around(text, 5)], "# a\n%YAML 1.1\n---\nb: 2\n");
    }

    #[test]
    fn a_document_ends_where_the_next_one_begins() {
        let text = "a: 1\n---\nb: 2\nc: 3\n--- # d\ne: 4";
        for (byte, document) in [
            (0, "a: 1\n"),
            (4, "a: 1\n"),
            (6, "---\nb: 2\nc: 3\n"),
            (10, "---\nb: 2\nc: 3\n"),
            (text.len(), "--- # d\ne: 4"),
        ] {
            assert_eq!(&text[document_around(text, byte)], document, "{byte}");
        }
    }
}
