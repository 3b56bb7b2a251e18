//! The dates of a cluster's taints. The API of a hub has `timeAdded` for each taint, since tolerations can end; a
//! `ManagedCluster` in a file has no such date.

use almanac_api::exempt::is_marked_in;
use jiff::Timestamp;
use serde_json::{Value, json};

/// The dates to add to the taints of a cluster, as operations of RFC 6902. An unchanged taint keeps its date, or its lack
/// of one: a change of labels must not start a countdown. A date in the request stays, except that of a changed taint
/// whose date is still the old one.
pub(super) fn dates_of_taints(
    cluster: &Value,
    before: Option<&Value>,
    now: Timestamp,
) -> Vec<Value> {
    let metadata = &cluster["metadata"];
    if !metadata["deletionTimestamp"].is_null() || is_marked_in(metadata) {
        return Vec::new();
    }
    let former = before.map_or(&[][..], taints);
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now).to_string();
    let dated = taints(cluster).iter().enumerate().filter_map(|(index, taint)| {
        let date = date_of(taint, former, &now)?;
        let path = format!("/spec/taints/{index}/timeAdded");
        Some(json!({"op": "add", "path": path, "value": date}))
    });
    dated.collect()
}

fn taints(cluster: &Value) -> &[Value] {
    cluster["spec"]["taints"].as_array().map_or(&[], Vec::as_slice)
}

fn date_of(taint: &Value, former: &[Value], now: &str) -> Option<Value> {
    // Only objects have keys; the API server refuses others.
    taint.as_object()?;
    let written = &taint["timeAdded"];
    let is_the_same =
        |it: &&Value| ["key", "value", "effect"].iter().all(|key| it[key] == taint[key]);
    match former.iter().find(is_the_same) {
        Some(same) if written.is_null() => {
            Some(same["timeAdded"].clone()).filter(|it| !it.is_null())
        }
        Some(_) => None,
        None => {
            let is_kept = |it: &Value| it["key"] == taint["key"] && it["timeAdded"] == *written;
            let is_new = written.is_null() || former.iter().any(is_kept);
            is_new.then(|| json!(now))
        }
    }
}

#[cfg(test)]
mod tests {
    use almanac_api::exempt::MARK;

    use super::*;

    const MONDAY: &str = "2026-11-23T06:00:00Z";

    fn cluster(taints: &Value) -> Value {
        json!({"metadata": {"name": "east"}, "spec": {"taints": taints}})
    }

    fn dates(before: Option<&Value>, taints: &Value) -> Vec<(String, String)> {
        let before = before.map(cluster);
        let now = "2026-11-26T12:00:00.4Z".parse().expect("it is an instant");
        let operations = dates_of_taints(&cluster(taints), before.as_ref(), now);
        let text = |operation: &Value, key: &str| operation[key].as_str().unwrap_or("").to_owned();
        operations.iter().map(|it| (text(it, "path"), text(it, "value"))).collect()
    }

    fn dated(index: u32, at: &str) -> Vec<(String, String)> {
        vec![(format!("/spec/taints/{index}/timeAdded"), at.to_owned())]
    }

    #[test]
    fn a_new_taint_gets_the_present_and_one_that_was_there_keeps_its_date() {
        let dark = json!({"key": "power", "effect": "NoSelect"});
        let dark_since = json!({"key": "power", "effect": "NoSelect", "timeAdded": MONDAY});
        let now = "2026-11-26T12:00:00Z";
        assert_eq!(dates(None, &json!([dark_since, dark])), dated(1, now));
        let former = json!([dark_since]);
        assert_eq!(dates(Some(&former), &json!([dark])), dated(0, MONDAY));
        assert_eq!(dates(Some(&former), &json!([dark_since])), []);
        assert_eq!(dates(Some(&json!([])), &json!([dark])), dated(0, now));
        let without = json!({"key": "power", "effect": "NoSelect", "timeAdded": null});
        assert_eq!(dates(None, &json!([without])), dated(0, now));
    }

    #[test]
    fn a_taint_that_changes_is_new_also_if_its_date_is_sent_along() {
        let former =
            json!([{"key": "power", "value": "a", "effect": "NoSelect", "timeAdded": MONDAY}]);
        let now = "2026-11-26T12:00:00Z";
        for changed in [
            json!({"key": "power", "value": "b", "effect": "NoSelect", "timeAdded": MONDAY}),
            json!({"key": "power", "value": "a", "effect": "NoSelectIfNew", "timeAdded": MONDAY}),
            json!({"key": "power", "effect": "NoSelect"}),
        ] {
            assert_eq!(dates(Some(&former), &json!([changed])), dated(0, now), "{changed}");
        }
        let own = json!({"key": "power", "value": "b", "effect": "NoSelect", "timeAdded": "2026-11-20T06:00:00Z"});
        assert_eq!(dates(Some(&former), &json!([own])), [], "the request has a date of its own");
    }

    #[test]
    fn a_taint_that_never_had_a_date_gets_none_when_something_else_changes() {
        let dark = json!([{"key": "power", "effect": "NoSelect"}]);
        assert_eq!(dates(Some(&dark), &dark), []);
    }

    #[test]
    fn no_date_is_added_to_an_exempt_deleted_or_malformed_cluster() {
        let now = Timestamp::UNIX_EPOCH;
        let mut going = cluster(&json!([{"key": "power"}]));
        going["metadata"]["deletionTimestamp"] = json!(MONDAY);
        let mut exempt = cluster(&json!([{"key": "power"}]));
        exempt["metadata"]["annotations"] = json!({MARK: "true"});
        for object in
            [going, exempt, Value::Null, json!([]), cluster(&json!("power")), cluster(&json!([1]))]
        {
            assert_eq!(dates_of_taints(&object, None, now), [] as [Value; 0], "{object}");
        }
    }
}
