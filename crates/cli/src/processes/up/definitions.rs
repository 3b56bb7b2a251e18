//! The CRDs in the cluster of `almanac up`.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use almanac_api::definitions::{CustomResource, all_custom_resources};
use almanac_local::{Observation, PATIENCE, await_condition};
use anyhow::{Context as _, bail, ensure};
use futures::TryStreamExt as _;
use futures::stream::{self, StreamExt as _};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt as _};
use serde_json::json;

use super::arguments::UpArguments;
use super::running_cluster::FIELD_MANAGER;

/// The maximum number of concurrent applies.
const MAX_CONCURRENT: usize = 8;
/// The time after which a CRD is overdue. The API server usually needs a fraction of that to establish a CRD.
const OVERDUE: Duration = Duration::from_secs(1);

/// Applies all CRDs to a control plane of our own. For an existing cluster, the user must confirm first. Almanac leaves
/// the CRDs of other field managers there unchanged, since Karmada, Karpenter or Open Cluster Management may need them.
pub(super) async fn apply(client: &Client, arguments: &UpArguments) -> anyhow::Result<()> {
    let mut definitions = all_custom_resources();
    if let Some(context) = &arguments.cluster {
        let mut foreign = Vec::new();
        for definition in std::mem::take(&mut definitions) {
            if has_other_manager(client, &definition).await? {
                foreign.push(definition.kind().to_owned());
            } else {
                definitions.push(definition);
            }
        }
        if !foreign.is_empty() {
            let foreign = foreign.join(", ");
            crate::drawing::report(&format!(
                "left the existing CRDs in {context} unchanged: {foreign}"
            ));
        }
        if !arguments.yes {
            let kinds: Vec<_> = definitions.iter().map(|it| it.kind().to_owned()).collect();
            let context = context.clone();
            tokio::task::spawn_blocking(move || confirm(&context, &kinds)).await??;
        }
    }
    let applied = stream::iter(definitions).map(|it| apply_one(client, it));
    applied.buffer_unordered(MAX_CONCURRENT).try_collect().await
}

/// Whether the CRD exists and another field manager owns its versions.
async fn has_other_manager(client: &Client, definition: &CustomResource) -> anyhow::Result<bool> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = definition.definition.name_any();
    let existing = definitions.get_opt(&name).await;
    let existing = existing.with_context(|| format!("failed to get the CRD {name}"))?;
    // A field manager that changes the versions later becomes their owner.
    let is_ours = |it: &ManagedFieldsEntry| {
        let versions = it.fields_v1.as_ref().and_then(|it| it.0.pointer("/f:spec/f:versions"));
        it.manager.as_deref() == Some(FIELD_MANAGER) && versions.is_some()
    };
    Ok(existing.is_some_and(|it| !it.managed_fields().iter().any(is_ours)))
}

/// Applies a CRD, and waits until the API server accepts objects of its kind.
async fn apply_one(client: &Client, definition: CustomResource) -> anyhow::Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = definition.definition.name_any();
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    definitions
        .patch(&name, &parameters, &Patch::Apply(definition.manifest()))
        .await
        .with_context(|| format!("failed to apply the CRD {name}"))?;
    let mut changed = Instant::now();
    await_condition(&format!("the CRD {name} to be established"), PATIENCE, async || {
        let current = definitions.get(&name).await?;
        let is_established = is(&current, "Established");
        if !is_established && changed.elapsed() >= OVERDUE {
            // An API server that was killed while it established a CRD resumes that only after the next change of the CRD.
            let version = current.resource_version();
            let change =
                json!({"metadata": {"annotations": {"almanac.dev/established-after": version}}});
            definitions.patch(&name, &PatchParams::default(), &Patch::Merge(change)).await?;
            changed = Instant::now();
        }
        Ok(Observation::from_bool(is_established, "the CRD is not established"))
    })
    .await
}

/// Whether a condition of a CRD is true.
fn is(definition: &CustomResourceDefinition, condition: &str) -> bool {
    let conditions = definition.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|it| it.type_ == condition && it.status == "True")
}

/// Prompts the user to confirm the CRDs. Fails if the user declines, or without a terminal.
fn confirm(context: &str, kinds: &[String]) -> anyhow::Result<()> {
    let input = io::stdin();
    ensure!(
        input.is_terminal(),
        "--cluster: applying the CRDs to {context} requires confirmation, and standard input is not a terminal; \
         add --yes"
    );
    let kinds = match kinds {
        [] => String::new(),
        kinds => format!(" and the CRDs of {}", kinds.join(", ")),
    };
    anstream::eprint!(
        "Apply the namespace almanac-system{kinds} to the cluster of context {context}? [y/N] "
    );
    io::stderr().flush()?;
    let mut answer = String::new();
    input.lock().read_line(&mut answer)?;
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        bail!("applied nothing to {context}; without these CRDs, Almanac has nothing to reconcile");
    }
    Ok(())
}
