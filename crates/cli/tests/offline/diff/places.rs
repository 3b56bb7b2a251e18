//! Several clusters in one directory: each cluster is compared with itself, and a cluster may be added or removed.

use crate::diff::running::{cron, diff, shop, sides};
use crate::running::list;

fn changed() -> String {
    shop().replace("0 20", "0 22")
}

/// Each difference as `place target presence`.
fn changes(folder: &std::path::Path) -> Vec<String> {
    let output = diff(folder, &["old", "new", "-o", "json"]).json();
    let one = |it: &serde_json::Value| {
        let word = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
        [word(&it["place"]), word(&it["target"]["name"]), word(&it["presence"])].join(" ")
    };
    list(&output["differences"]).iter().map(one).collect()
}

#[test]
fn a_change_in_one_place_is_listed_for_that_place() {
    let folder = sides(
        "places-one",
        &[("clusters/prod/a.yaml", &shop()), ("clusters/test/a.yaml", &shop())],
        &[("clusters/prod/a.yaml", &shop()), ("clusters/test/a.yaml", &changed())],
    );
    assert_eq!(changes(&folder), ["clusters/test shop both"]);
    diff(&folder, &["old", "new"])
        .assert_stdout(&["clusters/test: Deployment.apps default/shop: "]);
}

#[test]
fn a_change_in_several_places_is_listed_for_each() {
    let folder = sides(
        "places-all",
        &[("clusters/prod/a.yaml", &shop()), ("clusters/test/a.yaml", &shop())],
        &[("clusters/prod/a.yaml", &changed()), ("clusters/test/a.yaml", &changed())],
    );
    assert_eq!(changes(&folder), ["clusters/prod shop both", "clusters/test shop both"]);
}

#[test]
fn an_added_or_removed_place_is_listed_as_such() {
    let one = [("clusters/prod/a.yaml", shop())];
    let two = [("clusters/prod/a.yaml", changed()), ("clusters/test/a.yaml", shop())];
    let [one, two] = [&one[..], &two[..]]
        .map(|files| files.iter().map(|(name, text)| (*name, text.as_str())).collect::<Vec<_>>());
    let added = sides("places-added", &one, &two);
    assert_eq!(changes(&added), ["clusters/prod shop both", "clusters/test shop added"]);
    let gone = sides("places-gone", &two, &one);
    assert_eq!(changes(&gone), ["clusters/prod shop both", "clusters/test shop removed"]);
    let empty = sides("places-new", &[], &two);
    assert_eq!(changes(&empty), ["clusters/prod shop added", "clusters/test shop added"]);
}

#[test]
fn objects_of_all_places_are_compared_in_each() {
    let cart = |replicas| cron("cart", "cart", &[("open", "0 9 * * *", replicas)]);
    let (shop, before, after) = (shop(), cart(3), cart(4));
    let folder = sides(
        "places-shared",
        &[("base/cart.yaml", &before)],
        &[
            ("base/cart.yaml", &after),
            ("clusters/prod/a.yaml", &shop),
            ("clusters/test/a.yaml", &shop),
        ],
    );
    let of = |place: &str| [format!("{place} cart both"), format!("{place} shop added")];
    assert_eq!(changes(&folder), [of("clusters/prod"), of("clusters/test")].concat());
}
