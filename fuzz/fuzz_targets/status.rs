//! Statuses: whatever is in one, an object of any kind is read with it.
#![no_main]

use almanac_api::checking::{CheckContext, check_json};
use almanac_api::kinds::Kind;
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|text: &str| {
    let Ok(status) = serde_json::from_str::<Value>(text) else { return };
    let context = CheckContext::new("default", Timestamp::UNIX_EPOCH);
    for kind in Kind::ALL {
        let object = json!({ "metadata": { "name": "a" }, "spec": {}, "status": status });
        let _ = check_json(*kind, object, context);
    }
});
