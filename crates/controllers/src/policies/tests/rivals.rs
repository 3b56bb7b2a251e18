//! Policies by their target: those of one target name each other in their statuses.

use almanac_fixtures::names;
use almanac_shell::following::Follower as _;
use serde_json::json;

use super::{Watched, object, told};

#[test]
fn a_rival_that_comes_or_goes_wakes_the_statuses_of_the_others() {
    let [shop, other] = ["shop", "other"].map(|name| object(name, name, 1, 5));
    let mut comes = Watched::new();
    comes.follower.upsert(told(shop.clone()));
    comes.follower.list_complete();
    assert!(comes.statuses.is_quiet());
    comes.follower.upsert(told(other.clone()));
    assert!(!comes.statuses.is_quiet());

    let mut goes = Watched::new();
    goes.follower.upsert(told(shop));
    goes.follower.upsert(told(other.clone()));
    goes.follower.list_complete();
    assert!(goes.statuses.is_quiet());
    goes.follower.delete(told(other));
    assert!(!goes.statuses.is_quiet());
}

#[test]
fn policies_are_found_by_their_target() {
    let mut watched = Watched::new();
    watched.follower.upsert(told(object("one", "1", 1, 5)));
    watched.follower.upsert(told(object("two", "2", 2, 5)));
    let target = names::deployment("shop");
    let aimed = |watched: &Watched| {
        let state = watched.cluster.lock();
        let policies = state.targets.policies_targeting(&target);
        policies.iter().map(|it| it.identity.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(aimed(&watched), ["one", "two"]);
    let mut moved = object("one", "1", 3, 6);
    moved["spec"]["scaleTargetRef"]["name"] = json!("other");
    watched.follower.upsert(told(moved));
    assert_eq!(aimed(&watched), ["two"]);
    watched.follower.delete(told(object("two", "2", 4, 5)));
    assert!(aimed(&watched).is_empty());
}
