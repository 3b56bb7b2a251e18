//! Files in YAML and JSON: a file of any bytes is read and checked, and the fixes of its findings are applied.
#![no_main]

use almanac_api::checking::{CheckContext, Layout, check_everything};
use almanac_api::reading::{Reading, Source, fix_text, read_objects};
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut reading = Reading::default();
    read_objects(&mut reading, Source::from_bytes("test.yaml", bytes.to_vec()));
    reading.sort();
    let context = CheckContext::new("default", Timestamp::UNIX_EPOCH);
    let everything = check_everything(&reading, context, &Layout::default());
    for object in &reading.objects {
        let _ = object.node.to_json();
    }
    if let Some(source) = reading.sources.first() {
        let findings = [reading.findings.clone(), everything.findings].concat();
        let _ = fix_text(source.text(), &findings);
    }
});
