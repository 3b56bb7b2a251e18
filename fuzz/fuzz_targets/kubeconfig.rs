//! Kubeconfigs: kube parses the input and builds a client configuration. The files that the kubeconfig names are not
//! read.
#![no_main]

use kube::config::Kubeconfig;
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/shell/src/client"]
mod client {
    pub(crate) mod kubeconfig;
    mod proxy;
}

fuzz_target!(|text: &str| {
    let Ok(mut read) = Kubeconfig::from_yaml(text) else { return };
    for cluster in &mut read.clusters {
        if let Some(cluster) = &mut cluster.cluster {
            cluster.certificate_authority = None;
        }
    }
    if let Err(error) = client::kubeconfig::configuration_of(&read, None) {
        drop(error.to_string());
    }
});
