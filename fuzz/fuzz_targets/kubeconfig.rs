//! Kubeconfigs, which kube reads.
#![no_main]

use kube::config::Kubeconfig;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = Kubeconfig::from_yaml(text);
});
