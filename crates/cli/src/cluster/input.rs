//! Converts the fetched objects of a cluster to the input of a command.

use std::collections::BTreeSet;

use almanac_api::checking::Places;
use almanac_api::reading::CronJob;
use almanac_calendar::Zone;
use almanac_engine::Slim;
use almanac_engine::units::UnitObject;

use super::{ExtraObjects, Fetched, ListedPod};
use crate::input::{ClusterRequest, Input, InputPlace};

impl Fetched {
    /// The input. The cluster is its only place.
    pub(super) fn into_input(self, wanted: &ClusterRequest<'_>) -> Input {
        let Fetched { objects, reading, positions, findings, mut cron_jobs, extras, note } = self;
        let is_selected =
            |job: &CronJob| wanted.selector.is_none_or(|it| it.fits(Some(&job.labels)));
        cron_jobs.retain(is_selected);
        for job in &mut cron_jobs {
            job.assume_zone(wanted.cron_jobs.unwrap_or(Zone::utc()));
        }
        let mut place = InputPlace::new(objects.iter().enumerate(), None);
        place.world.objects.seen_at = Some(wanted.now);
        let unseen = add_extras(&mut place, extras);
        place.positions = positions;
        place.add_cron_jobs(cron_jobs.iter(), "");
        let mut input = Input::new(vec![place], reading, findings, &Places::one(), Vec::new());
        input.unseen = unseen;
        input.why_empty = note;
        input
    }
}

/// Adds the extra objects. Returns the notes on unreadable objects.
fn add_extras(place: &mut InputPlace, extras: ExtraObjects) -> BTreeSet<String> {
    for namespace in &extras.marked_namespaces {
        place.mark_namespace(namespace);
    }
    for (target, workload) in extras.scales {
        place.world.upsert(target, Slim::Workload(workload));
    }
    place.world.objects.nodes.extend(extras.nodes);
    for ListedPod { identity, pod, is_marked } in extras.pods {
        place.add_pod(identity, "v1", is_marked, Slim::Pod(pod));
    }
    for (identity, object) in extras.unit_objects {
        match object {
            UnitObject::Pod(_) => place.add_pod(identity, "v1", false, Slim::UnitObject(object)),
            UnitObject::Template(_)
            | UnitObject::Node(_)
            | UnitObject::AutoscalerOf(_)
            | UnitObject::FirstNumber(_) => {
                place.world.upsert(identity, Slim::UnitObject(object));
            }
        }
    }
    extras.unseen
}
