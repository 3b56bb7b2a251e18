//! The `CronJobs` of a cluster, for display only. `CronJobs` are read in the form of `kubectl get -o yaml`, as in
//! files.

use almanac_api::reading::{CronJob, PlacedFinding, Reading, Source, read_objects};
use almanac_api::writing::to_yaml;
use almanac_engine::Identity;
use anyhow::Context as _;
use kube::api::{ApiResource, DynamicObject, TypeMeta};

use super::ExtraObjects;
use super::requests::{LookupResult, Requests};
use crate::subject::called;

const GROUP: &str = "batch";
const API_VERSION: &str = "batch/v1";
const KIND: &str = "CronJob";
const PLURAL: &str = "cronjobs";

/// Lists the `CronJobs` in the scope of the requests. Without permission the list is empty, and a note reports that.
pub(super) async fn list(
    requests: &Requests,
    extras: &mut ExtraObjects,
) -> anyhow::Result<Vec<DynamicObject>> {
    match requests.list_slim(&resource(), Some(requests.scope()), Some).await? {
        LookupResult::Found(objects) => Ok(objects),
        LookupResult::Absent => Ok(Vec::new()),
        LookupResult::Forbidden(_) => {
            let place = requests.place();
            extras.unseen.insert(format!(
                "no {KIND}.{GROUP} in {place} was read: missing permission to list {PLURAL}.{GROUP}"
            ));
            Ok(Vec::new())
        }
    }
}

/// The resource for requests to the API server.
pub(super) fn resource() -> ApiResource {
    ApiResource {
        group: GROUP.to_owned(),
        version: "v1".to_owned(),
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        plural: PLURAL.to_owned(),
    }
}

/// Reads the schedules of `CronJobs`. The text of an invalid `CronJob` is kept for its findings.
pub(super) fn read(
    objects: Vec<DynamicObject>,
    reading: &mut Reading,
    findings: &mut Vec<PlacedFinding>,
) -> anyhow::Result<Vec<CronJob>> {
    let mut jobs = Vec::new();
    for mut object in objects {
        object.types = Some(TypeMeta { api_version: API_VERSION.into(), kind: KIND.into() });
        object.metadata.managed_fields = None;
        let metadata = &object.metadata;
        let [namespace, name] =
            [&metadata.namespace, &metadata.name].map(|it| it.as_deref().unwrap_or_default());
        let name = called(&Identity::new(GROUP, KIND, namespace, name));
        let cannot = || format!("failed to show {name}");
        let value = serde_json::to_value(&object).with_context(cannot)?;
        let text = to_yaml(&[value]).with_context(cannot)?;
        let text = text.strip_prefix("---\n").unwrap_or(&text);
        let mut single = Reading::default();
        read_objects(&mut single, Source::new(name, text));
        let source = reading.sources.len();
        for job in &single.cron_jobs {
            let here = |finding: &PlacedFinding| PlacedFinding { source, ..finding.clone() };
            findings.extend(job.findings.iter().map(here));
        }
        if single.cron_jobs.iter().any(|job| !job.findings.is_empty()) {
            reading.sources.append(&mut single.sources);
        }
        jobs.append(&mut single.cron_jobs);
    }
    Ok(jobs)
}
