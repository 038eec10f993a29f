//! Relays messages between a client on our stdio and a server: a child process, or a server behind a link.
//!
//! Each direction is one thread that reads a message, passes it to the [`MessageProcessor`] and writes the result itself. With a
//! child, no other thread has to wake up for a message, and a full pipe blocks only its own direction. `session` has the
//! threads, and what is alike at the end of each relay; `child_relay` and `link_relay` end their servers.
//!
//! Must not interpret messages; that is the task of the [`MessageProcessor`].
//!
//! ```no_run
//! # async fn run(factory: portion_mcp::mcp::McpProcessorFactory) -> Result<u8, Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use portion_core::cursor::Scope;
//! use portion_gateway::session::ClientSession;
//! use portion_mcp::front::stdio::StdioFront;
//! use portion_mcp::relay::relay;
//! use portion_mcp::upstream::stdio::{Child, Program};
//!
//! let message_limit = 64 << 20;
//! let processor = factory.new_processor(Scope::from_principal("stdio"), ClientSession::new_unique());
//! let front = StdioFront::open(message_limit)?;
//! let child = Child::spawn(&Program::new("my-server", ["--stdio"]), message_limit)?;
//! let outcome = relay(Arc::new(processor), child, front).await;
//! # Ok(outcome.code)
//! # }
//! ```

mod child_relay;
mod late_requests;
mod link_relay;
mod message_writer;
mod pump;
mod session;

use std::process::ExitCode;
use std::sync::Arc;

use tokio::time::timeout;

use self::late_requests::LateRequests;
use self::message_writer::CLIENT_STALL_TIMEOUT;
use self::session::{ServerInput, Session};
use crate::front::stdio::StdioFront;
use crate::message_processor::MessageProcessor;

pub use child_relay::relay;
pub use link_relay::relay_link;

/// Outcome of a relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayOutcome {
    /// Exit code: that of the server (128 + n if signal n ended it), 0 if the server had to be ended after the client
    /// left, 128 + n after a signal n to us.
    pub code: u8,
    /// Sentence for the user if the server ended before the client left, or without answering a request.
    pub failure: Option<String>,
}

impl From<RelayOutcome> for ExitCode {
    fn from(exit: RelayOutcome) -> Self {
        Self::from(exit.code)
    }
}

/// Answers the requests of a client whose server could not be started, until it leaves or is quiet. `why` begins with a
/// sentence. The exit code is 1, or 128 + n after a signal n to us.
///
/// # Panics
/// Panics like [`relay`].
pub async fn serve_unavailable<L: MessageProcessor + 'static>(
    processor: Arc<L>,
    why: String,
    front: StdioFront,
) -> RelayOutcome {
    let StdioFront { input, output, mut signals, shutdown_deadline } = front;
    let late_requests = LateRequests::for_unreachable(why);
    let session =
        Session::start(processor, (input, output), ServerInput::None, late_requests, shutdown_deadline);
    let answered = async {
        let Session { processor, client, client_gate, client_done, late_requests, .. } = &*session;
        late_requests.wait_until_quiet(client_done, &client.reader_gone).await;
        let _ = timeout(CLIENT_STALL_TIMEOUT, client_gate.close()).await;
        let last = client.send_all_and_close(late_requests.answer_pending(&**processor));
        let _ = timeout(CLIENT_STALL_TIMEOUT, last).await;
    };
    let code = tokio::select! {
        biased;
        signal = signals.next() => 128 + signal,
        () = answered => 1,
    };
    RelayOutcome { code, failure: None }
}
