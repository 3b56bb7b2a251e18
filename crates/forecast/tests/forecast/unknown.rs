//! Facts that files lack: the selection of a placement whose clusters are not in the files.

use almanac_engine::placement::{PrioritizerMode, presumed};
use almanac_engine::{Field, Value, Verdict, World};
use almanac_fixtures::placements::{
    add_cluster, add_placement, cluster, hub, placement, placement_name,
};
use almanac_forecast::{AssumedValues, Assumption, Forecast, Upcoming, explain};

use crate::builders::*;

fn placed(clusters: &[&str]) -> World {
    let mut world = hub();
    add_placement(&mut world, "web", placement(Some(1), PrioritizerMode::Exact, &[]));
    for name in clusters {
        add_cluster(&mut world, name, cluster(""));
    }
    world
}

const WHY: &str = "there is no ManagedCluster in the files";

#[test]
fn a_selection_from_no_clusters_in_files_is_unknown_and_not_empty() {
    let day = period("2026-03-05T00:00:00Z", "2026-03-06T00:00:00Z");
    let world = placed(&[]);
    let selected = series(&world, day, Field::Clusters);
    assert_eq!(segment_lines(&selected), ["05 00:00 ? nobody"]);
    assert_eq!(&*selected.segments[0].origin.reason, &*format!("unknown: {WHY}"));
    let unknown = presumed::unknown_selection(&placement_name("web").identity, WHY);
    let assumptions = Forecast::new(&world, day, AssumedValues::new()).assumptions();
    assert_eq!(assumptions, [Assumption::Presumed(unknown)]);
    assert_eq!(Upcoming::new(world.clone(), day, &AssumedValues::new()).count(), 0);
    let explanation = explain(&world, &placement_name("web"), day.from()).unwrap();
    assert_eq!(explanation.values[0].1.value, None);
    let [reason] = &*explanation.reasons else { panic!("{:?}", explanation.reasons) };
    assert_eq!(
        (reason.verdict, &*reason.message),
        (Verdict::Excluded, &*format!("unknown: {WHY}"))
    );
}

#[test]
fn a_selection_from_clusters_or_on_a_hub_is_known() {
    let day = period("2026-03-05T00:00:00Z", "2026-03-06T00:00:00Z");
    let of_files = series(&placed(&["east"]), day, Field::Clusters);
    assert_eq!(of_files.segments[0].value, Some(Value::names(["east"])));
    let mut of_hub = placed(&[]);
    of_hub.objects.seen_at = Some(day.from());
    let of_hub = series(&of_hub, day, Field::Clusters);
    assert!(of_hub.segments.iter().all(|it| it.value.is_some()), "{of_hub:?}");
}
