//! The files that a kustomization reaches, checked before kustomize runs: files and directories of the same side, and
//! nothing that starts a program or reads from a network.
//!
//! Only listed fields are allowed. Kustomize reads exactly the checked content: Almanac rewrites each kustomization as
//! JSON.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use almanac_api::reading::kustomization_as_json;
use serde_json::Value;

use super::stage::{Stage, refused};
use super::{Failure, below};

/// The maximum number of reachable kustomizations.
const MAX_KUSTOMIZATIONS: usize = 500;

/// The fields without paths.
const PLAIN: [&str; 15] = [
    "apiVersion",
    "buildMetadata",
    "commonAnnotations",
    "commonLabels",
    "generatorOptions",
    "images",
    "kind",
    "labels",
    "metadata",
    "namePrefix",
    "nameSuffix",
    "namespace",
    "replicas",
    "sortOptions",
    "vars",
];

/// The fields that start programs or read from a network.
const STARTING: [&str; 6] = [
    "generators",
    "helmChartInflationGenerator",
    "helmCharts",
    "helmGlobals",
    "transformers",
    "validators",
];

/// The fields that are lists of paths.
const PATHS: [&str; 6] =
    ["bases", "components", "configurations", "crds", "patchesStrategicMerge", "resources"];

/// The fields that are lists of maps, which contain paths in some of their fields.
const WITH_PATHS: [&str; 5] =
    ["configMapGenerator", "patches", "patchesJson6902", "replacements", "secretGenerator"];

/// The fields without paths in these maps.
const PLAIN_INSIDE: [&str; 11] = [
    "behavior",
    "literals",
    "name",
    "namespace",
    "options",
    "patch",
    "source",
    "target",
    "targets",
    "type",
    "version",
];

const ALLOWED: &str = "use only local files, without plugins or charts, or do not render it";

/// A path in a kustomization, and the field that contains it.
struct NamedPath<'a> {
    field: &'a str,
    path: &'a str,
}

/// Adds the files that a kustomization reaches.
pub(super) fn add_files(stage: &mut Stage<'_>, dir: &Path) -> Result<(), Failure> {
    let mut pending = vec![dir.to_owned()];
    let mut seen = BTreeSet::from([dir.to_owned()]);
    while let Some(dir) = pending.pop() {
        if seen.len() > MAX_KUSTOMIZATIONS {
            let what = format!("reaches more than {MAX_KUSTOMIZATIONS} kustomizations");
            return Err(refused(&dir, &what, "render a smaller one"));
        }
        stage.add_dir(&dir)?;
        let file = file_in(stage, &dir)?;
        let text = stage.text(&file)?;
        let json = kustomization_as_json(&text)
            .map_err(|why| refused(&file, &format!("cannot be read: {why}"), "correct it"))?;
        let named = paths_in(&json).map_err(|why| Failure::Content(at(&file, &why), ALLOWED))?;
        for NamedPath { field, path } in named {
            let target = local(stage, &dir, path)
                .map_err(|why| Failure::Content(at(&file, &format!("{field}: {why}")), ALLOWED))?;
            if let Some(dir) = target.filter(|it| !seen.contains(it)) {
                seen.insert(dir.clone());
                pending.push(dir);
            }
        }
        stage.write(&file, json.to_string());
    }
    Ok(())
}

fn at(file: &Path, why: &str) -> String {
    format!("{}: {why}", file.display())
}

/// The kustomization file of a directory; fails if the directory contains none or several.
fn file_in(stage: &Stage<'_>, dir: &Path) -> Result<PathBuf, Failure> {
    let tree = stage.tree();
    let names = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
    let files: Vec<PathBuf> = names
        .into_iter()
        .map(|name| dir.join(name))
        .filter(|path| tree.files.contains_key(path) || tree.links.contains_key(path))
        .collect();
    match &*files {
        [file] => Ok(file.clone()),
        [] => Err(refused(dir, "has no kustomization.yaml", "name a directory that has one")),
        _ => Err(refused(dir, "has several kustomization files", "keep only one of them")),
    }
}

/// The directory that a path leads to; `None` if it is a file of the same side. The error is the reason to refuse it.
fn local(stage: &Stage<'_>, dir: &Path, path: &str) -> Result<Option<PathBuf>, String> {
    let tree = stage.tree();
    if may_be_remote(path) {
        return Err(format!("{path:?} may be read from a network"));
    }
    let Some(full) = below(dir, path) else {
        return Err(format!("{path:?} leads out of the compared directory"));
    };
    if tree.files.contains_key(&full) || tree.links.contains_key(&full) {
        let is_below = full.starts_with(dir);
        is_below.then_some(None).ok_or_else(|| {
            format!(
                "{path:?} is not in the directory of its kustomization, so kustomize refuses it"
            )
        })
    } else if full.as_os_str().is_empty() || tree.has(&full) {
        Ok(Some(full))
    } else {
        Err(format!("{path:?} is neither a file nor a directory of this side"))
    }
}

/// Whether kustomize could read a path as an address, even if a directory has this name.
fn may_be_remote(path: &str) -> bool {
    let lower = path.trim().to_ascii_lowercase();
    let is_repository = |part: &str| {
        part == "_git" || part.strip_suffix(".git").is_some_and(|name| !name.is_empty())
    };
    lower.starts_with("github.com")
        || lower.contains([':', '?', '\\', '@'])
        || lower.contains("//")
        || lower.split('/').any(is_repository)
}

/// All paths that a kustomization names. The error is the first entry that is not a local file.
fn paths_in(json: &Value) -> Result<Vec<NamedPath<'_>>, String> {
    let Value::Object(fields) = json else { return Err("is not a kustomization".to_owned()) };
    let mut all = Vec::new();
    for (field, value) in fields {
        let field = &**field;
        if field == "openapi" {
            paths_of_map(field, value, &mut all)?;
        } else if PLAIN.contains(&field) || value.is_null() {
            // The field contains no path.
        } else if PATHS.contains(&field) {
            for path in texts(field, value)? {
                // An entry may be an inline patch; no path has several lines.
                if field != "patchesStrategicMerge" || !path.contains('\n') {
                    all.push(NamedPath { field, path });
                }
            }
        } else if WITH_PATHS.contains(&field) {
            let Value::Array(items) = value else { return Err(format!("{field} is not a list")) };
            items.iter().try_for_each(|item| paths_of_map(field, item, &mut all))?;
        } else {
            return Err(why_refused(field));
        }
    }
    Ok(all)
}

/// The reason to refuse a field: it starts programs, or its effect is unknown.
fn why_refused(field: &str) -> String {
    const MAX_TYPOS: usize = 2;
    if STARTING.contains(&field) {
        return format!("{field} may start a program or read from a network");
    }
    let lower = field.to_lowercase();
    let distance = |known: &str| strsim::osa_distance(&lower, &known.to_lowercase());
    let known = PLAIN.iter().chain(&PATHS).chain(&WITH_PATHS).copied();
    match known.min_by_key(|it| distance(it)).filter(|it| distance(it) <= MAX_TYPOS) {
        Some(near) => format!("{field} is not a known field, but {near} is"),
        None => format!("{field} is not a known field, so it may start a program"),
    }
}

/// The paths of a map in a field.
fn paths_of_map<'a>(
    field: &'a str,
    value: &'a Value,
    all: &mut Vec<NamedPath<'a>>,
) -> Result<(), String> {
    let Value::Object(fields) = value else {
        return Err(format!("{field} has an entry that is not a map"));
    };
    for (inner, value) in fields {
        match &**inner {
            _ if value.is_null() => {}
            "path" | "env" => {
                let Value::String(path) = value else {
                    return Err(format!("{field}: {inner} is not a string"));
                };
                all.push(NamedPath { field, path });
            }
            "envs" | "files" => {
                for path in texts(field, value)? {
                    // `key=path`
                    let path = path.split_once('=').map_or(path, |(_, path)| path);
                    all.push(NamedPath { field, path });
                }
            }
            inner if PLAIN_INSIDE.contains(&inner) => {}
            inner => return Err(format!("{field}: {inner} is not a known field")),
        }
    }
    Ok(())
}

fn texts<'a>(field: &str, value: &'a Value) -> Result<Vec<&'a str>, String> {
    let error = || format!("{field} is not a list of strings");
    let Value::Array(items) = value else { return Err(error()) };
    items.iter().map(|it| it.as_str().ok_or_else(error)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_is_not_a_local_path_even_if_a_directory_has_the_same_name() {
        for path in [
            "https://example.com/a.yaml",
            "git::https://example.com/a",
            "github.com/a/b",
            "GitHub.com/a/b?ref=main",
            "git@example.com:a/b",
            "example.com:a/b",
            "ssh://git@example.com/a",
            "example.com/a.git/b",
            "dev.example.com/a/_git/b",
            "a//b",
            " https://example.com",
        ] {
            assert!(may_be_remote(path), "{path}");
        }
        for path in ["../../base", "a.yaml", "./more/b.yml", "night shift", ".github/a.yaml"] {
            assert!(!may_be_remote(path), "{path}");
        }
    }

    #[test]
    fn a_field_that_may_start_a_program_is_refused() {
        for json in [
            json!({"helmCharts": [{"name": "a", "repo": "https://example.com"}]}),
            json!({"generators": ["a.yaml"]}),
            json!({"transformers": ["a.yaml"]}),
            json!({"validators": ["a.yaml"]}),
            json!({"Resources": ["https://example.com/a.yaml"]}),
            json!({"patches": [{"Path": "https://example.com/a.yaml"}]}),
            json!({"resources": "a.yaml"}),
        ] {
            assert!(paths_in(&json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_misspelled_field_is_reported_with_the_near_name() {
        for (field, expected) in [
            ("resource", "resource is not a known field, but resources is"),
            ("Patches", "Patches is not a known field, but patches is"),
            ("frobnicate", "frobnicate is not a known field, so it may start a program"),
            ("generators", "generators may start a program or read from a network"),
        ] {
            assert_eq!(why_refused(field), expected);
        }
    }

    #[test]
    fn every_path_of_a_kustomization_is_known() {
        let json = json!({
            "resources": ["a", "b.yaml"],
            "components": ["c"],
            "crds": ["d.json"],
            "openapi": {"path": "e.json"},
            "patches": [{"path": "f.yaml", "target": {"kind": "Deployment"}}, {"patch": "https://x"}],
            "patchesStrategicMerge": ["g.yaml", "kind: Deployment\nname: a"],
            "configMapGenerator": [{"name": "x", "files": ["k=h.txt", "i.txt"], "envs": ["j.env"]}],
            "replacements": [{"path": "l.yaml"}],
            "namespace": "https://not-a-path",
        });
        let Ok(named) = paths_in(&json) else { panic!("the kustomization is allowed") };
        let mut paths: Vec<&str> = named.iter().map(|it| it.path).collect();
        paths.sort_unstable();
        let all = [
            "a", "b.yaml", "c", "d.json", "e.json", "f.yaml", "g.yaml", "h.txt", "i.txt", "j.env",
            "l.yaml",
        ];
        assert_eq!(paths, all);
    }
}
