//! The address of a Prometheus: checks that it can be used, and reports the problem otherwise.

use std::fmt;
use std::str::FromStr;

use http::Uri;
use http::uri::Scheme;

/// An `http` or `https` address, perhaps with a path before that of the API.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrometheusAddress {
    uri: Uri,
}

/// The problem with an address. A password in it is not repeated.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PrometheusAddressError {
    /// Not an address.
    #[error("{0}; write an address such as http://prometheus.monitoring.svc:9090")]
    NotAnAddress(String),
    /// The address has another scheme than HTTP or HTTPS.
    #[error(
        "the address must begin with http:// or https://, as in http://prometheus.monitoring.svc:9090"
    )]
    Scheme,
    /// The address has a user or a password in it.
    #[error(
        "the address must not contain a user or a password, because both appear in logs and in the list of processes; \
         put a bearer token into a file (--prometheus-token-file)"
    )]
    Credentials,
    /// The address has parameters.
    #[error("the address must not contain '?' or '#': each query adds its own parameters")]
    Parameters,
    /// The address has the path of the API.
    #[error("the address must end before /api/v1: write {0}")]
    PathOfApi(String),
}

impl PrometheusAddress {
    /// For requests, whose paths are added to it.
    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Whether the connection is encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.uri.scheme() == Some(&Scheme::HTTPS)
    }
}

impl FromStr for PrometheusAddress {
    type Err = PrometheusAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(PrometheusAddressError::Scheme);
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(PrometheusAddressError::Credentials);
        }
        if text.contains(['?', '#']) {
            return Err(PrometheusAddressError::Parameters);
        }
        if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return Err(PrometheusAddressError::Scheme);
        }
        let uri = Uri::from_str(text)
            .map_err(|error| PrometheusAddressError::NotAnAddress(error.to_string()))?;
        let has_port = uri.authority().is_some_and(|it| Some(it.as_str()) != uri.host());
        if has_port && uri.port_u16().is_none() {
            let why = "the port must be a number up to 65535".to_owned();
            return Err(PrometheusAddressError::NotAnAddress(why));
        }
        if let Some((before, _)) = text.split_once("/api/v1") {
            return Err(PrometheusAddressError::PathOfApi(before.to_owned()));
        }
        Ok(Self { uri })
    }
}

impl fmt::Display for PrometheusAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.uri.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_have_a_port_and_a_path_prefix() {
        let good = [
            "http://prometheus.monitoring.svc:9090",
            "https://metrics.example.org/prometheus",
            "https://metrics.example.org/prometheus/",
            "http://[::1]:9090",
            "HTTP://127.0.0.1",
        ];
        for text in good {
            assert!(text.parse::<PrometheusAddress>().is_ok(), "{text}");
        }
        let encrypted = |text: &str| text.parse::<PrometheusAddress>().expect(text).is_encrypted();
        assert!(encrypted("https://a") && !encrypted("http://a"));
    }

    #[test]
    fn an_invalid_address_is_rejected_with_an_example() {
        let wrong = |text: &str| text.parse::<PrometheusAddress>().expect_err(text).to_string();
        for text in ["prometheus:9090", "prometheus", "", "unix:///run/p.sock", "ftp://p"] {
            assert!(wrong(text).contains("begin with http:// or https://"), "{text}");
        }
        assert!(wrong("http://p:9090?x=1").contains("'?'"));
        assert!(wrong("http://p:9090/#top").contains("'#'"));
        assert!(wrong("http://").contains("such as http://"));
        for port in ["port", "", "90900"] {
            let error = wrong(&format!("http://p:{port}"));
            assert!(error.contains("the port") && error.contains("such as http://"), "{error}");
        }
        let of_api = wrong("http://p:9090/up/api/v1/query");
        assert!(of_api.ends_with("write http://p:9090/up"), "{of_api}");
    }

    #[test]
    fn a_password_in_an_address_is_rejected_and_not_printed() {
        for text in ["https://ann:s3cret@p:9090", "https://s3cret@p", "ftp://ann:s3cret@p/?s3cret"]
        {
            let error = text.parse::<PrometheusAddress>().expect_err(text);
            assert_eq!(error, PrometheusAddressError::Credentials);
            assert!(error.to_string().contains("--prometheus-token-file"));
            assert!(!error.to_string().contains("s3cret"));
        }
        // An `@` in the path marks no credentials.
        assert!("https://p/@team".parse::<PrometheusAddress>().is_ok());
    }
}
