//! Tokens signed by real keys, and each way in which they can be wrong.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portion_policy::access::JwtPolicy;
use proptest::prelude::*;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

use super::{EncodedToken, JwtError, KeySet};
use crate::Identity;

/// RSA key of these tests, in PKCS#8.
const RSA_KEY: &[u8] = include_bytes!("test_rsa_key.pk8");
const NOW: f64 = 1_800_000_000.0;

/// Signs tokens.
pub(crate) enum Signer {
    Rsa(Box<RsaKeyPair>),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// Returns a new signer.
pub(crate) fn signer() -> Signer {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
    Signer::Ed25519(Ed25519KeyPair::from_pkcs8(document.as_ref()).expect("a key"))
}

/// Returns the set of the public keys, by id.
pub(crate) fn public_keys(signers: &[(&str, Signer)]) -> String {
    let keys: Vec<Value> = signers.iter().map(|(id, signer)| signer.jwk(id)).collect();
    json!({ "keys": keys }).to_string()
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn signers() -> Vec<Signer> {
    let random = SystemRandom::new();
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let p256 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
    vec![
        Signer::Rsa(Box::new(RsaKeyPair::from_pkcs8(RSA_KEY).expect("a key"))),
        Signer::P256(EcdsaKeyPair::from_pkcs8(algorithm, p256.as_ref(), &random).expect("a key")),
        signer(),
    ]
}

impl Signer {
    fn name(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::P256(_) => "ES256",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    fn jwk(&self, id: &str) -> Value {
        let mut jwk = match self {
            Self::Rsa(key) => {
                let public: ring::rsa::PublicKeyComponents<Vec<u8>> = key.public().into();
                json!({ "kty": "RSA", "n": encode(public.n), "e": encode(public.e), "use": "sig" })
            }
            Self::P256(key) => {
                let point = key.public_key().as_ref();
                json!({ "kty": "EC", "crv": "P-256", "x": encode(&point[1..33]), "y": encode(&point[33..]) })
            }
            Self::Ed25519(key) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": encode(key.public_key()), "alg": "EdDSA" })
            }
        };
        jwk["kid"] = id.into();
        jwk
    }

    fn sign(&self, header: &Value, claims: &str) -> String {
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims));
        let (random, message) = (SystemRandom::new(), signed.as_bytes());
        let signature = match self {
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).expect("a signature");
                signature
            }
            Self::P256(key) => key.sign(&random, message).expect("a signature").as_ref().to_vec(),
            Self::Ed25519(key) => key.sign(message).as_ref().to_vec(),
        };
        format!("{signed}.{}", encode(signature))
    }
}

fn policy(scopes: &[&str]) -> JwtPolicy {
    JwtPolicy {
        issuer: "https://id.example".into(),
        audience: "portion".into(),
        jwks_url: "https://id.example/keys".parse().expect("a URL"),
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
    }
}

fn verify(policy: &JwtPolicy, keys: &KeySet, token: &str) -> Result<Identity, JwtError> {
    super::verify(policy, &EncodedToken::parse(token).ok_or(JwtError::Malformed)?, keys, NOW)
}

fn claims() -> Value {
    json!({ "iss": "https://id.example", "sub": "ada", "aud": "portion", "exp": NOW + 60.0 })
}

fn with(changes: Value) -> String {
    let mut claims = claims();
    let Value::Object(changes) = changes else { panic!("an object") };
    for (name, value) in changes {
        claims[name] = value;
    }
    claims.to_string()
}

fn ada() -> Identity {
    Identity::Subject { issuer: "https://id.example".into(), subject: "ada".into() }
}

#[test]
fn each_algorithm_is_verified_with_its_own_key_only() {
    let signers = signers();
    let ids = ["a", "b", "c"];
    let jwks: Vec<Value> = signers.iter().zip(ids).map(|(signer, id)| signer.jwk(id)).collect();
    let keys = KeySet::parse(json!({ "keys": jwks }).to_string().as_bytes()).expect("keys");
    let policy = policy(&[]);
    for (signer, id) in signers.iter().zip(ids) {
        let sign = |header: Value| signer.sign(&header, &claims().to_string());
        let alg = signer.name();
        assert_eq!(verify(&policy, &keys, &sign(json!({ "alg": alg, "kid": id }))), Ok(ada()), "{alg}");
        assert_eq!(verify(&policy, &keys, &sign(json!({ "alg": alg }))), Ok(ada()), "{alg} without id");
        for other in ["RS256", "ES256", "EdDSA"].into_iter().filter(|other| *other != alg) {
            let refused = verify(&policy, &keys, &sign(json!({ "alg": other, "kid": id })));
            assert_eq!(refused, Err(JwtError::UnknownKey), "{alg} as {other}");
        }
        for other in ["none", "None", "HS256", "RS512", "PS256", "ES384", ""] {
            let refused = verify(&policy, &keys, &sign(json!({ "alg": other, "kid": id })));
            assert_eq!(refused, Err(JwtError::Malformed), "{alg} as {other}");
        }
        let refused = verify(&policy, &keys, &sign(json!({ "alg": alg, "kid": "d" })));
        assert_eq!(refused, Err(JwtError::UnknownKey));
        let refused = verify(&policy, &keys, &sign(json!({ "alg": alg, "kid": id, "crit": ["exp"] })));
        assert_eq!(refused, Err(JwtError::Malformed));
    }
    let stranger = signer().sign(&json!({ "alg": "EdDSA", "kid": "c" }), &claims().to_string());
    assert_eq!(verify(&policy, &keys, &stranger), Err(JwtError::WrongSignature));
}

#[test]
fn claims_are_checked() {
    let signer = signer();
    let keys = KeySet::parse(json!({ "keys": [signer.jwk("a")] }).to_string().as_bytes()).expect("keys");
    let check_with = |scopes: &[&str], claims: &str, expect: Result<Identity, JwtError>| {
        let token = signer.sign(&json!({ "alg": "EdDSA", "kid": "a", "typ": "at+jwt" }), claims);
        assert_eq!(verify(&policy(scopes), &keys, &token), expect, "{claims}");
    };
    let check = |changes: Value, expect: Result<Identity, JwtError>| {
        check_with(&[], &with(changes), expect);
    };
    check(json!({}), Ok(ada()));
    check(json!({ "aud": ["other", "portion"] }), Ok(ada()));
    check(json!({ "exp": NOW - 29.5 }), Ok(ada()));
    check(json!({ "nbf": NOW + 29.5 }), Ok(ada()));
    check(json!({ "nbf": null, "iat": "whatever" }), Ok(ada()));
    for exp in [NOW - 30.0, NOW - 1e6, 0.0, -1.0] {
        check(json!({ "exp": exp }), Err(JwtError::Expired));
    }
    check(json!({ "nbf": NOW + 31.0 }), Err(JwtError::NotYetValid));
    check(json!({ "aud": ["other"] }), Err(JwtError::WrongAudience));
    check(json!({ "aud": [] }), Err(JwtError::WrongAudience));
    check(json!({ "aud": "portion2" }), Err(JwtError::WrongAudience));
    for issuer in ["https://id.example/", "HTTPS://id.example", "https://evil.example", ""] {
        check(json!({ "iss": issuer }), Err(JwtError::WrongIssuer));
    }
    for name in ["iss", "sub", "aud", "exp"] {
        for value in [json!(null), json!({}), json!(true)] {
            check(json!({ name: value }), Err(JwtError::InvalidClaims));
        }
    }
    check(json!({ "exp": "9999999999" }), Err(JwtError::InvalidClaims));
    check(json!({ "nbf": "0" }), Err(JwtError::InvalidClaims));
    check(json!({ "sub": "" }), Err(JwtError::InvalidClaims));
    let twice = with(json!({})).replacen('{', r#"{"sub":"bob","#, 1);
    for text in ["", "null", "[]", "1", twice.as_str()] {
        check_with(&[], text, Err(JwtError::InvalidClaims));
    }
    let lacks = || Err(JwtError::MissingScope);
    for (changes, expect) in [
        (json!({ "scope": "write read" }), Ok(ada())),
        (json!({ "scp": ["read", "write"] }), Ok(ada())),
        (json!({ "scope": "read", "scp": "write" }), Ok(ada())),
        (json!({ "scope": "read" }), lacks()),
        (json!({ "scope": "reads write" }), lacks()),
        (json!({}), lacks()),
    ] {
        check_with(&["read", "write"], &with(changes), expect);
    }
}

#[test]
fn keys_of_other_kinds_are_skipped() {
    let ids = ["rsa", "p256", "ed25519"];
    let check = |keys: Value, expect: &[&str]| {
        let parsed = KeySet::parse(json!({ "keys": keys }).to_string().as_bytes());
        let found = ids.into_iter().filter(|id| parsed.as_ref().is_ok_and(|keys| keys.has(Some(id))));
        assert_eq!(found.collect::<Vec<_>>(), expect, "{keys}");
    };
    let signers = signers();
    let [rsa, p256, ed25519] = [0, 1, 2].map(|i| signers[i].jwk(ids[i]));
    let changed = |key: &Value, name: &str, value: Value| {
        let mut key = key.clone();
        key[name] = value;
        key
    };
    check(json!([rsa, p256, ed25519]), &ids);
    check(json!([changed(&rsa, "use", "enc".into()), ed25519]), &["ed25519"]);
    check(json!([changed(&rsa, "alg", "RS512".into()), p256]), &["p256"]);
    check(json!([changed(&p256, "crv", "P-384".into()), changed(&p256, "x", "AA".into())]), &[]);
    check(json!([{ "kty": "oct", "k": "c2VjcmV0", "kid": "rsa" }, 1, null, {}]), &[]);
    check(json!([]), &[]);
    assert!(KeySet::parse(b"not JSON").is_err() && KeySet::parse(b"{}").is_err());
}

#[test]
fn a_key_without_an_id_is_meant_by_any_token() {
    let (named, unnamed) = (signer(), signer());
    let mut jwk = unnamed.jwk("");
    jwk.as_object_mut().expect("an object").remove("kid");
    let policy = policy(&[]);
    let set = |keys: Value| KeySet::parse(json!({ "keys": keys }).to_string().as_bytes()).expect("keys");
    let token = |by: &Signer, id: &str| by.sign(&json!({ "alg": "EdDSA", "kid": id }), &claims().to_string());
    let alone = set(json!([jwk]));
    assert!(alone.has(Some("any")), "another fetch would not help");
    assert_eq!(verify(&policy, &alone, &token(&unnamed, "any")), Ok(ada()));
    assert_eq!(verify(&policy, &alone, &token(&named, "a")), Err(JwtError::WrongSignature));
    let mixed = set(json!([named.jwk("a"), jwk]));
    assert!(mixed.has(Some("a")) && !mixed.has(Some("b")), "a key with that id may be new");
    for (by, id, expect) in
        [(&named, "a", Ok(ada())), (&unnamed, "b", Ok(ada())), (&named, "b", Err(JwtError::WrongSignature))]
    {
        assert_eq!(verify(&policy, &mixed, &token(by, id)), expect, "{id}");
    }
}

#[test]
fn every_changed_bit_is_noticed() {
    let policy = policy(&[]);
    for signer in signers() {
        let keys = KeySet::parse(public_keys_of(&signer).as_bytes()).expect("keys");
        let token = signer.sign(&json!({ "alg": signer.name(), "kid": "a" }), &claims().to_string());
        assert_eq!(verify(&policy, &keys, &token), Ok(ada()));
        for (i, bit) in (0..token.len()).flat_map(|i| (0..7).map(move |bit| (i, bit))) {
            let mut bytes = token.clone().into_bytes();
            bytes[i] ^= 1 << bit;
            let changed = String::from_utf8(bytes).expect("seven bits");
            assert!(verify(&policy, &keys, &changed).is_err(), "{changed}");
        }
    }
}

fn public_keys_of(signer: &Signer) -> String {
    json!({ "keys": [signer.jwk("a")] }).to_string()
}

proptest! {
    #[test]
    fn no_text_is_a_token(text in r"[A-Za-z0-9_\-]{0,40}(\.[A-Za-z0-9_\-]{0,40}){0,4}|\PC{0,60}", document in ".{0,80}") {
        let keys = KeySet::parse(public_keys_of(&signer()).as_bytes()).expect("keys");
        prop_assert!(verify(&policy(&[]), &keys, &text).is_err());
        prop_assert!(KeySet::parse(document.as_bytes()).is_err());
    }
}
