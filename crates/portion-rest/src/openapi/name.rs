//! Names of tools and arguments that every client accepts.

/// Longest name of a tool or argument.
const MAX_NAME_BYTES: usize = 64;
/// Bytes of a long name that are kept before its hash.
const KEPT_BYTES: usize = MAX_NAME_BYTES - 9;

/// Returns the name of an operation's tool: its operation id, or method and path.
pub(crate) fn tool_name(operation_id: Option<&str>, method: &str, path: &str) -> String {
    let from_id = operation_id.map(|id| sanitize(id, "_-")).filter(|name| !name.is_empty());
    let name = from_id.unwrap_or_else(|| sanitize(&format!("{}_{path}", method.to_lowercase()), "_-"));
    shorten(&leading_letter(name))
}

/// Returns the name of the argument for a parameter: `filter_name` for `filter[name]`.
pub(crate) fn argument_name(parameter: &str) -> String {
    let name = sanitize(parameter, "_-.");
    shorten(if name.is_empty() { "value" } else { &name })
}

/// Returns the first free name: `name`, `name_2`, `name_3` …
pub(crate) fn unique(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    if !is_taken(name) {
        return name.to_owned();
    }
    let mut number = 2_usize;
    loop {
        let suffix = format!("_{number}");
        let kept = &name[..name.len().min(MAX_NAME_BYTES - suffix.len())];
        let next = format!("{kept}{suffix}");
        if !is_taken(&next) {
            return next;
        }
        number += 1;
    }
}

/// Replaces each run of other characters by one `_`, and drops it at both ends. A name that needs no change stays.
fn sanitize(text: &str, allowed: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || allowed.contains(c);
    if !text.is_empty() && text.chars().all(is_allowed) {
        return text.to_owned();
    }
    let mut name = String::with_capacity(text.len());
    for c in text.chars() {
        if is_allowed(c) {
            name.push(c);
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    name.trim_matches('_').to_owned()
}

/// Some clients reject names that begin with a digit or a dash.
fn leading_letter(name: String) -> String {
    if name.starts_with(|c: char| c.is_ascii_digit() || c == '-') { format!("op_{name}") } else { name }
}

/// Shortens an ASCII name; the hash keeps different long names different.
fn shorten(name: &str) -> String {
    if name.len() <= MAX_NAME_BYTES {
        return name.to_owned();
    }
    // FNV-1a: stable between versions and machines.
    let hash =
        name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{}_{hash:08x}", &name[..KEPT_BYTES])
}

#[cfg(test)]
mod tests {
    use super::{argument_name, tool_name, unique};

    #[test]
    fn tool_names_are_valid_and_stable() {
        let check = |id: Option<&str>, path: &str, expect: &str| {
            assert_eq!(tool_name(id, "GET", path), expect, "{id:?} {path}");
        };
        check(Some("listBookings"), "/bookings", "listBookings");
        check(Some("repos/list-for-org"), "/", "repos_list-for-org");
        check(Some("  "), "/bookings/{id}", "get_bookings_id");
        check(Some("日本"), "/a", "get_a");
        check(None, "/", "get");
        check(Some("2.listen"), "/", "op_2_listen");
        let long = "a".repeat(70);
        let name = tool_name(Some(&long), "GET", "/");
        assert!(name.len() == 64 && name.starts_with("aaaa"), "{name}");
        assert_ne!(name, tool_name(Some(&format!("{long}b")), "GET", "/"));
    }

    #[test]
    fn argument_names_are_valid() {
        for (parameter, expect) in
            [("id", "id"), ("filter[name]", "filter_name"), ("$top", "top"), ("[]", "value"), ("_a", "_a")]
        {
            assert_eq!(argument_name(parameter), expect);
        }
    }

    #[test]
    fn names_are_unique() {
        assert_eq!(unique("a", |_| false), "a");
        assert_eq!(unique("a", |name| name == "a" || name == "a_2"), "a_3");
        let long = "a".repeat(64);
        assert_eq!(unique(&long, |name| name == long).len(), 64);
    }
}
