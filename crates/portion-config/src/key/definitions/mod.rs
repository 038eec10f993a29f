//! The table of all keys. A new key is added here and interpreted in [`config`](crate::config), which
//! makes an [`EndpointConfig`](portion_policy::endpoint::EndpointConfig) of it; everything else is
//! derived.

/// Declares the keys of a file. A row has the name, the placeholder for the value in help, the kind, the keywords, the
/// default, what differs from the properties that the keys of its block share, and the description.
macro_rules! keys {
    ($($shared:ident { $(
        $name:literal $value_name:literal: $kind:ident $(($($argument:expr),*))?
            $(or [$($keyword:literal),*])? $(= $default:literal)? $(, $property:ident: $value:expr)*,
            $doc:literal;
    )* })*) => {
        pub(super) static KEYS: &[Key] = &[$($(Key {
            name: $name,
            value_name: $value_name,
            kind: ValueKind::$kind $(($($argument),*))?,
            $(keywords: &[$($keyword),*],)?
            $(default: $default,)?
            $($property: $value,)*
            doc: $doc,
            ..$shared
        },)*)*];
    };
}

mod limits;
mod payloads;
mod program;
mod replies;
mod servers;

use super::Key;

/// Yields all keys, group by group.
pub(super) fn all() -> impl Iterator<Item = &'static Key> {
    [limits::KEYS, payloads::KEYS, replies::KEYS, servers::KEYS, program::KEYS].into_iter().flatten()
}
