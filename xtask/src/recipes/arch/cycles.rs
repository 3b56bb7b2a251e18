//! The modules of a crate do not use each other in a cycle, and no family of policies uses another family.
//!
//! A module is here a file directly in `src`, with the directory of its name. A module uses the modules that its paths
//! start with, after `crate` or enough `super` to reach the root. A re-export counts as a use of the module that
//! re-exports. Modules and paths only for tests do not count, because no other code can use them. The module `paths`
//! finds the paths in a file.

mod paths;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use anyhow::Context as _;

use self::paths::Paths;
use super::Finding;
use crate::source;
use crate::workspace::Workspace;

/// The accepted cycles: the package, and all modules that use each other. Update the entry when a cycle changes or
/// disappears.
const KNOWN: &[(&str, &[&str])] = &[
    // A schedule in a zone is two types, and each is created from the other.
    ("almanac-calendar", &["cron", "firings"]),
    // A compiled expression is a tree of nodes. The nodes contain values, and the functions called with the values.
    (
        "almanac-expressions",
        &["arithmetic", "evaluate", "functions", "json", "node", "types", "value"],
    ),
    // The message about too many steps contains the number of steps.
    ("almanac-expressions", &["failure", "meter"]),
    // A simulation starts with the state at the end of the earlier part.
    ("almanac-forecast", &["findings", "overlap", "part", "series", "simulation"]),
    // The name of a build depends on the embedded files.
    ("almanac-local", &["carried_sources", "go_build"]),
    // One module composes the families, and the families use the shared parts of that module.
    (
        "almanac-controllers",
        &[
            "cluster",
            "cron_federated_hpa",
            "families",
            "horizontal_autoscaler",
            "leadership",
            "metrics_producer",
            "placement",
            "scalable_node_group",
            "served_schemas",
            "status_writer",
            "turn_hooks",
            "upstream",
        ],
    ),
    // A process passes its options to its terms.
    ("almanac-controllers", &["process", "term"]),
];

/// The name of the root module. The root uses every module.
const ROOT: &str = "the root";

/// The modules that each module uses, each with a file that contains the use.
type Graph = BTreeMap<String, BTreeMap<String, String>>;

pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for member in &workspace.members {
        let folder = member.folder().join("src");
        let place = workspace.relative(&folder);
        if !place.starts_with("crates/") {
            continue;
        }
        let mut files = Vec::new();
        for file in source::read_all(&folder)? {
            let path = file.path.strip_prefix(&folder).unwrap_or(&file.path);
            files.push((path.to_string_lossy().replace('\\', "/"), file.text));
        }
        let graph = graph(&files).with_context(|| format!("failed to check {place}"))?;
        let of_member = KNOWN.iter().filter(|(package, _)| *package == member.name);
        let known: Vec<&[&str]> = of_member.map(|(_, modules)| *modules).collect();
        findings.extend(compare(&place, &graph, &known));
        findings.extend(joined_families(&place, &graph));
    }
    let is_member = |name: &str| workspace.members.iter().any(|member| member.name == name);
    let strange = KNOWN.iter().filter(|(package, _)| !is_member(package));
    findings.extend(strange.map(|(package, modules)| vanished(package, modules)));
    Ok(findings)
}

/// The graph of the modules in some files. Each file is a path from the root, and the contents.
fn graph(files: &[(String, String)]) -> anyhow::Result<Graph> {
    let mut of_files = Vec::new();
    let mut exported = BTreeMap::new();
    for (file, text) in files {
        let module = module_of(file);
        let read = || format!("failed to read {file}");
        if module.is_empty() {
            exported = paths::exported(text).with_context(read)?;
        }
        let paths = Paths::read(text, &module).with_context(read)?;
        of_files.push((file, module, paths));
    }
    let only_tests: Vec<Vec<String>> =
        of_files.iter().flat_map(|(.., paths)| paths.only_tests.iter().cloned()).collect();
    of_files.retain(|(_, module, _)| !only_tests.iter().any(|only| module.starts_with(only)));
    let mut graph = Graph::new();
    for (_, module, _) in &of_files {
        if let Some(name) = module.first() {
            graph.entry(name.clone()).or_default();
        }
    }
    let names: Vec<String> = graph.keys().cloned().collect();
    for (file, module, paths) in &of_files {
        let Some(own) = module.first() else { continue };
        for name in &paths.names {
            let used = if names.contains(name) { Some(name) } else { exported.get(name) };
            let used = used.map_or(ROOT, String::as_str);
            // The root may re-export what is in other crates.
            let is_ours = used == ROOT || names.iter().any(|it| it == used);
            if is_ours && used != own {
                let edges = graph.entry(own.clone()).or_default();
                edges.entry(used.to_owned()).or_insert_with(|| (*file).clone());
            }
        }
    }
    let all = names.into_iter().map(|name| (name, "the root file".to_owned()));
    graph.insert(ROOT.to_owned(), all.collect());
    Ok(graph)
}

/// The path of a module from the root, by its file; empty for the root.
fn module_of(file: &str) -> Vec<String> {
    let path = Path::new(file).with_extension("");
    let mut names: Vec<String> =
        path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|last| last == "mod") {
        names.pop();
    }
    if names == ["lib"] || names == ["main"] { Vec::new() } else { names }
}

/// The cycles without an exception, and the exceptions without a cycle.
fn compare(place: &str, graph: &Graph, known: &[&[&str]]) -> Vec<Finding> {
    let cycles = cycles(graph);
    let is_known = |cycle: &BTreeSet<&str>| known.iter().any(|it| cycle.iter().eq(it.iter()));
    let mut findings = Vec::new();
    for cycle in cycles.iter().filter(|cycle| !is_known(cycle)) {
        let names: Vec<&str> = cycle.iter().copied().collect();
        let message = format!(
            "{} modules use each other ({}): {}; move what several of them need into a module of its own",
            names.len(),
            names.join(", "),
            way_back(graph, names[0])
        );
        findings.push(Finding::error(place, message));
    }
    let exists = |known: &[&str]| cycles.iter().any(|cycle| cycle.iter().eq(known.iter()));
    findings.extend(known.iter().filter(|it| !exists(it)).map(|it| vanished(place, it)));
    findings
}

/// A family of policies uses no other family. Families are the modules that `families` lists and that implement the
/// traits of `seam`.
fn joined_families(place: &str, graph: &Graph) -> Vec<Finding> {
    let listed = graph.get("families").into_iter().flat_map(BTreeMap::keys);
    let uses = |module: &String| graph.get(module).filter(|uses| uses.contains_key("seam"));
    let families: Vec<(&String, _)> = listed.filter_map(|it| Some((it, uses(it)?))).collect();
    let joined = families.iter().flat_map(|(family, uses)| {
        let others = uses.iter().filter(|(used, _)| families.iter().any(|(it, _)| it == used));
        others.map(move |(other, file)| (family, other, file))
    });
    let finding = |(family, other, file)| {
        let message = format!(
            "the family `{family}` uses the family `{other}` in {file}; ask for what it needs through `Peers` of `seam`"
        );
        Finding::error(place, message)
    };
    joined.map(finding).collect()
}

fn vanished(place: &str, modules: &[&str]) -> Finding {
    let modules = modules.join(", ");
    let message =
        format!("the known cycle of {modules} does not exist; remove it from {}", file!());
    Finding::error(place, message)
}

/// The largest sets of modules in which each module reaches all others.
fn cycles(graph: &Graph) -> BTreeSet<BTreeSet<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|module| (module.as_str(), reached_from(graph, module))).collect();
    let mut cycles = BTreeSet::new();
    for (module, others) in &reached {
        let reaches_back = |other: &&str| reached.get(*other).is_some_and(|it| it.contains(module));
        let cycle: BTreeSet<&str> = others.iter().copied().filter(reaches_back).collect();
        if !cycle.is_empty() {
            cycles.insert(cycle);
        }
    }
    cycles
}

fn reached_from<'a>(graph: &'a Graph, module: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![module];
    while let Some(module) = open.pop() {
        for used in graph.get(module).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(used.as_str()) {
                open.push(used);
            }
        }
    }
    reached
}

/// A shortest path from a module to itself, with a file for each step.
fn way_back(graph: &Graph, module: &str) -> String {
    let mut open = VecDeque::from([(module.to_owned(), String::new())]);
    let mut seen = BTreeSet::new();
    while let Some((last, way)) = open.pop_front() {
        for (used, file) in graph.get(&last).into_iter().flatten() {
            let separator = if way.is_empty() { "" } else { ", " };
            let longer = format!("{way}{separator}`{last}` uses `{used}` in {file}");
            if used == module {
                return longer;
            }
            if seen.insert(used) {
                open.push_back((used.clone(), longer));
            }
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(files: &[(&str, &str)], known: &[&[&str]]) -> Vec<String> {
        let owned = |(file, text): &(&str, &str)| ((*file).to_owned(), (*text).to_owned());
        let files: Vec<(String, String)> = files.iter().map(owned).collect();
        let findings = compare("crates/x/src", &graph(&files).unwrap(), known);
        findings.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn modules_that_are_used_in_one_direction_are_silent() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::A;"),
            ("a.rs", "mod inner; use crate::b::B;"),
            ("a/inner.rs", "use super::A; use crate::a::A as Same;"),
            ("b.rs", "use std::fmt; pub struct B;"),
        ];
        assert_eq!(messages(&files, &[]), [""; 0]);
    }

    #[test]
    fn a_cycle_is_an_error_with_its_path() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B;"),
            ("b/mod.rs", "mod d;"),
            ("b/d.rs", "fn f() { super::super::c::g() }"),
            ("c.rs", "use crate::{a::A};"),
        ];
        let expected = "3 modules use each other (a, b, c): `a` uses `b` in a.rs, `b` uses `c` in b/d.rs, \
                        `c` uses `a` in c.rs; move what several of them need into a module of its own";
        assert_eq!(messages(&files, &[]), [expected]);
    }

    #[test]
    fn a_cycle_through_a_re_export_of_the_root_is_found() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use self::b::{C as B, inner::D};"),
            ("a.rs", "use crate::B;"),
            ("b.rs", "use crate::a;"),
        ];
        assert_eq!(messages(&files, &[]).len(), 1);
        let other = [files[0], ("a.rs", "use crate::D;"), files[2]];
        assert_eq!(messages(&other, &[]).len(), 1);
    }

    #[test]
    fn a_module_that_uses_an_item_of_the_root_is_a_cycle() {
        let files = [("main.rs", "mod a; const VERSION: u8 = 1;"), ("a.rs", "use crate::VERSION;")];
        assert!(messages(&files, &[])[0].starts_with("2 modules use each other (a, the root)"));
    }

    #[test]
    fn a_family_that_uses_another_family_is_an_error_but_shared_modules_are_not() {
        let of = |first: &'static str| {
            let files = [
                ("lib.rs", "mod a; mod b; mod families; mod objects; mod seam;"),
                ("a.rs", first),
                ("b.rs", "use crate::objects; use crate::seam;"),
                ("families.rs", "use crate::{a, b, objects, seam};"),
                ("objects.rs", ""),
                ("seam.rs", "use crate::objects;"),
            ];
            let owned = files.map(|(file, text)| (file.to_owned(), text.to_owned()));
            let findings = joined_families("crates/x/src", &graph(&owned).unwrap());
            findings.into_iter().map(|finding| finding.message).collect::<Vec<_>>()
        };
        assert_eq!(of("use crate::objects; use crate::seam;"), [""; 0]);
        let expected = "the family `a` uses the family `b` in a.rs; ask for what it needs through `Peers` of `seam`";
        assert_eq!(of("use crate::seam; use crate::b;"), [expected]);
    }

    #[test]
    fn a_module_that_only_tests_use_is_not_a_cycle() {
        let files = [
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod c;"),
            ("a.rs", "use crate::b::B; #[cfg(test)] mod tests;"),
            ("a/tests.rs", "use crate::c;"),
            ("b.rs", "#[cfg(test)] #[expect(unused)] mod tests { use crate::a::A; } fn f() {}"),
            ("c.rs", "use crate::a;"),
        ];
        assert_eq!(messages(&files, &[]), [""; 0]);
    }

    #[test]
    fn an_accepted_cycle_is_silent_and_must_exist_unchanged() {
        let cycle = [("lib.rs", ""), ("a.rs", "use crate::b;"), ("b.rs", "use crate::a;")];
        assert_eq!(messages(&cycle, &[&["a", "b"]]), [""; 0]);
        let grown = messages(&cycle, &[&["a", "b", "c"]]);
        assert_eq!(grown.len(), 2, "{grown:?}");
        assert!(grown[1].starts_with("the known cycle of a, b, c does not exist;"), "{grown:?}");
        let cut = [cycle[0], cycle[1], ("b.rs", "")];
        assert_eq!(messages(&cut, &[&["a", "b"]]).len(), 1);
    }

    #[test]
    fn the_modules_of_a_known_cycle_are_in_order() {
        for (package, modules) in KNOWN {
            assert!(modules.is_sorted(), "{package}: {modules:?}");
        }
    }
}
