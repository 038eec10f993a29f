//! Decides whether to listen where other machines can ask.
//!
//! Callers are not authenticated here. Whoever reaches a listener therefore reads what its servers say, with the credentials
//! that the operator gave for them. Once there are modes of authentication, each of them is another reason to allow it.

use std::net::SocketAddr;

/// Refuses to listen at `at` where other machines can reach it, unless the operator wants that; then a line on stderr tells
/// of it. `what` is served there, `option` names the address.
///
/// # Errors
/// What is wrong, and what to write instead.
pub(crate) fn check(at: SocketAddr, insecure: bool, what: &str, option: &str) -> Result<(), String> {
    if at.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    if insecure {
        anstream::eprintln!(
            "portion: warning: whoever reaches {at} can use {what}: callers are not authenticated (--insecure)"
        );
        return Ok(());
    }
    let port = at.port();
    Err(format!(
        "other machines can reach {at}, and callers of {what} are not authenticated: listen at {option} 127.0.0.1:{port}, \
         or add --insecure (insecure: true) if something in front authenticates them"
    ))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn only_loopback_is_allowed_without_being_told() {
        let asked = |at: &str, insecure| check(at.parse().expect("an address"), insecure, "MCP", "--listen");
        for at in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(asked(at, false), Ok(()), "{at}");
        }
        for at in ["0.0.0.0:8765", "[::]:8765", "192.0.2.1:8765", "[::ffff:192.0.2.1]:8765", "10.0.0.1:8765"]
        {
            let refused = asked(at, false).expect_err(at);
            assert!(refused.contains(at.trim_end()) && refused.contains("--insecure"), "{refused}");
            assert!(refused.contains("--listen 127.0.0.1:8765"), "{refused}");
            assert_eq!(asked(at, true), Ok(()), "{at}");
        }
    }
}
