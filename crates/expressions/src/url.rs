//! Addresses on the web, as Go reads and escapes them.

use std::fmt::Write as _;

/// An address on the web: with a scheme, or an absolute path.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Url {
    pub(crate) scheme: String,
    /// With the port.
    pub(crate) host: String,
    /// As it is escaped.
    pub(crate) path: String,
    query: String,
    user: String,
    fragment: String,
}

impl Url {
    /// An address; `None` for what is none, or for a path that is not absolute.
    pub(crate) fn parse(text: &str) -> Option<Url> {
        let is_control = |letter: char| letter.is_ascii_control();
        if text.is_empty() || text.contains(is_control) {
            return None;
        }
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        unescaped(fragment, false)?;
        let (scheme, rest) = scheme(text)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut url = Url {
            scheme: scheme.to_ascii_lowercase(),
            query: query.to_owned(),
            fragment: fragment.to_owned(),
            ..Url::default()
        };
        if !rest.starts_with('/') {
            // Such as `mailto:someone`: there is neither a host nor a path.
            rest.clone_into(&mut url.user);
            return (!scheme.is_empty()).then_some(url);
        }
        let mut path = rest;
        if let Some(authority) = rest.strip_prefix("//")
            && !(scheme.is_empty() && rest.starts_with("///"))
        {
            let end = authority.find('/').unwrap_or(authority.len());
            let (authority, after) = authority.split_at(end);
            let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
            is_host(host).then_some(())?;
            (url.user, url.host) = (user.to_owned(), host.to_owned());
            path = after;
        }
        let decoded = unescaped(path, false)?;
        url.path = if is_escaped(path) { path.to_owned() } else { escaped(&decoded) };
        Some(url)
    }

    /// The host without its port.
    pub(crate) fn hostname(&self) -> &str {
        let host = self.split_host().0;
        host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host)
    }

    /// The port; empty for none.
    pub(crate) fn port(&self) -> &str {
        self.split_host().1
    }

    fn split_host(&self) -> (&str, &str) {
        let end = self.host.rfind(']').unwrap_or_default();
        match self.host[end..].rfind(':') {
            Some(colon) => (&self.host[..end + colon], &self.host[end + colon + 1..]),
            None => (&self.host, ""),
        }
    }

    /// The parameters of the query in their order, each with its value. What is no parameter is left out.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (String, String)> {
        self.query.split('&').filter_map(|parameter| {
            if parameter.is_empty() || parameter.contains(';') {
                return None;
            }
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            Some((unescaped(key, true)?, unescaped(value, true)?))
        })
    }
}

/// The scheme, empty for none, and what follows it.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let is_of_scheme = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    match text.find(|letter| !is_of_scheme(letter)) {
        Some(0) if text.starts_with(':') => None,
        Some(end)
            if text[end..].starts_with(':')
                && text.starts_with(|it: char| it.is_ascii_alphabetic()) =>
        {
            Some((&text[..end], &text[end + 1..]))
        }
        _ => Some(("", text)),
    }
}

fn is_host(host: &str) -> bool {
    let is_allowed = |letter: char| {
        letter.is_alphanumeric() || !letter.is_ascii() || "-_.~!$&'()*+,;=:[]<>\"%".contains(letter)
    };
    let after = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((_, after)) => after,
            None => return false,
        },
        None => host.find(':').map_or("", |colon| &host[colon..]),
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    host.chars().all(is_allowed)
        && (after.is_empty() || after.strip_prefix(':').is_some_and(is_port))
}

/// Whether a path contains only what may stand in one.
fn is_escaped(path: &str) -> bool {
    path.chars().all(|it| it.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:@[]/%".contains(it))
}

fn escaped(path: &str) -> String {
    let mut escaped = String::new();
    for byte in path.bytes() {
        let letter = char::from(byte);
        if letter.is_ascii_alphanumeric() || "-_.~$&+,/:;=@".contains(letter) {
            escaped.push(letter);
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

fn unescaped(text: &str, plus_is_space: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
            }
            b'+' if plus_is_space => bytes.push(b' '),
            byte => bytes.push(byte),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
