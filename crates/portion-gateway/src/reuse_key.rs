//! Keys of calls whose results may answer later, equal calls.

use portion_policy::endpoint::{Endpoint, EndpointKind};
use sha2::{Digest as _, Sha256};

/// Equal for calls to the same endpoint with the same arguments, apart from controls.
///
/// Independent of the caller: a store keeps one index of reuse keys per scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReuseKey([u8; 16]);

impl ReuseKey {
    /// Returns the bytes of the key.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Creates the key of a call. `arguments` are canonical: keys sorted, minified, without controls.
    pub fn new(endpoint: &Endpoint, arguments: &str) -> Self {
        let Endpoint { name, kind, .. } = endpoint;
        let kind = match kind {
            EndpointKind::Tool => 0,
            EndpointKind::Resource => 1,
            EndpointKind::Prompt => 2,
        };
        let mut hash = Sha256::new();
        hash.update([kind]);
        // The length separates the name from the arguments.
        hash.update((name.len() as u64).to_be_bytes());
        hash.update(name);
        hash.update(arguments);
        let digest = hash.finalize();
        Self(std::array::from_fn(|i| digest[i]))
    }
}

#[cfg(test)]
mod tests {
    use portion_policy::endpoint::{Endpoint, EndpointKind};

    use super::ReuseKey;

    #[test]
    fn keys_differ_between_calls() {
        let key = |kind, name: &str, arguments: &str| {
            let endpoint = Endpoint { name: name.into(), kind, read_only: true, idempotent: true };
            ReuseKey::new(&endpoint, arguments)
        };
        let one = key(EndpointKind::Tool, "list", "{\"a\":1}");
        assert_eq!(one, key(EndpointKind::Tool, "list", "{\"a\":1}"));
        assert_ne!(one, key(EndpointKind::Resource, "list", "{\"a\":1}"));
        assert_ne!(one, key(EndpointKind::Tool, "list{", "\"a\":1}"));
        assert_ne!(one, key(EndpointKind::Tool, "list", "{\"a\":2}"));
    }
}
