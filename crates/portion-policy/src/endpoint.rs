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

/// Largest endpoint name in logs and records, in bytes.
const MAX_LOG_NAME_BYTES: usize = 256;

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
    /// Returns the endpoint's name for logs and records, shortened because its length is up to the caller;
    /// empty for `None`.
    pub fn log_name(endpoint: Option<&Self>) -> Cow<'_, str> {
        let name = endpoint.map_or("", |endpoint| &endpoint.name);
        if name.len() <= MAX_LOG_NAME_BYTES {
            return Cow::Borrowed(name);
        }
        let end = name.floor_char_boundary(MAX_LOG_NAME_BYTES - '…'.len_utf8());
        Cow::Owned(format!("{}…", &name[..end]))
    }

    /// Returns true if an equal call can be repeated without further side effects.
    pub fn is_repeatable(&self) -> bool {
        self.kind != EndpointKind::Tool || self.read_only || self.idempotent
    }
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, EndpointKind};

    #[test]
    fn logged_names_are_limited() {
        let logged = |name: &str| {
            let endpoint =
                Endpoint { name: name.into(), kind: EndpointKind::Tool, read_only: true, idempotent: true };
            Endpoint::log_name(Some(&endpoint)).into_owned()
        };
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
