//! Identifies the caller of a request, so that nobody reads what was kept for somebody else.
//!
//! The principal is the keyed hash of every header that carries a credential, of the path and of the query. Without a
//! credential it is the session, and without a session the request: then nothing is reused without a cursor, and a
//! cursor is a bearer secret of the caller who got it.
//!
//! The credentials are not verified here; that is the server's business. They only tell callers apart.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, COOKIE, HeaderName, HeaderValue, PROXY_AUTHORIZATION};
use portion_core::cursor::Scope;

use crate::session::ClientSession;

/// The header that names a session.
const SESSION_ID_HEADER: &str = "mcp-session-id";
/// Authentication schemes that mean nothing without what follows them.
const AUTH_SCHEMES: [&str; 7] = ["bearer", "basic", "digest", "dpop", "negotiate", "token", "apikey"];

/// The headers that carry credentials, unless the operator names others.
pub const DEFAULT_PRINCIPAL_HEADERS: [HeaderName; 6] = [
    AUTHORIZATION,
    PROXY_AUTHORIZATION,
    COOKIE,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("x-auth-token"),
];

/// Identifies callers.
#[derive(Clone)]
pub struct PrincipalResolver {
    key: [u8; 32],
    credential_headers: Vec<HeaderName>,
}

/// The caller of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Hash of path, query and credentials.
    credential_scope: Scope,
    /// The same hash, with the subject of a JSON Web Token in place of the token.
    owner_scope: Scope,
    /// Hash of the path, which is no secret.
    path_scope: Scope,
    has_credential: bool,
    session_id: Option<Box<str>>,
}

impl PrincipalResolver {
    /// Identifies callers by these headers, hashed under a secret key.
    pub fn new(key: [u8; 32], headers: Vec<HeaderName>) -> Self {
        Self { key, credential_headers: headers }
    }

    /// The caller of a request with this path, query and header.
    pub fn identify(&self, path: &str, query: Option<&str>, headers: &HeaderMap) -> Principal {
        let credentials: Vec<(&HeaderName, &[u8])> = self
            .credential_headers
            .iter()
            .flat_map(|name| headers.get_all(name).iter().map(move |value| (name, value.as_bytes())))
            .filter(|(name, value)| is_credential(name, value))
            .collect();
        let request = [path.as_bytes(), query.unwrap_or_default().as_bytes()];
        let plain = credentials.iter().flat_map(|(name, value)| [name.as_str().as_bytes(), value]);
        let base = Scope::from_parts(&self.key, request.into_iter().chain(plain));
        let mut parts: Vec<Vec<u8>> = vec![b"owner".to_vec()];
        parts.extend(request.map(<[u8]>::to_vec));
        for (name, value) in &credentials {
            parts.push(name.as_str().into());
            match jwt_subject(name, value) {
                Some((issuer, subject)) => parts.extend([b"jwt".to_vec(), issuer.into(), subject.into()]),
                // The mark keeps a value from reading like the parts of a token.
                None => parts.push([b"=", *value].concat()),
            }
        }
        let owner = Scope::from_parts(&self.key, parts.iter().map(Vec::as_slice));
        let session =
            headers.get(SESSION_ID_HEADER).and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty());
        let (has_credential, session) = (!credentials.is_empty(), session.map(Into::into));
        Principal {
            credential_scope: base,
            owner_scope: owner,
            path_scope: Scope::from_principal(path),
            has_credential,
            session_id: session,
        }
    }
}

impl Principal {
    /// The id of the session that the request names.
    pub fn session_id(&self) -> Option<&str> {
        self.session_id.as_deref()
    }

    /// Owns what is kept for the request.
    pub fn scope(&self) -> Scope {
        self.session_id().map_or(self.credential_scope, |id| self.session_scope(id))
    }

    /// Owns what is kept for requests in this session.
    pub fn session_scope(&self, id: &str) -> Scope {
        if self.has_credential { self.credential_scope } else { self.credential_scope.derive(id) }
    }

    /// The conversation of requests in this session, which is the same after a restart; or of all that the caller asks without
    /// one.
    pub fn conversation(&self, id: Option<&str>) -> Arc<ClientSession> {
        match id {
            Some(id) => ClientSession::with_id(self.path_scope, id),
            None => ClientSession::with_id(self.credential_scope, ""),
        }
    }

    /// Owns what is kept for the request where sessions mean nothing.
    pub fn sessionless_scope(&self) -> Scope {
        self.credential_scope
    }

    /// Whether the credentials of the request alone tell its caller from all others.
    pub fn has_credential(&self) -> bool {
        self.has_credential
    }

    /// Tells whether a session whose id is a secret was begun by the caller of this request. It is the same before and
    /// after a JSON Web Token was refreshed, as long as issuer and subject are. Nobody verified these: without the id of the
    /// session they must open nothing.
    pub fn owner_scope(&self) -> Scope {
        self.owner_scope
    }
}

/// Whether a header tells anything about the caller: empty ones, and schemes without a credential, are sent by many.
fn is_credential(name: &HeaderName, value: &[u8]) -> bool {
    let value = value.trim_ascii();
    if value.is_empty() {
        return false;
    }
    if name == COOKIE {
        let has_value =
            |pair: &[u8]| pair.split(|byte| *byte == b'=').skip(1).any(|part| !part.trim_ascii().is_empty());
        return value.split(|byte| *byte == b';').any(has_value);
    }
    if name != AUTHORIZATION && name != PROXY_AUTHORIZATION {
        return true;
    }
    let (scheme, credential) = split_scheme(value);
    let is_scheme = AUTH_SCHEMES.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(scheme));
    let is_nobody = || {
        scheme.eq_ignore_ascii_case(b"basic") && STANDARD.decode(credential).is_ok_and(|both| both == b":")
    };
    !(is_scheme && credential.is_empty() || is_nobody())
}

/// The issuer and the subject of a JSON Web Token, as it says itself.
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

/// Whether a request names more than one session, so that two readers may see different ones.
pub(super) fn has_duplicate_session_id(headers: &HeaderMap) -> bool {
    let mut ids = headers.get_all(SESSION_ID_HEADER).iter().map(HeaderValue::as_bytes);
    ids.next().is_some() && ids.next().is_some()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use hyper::HeaderMap;
    use hyper::header::{HeaderName, HeaderValue};

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
    fn no_two_sets_of_credentials_read_the_same() {
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
                assert_eq!(one.owner_scope() == other.owner_scope(), i == j, "{i} {j}");
            }
        }
        assert_eq!(of("/mcp", &[("x-api-key", "a"), ("accept", "b")]).scope(), all[3].scope());
    }

    #[test]
    fn what_everybody_sends_is_no_credential() {
        for (name, value) in [
            ("x-api-key", ""),
            ("x-api-key", "  "),
            ("authorization", "Bearer"),
            ("authorization", "bearer "),
            ("authorization", "Basic Og=="),
            ("cookie", ";"),
            ("cookie", "a=; b= "),
            ("cookie", "a"),
            ("x-unknown", "a"),
        ] {
            let with = of("/mcp", &[(name, value)]);
            assert!(!with.has_credential() && with == of("/mcp", &[]), "{name}: {value}");
        }
        assert!(of("/mcp", &[("authorization", "raw-key")]).has_credential());
        assert!(of("/mcp", &[("cookie", "a=; b=c")]).has_credential());
    }

    #[test]
    fn a_session_counts_where_there_is_no_credential() {
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
        assert!(first.owner_scope() == refreshed.owner_scope() && first.scope() != refreshed.scope());
        for other in [
            token(r#"{"iss":"i","sub":"bob"}"#, "x"),
            token(r#"{"iss":"j","sub":"ada"}"#, "x"),
            token(r#"{"iss":"i"}"#, "x"),
            token(r#"{"iss":"i","sub":"ada","exp":1}"#, ""),
            token(r#"{"iss":"i","sub":"ada","exp":1}"#, "x.y"),
            "Bearer opaque".to_owned(),
        ] {
            assert_ne!(with(&other).owner_scope(), first.owner_scope(), "{other}");
        }
        let cookie = of("/mcp", &[("authorization", &token(r#"{"sub":"a"}"#, "x")), ("cookie", "a=b")]);
        assert_ne!(cookie.owner_scope(), with(&token(r#"{"sub":"a"}"#, "x")).owner_scope());
    }
}
