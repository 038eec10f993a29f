//! A client whose server could not be started: its requests are answered with the reason.

use std::sync::Arc;
use std::thread;

use tokio::runtime::Handle;
use tokio::time::timeout;

use super::gate::Gate;
use super::late::Late;
use super::outlet::Outlet;
use super::pump::{SetAtEnd, pump_past};
use super::session::STUCK;
use super::{Exit, Lane, Outgoing};
use crate::front::stdio::Front;
use crate::latch::Latch;

/// What the thread that reads and the session share.
struct Ends<L> {
    lane: Arc<L>,
    client: Arc<Outlet>,
    from_client: Gate,
    client_done: Latch,
    late: Late,
}

pub(super) async fn run<L: Lane + 'static>(lane: Arc<L>, why: String, front: Front) -> Exit {
    let Front { input, output, mut signals, .. } = front;
    let ends = Arc::new(Ends {
        lane,
        client: Arc::new(Outlet::new(Some(output))),
        from_client: Gate::default(),
        client_done: Latch::default(),
        late: Late::unreached(why),
    });
    let (own, runtime) = (Arc::clone(&ends), Handle::current());
    thread::spawn(move || {
        let _done = SetAtEnd(&own.client_done);
        pump_past(&*own.lane, input, &own.from_client, |frame, way| {
            let mut messages = runtime.block_on(way.of(&*own.lane, frame));
            messages.extend(own.late.heard(&*own.lane));
            for message in messages {
                if let Outgoing::ToClient(message) = message {
                    own.client.send(message);
                }
            }
        });
    });
    let told = async {
        ends.late.settled(&ends.client_done, &ends.client.shut).await;
        let _ = timeout(STUCK, ends.from_client.close()).await;
        let _ = timeout(STUCK, ends.client.finish(ends.late.more_answers(&*ends.lane))).await;
    };
    let code = tokio::select! {
        biased;
        signal = signals.next() => 128 + signal,
        () = told => 1,
    };
    Exit { code, failure: None }
}
