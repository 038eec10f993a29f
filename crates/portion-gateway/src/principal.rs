//! Identifies the caller of an HTTP request, so that no caller can read snapshots of another.
//!
//! The principal is the keyed hash of every header that carries a credential, of the path and of the query. Without a
//! credential it also includes the session. With neither, nothing is reused without a cursor, and a cursor is a bearer
//! secret of the caller that received it.
//!
//! Credentials are not verified here; they only distinguish callers. A caller whose credential the program has verified
//! is identified by that identity in place of `Authorization`, and keeps what it owns when its token is refreshed.
//!
//! ```
//! use http::HeaderMap;
//! use portion_gateway::principal::{DEFAULT_PRINCIPAL_HEADERS, PrincipalResolver};
//!
//! let resolver = PrincipalResolver::new([7; 32], DEFAULT_PRINCIPAL_HEADERS.to_vec());
//! let caller = |token: &str| {
//!     let headers = HeaderMap::from_iter([("authorization".parse().unwrap(), token.parse().unwrap())]);
//!     resolver.identify("/mcp", None, &headers)
//! };
//! assert_eq!(caller("Bearer a"), caller("Bearer a"));
//! assert_ne!(caller("Bearer a"), caller("Bearer b"));
//! ```

use std::sync::Arc;

use crate::session::ClientSession;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE, HeaderName, PROXY_AUTHORIZATION};
use portion_core::cursor::Scope;

/// Header with the session id.
const SESSION_ID_HEADER: &str = "mcp-session-id";
/// Authentication schemes that are no credential without a value.
const AUTH_SCHEMES: [&str; 7] = ["bearer", "basic", "digest", "dpop", "negotiate", "token", "apikey"];

/// Headers that carry credentials by default.
pub const DEFAULT_PRINCIPAL_HEADERS: [HeaderName; 6] = [
    AUTHORIZATION,
    PROXY_AUTHORIZATION,
    COOKIE,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("x-auth-token"),
];

/// Identifies callers by their credentials.
#[derive(Clone)]
pub struct PrincipalResolver {
    key: [u8; 32],
    credential_headers: Vec<HeaderName>,
}

/// Caller of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Scope that owns the snapshots of the request in protocols without sessions: a hash of path, query and credentials.
    pub sessionless_scope: Scope,
    /// Scope that owns a session with a secret id: the same hash with the subject of a JSON Web Token in place of the
    /// token. It stays the same when the token is refreshed, as long as issuer and subject do. These are not verified:
    /// without the session id they must grant no access.
    pub owner_scope: Scope,
    /// Scope by which limits are shared among callers. A verified caller has one, whatever else its requests contain; all
    /// requests without a credential have the same. It grants no access.
    pub caller_scope: Scope,
    /// Hash of the path, which is not secret.
    path_scope: Scope,
    /// True if the request has a credential, which alone identifies its caller.
    pub has_credential: bool,
    /// True if the program has verified the identity of the caller. The server does not see its credential then.
    pub is_verified: bool,
    session_id: Option<Box<str>>,
}

impl PrincipalResolver {
    /// Creates a resolver that hashes these headers under a secret key.
    pub fn new(key: [u8; 32], headers: Vec<HeaderName>) -> Self {
        Self { key, credential_headers: headers }
    }

    /// Returns the caller of a request with this path, query and headers.
    pub fn identify(&self, path: &str, query: Option<&str>, headers: &HeaderMap) -> Principal {
        let request = [path.as_bytes(), query.unwrap_or_default().as_bytes()];
        let credentials: Vec<_> = self.credentials(headers).collect();
        let credential_parts = credentials.iter().flat_map(|(name, value)| [name.as_str().as_bytes(), value]);
        let credential_scope = Scope::from_parts(&self.key, request.into_iter().chain(credential_parts));
        let mut parts: Vec<Vec<u8>> = vec![b"owner".to_vec()];
        parts.extend(request.map(<[u8]>::to_vec));
        for (name, value) in &credentials {
            parts.push(name.as_str().into());
            match jwt_subject(name, value) {
                Some((issuer, subject)) => parts.extend([b"jwt".to_vec(), issuer.into(), subject.into()]),
                // The prefix distinguishes a value from the parts of a token.
                None => parts.push([b"=", *value].concat()),
            }
        }
        let has_credential = !credentials.is_empty();
        Principal {
            sessionless_scope: credential_scope,
            owner_scope: Scope::from_parts(&self.key, parts.iter().map(Vec::as_slice)),
            caller_scope: if has_credential { credential_scope } else { Scope::from_principal("") },
            path_scope: Scope::from_principal(path),
            has_credential,
            is_verified: false,
            session_id: session_id(headers),
        }
    }

    /// Returns the caller of a request whose identity was verified; the parts of `identity` distinguish it from all
    /// others. `Authorization`, which proved it, does not count.
    pub fn identify_verified(
        &self,
        identity: &[&str],
        path: &str,
        query: Option<&str>,
        headers: &HeaderMap,
    ) -> Principal {
        let count = identity.len().to_string();
        let identity = identity.iter().map(|part| part.as_bytes());
        let caller_scope = Scope::from_parts(&self.key, [&b"caller"[..]].into_iter().chain(identity.clone()));
        let request = [b"verified", path.as_bytes(), query.unwrap_or_default().as_bytes(), count.as_bytes()];
        let others = self.credentials(headers).filter(|(name, _)| *name != AUTHORIZATION);
        let others = others.flat_map(|(name, value)| [name.as_str().as_bytes(), value]);
        let scope = Scope::from_parts(&self.key, request.into_iter().chain(identity).chain(others));
        Principal {
            sessionless_scope: scope,
            owner_scope: scope,
            caller_scope,
            path_scope: Scope::from_principal(path),
            has_credential: true,
            is_verified: true,
            session_id: session_id(headers),
        }
    }

    /// Yields the header fields that carry credentials, in the order of the configured names.
    fn credentials<'a>(&'a self, headers: &'a HeaderMap) -> impl Iterator<Item = (&'a HeaderName, &'a [u8])> {
        self.credential_headers
            .iter()
            .flat_map(|name| headers.get_all(name).iter().map(move |value| (name, value.as_bytes())))
            .filter(|(name, value)| is_credential(name, value))
    }
}

impl Principal {
    /// Returns the session id of the request.
    pub fn session_id(&self) -> Option<&str> {
        self.session_id.as_deref()
    }

    /// Returns the scope that owns the snapshots of the request.
    pub fn scope(&self) -> Scope {
        self.session_id().map_or(self.sessionless_scope, |id| self.session_scope(id))
    }

    /// Returns the scope that owns the snapshots of requests in this session.
    pub fn session_scope(&self, id: &str) -> Scope {
        if self.has_credential { self.sessionless_scope } else { self.sessionless_scope.derive(id) }
    }

    /// Returns the client session of requests with this session id, which is stable across restarts; without an id,
    /// that of all requests of the caller without a session.
    pub fn conversation(&self, id: Option<&str>) -> Arc<ClientSession> {
        match id {
            Some(id) => ClientSession::with_id(self.path_scope, id),
            None => ClientSession::with_id(self.sessionless_scope, ""),
        }
    }
}

fn session_id(headers: &HeaderMap) -> Option<Box<str>> {
    let id = headers.get(SESSION_ID_HEADER)?.to_str().ok().filter(|id| !id.is_empty())?;
    Some(id.into())
}

/// Returns true if a header identifies a caller: empty values and schemes without a credential do not.
fn is_credential(name: &HeaderName, value: &[u8]) -> bool {
    let value = value.trim_ascii();
    if value.is_empty() {
        return false;
    }
    if name == COOKIE {
        // A cookie without a name is its value.
        let has_value = |pair: &[u8]| {
            let value = pair.iter().position(|byte| *byte == b'=').map_or(pair, |at| &pair[at + 1..]);
            !value.trim_ascii().is_empty()
        };
        return value.split(|byte| *byte == b';').any(has_value);
    }
    if name != AUTHORIZATION && name != PROXY_AUTHORIZATION {
        return true;
    }
    let (scheme, credential) = split_scheme(value);
    let is_scheme = AUTH_SCHEMES.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(scheme));
    let is_empty_basic = || {
        scheme.eq_ignore_ascii_case(b"basic")
            && STANDARD.decode(credential).is_ok_and(|decoded| decoded == b":")
    };
    !(is_scheme && credential.is_empty() || is_empty_basic())
}

/// Returns the claimed issuer and subject of a JSON Web Token, unverified.
fn jwt_subject(name: &HeaderName, value: &[u8]) -> Option<(String, String)> {
    let (scheme, token) = split_scheme(value.trim_ascii());
    if name != AUTHORIZATION || !scheme.eq_ignore_ascii_case(b"bearer") {
        return None;
    }
    let mut parts = std::str::from_utf8(token).ok()?.split('.');
    let (head, claims) = (parts.next()?, parts.next()?);
    parts.next().filter(|signature| !signature.is_empty() && parts.next().is_none())?;
    let object = |part: &str| -> Option<serde_json::Value> {
        let json = URL_SAFE_NO_PAD.decode(part).ok()?;
        serde_json::from_slice(&json).ok().filter(serde_json::Value::is_object)
    };
    object(head)?.get("alg")?.as_str()?;
    let claims = object(claims)?;
    let claim = |name: &str| claims.get(name).and_then(|claim| claim.as_str()).unwrap_or_default().to_owned();
    Some((claim("iss"), claim("sub"))).filter(|(_, subject)| !subject.is_empty())
}

fn split_scheme(value: &[u8]) -> (&[u8], &[u8]) {
    let end = value.iter().position(u8::is_ascii_whitespace).unwrap_or(value.len());
    (&value[..end], value[end..].trim_ascii())
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use http::HeaderMap;
    use http::header::{HeaderName, HeaderValue};

    use super::{Principal, PrincipalResolver};

    fn of(target: &str, fields: &[(&str, &str)]) -> Principal {
        let headers = ["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"];
        let principals = PrincipalResolver::new([7; 32], headers.map(HeaderName::from_static).to_vec());
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            let name: HeaderName = name.parse().expect("a name");
            map.append(name, HeaderValue::from_str(value).expect("a value"));
        }
        let (path, query) =
            target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        principals.identify(path, query, &map)
    }

    fn token(claims: &str, signature: &str) -> String {
        let part = |json: &str| URL_SAFE_NO_PAD.encode(json);
        format!("Bearer {}.{}.{signature}", part(r#"{"alg":"HS256"}"#), part(claims))
    }

    #[test]
    fn different_credentials_have_different_scopes() {
        let all: Vec<Principal> = vec![
            of("/mcp", &[]),
            of("/other", &[]),
            of("/mcp?x-api-key=a", &[]),
            of("/mcp", &[("x-api-key", "a")]),
            of("/mcp", &[("x-api-key", "A")]),
            of("/mcp", &[("api-key", "a")]),
            of("/mcp", &[("authorization", "a")]),
            of("/mcp", &[("authorization", "Bearer a")]),
            of("/mcp", &[("authorization", "Basic a")]),
            of("/mcp", &[("cookie", "x-api-key=a")]),
            of("/mcp", &[("x-api-key", "a"), ("x-api-key", "b")]),
            of("/mcp", &[("x-api-key", "b"), ("x-api-key", "a")]),
            of("/mcp", &[("x-api-key", "a"), ("api-key", "b")]),
            of("/mcp", &[("x-api-key", "b"), ("api-key", "a")]),
            of("/mcp", &[("x-api-key", "aapi-keyb")]),
            of("/mcp", &[("x-api-key", "a, b")]),
            of("/mcpx-api-key", &[("api-key", "a")]),
            of("/mcp?a", &[("x-api-key", "a")]),
        ];
        for (i, one) in all.iter().enumerate() {
            for (j, other) in all.iter().enumerate() {
                assert_eq!(one.scope() == other.scope(), i == j, "{i} {j}");
                assert_eq!(one.owner_scope == other.owner_scope, i == j, "{i} {j}");
            }
        }
        assert_eq!(of("/mcp", &[("x-api-key", "a"), ("accept", "b")]).scope(), all[3].scope());
    }

    #[test]
    fn common_header_values_are_no_credential() {
        for (name, value) in [
            ("x-api-key", ""),
            ("x-api-key", "  "),
            ("authorization", "Bearer"),
            ("authorization", "bearer "),
            ("authorization", "Basic Og=="),
            ("cookie", ";"),
            ("cookie", "a=; b= "),
            ("cookie", " ; ="),
            ("x-unknown", "a"),
        ] {
            let with = of("/mcp", &[(name, value)]);
            assert!(!with.has_credential && with == of("/mcp", &[]), "{name}: {value}");
        }
        assert!(of("/mcp", &[("authorization", "raw-key")]).has_credential);
        for cookie in ["a=; b=c", "a", "=a", "a; b=", "a==", "Bearer a"] {
            assert!(of("/mcp", &[("cookie", cookie)]).has_credential, "{cookie}");
        }
    }

    #[test]
    fn a_verified_identity_takes_the_place_of_the_token() {
        let headers = ["authorization", "cookie"].map(HeaderName::from_static).to_vec();
        let principals = PrincipalResolver::new([7; 32], headers);
        let with = |identity: &[&str], path: &str, fields: &[(&'static str, &'static str)]| {
            let map: HeaderMap = fields
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
                .collect();
            principals.identify_verified(identity, path, None, &map)
        };
        let ada = with(&["subject", "i", "ada"], "/mcp", &[("authorization", "Bearer 1")]);
        let refreshed = with(&["subject", "i", "ada"], "/mcp", &[("authorization", "Bearer 2")]);
        assert_eq!(ada, refreshed);
        let elsewhere = with(&["subject", "i", "ada"], "/other", &[("cookie", "a=b")]);
        let bob = with(&["subject", "i", "bob"], "/mcp", &[]);
        assert!(ada.caller_scope == elsewhere.caller_scope && ada.caller_scope != bob.caller_scope);
        assert!(ada.is_verified && ada.has_credential && ada.owner_scope == ada.scope());
        let plain = HeaderMap::from_iter([(
            HeaderName::from_static("authorization"),
            HeaderValue::from_static("Bearer 1"),
        )]);
        let all = [
            ada,
            with(&["subject", "i", "bob"], "/mcp", &[]),
            with(&["subject", "ia", "da"], "/mcp", &[]),
            with(&["subject", "i"], "/mcp", &[]),
            with(&["token", "ada"], "/mcp", &[]),
            with(&["token", "ada", "cookie"], "/mcp", &[]),
            with(&["token", "ada", "cookie", "a=b"], "/mcp", &[]),
            with(&["token", "ada"], "/mcp", &[("cookie", "a=b")]),
            with(&["token", "ada"], "/other", &[]),
            principals.identify("/mcp", None, &plain),
            principals.identify("/mcp", None, &HeaderMap::new()),
        ];
        for (i, one) in all.iter().enumerate() {
            for (j, other) in all.iter().enumerate() {
                assert_eq!(one.scope() == other.scope(), i == j, "{i} {j}");
                assert_eq!(one.owner_scope == other.owner_scope, i == j, "{i} {j}");
            }
        }
    }

    #[test]
    fn the_session_counts_only_without_a_credential() {
        let in_session = |id: &str, fields: &[(&str, &str)]| {
            of("/mcp", &[&[("mcp-session-id", id)], fields].concat()).scope()
        };
        assert_ne!(in_session("1", &[]), in_session("2", &[]));
        assert_eq!(in_session("1", &[]), of("/mcp", &[]).session_scope("1"));
        assert_eq!(in_session("", &[]), of("/mcp", &[]).scope());
        let key = [("api-key", "k")];
        assert_eq!(in_session("1", &key), in_session("2", &key));
    }

    #[test]
    fn a_refreshed_token_owns_the_session_but_not_the_data() {
        let with = |value: &str| of("/mcp", &[("authorization", value)]);
        let first = with(&token(r#"{"iss":"i","sub":"ada","exp":1}"#, "x"));
        let refreshed = with(&token(r#"{"iss":"i","sub":"ada","exp":2}"#, "y"));
        assert!(first.owner_scope == refreshed.owner_scope && first.scope() != refreshed.scope());
        for other in [
            token(r#"{"iss":"i","sub":"bob"}"#, "x"),
            token(r#"{"iss":"j","sub":"ada"}"#, "x"),
            token(r#"{"iss":"i"}"#, "x"),
            token(r#"{"iss":"i","sub":"ada","exp":1}"#, ""),
            token(r#"{"iss":"i","sub":"ada","exp":1}"#, "x.y"),
            "Bearer opaque".to_owned(),
        ] {
            assert_ne!(with(&other).owner_scope, first.owner_scope, "{other}");
        }
        let cookie = of("/mcp", &[("authorization", &token(r#"{"sub":"a"}"#, "x")), ("cookie", "a=b")]);
        assert_ne!(cookie.owner_scope, with(&token(r#"{"sub":"a"}"#, "x")).owner_scope);
    }
}
