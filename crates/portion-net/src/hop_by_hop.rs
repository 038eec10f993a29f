//! Removes hop-by-hop header fields.
//!
//! ```
//! use http::HeaderMap;
//! use http::header::{CONNECTION, HOST};
//! use portion_net::hop_by_hop::remove_hop_by_hop;
//!
//! let fields = [(HOST, "a.example"), (CONNECTION, "close")];
//! let mut fields: HeaderMap = fields.map(|(name, value)| (name, value.parse().unwrap())).into_iter().collect();
//! remove_hop_by_hop(&mut fields);
//! assert_eq!(fields.keys().collect::<Vec<_>>(), ["host"]);
//! ```

use http::HeaderMap;
use http::header::{CONNECTION, HeaderName};

/// Fields that belong to one connection (RFC 9110, 7.6.1), including those that only older software treats so.
const HOP_BY_HOP_FIELDS: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Removes the fields of the connection: the known hop-by-hop fields, and those that `Connection` names.
pub fn remove_hop_by_hop(fields: &mut HeaderMap) {
    let named: Vec<HeaderName> = fields
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        fields.remove(name);
    }
    for name in HOP_BY_HOP_FIELDS {
        fields.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::remove_hop_by_hop;
    use http::HeaderMap;
    use http::header::{HeaderName, HeaderValue};

    fn check(fields: &[(&str, &str)], expect: &[&str]) {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            let name: HeaderName = name.parse().expect("a name");
            map.append(name, HeaderValue::from_str(value).expect("a value"));
        }
        remove_hop_by_hop(&mut map);
        let remaining: Vec<&str> = map.keys().map(HeaderName::as_str).collect();
        assert_eq!(remaining, expect, "{fields:?}");
    }

    #[test]
    fn fields_of_a_connection_are_removed() {
        check(&[("Connection", "keep-alive, X-Mine"), ("X-Mine", "1"), ("X-Other", "2")], &["x-other"]);
        check(&[("TE", "trailers"), ("Transfer-Encoding", "chunked"), ("Upgrade", "h2c")], &[]);
        check(
            &[("Authorization", "Bearer x"), ("Mcp-Session-Id", "1")],
            &["authorization", "mcp-session-id"],
        );
        check(&[("Connection", ", , b c"), ("A", "1")], &["a"]);
    }
}
