//! The dates of a cluster's taints. The API of a hub has `timeAdded` for each taint, since tolerations can end; a
//! `ManagedCluster` in a file has no such date.

use jiff::Timestamp;
use serde_json::Value;

use crate::exempt::is_marked_in;

/// The dates to add to the taints of a `ManagedCluster`, each with the position of its taint. An unchanged taint keeps
/// its date, or stays without one: a change of labels must not start a countdown. A date in the request remains, unless
/// the taint is changed and still has the old date.
#[must_use]
pub fn dates_of_taints(
    cluster: &Value,
    before: Option<&Value>,
    now: Timestamp,
) -> Vec<(usize, String)> {
    let metadata = &cluster["metadata"];
    if !metadata["deletionTimestamp"].is_null() || is_marked_in(metadata) {
        return Vec::new();
    }
    let former = before.map_or(&[][..], taints);
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now).to_string();
    let dates = taints(cluster)
        .iter()
        .enumerate()
        .filter_map(|(index, taint)| Some((index, date_of(taint, former, &now)?.to_owned())));
    dates.collect()
}

fn taints(cluster: &Value) -> &[Value] {
    cluster["spec"]["taints"].as_array().map_or(&[], Vec::as_slice)
}

fn date_of<'a>(taint: &Value, former: &'a [Value], now: &'a str) -> Option<&'a str> {
    // Only objects have keys; the API server refuses others.
    taint.as_object()?;
    let written = &taint["timeAdded"];
    // An empty value equals an absent value.
    let identity = |taint: &Value| {
        ["key", "value", "effect"].map(|it| taint[it].as_str().unwrap_or("").to_owned())
    };
    let this = identity(taint);
    let is_the_same = |it: &&Value| identity(it) == this;
    match former.iter().find(is_the_same) {
        Some(same) if written.is_null() => same["timeAdded"].as_str(),
        Some(_) => None,
        None => {
            let is_kept = |it: &Value| it["key"] == taint["key"] && it["timeAdded"] == *written;
            let is_new = written.is_null() || former.iter().any(is_kept);
            is_new.then_some(now)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::exempt::MARK;

    const MONDAY: &str = "2026-11-23T06:00:00Z";

    fn cluster(taints: &Value) -> Value {
        json!({"metadata": {"name": "east"}, "spec": {"taints": taints}})
    }

    fn dates(before: Option<&Value>, taints: &Value) -> Vec<(usize, String)> {
        let before = before.map(cluster);
        let now = "2026-11-26T12:00:00.4Z".parse().expect("a valid instant");
        dates_of_taints(&cluster(taints), before.as_ref(), now)
    }

    fn dated(index: usize, at: &str) -> Vec<(usize, String)> {
        vec![(index, at.to_owned())]
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
        let empty = json!({"key": "power", "value": "", "effect": "NoSelect"});
        assert_eq!(dates(Some(&former), &json!([empty])), dated(0, MONDAY));
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
            assert_eq!(dates_of_taints(&object, None, now), [], "{object}");
        }
    }
}
