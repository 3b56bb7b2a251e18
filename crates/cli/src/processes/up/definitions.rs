//! The custom resource definitions in the cluster that `almanac up` uses.

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

const AT_ONCE: usize = 8;
/// To establish a definition takes a fraction of that.
const OVERDUE: Duration = Duration::from_secs(1);

/// Applies all of them to a control plane of our own. For an existing cluster, the user must confirm first. It keeps
/// definitions that other field managers have applied to it: Karmada, Karpenter or Open Cluster Management may need
/// them unchanged.
pub(super) async fn apply(client: &Client, arguments: &UpArguments) -> anyhow::Result<()> {
    let mut definitions = all_custom_resources();
    if let Some(context) = &arguments.cluster {
        let mut kept = Vec::new();
        for definition in std::mem::take(&mut definitions) {
            if is_of_somebody_else(client, &definition).await? {
                kept.push(definition.kind().to_owned());
            } else {
                definitions.push(definition);
            }
        }
        if !kept.is_empty() {
            let kept = kept.join(", ");
            crate::drawing::report(&format!("{context} keeps the definitions it has: {kept}"));
        }
        if !arguments.yes {
            let kinds: Vec<_> = definitions.iter().map(|it| it.kind().to_owned()).collect();
            let context = context.clone();
            tokio::task::spawn_blocking(move || ask(&context, &kinds)).await??;
        }
    }
    let applied = stream::iter(definitions).map(|it| apply_one(client, it));
    applied.buffer_unordered(AT_ONCE).try_collect().await
}

/// Whether it is there, and its versions are not as an earlier start has applied them.
async fn is_of_somebody_else(client: &Client, definition: &CustomResource) -> anyhow::Result<bool> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = definition.definition.name_any();
    let found = definitions.get_opt(&name).await;
    let found = found.with_context(|| format!("failed to look for the definition {name}"))?;
    // A field manager that changes the versions afterwards owns them instead of us.
    let is_of_us = |it: &ManagedFieldsEntry| {
        let versions = it.fields_v1.as_ref().and_then(|it| it.0.pointer("/f:spec/f:versions"));
        it.manager.as_deref() == Some(FIELD_MANAGER) && versions.is_some()
    };
    Ok(found.is_some_and(|it| !it.managed_fields().iter().any(is_of_us)))
}

/// Applies one, and waits until objects of its kind can be.
async fn apply_one(client: &Client, definition: CustomResource) -> anyhow::Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = definition.definition.name_any();
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    definitions
        .patch(&name, &parameters, &Patch::Apply(definition.manifest()))
        .await
        .with_context(|| format!("failed to apply the definition {name}"))?;
    let mut changed = Instant::now();
    await_condition(&format!("the definition {name} to be established"), PATIENCE, async || {
        let found = definitions.get(&name).await?;
        let is_established = is(&found, "Established");
        if !is_established && changed.elapsed() >= OVERDUE {
            // An API server that was killed while it established a definition resumes that only at the next change of
            // the definition.
            let version = found.resource_version();
            let change =
                json!({"metadata": {"annotations": {"almanac.dev/established-after": version}}});
            definitions.patch(&name, &PatchParams::default(), &Patch::Merge(change)).await?;
            changed = Instant::now();
        }
        Ok(Observation::of(is_established, "it is not"))
    })
    .await
}

/// Whether a condition of a definition holds.
fn is(definition: &CustomResourceDefinition, condition: &str) -> bool {
    let conditions = definition.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|it| it.type_ == condition && it.status == "True")
}

/// Lets the user confirm the definitions; an error if the answer is no, or there is no terminal.
fn ask(context: &str, kinds: &[String]) -> anyhow::Result<()> {
    let input = io::stdin();
    ensure!(
        input.is_terminal(),
        "--cluster: the custom resource definitions would be applied to {context}, and there is no terminal to \
         confirm it at: add --yes"
    );
    let kinds = match kinds {
        [] => String::new(),
        kinds => format!(" and the definitions of {}", kinds.join(", ")),
    };
    anstream::eprint!(
        "Apply the namespace almanac-system{kinds} to the cluster of context {context}? [y/N] "
    );
    io::stderr().flush()?;
    let mut answer = String::new();
    input.lock().read_line(&mut answer)?;
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        bail!(
            "nothing was applied to {context}, and without these definitions there is nothing to carry out"
        );
    }
    Ok(())
}
