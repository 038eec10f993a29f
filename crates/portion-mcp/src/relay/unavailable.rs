//! Answers the requests of a client with the reason that its server could not be started.

use std::sync::Arc;

use tokio::time::timeout;

use super::RelayOutcome;
use super::late_requests::LateRequests;
use super::message_writer::CLIENT_STALL_TIMEOUT;
use super::session::{ServerInput, Session};
use crate::front::stdio::StdioFront;
use crate::message_processor::MessageProcessor;

pub(super) async fn run<L: MessageProcessor + 'static>(
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
