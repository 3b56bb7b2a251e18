//! `almanac crds`: the custom resource definitions, as YAML for a cluster or as JSON Schema for
//! editors.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;

use almanac_api::definitions::{
    CustomResource, all_custom_resources, custom_resources, custom_resources_of,
};
use almanac_api::families::Controlled;
use almanac_api::writing::to_yaml;
use anyhow::Context;
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use crate::outcome::exit_codes_without_findings;

/// Print the CRDs
///
/// Without options, prints one YAML stream: `almanac crds | kubectl apply -f -`. The CRDs for placements and for units
/// of nodes are printed only with --controllers, because they would replace those of Open Cluster Management or of a
/// scheduler plugin.
#[derive(Args)]
#[command(after_help = concat!("Examples:
  almanac crds | kubectl apply -f -
  almanac crds --controllers placement | kubectl apply --server-side -f -
  almanac crds --out deploy/crds
  almanac crds --json-schema .schemas

", exit_codes_without_findings!()))]
pub(crate) struct CrdsArguments {
    /// The controllers whose kinds to print [default: all but placement and units; all for --json-schema]
    #[arg(long, value_name = "KINDS", value_enum, value_delimiter = ',')]
    controllers: Vec<PrintedController>,

    /// Write one YAML file per kind into this directory instead
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Write one JSON Schema per kind and version into this directory, for editors
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    json_schema: Option<PathBuf>,
}

/// A controller with a CRD, whose kinds are printed.
#[derive(Clone, Copy, PartialEq)]
struct PrintedController(Controlled);

impl ValueEnum for PrintedController {
    fn value_variants<'a>() -> &'a [PrintedController] {
        static ALL: LazyLock<Vec<PrintedController>> = LazyLock::new(|| {
            let has_crd = |it: &Controlled| !custom_resources_of(*it).is_empty();
            Controlled::all().filter(has_crd).map(PrintedController).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.flag()))
    }
}

impl CrdsArguments {
    fn resources(&self) -> Vec<CustomResource> {
        if self.controllers.is_empty() && self.json_schema.is_none() {
            return custom_resources();
        }
        let is_requested = |resource: &CustomResource| {
            let with = resource.known_kind().and_then(Controlled::for_kind);
            with.is_some_and(|with| self.controllers.contains(&PrintedController(with)))
        };
        let all = all_custom_resources().into_iter();
        all.filter(|it| self.controllers.is_empty() || is_requested(it)).collect()
    }
}

pub(crate) fn run(arguments: &CrdsArguments, output: &mut impl Write) -> anyhow::Result<ExitCode> {
    let resources = arguments.resources();
    if let Some(folder) = &arguments.json_schema {
        for (path, schema) in resources.iter().flat_map(CustomResource::json_schemas) {
            write_file(&folder.join(path), &format!("{schema:#}\n"))?;
        }
    } else if let Some(folder) = &arguments.out {
        for resource in resources {
            let text = to_yaml(&[resource.manifest()])?;
            write_file(&folder.join(format!("{}.yaml", resource.file_stem())), &text)?;
        }
    } else {
        let manifests: Vec<_> = resources.iter().map(CustomResource::manifest).collect();
        output.write_all(to_yaml(&manifests)?.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .with_context(|| format!("failed to create the directory {}", folder.display()))?;
    fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
}
