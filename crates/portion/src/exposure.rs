//! Decides if Portion may listen where other machines can connect.
//!
//! Callers are not authenticated. Every program that can connect to a listener can use its servers, with the operator's
//! credentials.

use std::net::SocketAddr;

/// Rejects an address that other machines can reach, unless `insecure` is set; then it prints a warning on stderr. `what`
/// is served at the address, `option` sets it.
///
/// # Errors
/// Returns the problem and the option that fixes it.
pub(crate) fn check(at: SocketAddr, insecure: bool, what: &str, option: &str) -> Result<(), String> {
    if at.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    if insecure {
        anstream::eprintln!(
            "portion: warning: every machine that reaches {at} can use {what}: callers are not authenticated (--insecure)"
        );
        return Ok(());
    }
    let port = at.port();
    Err(format!(
        "other machines can reach {at}, and callers of {what} are not authenticated: use {option} 127.0.0.1:{port}, \
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
