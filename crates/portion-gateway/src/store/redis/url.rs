//! URLs of stores: `redis://`, `rediss://`, `valkey://`, `valkeys://`, each also with `+cluster` or `+sentinel`.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

use crate::store::split_at_credentials;

/// Prefix of the names of all keys, unless the URL has another.
const DEFAULT_PREFIX: &str = "portion";
/// Schemes with the part that the client knows.
const SCHEMES: [(&str, Scheme); 4] = [
    ("redis", Scheme { base: "redis", is_secure: false }),
    ("rediss", Scheme { base: "rediss", is_secure: true }),
    ("valkey", Scheme { base: "redis", is_secure: false }),
    ("valkeys", Scheme { base: "rediss", is_secure: true }),
];

#[derive(Clone, Copy)]
struct Scheme {
    base: &'static str,
    is_secure: bool,
}

/// A parsed URL of a store.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    pub(crate) topology: Topology,
    pub(crate) is_secure: bool,
    /// URLs of the servers, for the client.
    pub(crate) nodes: Vec<String>,
    /// Hosts and ports as written, without credentials.
    hosts: String,
    /// File with certificates of authorities, in place of the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// Prefix of the names of all keys.
    pub(crate) prefix: String,
}

/// The way to find the servers of a store.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Topology {
    Single,
    Cluster,
    /// Sentinels know the master of this name; its URL, with a placeholder for its host, has the credentials.
    Sentinel {
        service: String,
        server: String,
    },
}

/// The error for a text that is no URL of a store. It never contains the text, which has a password.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum UrlError {
    /// Another scheme.
    #[error(
        "the URL of a store begins with redis://, rediss:// (with TLS), valkey:// or valkeys://, each also as in redis+cluster:// or redis+sentinel://"
    )]
    Scheme,
    /// No host.
    #[error("the URL of the store names no host: write redis://HOST:PORT")]
    NoHost,
    /// Several hosts of a single server.
    #[error("the URL of the store names several hosts: write redis+cluster:// or redis+sentinel://")]
    SeveralHosts,
    /// No service for sentinels.
    #[error("the URL of the sentinels names no service: write redis+sentinel://HOST:PORT/SERVICE")]
    NoService,
    /// A database of a cluster, or one that is no number.
    #[error(
        "the URL of the store has a path that is not the number of a database, which clusters do not have"
    )]
    Database,
    /// An unknown parameter.
    #[error("the URL of the store has a parameter that is not known: allowed are ca, a file, and prefix")]
    Parameter,
    /// A certificate file of a connection without TLS.
    #[error("ca has no effect without TLS: write rediss:// or valkeys://, or remove ca")]
    CaWithoutTls,
    /// A certificate file that sentinels cannot use.
    #[error("ca is not supported for sentinels: set SSL_CERT_FILE to the file")]
    SentinelCa,
    /// The client refuses it.
    #[error("the URL of the store is invalid: {0}")]
    Refused(String),
}

impl StoreUrl {
    /// Parses a URL.
    ///
    /// ```
    /// use portion_gateway::store::redis::StoreUrl;
    ///
    /// let url = StoreUrl::parse("redis+cluster://:secret@10.0.0.1:7000,10.0.0.2:7000?prefix=bookings")?;
    /// assert_eq!(url.to_string(), "redis+cluster://10.0.0.1:7000,10.0.0.2:7000");
    /// assert!(StoreUrl::parse("http://127.0.0.1").is_err());
    /// # Ok::<(), portion_gateway::store::redis::UrlError>(())
    /// ```
    ///
    /// # Errors
    /// If it is no URL of a store.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let (scheme, rest) = text.trim().split_once("://").ok_or(UrlError::Scheme)?;
        let (scheme, kind) = scheme.split_once('+').map_or((scheme, ""), |(scheme, kind)| (scheme, kind));
        let (_, scheme) = SCHEMES.into_iter().find(|(name, _)| *name == scheme).ok_or(UrlError::Scheme)?;
        let (credentials, rest) = split_at_credentials(rest);
        let credentials = credentials.map(encode_credentials).unwrap_or_default();
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        if hosts.is_empty() || hosts.split(',').any(str::is_empty) {
            return Err(UrlError::NoHost);
        }
        let (ca_file, prefix) = read_parameters(query)?;
        if ca_file.is_some() && !scheme.is_secure {
            return Err(UrlError::CaWithoutTls);
        }
        let path = path.trim_end_matches('/');
        let node = |credentials: &str, host: &str, database: &str| {
            format!("{}://{credentials}{host}/{database}", scheme.base)
        };
        let hosts_of = |credentials: &str, database: &str| {
            hosts.split(',').map(|host| node(credentials, host, database)).collect::<Vec<_>>()
        };
        let (topology, nodes) = match kind {
            "" if hosts.contains(',') => return Err(UrlError::SeveralHosts),
            "" => (Topology::Single, hosts_of(&credentials, check_database(path)?)),
            "cluster" if path.is_empty() => (Topology::Cluster, hosts_of(&credentials, "")),
            "cluster" => return Err(UrlError::Database),
            "sentinel" => {
                let (service, database) = path.split_once('/').unwrap_or((path, ""));
                if service.is_empty() {
                    return Err(UrlError::NoService);
                }
                if ca_file.is_some() {
                    return Err(UrlError::SentinelCa);
                }
                let server = node(&credentials, "localhost", check_database(database)?);
                // Sentinels have other credentials than the servers, most often none.
                (Topology::Sentinel { service: service.to_owned(), server }, hosts_of("", ""))
            }
            _ => return Err(UrlError::Scheme),
        };
        let suffix = if kind.is_empty() { String::new() } else { format!("+{kind}") };
        let hosts = format!("{}{suffix}://{hosts}", scheme.base);
        Ok(Self { topology, is_secure: scheme.is_secure, nodes, hosts, ca_file, prefix })
    }
}

/// Encodes the characters that would end credentials in the URL of the client, and ends them.
fn encode_credentials(credentials: &str) -> String {
    let mut encoded = String::with_capacity(credentials.len() + 8);
    for char in credentials.chars() {
        match char {
            '/' => encoded.push_str("%2F"),
            '?' => encoded.push_str("%3F"),
            '#' => encoded.push_str("%23"),
            '@' => encoded.push_str("%40"),
            char => encoded.push(char),
        }
    }
    encoded.push('@');
    encoded
}

fn check_database(path: &str) -> Result<&str, UrlError> {
    if path.bytes().all(|byte| byte.is_ascii_digit()) { Ok(path) } else { Err(UrlError::Database) }
}

fn read_parameters(query: &str) -> Result<(Option<PathBuf>, String), UrlError> {
    let (mut ca_file, mut prefix) = (None, DEFAULT_PREFIX.to_owned());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("ca", file)) if !file.is_empty() => ca_file = Some(file.into()),
            Some(("prefix", name)) if !name.is_empty() && !name.contains(['{', '}']) => prefix = name.into(),
            _ => return Err(UrlError::Parameter),
        }
    }
    Ok((ca_file, prefix))
}

/// Writes the servers without credentials.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hosts)
    }
}

/// Hides the credentials.
impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::{StoreUrl, UrlError};

    #[test]
    fn urls_name_the_servers() {
        let check = |text: &str, nodes: &[&str], shown: &str| {
            let url = StoreUrl::parse(text).expect(text);
            assert_eq!(url.nodes, nodes, "{text}");
            assert_eq!(url.to_string(), shown, "{text}");
            assert!(!format!("{url:?}").contains("word"), "{text}");
        };
        check("redis://localhost", &["redis://localhost/"], "redis://localhost");
        check("valkey://localhost:1/2", &["redis://localhost:1/2"], "redis://localhost:1");
        check("rediss://u:p@word@h:1/", &["rediss://u:p%40word@h:1/"], "rediss://h:1");
        check("redis://:p/word?#x@h:1/2?prefix=a@b", &["redis://:p%2Fword%3F%23x@h:1/2"], "redis://h:1");
        check("redis://:word@[::1]:6379/0?prefix=x", &["redis://:word@[::1]:6379/0"], "redis://[::1]:6379");
        check(
            "rediss+cluster://:word@a:1,b:2",
            &["rediss://:word@a:1/", "rediss://:word@b:2/"],
            "rediss+cluster://a:1,b:2",
        );
        check(
            "redis+sentinel://:word@a:1,b:2/main/3",
            &["redis://a:1/", "redis://b:2/"],
            "redis+sentinel://a:1,b:2",
        );
    }

    #[test]
    fn other_texts_are_refused() {
        let check = |text: &str, expect: UrlError| assert_eq!(StoreUrl::parse(text), Err(expect), "{text}");
        check("file", UrlError::Scheme);
        check("http://localhost", UrlError::Scheme);
        check("redis+replica://localhost", UrlError::Scheme);
        check("redis://", UrlError::NoHost);
        check("redis://:word@", UrlError::NoHost);
        check("redis+cluster://a,,b", UrlError::NoHost);
        check("redis://a,b", UrlError::SeveralHosts);
        check("redis://a/main", UrlError::Database);
        check("redis+cluster://a/1", UrlError::Database);
        check("redis+sentinel://a", UrlError::NoService);
        check("redis+sentinel://a/main/x", UrlError::Database);
        check("rediss+sentinel://a/main?ca=x", UrlError::SentinelCa);
        check("redis://a?ca=x", UrlError::CaWithoutTls);
        check("valkey+cluster://a?ca=x", UrlError::CaWithoutTls);
        check("redis://a?password=word", UrlError::Parameter);
    }
}
