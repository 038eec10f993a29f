//! URL and transport of an upstream over HTTP, and the headers of each request to it.

use std::net::Ipv6Addr;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::uri::{InvalidUri, PathAndQuery, Uri};
use percent_encoding::percent_decode_str;
use thiserror::Error;

/// URL of a server, and headers added to each request to it.
#[derive(Clone, Debug)]
pub struct UpstreamTarget {
    url: Uri,
    headers: HeaderMap,
}

/// Error in a URL or header. Values of headers, and the user, password and query of a URL are never shown: they may be
/// secret.
#[derive(Debug, Error)]
pub enum UpstreamTargetError {
    /// The URL cannot be parsed.
    #[error("`{0}` is not a URL: {1}; write it as http://HOST:PORT/PATH or https://…")]
    InvalidUrl(String, #[source] InvalidUri),
    /// The scheme is missing or unsupported.
    #[error("`{0}` is neither http:// nor https://; write the whole URL, such as http://127.0.0.1:3000/mcp")]
    UnsupportedScheme(String),
    /// The host is missing.
    #[error("`{0}` has no host; write the whole URL, such as http://127.0.0.1:3000/mcp")]
    MissingHost(String),
    /// The host is neither a name nor an address.
    #[error("`{0}` has an invalid host; write a name, an IPv4 address, or an IPv6 address in brackets")]
    InvalidHost(String),
    /// The port is not a number from 1 to 65535.
    #[error("`{0}` has an invalid port; write a number from 1 to 65535 after the colon, or no colon")]
    InvalidPort(String),
    /// The URL contains credentials, which would end up in logs.
    #[error("the URL contains a user or password; use --header 'Authorization: …' instead")]
    CredentialsInUrl,
    /// The header has no colon.
    #[error("this header has no colon; write 'Name: value'")]
    MissingColon,
    /// HTTP does not allow the header name.
    #[error("`{0}` is not a header name")]
    InvalidHeaderName(String),
    /// HTTP does not allow the header value.
    #[error("the value of the header `{0}` has characters that are not allowed in HTTP")]
    InvalidHeaderValue(String),
}

/// Transport of a server over HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Detected with the first message.
    #[default]
    Auto,
    /// Streamable HTTP, since 2025-03-26.
    Http,
    /// HTTP with server-sent events, of 2024-11-05.
    Sse,
}

impl UpstreamTarget {
    /// Parses a URL.
    ///
    /// # Errors
    /// Returns [`UpstreamTargetError`] if it is not an absolute `http` or `https` URL, its host or port is invalid, or it
    /// contains credentials.
    pub fn new(url: &str) -> Result<Self, UpstreamTargetError> {
        let uri: Uri =
            url.parse().map_err(|error| UpstreamTargetError::InvalidUrl(without_secrets(url), error))?;
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(UpstreamTargetError::CredentialsInUrl);
        }
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(UpstreamTargetError::UnsupportedScheme(without_secrets(url)));
        }
        if uri.host().is_none_or(str::is_empty) {
            return Err(UpstreamTargetError::MissingHost(without_secrets(url)));
        }
        let (host, port) = split_authority(uri.authority().map_or("", |authority| authority.as_str()));
        if !is_host(host) {
            return Err(UpstreamTargetError::InvalidHost(without_secrets(url)));
        }
        if !port.is_none_or(is_port) {
            return Err(UpstreamTargetError::InvalidPort(without_secrets(url)));
        }
        Ok(Self { url: uri, headers: HeaderMap::new() })
    }

    /// Adds a header to each request, in place of headers of that name; `line` is `Name: value`.
    ///
    /// # Errors
    /// Returns [`UpstreamTargetError`] if `line` is not a valid header.
    pub fn with_header(mut self, line: &str) -> Result<Self, UpstreamTargetError> {
        let (name, value) = line.split_once(':').ok_or(UpstreamTargetError::MissingColon)?;
        let name = name.trim();
        let parsed: HeaderName =
            name.parse().map_err(|_| UpstreamTargetError::InvalidHeaderName(name.to_owned()))?;
        let mut value = HeaderValue::from_str(value.trim())
            .map_err(|_| UpstreamTargetError::InvalidHeaderValue(name.to_owned()))?;
        value.set_sensitive(true);
        self.headers.append(parsed, value);
        Ok(self)
    }

    /// Returns the URL.
    pub fn url(&self) -> &Uri {
        &self.url
    }

    /// Returns the headers that replace those of the same names in each request.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns the URL of another path on the same server.
    pub fn url_at(&self, path: PathAndQuery) -> Uri {
        let mut parts = self.url.clone().into_parts();
        parts.path_and_query = Some(path);
        // Does not fail: scheme and authority come from an absolute URL.
        Uri::from_parts(parts).unwrap_or_else(|_| self.url.clone())
    }

    /// Returns the same server with another path and the query of its own URL.
    #[must_use]
    pub fn with_path(&self, path: &str) -> Self {
        let query = self.url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let url =
            format!("{path}{query}").parse().map_or_else(|_| self.url.clone(), |path| self.url_at(path));
        Self { url, headers: self.headers.clone() }
    }

    /// Returns the URL with the query of a client appended to its own. The parameters that the operator has set stay
    /// unchanged: a client's parameter of the same name is dropped.
    ///
    /// ```
    /// use portion_policy::upstream::UpstreamTarget;
    ///
    /// let target = UpstreamTarget::new("http://127.0.0.1:3000/mcp?key=1")?;
    /// let url = target.url_with_query(Some("key=2&page=3"));
    /// assert_eq!(url.to_string(), "http://127.0.0.1:3000/mcp?key=1&page=3");
    /// # Ok::<(), portion_policy::upstream::UpstreamTargetError>(())
    /// ```
    pub fn url_with_query(&self, query: Option<&str>) -> Uri {
        let Some(query) = query.filter(|query| !query.is_empty()) else { return self.url.clone() };
        let (own, kept) = (self.url.query().unwrap_or_default(), self.without_own_parameters(query));
        let query = [own, &kept].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("&");
        let path = self.url.path();
        let whole = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        whole.parse().map_or_else(|_| self.url.clone(), |path| self.url_at(path))
    }

    /// Returns a query without the parameters that the operator has set.
    ///
    /// ```
    /// use portion_policy::upstream::UpstreamTarget;
    ///
    /// let target = UpstreamTarget::new("http://127.0.0.1:3000/mcp?key=1")?;
    /// assert_eq!(target.without_own_parameters("a=1&key=1"), "a=1");
    /// # Ok::<(), portion_policy::upstream::UpstreamTargetError>(())
    /// ```
    pub fn without_own_parameters(&self, query: &str) -> String {
        let own: Vec<String> = parameter_names(self.url.query().unwrap_or_default()).collect();
        let kept = query.split('&').filter(|part| parameter_names(part).all(|name| !own.contains(&name)));
        kept.collect::<Vec<_>>().join("&")
    }

    /// Sets the headers of each request.
    pub fn apply_headers(&self, headers: &mut HeaderMap) {
        for name in self.headers.keys() {
            headers.remove(name);
        }
        for (name, value) in &self.headers {
            headers.append(name, value.clone());
        }
    }
}

/// Splits an authority without user into its host, with the brackets of an IPv6 address, and its port.
fn split_authority(authority: &str) -> (&str, Option<&str>) {
    let colon = match authority.rfind(']') {
        Some(bracket) => authority[bracket..].find(':').map(|colon| bracket + colon),
        None => authority.find(':'),
    };
    colon.map_or((authority, None), |colon| (&authority[..colon], Some(&authority[colon + 1..])))
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[') {
        return address.strip_suffix(']').is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    // Other characters that a URL allows here never occur in a name that resolves.
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    host.bytes().all(is_name_byte) && host.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

/// Returns true for a port that a client can connect to. The URL library accepts any text, and then the default port is
/// used.
fn is_port(port: &str) -> bool {
    port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port != 0)
}

/// Returns a text that should be a URL, without what may be secret: user, password and query.
///
/// ```
/// use portion_policy::upstream::without_secrets;
///
/// assert_eq!(without_secrets("http://ann:pass@host/mcp?key=1"), "http://host/mcp");
/// ```
pub fn without_secrets(url: &str) -> String {
    let (shown, hidden) = url.split_at(url.find(['?', '#']).unwrap_or(url.len()));
    let scheme_end = shown.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = shown.split_at(if shown[..scheme_end].contains('@') { 0 } else { scheme_end });
    let rest = match rest.rsplit_once('@') {
        Some((_, rest)) => rest,
        // The `?` or `#` may be part of a password.
        None if hidden.contains('@') && !rest.contains('/') => "…",
        None => rest,
    };
    format!("{scheme}{rest}")
}

/// Decodes a name or a value of a query string. Invalid escapes stay as they are, and invalid UTF-8 is replaced.
///
/// ```
/// use portion_policy::upstream::decode_component;
///
/// assert_eq!(decode_component("a+b%20c%3d%zz"), "a b c=%zz");
/// ```
pub fn decode_component(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// Parameter of a query string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// As it is written.
    pub text: &'a str,
    /// Decoded.
    pub name: String,
    /// Decoded; empty if there is none.
    pub value: String,
}

/// Returns the parameters of a query string, without empty ones.
///
/// ```
/// use portion_policy::upstream::parameters;
///
/// let names: Vec<String> = parameters("a%62=1&&c").map(|parameter| parameter.name).collect();
/// assert_eq!(names, ["ab", "c"]);
/// ```
pub fn parameters(query: &str) -> impl Iterator<Item = Parameter<'_>> {
    query.split('&').filter(|text| !text.is_empty()).map(|text| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        Parameter { text, name: decode_component(name), value: decode_component(value) }
    })
}

/// Returns the parameter names of a query as the most lenient server reads them: after either separator, decoded, in
/// lower case, and without the `[` or `.` suffix of a list or object.
fn parameter_names(query: &str) -> impl Iterator<Item = String> {
    query.split(['&', ';']).filter(|part| !part.is_empty()).map(|part| {
        let name = part.split('=').next().unwrap_or_default();
        let name = decode_component(name).to_lowercase();
        name.trim().split(['[', '.']).next().unwrap_or_default().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::UpstreamTarget;

    fn check(url: &str, expect: &str) {
        let text = match UpstreamTarget::new(url) {
            Ok(target) => target.url().to_string(),
            Err(error) => error.to_string(),
        };
        assert!(text.contains(expect), "{url}: {text}");
    }

    #[test]
    fn urls_are_parsed_and_errors_explained() {
        check("http://127.0.0.1:3000/mcp?x=1", "http://127.0.0.1:3000/mcp?x=1");
        check("https://[::1]:1/", "https://[::1]:1/");
        check("127.0.0.1:3000", "neither http:// nor https://");
        check("/mcp", "neither http:// nor https://");
        check("ftp://x/", "neither http:// nor https://");
        check("http://user:secret@host/", "--header");
        check("http://a b/", "not a URL");
    }

    #[test]
    fn valid_hosts_and_ports_are_accepted() {
        for authority in [
            "h",
            "h:1",
            "h:65535",
            "h:08080",
            "a-b_c.example.",
            "127.0.0.1:80",
            "[::1]",
            "[::1]:80",
            "[2001:db8::7]:443",
            "[::ffff:127.0.0.1]:1",
            "xn--bcher-kva.example",
        ] {
            for url in [format!("http://{authority}"), format!("https://{authority}/mcp?x=1")] {
                let found = UpstreamTarget::new(&url);
                assert!(found.is_ok(), "{url}: {found:?}");
            }
        }
    }

    fn check_refused(authorities: &[&str]) {
        for authority in authorities {
            for url in [format!("http://{authority}"), format!("https://{authority}/mcp")] {
                assert!(UpstreamTarget::new(&url).is_err(), "{url:?}");
            }
        }
    }

    #[test]
    fn invalid_ports_are_refused() {
        check_refused(&[
            "h:",
            "h:0",
            "h:00",
            "h:-1",
            "h:+1",
            "h:1.5",
            "h:1e3",
            "h:0x50",
            "h:65536",
            "h:99999999999999999999",
            "h:http",
            "h:80a",
            "h:a80",
            "h: 80",
            "h:80 ",
            "h:%38%30",
            "h:80:80",
            "h::80",
            "h:\u{ff18}\u{ff10}",
            "127.0.0.1:evil",
            "127.0.0.1:",
            "[::1]:",
            "[::1]:x",
            "[::1]:65536",
            "[::1]:80:80",
            "[::1]:+1",
            "$PORT:1",
            "h:$PORT",
            "h:{port}",
        ]);
        check("http://h:http/", "invalid port");
        check("http://h:/", "invalid port");
    }

    #[test]
    fn invalid_hosts_are_refused() {
        check_refused(&[
            "",
            ":80",
            ".",
            "..",
            "-",
            "[]",
            "[]:80",
            "[::1",
            "::1",
            "::1]:80",
            "[::1]80",
            "[::1]x:80",
            "x[::1]",
            "[::1][::1]",
            "[127.0.0.1]",
            "[h]",
            "[::1%25eth0]",
            "[fe80::1%eth0]",
            "[v1.x]",
            "[:::]",
            "[1:2:3]",
            "a b",
            "a%20b",
            "%61",
            "a%",
            "a,b",
            "a;b",
            "a=b",
            "a&b",
            "a+b",
            "a*b",
            "a!b",
            "a'b",
            "a(b)",
            "a~b",
            "a$b",
            "a\\b",
            "a|b",
            "a\"b",
            "<a>",
            "a^b",
            "a`b",
            "{a}",
            "\u{e9}.example",
            "a\tb",
            "a\nb",
            "a\0b",
        ]);
        check("http://[127.0.0.1]/", "IPv6");
    }

    #[test]
    fn users_are_refused() {
        check_refused(&["u@h", "u:p@h", "@h", ":@h", "u@", "h@:80", "u:1@h:2", "a@b@c"]);
    }

    #[test]
    fn errors_show_no_secrets_of_a_url() {
        for url in [
            "htp://host/mcp?key=s3cret",
            "host:1/mcp?key=s3cret#s3cret",
            "/mcp?key=s3cret",
            "http://a b/mcp?key=s3cret",
            "http://user:s3cret@a b/mcp",
            "user:s3cret@a b/mcp",
            "http://user:s3cret?x@host/mcp",
            "http://user:s3cret#s3cret@host/mcp?key=s3cret",
            "http://host:x?key=a@s3cret",
        ] {
            let error = UpstreamTarget::new(url).expect_err(url);
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{url}: {error}");
        }
    }

    #[test]
    fn a_header_is_a_name_and_a_value() {
        let target = UpstreamTarget::new("http://x/").expect("a URL");
        let with = |line| target.clone().with_header(line).map_err(|error| error.to_string());
        assert_eq!(with("A: b:c ").expect("fine").headers()["a"], "b:c");
        assert!(with("Authorization Bearer secret").expect_err("no colon").contains("no colon"));
        assert!(with("a b: c").expect_err("a name").contains("not a header name"));
        let error = with("A: sec\nret").expect_err("a value");
        assert!(error.contains("`A`") && !error.contains("sec"), "{error}");
    }
}
