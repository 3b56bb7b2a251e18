//! Addresses on the web, as Go reads and escapes them.

/// An address on the web: with a scheme, or an absolute path. Two are equal if their normalized texts are equal.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Url {
    pub(crate) scheme: String,
    /// With the port.
    pub(crate) host: String,
    /// As it is escaped.
    pub(crate) path: String,
    /// The text after the scheme, if it does not begin with a slash.
    opaque: String,
    query: Option<String>,
    user: Option<(Vec<u8>, Option<Vec<u8>>)>,
    fragment: String,
}

impl Url {
    /// An address; `None` for an invalid one, or for a path that is not absolute. Kubernetes reads it twice: as that of
    /// a request, which has no fragment, and as any other.
    pub(crate) fn parse(text: &str) -> Option<Url> {
        if text.is_empty() || text.contains(|letter: char| letter.is_ascii_control()) {
            return None;
        }
        Url::read(text, true)?;
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let url = Url::read(before, false)?;
        Some(Url { fragment: as_escaped(fragment)?, ..url })
    }

    fn read(text: &str, is_of_request: bool) -> Option<Url> {
        if text == "*" {
            return Some(Url { path: "*".to_owned(), ..Url::default() });
        }
        let (scheme, rest) = scheme(text)?;
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (rest, None),
        };
        let url = Url { scheme: scheme.to_ascii_lowercase(), query, ..Url::default() };
        if !rest.starts_with('/') {
            // Such as `mailto:someone`: there is neither a host nor a path.
            let is_known = !scheme.is_empty() || !is_of_request;
            return is_known.then(|| Url { opaque: rest.to_owned(), ..url });
        }
        let has_host = !scheme.is_empty() || !is_of_request && !rest.starts_with("///");
        let Some(rest) = rest.strip_prefix("//").filter(|_| has_host) else {
            return Some(Url { path: as_escaped(rest)?, ..url });
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(userinfo(user)?), host),
            None => (None, authority),
        };
        Some(Url { user, host: read_host(host)?, path: as_escaped(path)?, ..url })
    }

    /// Its length.
    pub(crate) fn length(&self) -> usize {
        let Url { scheme, host, path, opaque, query, user, fragment } = self;
        let texts = [scheme, host, path, opaque, fragment].into_iter().chain(query);
        let user = user.iter().flat_map(|(name, password)| std::iter::once(name).chain(password));
        texts.map(String::len).chain(user.map(Vec::len)).sum()
    }

    /// The length of the query.
    pub(crate) fn query_length(&self) -> usize {
        self.query.as_ref().map_or(0, String::len)
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

    /// The parameters of the query in their order, each with its value. Invalid parameters are left out.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (String, String)> {
        self.query.iter().flat_map(|query| query.split('&')).filter_map(|parameter| {
            if parameter.is_empty() || parameter.contains(';') {
                return None;
            }
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            Some((text(unescaped(key, true)?), text(unescaped(value, true)?)))
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

/// The name and the password before a host.
fn userinfo(user: &str) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let is_allowed =
        |letter: char| letter.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(letter);
    if !user.chars().all(is_allowed) {
        return None;
    }
    match user.split_once(':') {
        Some((name, password)) => {
            Some((unescaped(name, false)?, Some(unescaped(password, false)?)))
        }
        None => Some((unescaped(user, false)?, None)),
    }
}

/// A host with its port. In square brackets is an address of IPv6, which may have a zone.
fn read_host(host: &str) -> Option<String> {
    let is_port = |port: &str| {
        let digits = port.strip_prefix(':');
        port.is_empty() || digits.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if let Some(rest) = host.strip_prefix('[') {
        let (address, port) = rest.rsplit_once(']')?;
        let (address, zone) = address.split_at(address.find("%25").unwrap_or(address.len()));
        let address = unescaped_host(address, false)?;
        let zone = unescaped_host(zone, true)?;
        address.parse::<std::net::Ipv6Addr>().ok()?;
        let is_zone = zone.is_empty() || zone.len() > 1;
        return (is_zone && is_port(port)).then(|| format!("[{address}{zone}]{port}"));
    }
    let colon = host.find(':').unwrap_or(host.len());
    (!host.contains('[') && is_port(&host[colon..])).then(|| unescaped_host(host, false))?
}

/// Escaped bytes in a host are beyond ASCII; those in a zone may be a percent sign or a character that is allowed in a
/// host.
fn unescaped_host(host: &str, is_zone: bool) -> Option<String> {
    let is_allowed = |byte: u8| {
        byte.is_ascii_alphanumeric() || byte >= 0x80 || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)
    };
    let mut parts = host.split('%');
    let are_plain = |part: &str| part.bytes().all(is_allowed);
    let mut is_known = parts.next().is_none_or(are_plain);
    for part in parts {
        let byte = u8::from_str_radix(part.get(..2)?, 16).ok()?;
        is_known &= match (byte, is_zone) {
            (b'%', _) => true,
            (byte, true) => byte == b' ' || is_allowed(byte),
            (byte, false) => byte >= 0x80,
        };
        is_known &= are_plain(part.get(2..)?);
    }
    is_known.then(|| unescaped(host, false).map(text))?
}

/// A path or a fragment as it is escaped: as it is written, if nothing else needs to be escaped.
fn as_escaped(written: &str) -> Option<String> {
    let decoded = unescaped(written, false)?;
    let is_allowed = |it: char| it.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:@[]/%".contains(it);
    if written.chars().all(is_allowed) {
        return Some(written.to_owned());
    }
    let mut escaped = String::new();
    for byte in decoded {
        let letter = char::from(byte);
        if letter.is_ascii_alphanumeric() || "-_.~$&+,/:;=@".contains(letter) {
            escaped.push(letter);
        } else {
            let digit =
                |of: u8| char::from_digit(of.into(), 16).unwrap_or('0').to_ascii_uppercase();
            escaped.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    Some(escaped)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn unescaped(text: &str, plus_is_space: bool) -> Option<Vec<u8>> {
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
    Some(bytes)
}
