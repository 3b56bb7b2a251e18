//! Our bindings never exceed a cap. Random clusters show that, with concurrent schedulers, late watch events, lost
//! responses, replicas that end at any step, and changes of leadership.
//!
//! `ALMANAC_UNITS_STEPS` is the number of steps of the run.

mod api_server;
mod binding;
mod changes;
mod comparison;
mod evicting;
mod faults;
mod herd;
mod listing;
mod quiet;
mod replica;
mod scheduling;
mod world;

use almanac_fixtures::trials;

use self::faults::{Check, Fault, Violation};
use self::world::World;

/// The number of steps of one cluster.
const LIFE: u64 = 1_000;

/// The number of steps between two quiet times.
const UNQUIET: u64 = 250;

/// The command to run only the failed case.
pub(crate) fn again(few: &str, seed: u64, of: &str) -> String {
    format!(
        "run it again with {few} ALMANAC_SEED={seed} cargo test -p almanac-engine --test units {of}"
    )
}

/// Runs a cluster with all checks or one check. Returns the number of bindings, or the first failure.
fn live(
    seed: u64,
    is_calm: bool,
    fault: Option<Fault>,
    only: Option<Check>,
    steps: u64,
) -> Result<u64, String> {
    let mut world = World::new(seed, is_calm, fault, only);
    for step in 1..=steps {
        let happened = if step.is_multiple_of(UNQUIET) { world.calm_down() } else { world.step() };
        if let Err(Violation { check, why }) = happened {
            return Err(format!("seed {seed}, step {step}, at {:?}, {check:?}: {why}", world.now));
        }
    }
    Ok(world.bound)
}

fn run(is_calm: bool, of: &str) {
    let steps = trials::size("ALMANAC_UNITS_STEPS", 50_000_u64, 1_000_000);
    let first = trials::seed(of);
    let mut bound = 0;
    for life in 0..steps.div_ceil(LIFE) {
        let seed = first.wrapping_add(life);
        match live(seed, is_calm, None, None, LIFE.min(steps - life * LIFE)) {
            Ok(more) => bound += more,
            Err(why) => {
                panic!("{why}\n{}", again(&format!("ALMANAC_UNITS_STEPS={LIFE}"), seed, of))
            }
        }
    }
    // One cluster alone may have no free capacity.
    let is_enough = bound > steps / 200 || steps < 20 * LIFE;
    assert!(is_enough, "hardly anything was bound: {bound} pods in {steps} steps");
}

#[test]
fn no_cap_is_exceeded_without_foreign_bindings_and_edits() {
    run(true, "no_cap_is_exceeded_without_foreign_bindings_and_edits");
}

#[test]
fn our_bindings_exceed_no_cap_despite_other_changes() {
    run(false, "our_bindings_exceed_no_cap_despite_other_changes");
}

#[test]
fn every_fault_in_how_the_ledger_is_used_is_caught_by_its_check_alone() {
    let mut unnoticed = Vec::new();
    for (fault, check) in faults::ALL {
        let is_caught = (0..200_u64).any(|seed| {
            let caught = |calm| live(seed, calm, Some(fault), Some(check), LIFE).is_err();
            [true, false].into_iter().any(caught)
        });
        if !is_caught {
            unnoticed.push((fault, check));
        }
    }
    assert_eq!(unnoticed, []);
}
