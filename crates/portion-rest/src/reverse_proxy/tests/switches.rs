//! Responses that switch the protocol.

use super::{SWITCH, requested, served, switching_server};
use crate::reverse_proxy::ServerLimits;

#[tokio::test]
async fn only_a_protocol_that_was_asked_for_is_switched_to() {
    let (other, several) =
        ("connection: upgrade\r\nupgrade: other\r\n", "connection: upgrade\r\nupgrade: other, ECHO\r\n");
    for (asked, switched, status) in [
        (SWITCH, SWITCH, 101),
        (several, SWITCH, 101),
        (several, other, 101),
        ("", SWITCH, 502),
        ("upgrade: echo\r\n", SWITCH, 502),
        ("", "", 502),
        (SWITCH, "", 502),
        (SWITCH, other, 502),
        (SWITCH, several, 502),
        (SWITCH, "connection: upgrade\r\nupgrade: ,\r\n", 502),
    ] {
        let address = served(switching_server(switched).await, ServerLimits::default()).await;
        let (_, head) = requested(address, asked).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{asked:?} {switched:?}: {head}");
    }
}
