//! Parts of the URL of a store that the configuration masks and the store connects with.

use crate::access::is_scheme_byte;

/// Names of the parameters that the URL of a store may have: a file with certificates, and the prefix of all keys.
pub const PARAMETERS: [&str; 2] = ["ca", "prefix"];

/// Splits a URL after the `://` of its scheme. What stands before a `://` and is no scheme may be a password: it stays in the
/// rest.
///
/// ```
/// use portion_policy::store_url::split_at_scheme;
///
/// assert_eq!(split_at_scheme("redis+cluster://:p@host"), ("redis+cluster://", ":p@host"));
/// assert_eq!(split_at_scheme("user:p@redis://host"), ("", "user:p@redis://host"));
/// ```
pub fn split_at_scheme(url: &str) -> (&str, &str) {
    match url.find("://") {
        Some(at) if url[..at].bytes().all(is_scheme_byte) => url.split_at(at + "://".len()),
        _ => ("", url),
    }
}

/// Splits a URL, without its scheme, into its credentials and the rest. Credentials may contain any character, such as the
/// slashes of a password in base64: they end at the last `@` before the parameters.
///
/// ```
/// use portion_policy::store_url::split_at_credentials;
///
/// assert_eq!(split_at_credentials(":p/@x@host/0?prefix=a@b"), (Some(":p/@x"), "host/0?prefix=a@b"));
/// assert_eq!(split_at_credentials("host?prefix=a@b"), (None, "host?prefix=a@b"));
/// ```
pub fn split_at_credentials(rest: &str) -> (Option<&str>, &str) {
    let parameters = PARAMETERS.iter().filter_map(|name| rest.rfind(&format!("?{name}="))).min();
    let before_parameters = parameters.map_or(rest, |at| &rest[..at]);
    match before_parameters.rfind('@') {
        Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
        None => (None, rest),
    }
}

/// Returns a text that was meant as the URL of a store, without what may be a password: all that stands before its host, and
/// its parameters.
///
/// ```
/// use portion_policy::store_url::without_secrets;
///
/// assert_eq!(without_secrets("redis:user:p@host/0?password=p"), "…@host/0");
/// assert_eq!(without_secrets("host:6379"), "host:6379");
/// ```
pub fn without_secrets(url: &str) -> String {
    let (scheme, rest) = split_at_scheme(url);
    let (credentials, rest) = split_at_credentials(rest);
    let place = rest.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}{}{place}", if credentials.is_some() { "…@" } else { "" })
}

/// Returns true if a URL has other parameters than [`PARAMETERS`]: one of them may be a password.
pub fn has_unknown_parameter(url: &str) -> bool {
    let rest = url.split_once("://").map_or("", |(_, rest)| split_at_credentials(rest).1);
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let is_known = |pair: &str| pair.split_once('=').is_some_and(|(name, _)| PARAMETERS.contains(&name));
    !query.split('&').all(|pair| pair.is_empty() || is_known(pair))
}
