//! Names of keys and fields.

use portion_core::cursor::Scope;
use portion_text::display::hex;

use crate::call::ReuseKey;
use crate::store::SnapshotKey;

/// Bytes of a keyed hash in a name.
const HASH_BYTES: usize = 16;

/// Names keys under one secret.
pub(crate) struct KeyNames {
    secret: [u8; 32],
    prefix: String,
    namespace: String,
    server: String,
}

/// Names of the keys of one snapshot.
pub(crate) struct SnapshotNames {
    /// Hash with the fields.
    pub(crate) fields: String,
    /// Sorted set with the last use of views that were added later.
    pub(crate) views: String,
    /// The header, which outlives the fields.
    pub(crate) header: String,
    /// The owner of a claim.
    pub(crate) claim: String,
    /// Exists while the fields are replaced.
    pub(crate) replacing: String,
    /// Exists while an instance may still have a snapshot that the store has refused.
    pub(crate) refused: String,
}

impl SnapshotNames {
    /// Returns the name of a hash that is being written. It has the hash tag of the others.
    pub(crate) fn draft(&self, unique: u64) -> String {
        format!("{}:draft:{unique}", self.fields)
    }
}

impl KeyNames {
    pub(crate) fn new(secret: [u8; 32], prefix: &str, namespace: &str, server: &str) -> Self {
        let (prefix, namespace, server) = (prefix.to_owned(), namespace.to_owned(), server.to_owned());
        Self { secret, prefix, namespace, server }
    }

    pub(crate) fn snapshot(&self, key: SnapshotKey) -> SnapshotNames {
        let parts: [&[u8]; 4] = [b"snapshot", self.namespace.as_bytes(), key.scope.as_bytes(), &key.id];
        let fields = format!("{}:{{{}}}", self.prefix, self.hash(parts));
        let beside = |suffix: &str| format!("{fields}:{suffix}");
        SnapshotNames {
            views: beside("views"),
            header: beside("header"),
            claim: beside("claim"),
            replacing: beside("replacing"),
            refused: beside("refused"),
            fields,
        }
    }

    pub(crate) fn reuse(&self, scope: Scope, reuse: ReuseKey) -> String {
        let parts: [&[u8]; 5] =
            [b"reuse", self.namespace.as_bytes(), self.server.as_bytes(), scope.as_bytes(), reuse.as_bytes()];
        format!("{}:reuse:{}", self.prefix, self.hash(parts))
    }

    fn hash<'a>(&self, parts: impl IntoIterator<Item = &'a [u8]>) -> String {
        hex(&Scope::from_parts(&self.secret, parts).as_bytes()[..HASH_BYTES])
    }
}
