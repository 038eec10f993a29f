//! Tools, resources and prompts.
//!
//! ```
//! use portion_policy::endpoint::{Endpoint, EndpointKind};
//!
//! let order = Endpoint { name: "order".into(), kind: EndpointKind::Tool, read_only: false, idempotent: false };
//! assert!(!order.is_repeatable());
//! ```

use std::borrow::Cow;

pub use portion_core::event::EndpointKind;
use portion_core::redact::{REDACTED, RedactionRules};

/// Largest endpoint name in logs and records, in bytes.
const MAX_LOG_NAME_BYTES: usize = 256;
/// Characters between the parameters of a URI.
const PARAMETER_SEPARATORS: [char; 3] = ['?', '&', '#'];
/// Ends of the names of parameters that sign a URI, besides the names of secrets.
const SIGNATURE_ENDS: [&str; 4] = ["sig", "signature", "key", "auth"];

/// A tool, resource or prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Name of the tool or prompt, or URI of the resource.
    pub name: String,
    /// Kind of the endpoint.
    pub kind: EndpointKind,
    /// Marked as changing nothing.
    pub read_only: bool,
    /// Marked as changing nothing more when an equal call is repeated.
    pub idempotent: bool,
}

impl Endpoint {
    /// Returns a tool. `reads`: true if its calls change nothing.
    pub fn tool(name: impl Into<String>, reads: bool) -> Self {
        Self { name: name.into(), kind: EndpointKind::Tool, read_only: reads, idempotent: reads }
    }

    /// Returns the endpoint's name for logs and records, without credentials, and shortened because its length is up to the
    /// caller; empty for `None`.
    pub fn log_name(endpoint: Option<&Self>) -> Cow<'_, str> {
        let name = without_credentials(endpoint.map_or("", |endpoint| &endpoint.name));
        if name.len() <= MAX_LOG_NAME_BYTES {
            return name;
        }
        let end = name.floor_char_boundary(MAX_LOG_NAME_BYTES - '…'.len_utf8());
        Cow::Owned(format!("{}…", &name[..end]))
    }

    /// Returns true if an equal call can be repeated without further side effects.
    pub fn is_repeatable(&self) -> bool {
        self.kind != EndpointKind::Tool || self.read_only || self.idempotent
    }
}

/// Returns a name without the credentials of a URI: user information, and parameters with the name of a secret.
fn without_credentials(name: &str) -> Cow<'_, str> {
    if !name.contains([':', '=']) {
        return Cow::Borrowed(name);
    }
    let (mut shown, mut rest) = (String::with_capacity(name.len()), name);
    while let Some((before, after)) = rest.split_once("://") {
        let authority = &after[..after.find(['/', '?', '#']).unwrap_or(after.len())];
        let host = authority.rfind('@').map_or(0, |end| end + 1);
        shown.extend([before, "://"]);
        rest = &after[host..];
    }
    shown.push_str(rest);
    let mut signed = String::with_capacity(shown.len());
    for part in shown.split_inclusive(PARAMETER_SEPARATORS) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        if value.is_empty() || !SIGNATURE_ENDS.iter().any(|end| name.to_ascii_lowercase().ends_with(end)) {
            signed.push_str(part);
            continue;
        }
        let separator = value.find(PARAMETER_SEPARATORS).map_or("", |at| &value[at..]);
        signed.extend([name, "=", REDACTED, separator]);
    }
    let redacted = RedactionRules::default_secrets().redact(&signed);
    Cow::Owned(redacted.map_or(signed, |(redacted, _)| redacted))
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, EndpointKind};

    fn logged(name: &str) -> String {
        let endpoint =
            Endpoint { name: name.into(), kind: EndpointKind::Tool, read_only: true, idempotent: true };
        Endpoint::log_name(Some(&endpoint)).into_owned()
    }

    #[test]
    fn logged_names_have_no_credentials() {
        for (name, expect) in [
            ("list_items", "list_items"),
            ("file:///srv/a@2x.png", "file:///srv/a@2x.png"),
            ("notes://2024/list?page=2&sort=name", "notes://2024/list?page=2&sort=name"),
            ("/api/v1/bookings/{id}", "/api/v1/bookings/{id}"),
            ("postgres://u:SECRET@h:5432/db", "postgres://h:5432/db"),
            ("https://SECRET@h/x", "https://h/x"),
            ("jdbc:mysql://u:S@CRET@h/x", "jdbc:mysql://h/x"),
            ("fetch://page?url=https://u:SECRET@h/x", "fetch://page?url=https://h/x"),
        ] {
            assert_eq!(logged(name), expect);
        }
        for parameter in
            ["access_token", "api_key", "apikey", "token", "password", "sig", "key", "client_secret"]
        {
            for name in [
                format!("https://h/x?{parameter}=SECRET&page=2"),
                format!("https://h/x?page=2&{parameter}=SECRET"),
                format!("app://x?page=2#{parameter}=SECRET"),
            ] {
                let logged = logged(&name);
                assert!(!logged.contains("SECRET") && logged.contains("page=2"), "{name}: {logged}");
            }
        }
    }

    #[test]
    fn logged_names_are_limited() {
        let fits = "x".repeat(256);
        assert_eq!((logged("list"), logged(&fits)), ("list".to_owned(), fits));
        for name in ["x".repeat(257), "é".repeat(1 << 19), "日".repeat(100)] {
            let logged = logged(&name);
            let prefix = logged.strip_suffix('…').expect("it is marked");
            assert!(
                (251..=256).contains(&logged.len()) && name.starts_with(prefix),
                "{} {logged}",
                logged.len()
            );
        }
    }
}
