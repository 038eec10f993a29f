//! Opens a session with a server, or learns that it needs none.

use super::connection::Connection;
use super::error::ClientError;

/// Newest revision with sessions.
const SESSION_REVISION: &str = "2025-11-25";
/// First revision without sessions.
const STATELESS_REVISION: &str = "2026-07-28";
const CLIENT_INFO: &str =
    concat!(r#"{"name":"portion-fetch","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

/// Opens a session. A server that refuses is asked for the revision without sessions.
///
/// This order needs one exchange with all servers that have sessions. The opposite order would wait for the time-out of
/// servers that ignore unknown requests before a session.
pub(super) async fn open(connection: &mut Connection) -> Result<(), ClientError> {
    let params = format!(
        r#"{{"protocolVersion":"{SESSION_REVISION}","capabilities":{{}},"clientInfo":{CLIENT_INFO}}}"#
    );
    let refusal = match connection.request("initialize", &params).await {
        Ok(_) => {
            connection.notify("notifications/initialized").await;
            return Ok(());
        }
        Err(refusal @ ClientError::Refused { .. }) => refusal,
        Err(error) => return Err(error),
    };
    let prefix = "io.modelcontextprotocol/";
    connection.set_meta(format!(
        r#""{prefix}protocolVersion":"{STATELESS_REVISION}","{prefix}clientCapabilities":{{}},"{prefix}clientInfo":{CLIENT_INFO}"#
    ));
    if connection.request("server/discover", "{}").await.is_err() {
        return Err(refusal);
    }
    // Some tools require arguments in header fields. The link learns them from the list.
    connection.request("tools/list", "{}").await.map(drop)
}
