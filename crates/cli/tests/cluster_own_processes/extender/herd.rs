//! A thousand pods at the same time, while replicas are killed, ended and frozen.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use almanac_fixtures::trials;
use almanac_harness::{
    ControlPlaneOptions, Observation, TestResult, await_condition, on_own_control_plane,
};
use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;

use crate::extender::scene::Scene;
use crate::extender::stage::{Stage, deployment, policy, unit_nodes};
use crate::extender::watched::Watched;

const PODS: u32 = 1000;
const CAP: usize = 100;
const UNITS: [&str; 3] = ["best", "middle", "worst"];

/// The number of rounds, each with a different seed.
const ROUNDS: u64 = 2;

/// The number of control planes that share the rounds.
const AT_ONCE: u64 = 2;

/// The time limit of a round. A thousand pods take one or two minutes, including the minute of a leader change. On a
/// busy machine, a replica may lose its Lease again, at the cost of another minute each time.
const PATIENCE: Duration = Duration::from_mins(10);

/// The failure of the leader.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    /// SIGKILL, and a restart.
    Killed,
    /// SIGTERM, and a restart.
    Ended,
    /// SIGSTOP and SIGCONT, sometimes long enough for another replica to acquire leadership.
    Frozen,
}

impl Trouble {
    /// The first two seeds are fixed.
    fn from_seed(seed: u64) -> Self {
        match seed % 5 {
            1..=3 => Self::Killed,
            4 => Self::Ended,
            _ => Self::Frozen,
        }
    }
}

#[test]
fn no_cap_is_exceeded_by_a_thousand_pods_while_the_leader_is_killed() -> TestResult {
    let rounds = trials::size("ALMANAC_EXTENDER_ROUNDS", ROUNDS, 20);
    let first = trials::number_in(trials::SEED).unwrap_or(1);
    let seeds = Seeds { next: AtomicU64::new(first), end: first + rounds };
    std::thread::scope(|scope| {
        let planes = (0..rounds.min(AT_ONCE)).map(|_| scope.spawn(|| rounds_on_a_plane(&seeds)));
        let planes: Vec<_> = planes.collect();
        let mut ends = planes.into_iter().map(std::thread::ScopedJoinHandle::join);
        ends.try_for_each(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// The remaining seeds.
struct Seeds {
    next: AtomicU64,
    end: u64,
}

impl Seeds {
    fn take(&self) -> Option<u64> {
        Some(self.next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < self.end)
    }
}

fn rounds_on_a_plane(seeds: &Seeds) -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::whole(), async |test| {
        let nodes = ["best", "middle", "worst", "spare"]
            .map(|unit| unit_nodes(unit, 5).size("64", "256Gi").pods(500));
        let _simulator = test.nodes(&nodes).await?;
        let stage = Stage::set(test).await?;
        stage.start_extender().await?;
        let scene = Scene::whole(test).await?;
        let units = UNITS.into_iter().zip([3, 2, 1]);
        let units: Vec<_> = units.map(|(name, priority)| (name, priority, Some(100))).collect();
        scene.govern(&policy("herd", "prefer", &units)).await?;
        let mut next = seeds.take();
        while let Some(seed) = next {
            let pods = Api::namespaced(test.client(), "default");
            let repeated = format!("ALMANAC_SEED={seed} ALMANAC_EXTENDER_ROUNDS=1");
            round((&stage, &scene), &pods, seed).await.context(repeated)?;
            next = seeds.take();
            if next.is_some() {
                clear_away(&scene, &pods).await?;
            }
        }
        Ok(())
    })
}

/// Creates a herd of pods, and injects a failure of the leader in the middle.
async fn round((stage, scene): (&Stage, &Scene), pods: &Api<Pod>, seed: u64) -> TestResult {
    let begun = tokio::time::Instant::now();
    let mut chance = fastrand::Rng::with_seed(seed);
    let trouble = Trouble::from_seed(seed);
    let deciding = stage.deciding().await?;
    let program = &stage.extender(deciding).program;
    let watched = Watched::begin(pods.clone(), ("herd", &UNITS, CAP));
    scene.apply(&deployment("herd", PODS)).await?;
    // In the middle: when this number of pods is bound, and units still have free capacity.
    let at = chance.usize(20..290);
    let in_units = |spread: &[usize]| spread[..3].iter().sum::<usize>();
    let some = format!("{at} pods to be bound");
    watched.await_spread(&some, PATIENCE, |it| in_units(it) >= at).await?;
    eprintln!("seed {seed}: {trouble:?}, when {at} pods were bound");
    // A kubelet restarts the replica after a moment.
    let moment = Duration::from_millis(chance.u64(0..3000));
    match trouble {
        Trouble::Killed => {
            program.kill()?;
            tokio::time::sleep(moment).await;
            program.start_again()?;
        }
        Trouble::Ended => {
            ensure!(program.stop().await?.success(), "an extender did not end well");
            tokio::time::sleep(moment).await;
            program.start_again()?;
        }
        Trouble::Frozen => {
            program.pause()?;
            tokio::time::sleep(moment * 10).await;
            program.resume()?;
        }
    }
    let all = [CAP, CAP, CAP, PODS as usize - 3 * CAP, 0];
    watched
        .await_spread("all pods to be in the units of the policy", PATIENCE, |it| it == all)
        .await?;
    scene.check_export().await?;
    eprintln!("seed {seed} took {:.0} s", begun.elapsed().as_secs_f64());
    Ok(())
}

async fn clear_away(scene: &Scene, pods: &Api<Pod>) -> TestResult {
    scene.kubectl.run(&["delete", "deployment", "herd", "--cascade=foreground"]).await?;
    await_condition("all pods to be gone", PATIENCE, async || {
        let remaining = pods.list(&ListParams::default().limit(1)).await?.items.len();
        Ok(Observation::from_bool(remaining == 0, format!("{remaining} and more")))
    })
    .await
}
