//! Answers the requests of a client with the reason that its server could not be started.

use std::sync::Arc;
use std::thread;

use tokio::runtime::Handle;
use tokio::time::timeout;

use super::RelayOutcome;
use super::late_requests::LateRequests;
use super::message_writer::{CLIENT_STALL_TIMEOUT, MessageWriter};
use super::pump::{DirectionGate, SetOnDrop, pump_with_deferred};
use crate::front::stdio::StdioFront;
use crate::message_processor::MessageProcessor;
use crate::once::OneShotFlag;

/// State shared by the reader thread and the session.
struct UnavailableRelay<L> {
    processor: Arc<L>,
    client: Arc<MessageWriter>,
    client_gate: DirectionGate,
    client_done: OneShotFlag,
    late_requests: LateRequests,
}

pub(super) async fn run<L: MessageProcessor + 'static>(
    processor: Arc<L>,
    why: String,
    front: StdioFront,
) -> RelayOutcome {
    let StdioFront { input, output, mut signals, .. } = front;
    let relay = Arc::new(UnavailableRelay {
        processor,
        client: Arc::new(MessageWriter::new(Some(output))),
        client_gate: DirectionGate::default(),
        client_done: OneShotFlag::default(),
        late_requests: LateRequests::for_unreachable(why),
    });
    let (reader, runtime) = (Arc::clone(&relay), Handle::current());
    thread::spawn(move || {
        let _done = SetOnDrop(&reader.client_done);
        pump_with_deferred(&*reader.processor, input, &reader.client_gate, |frame, handling| {
            let mut messages = runtime.block_on(handling.process(&*reader.processor, frame));
            messages.extend(reader.late_requests.on_client_message(&*reader.processor));
            reader.client.send_for_client(messages);
        });
    });
    let answered = async {
        relay.late_requests.wait_until_quiet(&relay.client_done, &relay.client.reader_gone).await;
        let _ = timeout(CLIENT_STALL_TIMEOUT, relay.client_gate.close()).await;
        let _ = timeout(
            CLIENT_STALL_TIMEOUT,
            relay.client.send_all_and_close(relay.late_requests.answer_pending(&*relay.processor)),
        )
        .await;
    };
    let code = tokio::select! {
        biased;
        signal = signals.next() => 128 + signal,
        () = answered => 1,
    };
    RelayOutcome { code, failure: None }
}
