//! A client whose server could not be started: its requests are answered with the reason.

use std::sync::Arc;
use std::thread;

use tokio::runtime::Handle;
use tokio::time::timeout;

use super::child_relay::CLIENT_STALL_TIMEOUT;
use super::gate::DirectionGate;
use super::late_requests::LateRequests;
use super::message_writer::MessageWriter;
use super::pump::{SetOnDrop, pump_with_deferred};
use super::{MessageProcessor, OutgoingMessage, RelayOutcome};
use crate::front::stdio::StdioFront;
use crate::one_shot_flag::OneShotFlag;

/// What the thread that reads and the session share.
struct UnavailableRelay<L> {
    processor: Arc<L>,
    client: Arc<MessageWriter>,
    client_gate: DirectionGate,
    client_done: OneShotFlag,
    late_requests: LateRequests,
}

pub(super) async fn run<L: MessageProcessor + 'static>(
    lane: Arc<L>,
    why: String,
    front: StdioFront,
) -> RelayOutcome {
    let StdioFront { input, output, mut signals, .. } = front;
    let ends = Arc::new(UnavailableRelay {
        processor: lane,
        client: Arc::new(MessageWriter::new(Some(output))),
        client_gate: DirectionGate::default(),
        client_done: OneShotFlag::default(),
        late_requests: LateRequests::for_unreachable(why),
    });
    let (own, runtime) = (Arc::clone(&ends), Handle::current());
    thread::spawn(move || {
        let _done = SetOnDrop(&own.client_done);
        pump_with_deferred(&*own.processor, input, &own.client_gate, |frame, way| {
            let mut messages = runtime.block_on(way.process(&*own.processor, frame));
            messages.extend(own.late_requests.on_client_message(&*own.processor));
            for message in messages {
                if let OutgoingMessage::ToClient(message) = message {
                    own.client.send(message);
                }
            }
        });
    });
    let told = async {
        ends.late_requests.wait_until_quiet(&ends.client_done, &ends.client.reader_gone).await;
        let _ = timeout(CLIENT_STALL_TIMEOUT, ends.client_gate.close()).await;
        let _ = timeout(
            CLIENT_STALL_TIMEOUT,
            ends.client.send_all_and_close(ends.late_requests.answer_pending(&*ends.processor)),
        )
        .await;
    };
    let code = tokio::select! {
        biased;
        signal = signals.next() => 128 + signal,
        () = told => 1,
    };
    RelayOutcome { code, failure: None }
}
