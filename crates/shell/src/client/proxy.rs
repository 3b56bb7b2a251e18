//! The proxy for requests to a cluster: the one in its kubeconfig, or else that of the environment. kubectl chooses
//! in the same way, except for a cluster that is reached without TLS. The client connects through it.
//!
//! The client's own choice is not used: it compares `NO_PROXY` with the address of the proxy, not of the cluster, and
//! fails at lists that other programs accept.

use std::net::IpAddr;

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;

/// The proxy variables of the environment; an unset one is empty.
#[derive(Default)]
pub(super) struct Environment {
    https: String,
    no_proxy: String,
}

/// The reason that a proxy cannot be used. The message omits the address, because it may contain a password.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}: the address of a proxy is http://…, https://… or socks5://…, not {found}")]
pub struct ProxyError {
    source_name: &'static str,
    found: String,
}

impl Environment {
    pub(super) fn read() -> Self {
        let first = |names: [&str; 2]| {
            let set = names.into_iter().filter_map(|name| std::env::var(name).ok());
            set.map(|it| it.trim().to_owned()).find(|it| !it.is_empty()).unwrap_or_default()
        };
        Self {
            https: first(["HTTPS_PROXY", "https_proxy"]),
            no_proxy: first(["NO_PROXY", "no_proxy"]),
        }
    }

    /// The proxy for a cluster whose kubeconfig names this proxy, or none. A named proxy always applies.
    pub(super) fn proxy_for(
        &self,
        cluster: &Uri,
        named: Option<&str>,
    ) -> Result<Option<Uri>, ProxyError> {
        if let Some(named) = named.filter(|it| !it.is_empty()) {
            return address("proxy-url", named).map(Some);
        }
        let is_meant = cluster.scheme_str() == Some("https")
            && !self.https.is_empty()
            && !is_here(cluster)
            && !is_listed(&self.no_proxy, cluster);
        is_meant.then(|| address("HTTPS_PROXY", &self.https)).transpose()
    }
}

fn address(source: &'static str, text: &str) -> Result<Uri, ProxyError> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let scheme = scheme.to_ascii_lowercase();
    // The proxy resolves names in either case.
    let scheme = if scheme == "socks5h" { "socks5" } else { &scheme };
    let wrong = |found: String| ProxyError { source_name: source, found };
    if !matches!(scheme, "http" | "https" | "socks5") {
        let is_scheme = scheme.chars().all(|it| it.is_ascii_alphanumeric() || "+-.".contains(it));
        return Err(wrong(if is_scheme { format!("{scheme}://") } else { "not one".to_owned() }));
    }
    if scheme == "socks5" && rest.contains('@') {
        return Err(wrong("socks5:// with a user, which cannot be sent".to_owned()));
    }
    let parsed = format!("{scheme}://{rest}").parse::<Uri>();
    let uri = parsed.map_err(|error| wrong(format!("not one: {error}")))?;
    if scheme == "socks5" && uri.port().is_none() {
        let with_port = format!("socks5://{}:1080", rest.trim_end_matches('/'));
        return with_port.parse().map_err(|error| wrong(format!("not one: {error}")));
    }
    Ok(uri)
}

/// Whether the host is this machine: proxies of the environment do not apply to it.
fn is_here(cluster: &Uri) -> bool {
    let host = cluster.host().unwrap_or_default();
    host == "localhost"
        || without_brackets(host).parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Whether `NO_PROXY` lists the host. An entry may have a port, and `*.` before a name is equivalent to a dot.
fn is_listed(list: &str, cluster: &Uri) -> bool {
    let host = cluster.host().unwrap_or_default().to_ascii_lowercase();
    let port = cluster.port_u16().unwrap_or(443);
    let entries = list.split(',').map(str::trim);
    if entries.clone().any(|entry| entry == "*") {
        return true;
    }
    let about_it = entries.filter_map(|entry| {
        let (name, of_port) = name_and_port(entry);
        let name = name.strip_prefix('*').filter(|it| it.starts_with('.')).unwrap_or(name);
        // A name after a dot stands only for its subdomains.
        let is_above =
            name.strip_prefix('.').is_some_and(|above| above.eq_ignore_ascii_case(&host));
        (of_port.is_none_or(|it| it == port) && !is_above).then_some(name)
    });
    let about_it: Vec<_> = about_it.collect();
    let decided = Matcher::builder().all("http://proxy").no(about_it.join(",")).build();
    decided.intercept(cluster).is_none()
}

fn name_and_port(entry: &str) -> (&str, Option<u16>) {
    let split = entry.rsplit_once(':').filter(|(name, _)| {
        // An IPv6 address has colons of its own.
        !name.contains(':') || name.ends_with(']')
    });
    match split.and_then(|(name, port)| Some((name, port.parse().ok()?))) {
        Some((name, port)) => (without_brackets(name), Some(port)),
        None => (without_brackets(entry), None),
    }
}

fn without_brackets(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(https: &str, no_proxy: &str) -> Environment {
        Environment { https: https.into(), no_proxy: no_proxy.into() }
    }

    fn goes_direct(no_proxy: &str, cluster: &str) -> bool {
        let environment = environment("http://proxy.example:3128", no_proxy);
        let decided = environment.proxy_for(&cluster.parse().unwrap(), None);
        decided.unwrap().is_none()
    }

    #[test]
    fn a_proxy_of_the_environment_is_not_for_this_machine_nor_for_what_is_listed() {
        let list = "10.0.0.0/8,.corp.example,api.example, *.wild.example,, one.example:6443,\
                    203.0.113.9:6443,[2001:db8::1]:443,2001:db8::2,10.1.2.3 10.1.2.4,";
        for (cluster, expected) in [
            ("https://203.0.113.7:6443", false),
            ("https://api.example.com", false),
            ("https://notapi.example", false),
            ("https://127.0.0.1:6443", true),
            ("https://127.8.9.10:6443", true),
            ("https://[::1]:6443", true),
            ("https://localhost:6443", true),
            ("https://10.1.2.3", true),
            ("https://api.example", true),
            ("https://API.Example", true),
            ("https://dev.api.example", true),
            ("https://dev.corp.example:443", true),
            ("https://corp.example", false),
            ("https://dev.wild.example", true),
            ("https://one.example:6443", true),
            ("https://one.example", false),
            ("https://203.0.113.9:6443", true),
            ("https://203.0.113.9:8443", false),
            ("https://[2001:db8::1]", true),
            ("https://[2001:db8::1]:6443", false),
            ("https://[2001:db8::2]:6443", true),
        ] {
            assert_eq!(goes_direct(list, cluster), expected, "{cluster}");
        }
        assert!(goes_direct("*", "https://203.0.113.7"));
        assert!(!goes_direct("", "https://203.0.113.7"));
        assert!(goes_direct("", "http://203.0.113.7:8001"));
    }

    #[test]
    fn where_the_proxy_itself_is_does_not_matter() {
        let environment = environment("http://127.0.0.1:3128", "localhost,127.0.0.1");
        let proxy = environment.proxy_for(&"https://203.0.113.7".parse().unwrap(), None);
        assert_eq!(proxy.unwrap().unwrap(), "http://127.0.0.1:3128");
    }

    #[test]
    fn a_proxy_of_the_kubeconfig_is_always_meant() {
        let environment = environment("http://proxy.example:3128", "*");
        let named = Some("socks5h://127.0.0.1");
        let proxy = environment.proxy_for(&"https://127.0.0.1:6443".parse().unwrap(), named);
        assert_eq!(proxy.unwrap().unwrap(), "socks5://127.0.0.1:1080");
    }

    #[test]
    fn a_proxy_without_a_scheme_uses_http_and_errors_hide_the_password() {
        let cluster = "https://203.0.113.7".parse().unwrap();
        for set in ["proxy.example:3128", "HTTP://proxy.example:3128"] {
            let proxy = environment(set, "").proxy_for(&cluster, None);
            assert_eq!(proxy.unwrap().unwrap(), "http://proxy.example:3128");
        }
        let error = environment("ftp://me:secret@proxy", "").proxy_for(&cluster, None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "HTTPS_PROXY: the address of a proxy is http://…, https://… or socks5://…, not ftp://"
        );
        for set in ["http://me:se cret@proxy", "me:secret@http://proxy", "socks5://me:secret@proxy"]
        {
            let error = environment(set, "").proxy_for(&cluster, None).unwrap_err().to_string();
            assert!(!error.contains("cret"), "{error}");
        }
    }
}
