//! Firings and scrapes while a costly decision is made.

use std::sync::mpsc;
use std::time::Duration;

use almanac_api::families::Descriptor;
use almanac_engine::World;
use almanac_engine::placement::{ClusterSelector, Expression, Placement, PrioritizerMode};
use almanac_fixtures::placements::{
    add_cluster, add_placement, cluster, placement, placement_name,
};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::families::ScrapeInputs;
use crate::leadership::Leadership;
use crate::reconciler::costly;
use crate::term::MAX_CONCURRENT_TURNS;

fn by_expression() -> Placement {
    let expressions = [Expression::compile("true").unwrap()].into();
    let predicate = ClusterSelector { expressions, ..ClusterSelector::default() };
    Placement { predicates: [predicate].into(), ..placement(Some(1), PrioritizerMode::Exact, &[]) }
}

/// The names of the clusters of a snapshot.
fn clusters(world: &World) -> Vec<String> {
    world.placement.extra.hub.clusters.keys().map(ToString::to_string).collect()
}

/// The response to a scrape of the metrics that read the world.
fn scrape(stage: &Stage) -> String {
    let leading = Leadership::default();
    leading.start(Fence::open(), Arc::clone(&stage.cluster));
    let (clock, switch) = (stage.controller.clock.clone(), stage.switch.clone());
    let scraped = ScrapeInputs { leading, clock, switch, upstreams: Upstreams::default() };
    let (mut registry, mut response) = (Registry::default(), String::new());
    stage.controller.families.register(&mut registry, &scraped);
    encode(&mut response, &registry).unwrap();
    response
}

#[tokio::test]
async fn a_firing_is_applied_and_a_scrape_responds_during_a_costly_decision() {
    let stage = Stage::set("2026-11-20T09:00:01Z");
    {
        let world = &mut stage.cluster.lock().world;
        add_placement(world, "web", by_expression());
        add_cluster(world, "east", cluster(""));
    }
    let (started, starts) = mpsc::channel();
    let (go_on, goes_on) = mpsc::channel();
    let deciding = {
        let cluster = Arc::clone(&stage.cluster);
        std::thread::spawn(move || {
            costly::decide(&cluster, &placement_name("web"), |world| {
                started.send(()).unwrap();
                goes_on.recv().unwrap();
                clusters(world)
            })
        })
    };
    starts.recv().unwrap();
    // If the decision held the lock, all of these calls would wait for it, and it waits for these calls.
    stage.controller.take_turn(&policy()).await;
    let replicas = stage.cluster.lock().world.objects.workloads[&target()].replicas;
    assert_eq!(replicas, Some(3));
    let scraped = scrape(&stage);
    assert!(scraped.contains("almanac_placement_selected_clusters{name=\"web\""), "{scraped}");
    add_cluster(&mut stage.cluster.lock().world, "west", cluster(""));
    go_on.send(()).unwrap();
    assert_eq!(deciding.join().unwrap(), Some(vec!["east".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_firing_is_applied_while_more_costly_decisions_wait_than_turns_may_run() {
    let stage = Stage::set("2026-11-20T09:00:01Z");
    let placements: Vec<PolicyName> =
        (0..300).map(|number| placement_name(&format!("web-{number}"))).collect();
    assert!(placements.len() > MAX_CONCURRENT_TURNS);
    {
        let mut locked = stage.cluster.lock();
        for kind in Descriptor::for_family(Family::Placement).reads {
            locked.hub.complete(*kind);
        }
        for placement in &placements {
            add_placement(&mut locked.world, placement.identity.name(), by_expression());
        }
    }
    let (turns, controller) = (WorkQueue::new(stage.shown.clock()), Arc::new(stage.controller));
    placements.iter().chain([&policy()]).for_each(|policy| turns.wake(policy));
    // Another costly decision is being made.
    let permit = controller.costly_decisions.wait().await.unwrap();
    let end = CancellationToken::new();
    let lanes = |policy: &PolicyName| controller.lanes(policy);
    let turn = |policy: PolicyName| {
        let controller = Arc::clone(&controller);
        async move { controller.take_turn(&policy).await }
    };
    let replicas = || {
        let locked = stage.cluster.lock();
        locked.world.objects.workloads.get(&target()).and_then(|it| it.replicas)
    };
    let fires = async {
        while replicas() != Some(3) {
            sleep(Duration::from_millis(10)).await;
        }
        drop(permit);
        end.cancel();
    };
    let running = turns.run(MAX_CONCURRENT_TURNS, None, end.clone(), lanes, turn);
    let both = async { tokio::join!(running, fires) };
    assert!(timeout(Duration::from_secs(10), both).await.is_ok());
}
