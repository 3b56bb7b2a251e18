//! Which proxy requests to a cluster go through, as kubectl decides it. How they do is up to the client.

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use kube::config::{Config, Kubeconfig};

/// Leaves out a proxy of the environment where it is not meant: for a cluster on this machine, and for one that
/// `NO_PROXY` lists. One that the kubeconfig names is always meant.
pub(super) fn leave_out(config: &mut Config, is_named: bool) {
    if !is_named && !is_meant(&config.cluster_url, &Matcher::from_env()) {
        config.proxy_url = None;
    }
}

/// Whether the kubeconfig names a proxy for the cluster of a context, or else of its current one.
pub(super) fn is_named(read: &Kubeconfig, context: Option<&str>) -> bool {
    let context = context.or(read.current_context.as_deref());
    let context = read.contexts.iter().find(|it| Some(&*it.name) == context);
    let cluster = context.and_then(|it| it.context.as_ref()).map(|it| &*it.cluster);
    let cluster = read.clusters.iter().find(|it| Some(&*it.name) == cluster);
    let proxy = cluster.and_then(|it| it.cluster.as_ref()?.proxy_url.as_deref());
    proxy.is_some_and(|it| !it.is_empty())
}

fn is_meant(cluster: &Uri, environment: &Matcher) -> bool {
    let host = cluster.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_here = host == "localhost"
        || address.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    !is_here && environment.intercept(cluster).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_of_the_environment_is_not_for_this_machine_nor_for_what_is_listed() {
        let environment = Matcher::builder()
            .https("http://proxy.example:3128")
            .no("10.0.0.0/8,.corp.example,api.example")
            .build();
        for (cluster, expected) in [
            ("https://203.0.113.7:6443", true),
            ("https://api.example.com", true),
            ("https://127.0.0.1:6443", false),
            ("https://127.8.9.10:6443", false),
            ("https://[::1]:6443", false),
            ("https://localhost:6443", false),
            ("https://10.1.2.3", false),
            ("https://api.example", false),
            ("https://dev.corp.example:443", false),
        ] {
            assert_eq!(is_meant(&cluster.parse().unwrap(), &environment), expected, "{cluster}");
        }
        assert!(!is_meant(&"https://203.0.113.7".parse().unwrap(), &Matcher::builder().build()));
    }

    #[test]
    fn a_proxy_is_that_of_the_cluster_of_the_context() {
        let read = Kubeconfig::from_yaml(
            "clusters:
- {name: near, cluster: {server: https://near}}
- {name: far, cluster: {server: https://far, proxy-url: 'http://proxy:3128'}}
contexts:
- {name: at-home, context: {cluster: near}}
- {name: abroad, context: {cluster: far}}
current-context: abroad
",
        )
        .unwrap();
        assert!(is_named(&read, None));
        assert!(!is_named(&read, Some("at-home")));
        assert!(!is_named(&read, Some("elsewhere")));
    }
}
