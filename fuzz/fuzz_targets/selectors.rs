//! Label selectors, as kubectl reads them and, in JSON, as objects have them.
#![no_main]

use std::collections::BTreeMap;

use almanac_api::checking::{CheckContext, check_json};
use almanac_api::kinds::Kind;
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

#[allow(dead_code)]
#[path = "../../crates/cli/src/argument_error.rs"]
mod argument_error;
#[path = "../../crates/cli/src/selector.rs"]
mod selector;

fuzz_target!(|text: &str| {
    match selector::Selector::parse("-l", text) {
        Ok(selector) => drop(selector.fits(Some(&BTreeMap::from([("a".into(), "b".into())])))),
        Err(error) => drop(error.to_string()),
    }
    let Ok(selector) = serde_json::from_str::<Value>(text) else { return };
    let context = CheckContext::new("default", Timestamp::UNIX_EPOCH);
    let placement = json!({
        "metadata": { "name": "a" },
        "spec": { "predicates": [{ "requiredClusterSelector": {
            "labelSelector": selector,
            "claimSelector": selector,
        } }] },
    });
    let _ = check_json(Kind::Placement, placement, context);
    let policy = json!({
        "metadata": { "name": "a" },
        "spec": { "podSelector": selector, "units": [{ "name": "u", "nodeSelector": selector }] },
    });
    let _ = check_json(Kind::ResourcePolicy, policy, context);
});
