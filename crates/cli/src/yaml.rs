//! `-o yaml`: the document of `-o json`, written as YAML.

use std::io::Write;

use almanac_api::writing::JsonAsYaml;

/// Converts JSON to YAML while it is written.
pub(crate) fn write<T>(
    output: &mut dyn Write,
    write: impl FnOnce(&mut JsonAsYaml<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut yaml = JsonAsYaml::begin(output)?;
    let result = write(&mut yaml)?;
    yaml.end()?;
    Ok(result)
}
