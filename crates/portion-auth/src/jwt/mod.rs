//! Verification of JSON Web Tokens (RFC 7519) against the keys of one issuer.
//!
//! A token is verified in this order: form, signature, claims. So an error says nothing about the claims of a token that
//! the issuer has not signed. The algorithm is that of the key; `none` and symmetric algorithms do not exist here.

mod key_set;

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portion_policy::access::JwtPolicy;
use serde::Deserialize;
use serde::de::IgnoredAny;
use thiserror::Error;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::Identity;
use key_set::Algorithm;

pub(crate) use key_set::KeySet;

/// Difference of clocks that is tolerated, in seconds.
const LEEWAY_SECONDS: f64 = 30.0;

/// Age from which keys are fetched again.
const REFRESH_AGE: Duration = Duration::from_mins(10);

/// Age from which keys are no longer used, if no others can be fetched.
const MAX_AGE: Duration = Duration::from_hours(24);

/// Shortest time between two fetches, so that tokens with unknown keys cannot cause many.
const FETCH_INTERVAL: Duration = Duration::from_secs(30);

/// Shortest time between two fetches as long as there are no keys.
const FIRST_FETCH_INTERVAL: Duration = Duration::from_secs(1);

/// Reason that a JSON Web Token is not valid.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum JwtError {
    /// It is not a JSON Web Token, or its algorithm is not supported.
    #[error("the token is not a JSON Web Token signed with RS256, ES256 or EdDSA")]
    Malformed,
    /// The issuer has no such key.
    #[error("the token is signed with an unknown key")]
    UnknownKey,
    /// The signature is wrong.
    #[error("the signature of the token is wrong")]
    WrongSignature,
    /// A claim is missing, or has another type.
    #[error("the token lacks one of the claims iss, sub, aud and exp, or has an invalid one")]
    InvalidClaims,
    /// It is from another issuer.
    #[error("the token is from another issuer")]
    WrongIssuer,
    /// It is for another audience.
    #[error("the token is for another audience")]
    WrongAudience,
    /// It has expired.
    #[error("the token has expired")]
    Expired,
    /// It is not valid yet.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// It is valid, but lacks a scope.
    #[error("the token lacks a required scope")]
    MissingScope,
}

/// Claims that are verified. A repeated claim is an error.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: OneOrMany,
    exp: f64,
    nbf: Option<f64>,
    scope: Option<OneOrMany>,
    scp: Option<OneOrMany>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn values(&self) -> impl Iterator<Item = &String> {
        match self {
            Self::One(value) => std::slice::from_ref(value).iter(),
            Self::Many(values) => values.iter(),
        }
    }

    /// Returns the words of all values: `scope` is one text, `scp` usually a list.
    fn words(&self) -> impl Iterator<Item = &str> {
        self.values().flat_map(|value| value.split_ascii_whitespace())
    }
}

/// Verifies a token by a policy at `now`, in seconds since 1970, and returns its subject.
///
/// # Errors
/// Returns [`JwtError`] if the token is not valid, or lacks a scope.
pub(crate) fn verify(
    policy: &JwtPolicy,
    token: &EncodedToken<'_>,
    keys: &KeySet,
    now: f64,
) -> Result<Identity, JwtError> {
    keys.verify(token)?;
    let claims: Claims = serde_json::from_slice(&token.claims).map_err(|_| JwtError::InvalidClaims)?;
    if claims.sub.is_empty() {
        return Err(JwtError::InvalidClaims);
    }
    if claims.iss != policy.issuer {
        return Err(JwtError::WrongIssuer);
    }
    if !claims.aud.values().any(|audience| *audience == policy.audience) {
        return Err(JwtError::WrongAudience);
    }
    if now - LEEWAY_SECONDS >= claims.exp {
        return Err(JwtError::Expired);
    }
    if claims.nbf.is_some_and(|from| now + LEEWAY_SECONDS < from) {
        return Err(JwtError::NotYetValid);
    }
    let granted: Vec<&str> =
        [&claims.scope, &claims.scp].into_iter().flatten().flat_map(OneOrMany::words).collect();
    if !policy.scopes.iter().all(|scope| granted.contains(&scope.as_str())) {
        return Err(JwtError::MissingScope);
    }
    Ok(Identity::Subject { issuer: claims.iss.into(), subject: claims.sub.into() })
}

/// The parts of a token, decoded, but not verified.
#[derive(Debug)]
pub(crate) struct EncodedToken<'a> {
    /// Header and claims as signed.
    signed: &'a [u8],
    claims: Vec<u8>,
    signature: Vec<u8>,
    algorithm: Algorithm,
    /// Id of the key that has signed it.
    pub(crate) key_id: Option<String>,
}

/// Document with the keys, or the reason that it could not be fetched.
pub type FetchedKeys = Result<Vec<u8>, String>;

/// Fetches the document with the keys.
pub type FetchKeys = Box<dyn Fn() -> Pin<Box<dyn Future<Output = FetchedKeys> + Send>> + Send + Sync>;

/// Cache of an issuer's keys.
pub(crate) struct KeySource {
    fetch: FetchKeys,
    current: Arc<Mutex<Option<Arc<LoadedKeys>>>>,
    /// Time of the last fetch. Held during a fetch, so that there is one at a time.
    fetched_at: Arc<AsyncMutex<Option<Instant>>>,
}

#[derive(Deserialize)]
struct Header {
    alg: Algorithm,
    kid: Option<String>,
    /// Extensions that the recipient must understand; none is known here.
    crit: Option<IgnoredAny>,
}

impl<'a> EncodedToken<'a> {
    /// Takes a token apart; `None` if it is malformed, or its algorithm is not supported.
    pub(crate) fn parse(token: &'a str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.').filter(|(_, claims)| !claims.contains('.'))?;
        let header: Header = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).ok()?).ok()?;
        if header.crit.is_some() {
            return None;
        }
        Some(Self {
            signed: signed.as_bytes(),
            claims: URL_SAFE_NO_PAD.decode(claims).ok()?,
            signature: URL_SAFE_NO_PAD.decode(signature).ok()?,
            algorithm: header.alg,
            key_id: header.kid,
        })
    }
}

struct LoadedKeys {
    keys: Arc<KeySet>,
    loaded_at: Instant,
}

impl KeySource {
    pub(crate) fn new(fetch: FetchKeys) -> Self {
        Self { fetch, current: Arc::default(), fetched_at: Arc::default() }
    }

    /// Returns the keys for a token with this key id; `None` if there are none. Fetches them if they are old or lack the
    /// id.
    pub(crate) async fn keys_for(&self, key_id: Option<&str>, now: Instant) -> Option<Arc<KeySet>> {
        let current = self.current(now);
        let has_key = current.as_ref().is_some_and(|loaded| loaded.keys.has(key_id));
        match &current {
            Some(loaded) if has_key && loaded.age(now) < REFRESH_AGE => {
                return Some(Arc::clone(&loaded.keys));
            }
            // Old keys are used while another request fetches new ones.
            Some(loaded) if has_key => match Arc::clone(&self.fetched_at).try_lock_owned() {
                Ok(fetched_at) => self.refresh(fetched_at, current.is_some(), now).await,
                Err(_) => return Some(Arc::clone(&loaded.keys)),
            },
            _ => {
                let fetched_at = Arc::clone(&self.fetched_at).lock_owned().await;
                self.refresh(fetched_at, current.is_some(), now).await;
            }
        }
        self.current(now).map(|loaded| Arc::clone(&loaded.keys))
    }

    /// Fetches the keys, in a task of its own: a client that disconnects drops the future of its request, which must
    /// not end a fetch that others need.
    async fn refresh(&self, mut fetched_at: OwnedMutexGuard<Option<Instant>>, has_keys: bool, now: Instant) {
        let interval = if has_keys { FETCH_INTERVAL } else { FIRST_FETCH_INTERVAL };
        if fetched_at.is_some_and(|at| now.saturating_duration_since(at) < interval) {
            return;
        }
        *fetched_at = Some(now);
        let (fetch, current) = ((self.fetch)(), Arc::clone(&self.current));
        let fetching = tokio::spawn(async move {
            match fetch.await.and_then(|document| KeySet::parse(&document).map_err(Into::into)) {
                Ok(keys) => {
                    let loaded = LoadedKeys { keys: Arc::new(keys), loaded_at: now };
                    *current.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(loaded));
                }
                Err(error) => tracing::warn!(error, "the keys of the token issuer could not be fetched"),
            }
            drop(fetched_at);
        });
        if let Err(error) = fetching.await {
            tracing::warn!(%error, "the keys of the token issuer could not be fetched");
        }
    }

    /// Returns the keys that may be used now.
    fn current(&self, now: Instant) -> Option<Arc<LoadedKeys>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().filter(|loaded| loaded.age(now) < MAX_AGE).map(Arc::clone)
    }
}

impl LoadedKeys {
    fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.loaded_at)
    }
}

#[cfg(test)]
pub(crate) mod tests;

#[cfg(test)]
mod key_source_tests {
    use std::future::poll_fn;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::task::Poll;

    use super::tests::{public_keys, signer};
    use super::*;

    /// Issuer whose keys have the ids of `ids`; without any, it is unreachable.
    struct Issuer {
        ids: Mutex<Vec<&'static str>>,
        fetch_count: AtomicUsize,
    }

    fn source(ids: &[&'static str]) -> (Arc<Issuer>, KeySource) {
        let issuer = Arc::new(Issuer { ids: Mutex::new(ids.to_vec()), fetch_count: AtomicUsize::new(0) });
        let fetched = Arc::clone(&issuer);
        let fetch: FetchKeys = Box::new(move || {
            fetched.fetch_count.fetch_add(1, Relaxed);
            let ids = fetched.ids.lock().expect("no panic").clone();
            let keys = public_keys(&ids.iter().map(|id| (*id, signer())).collect::<Vec<_>>());
            Box::pin(async move {
                // A fetch takes time.
                tokio::task::yield_now().await;
                if ids.is_empty() { Err("unreachable".into()) } else { Ok(keys.into_bytes()) }
            })
        });
        (issuer, KeySource::new(fetch))
    }

    #[tokio::test]
    async fn keys_are_cached_and_fetched_again_at_a_limited_rate() {
        let (issuer, source) = source(&["a"]);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let check = async |id: &str, seconds: u64, is_found: bool, fetch_count: usize| {
            let keys = source.keys_for(Some(id), at(seconds)).await;
            assert_eq!(keys.is_some_and(|keys| keys.has(Some(id))), is_found, "{id} at {seconds}");
            assert_eq!(issuer.fetch_count.load(Relaxed), fetch_count, "{id} at {seconds}");
        };
        check("a", 0, true, 1).await;
        check("a", 599, true, 1).await;
        for _ in 0..1000 {
            check("unknown", 599, false, 2).await;
        }
        *issuer.ids.lock().expect("no panic") = vec!["b"];
        check("b", 628, false, 2).await;
        check("b", 629, true, 3).await;
        check("a", 630, false, 3).await;
        issuer.ids.lock().expect("no panic").clear();
        check("b", 1300, true, 4).await;
        check("b", 1301, true, 4).await;
        check("b", 629 + 24 * 3600, false, 5).await;
    }

    #[tokio::test]
    async fn a_client_that_disconnects_does_not_end_the_fetch() {
        let (issuer, source) = source(&["a"]);
        let start = Instant::now();
        let check = async |seconds: u64, fetch_count: usize| {
            let now = start + Duration::from_secs(seconds);
            let mut dropped = Box::pin(source.keys_for(Some("a"), now));
            let polled = poll_fn(|cx| Poll::Ready(dropped.as_mut().poll(cx))).await;
            drop(dropped);
            assert!(polled.is_pending());
            // Waits for the fetch that has begun, and does not begin another.
            let _end_of_fetch = source.fetched_at.lock().await;
            assert_eq!(source.current(now).map(|loaded| loaded.loaded_at), Some(now));
            assert_eq!(issuer.fetch_count.load(Relaxed), fetch_count, "at {seconds}");
        };
        check(0, 1).await;
        check(600, 2).await;
    }

    #[tokio::test]
    async fn a_first_fetch_that_fails_is_tried_again_soon() {
        let (issuer, source) = source(&[]);
        let start = Instant::now();
        assert!(source.keys_for(Some("a"), start).await.is_none());
        assert!(source.keys_for(Some("a"), start + Duration::from_millis(999)).await.is_none());
        assert_eq!(issuer.fetch_count.load(Relaxed), 1);
        *issuer.ids.lock().expect("no panic") = vec!["a"];
        assert!(source.keys_for(Some("a"), start + Duration::from_secs(1)).await.is_some());
    }
}
