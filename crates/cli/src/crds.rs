//! `almanac crds`: the custom resource definitions, as YAML for a cluster or as JSON Schema for
//! editors.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use almanac_api::objects::{CustomResource, custom_resources};
use almanac_api::writing::to_yaml;
use anyhow::Context;
use clap::Args;

use crate::outcome::exit_codes_without_findings;

/// Print the custom resource definitions
///
/// Without options, prints one YAML stream: `almanac crds | kubectl apply -f -`.
#[derive(Args)]
#[command(after_help = concat!("Examples:
  almanac crds | kubectl apply -f -
  almanac crds --out deploy/crds
  almanac crds --json-schema .schemas

", exit_codes_without_findings!()))]
pub(crate) struct CrdsArguments {
    /// Write one YAML file per kind into this directory instead
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Write one JSON Schema per kind into this directory, for editors
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    json_schema: Option<PathBuf>,
}

pub(crate) fn run(arguments: &CrdsArguments, output: &mut impl Write) -> anyhow::Result<ExitCode> {
    if let Some(folder) = &arguments.json_schema {
        for resource in custom_resources() {
            let text = format!("{:#}\n", resource.json_schema());
            write_file(&folder.join(resource.json_schema_path()), &text)?;
        }
    } else if let Some(folder) = &arguments.out {
        for resource in custom_resources() {
            let text = to_yaml(&[resource.manifest()])?;
            write_file(&folder.join(format!("{}.yaml", resource.file_stem())), &text)?;
        }
    } else {
        let manifests: Vec<_> = custom_resources().iter().map(CustomResource::manifest).collect();
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
