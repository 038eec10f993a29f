//! Tells whoever hears on a thread of its own: a request pays for a place in a queue, not for all that others make of it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use portion_core::event::{Event, Observer};

/// Events that wait at most: more than the busiest traffic brings while the thread pauses.
const QUEUE: usize = 8_192;
/// How long the thread pauses before it looks again: where something came just now, and at most. To wake it for each would
/// cost more than all the rest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));
/// How long whoever waits pauses where there is no room in the queue.
const FULL: Duration = Duration::from_millis(1);

/// Hears at once, and tells an observer a moment later, in the order in which it heard. What finds no place in the queue is
/// told at once: nothing is lost.
pub struct Later {
    observer: Arc<dyn Observer>,
    items: SyncSender<Item>,
    /// Who tells; `None` where it could not be started.
    teller: Option<Thread>,
}

enum Item {
    Event(Event),
    /// Somebody waits until all before it is told.
    Waited(SyncSender<()>),
}

impl Later {
    /// Begins to tell that observer.
    pub fn start(observer: Arc<dyn Observer>) -> Self {
        let (items, receiver) = sync_channel(QUEUE);
        let told = Arc::clone(&observer);
        let teller = thread::Builder::new().name("told-later".to_owned());
        let teller = teller.spawn(move || tell(&receiver, &*told));
        let teller =
            teller.inspect_err(|error| tracing::warn!(%error, "requests wait until they are recorded"));
        Self { observer, items, teller: teller.ok().map(|teller| teller.thread().clone()) }
    }

    /// Waits until all that was heard before is told, but no longer than that; whether it is.
    pub fn settle(&self, within: Duration) -> bool {
        // Without a thread, all was told as it came.
        let Some(teller) = &self.teller else { return true };
        let until = Instant::now() + within;
        let left = || until.saturating_duration_since(Instant::now());
        let (told, waits) = sync_channel(1);
        let mut item = Item::Waited(told);
        while let Err(refused) = self.items.try_send(item) {
            match refused {
                TrySendError::Full(back) if !left().is_zero() => item = back,
                _ => return false,
            }
            teller.unpark();
            thread::sleep(FULL);
        }
        teller.unpark();
        waits.recv_timeout(left()).is_ok()
    }
}

impl Observer for Later {
    fn hear(&self, event: Event) {
        // Without a thread, nobody takes anything out of the queue either.
        let sent = self.items.try_send(Item::Event(event));
        if let Err(TrySendError::Full(Item::Event(event)) | TrySendError::Disconnected(Item::Event(event))) =
            sent
        {
            self.observer.hear(event);
        }
    }
}

/// Tells what comes, until nobody hears anything any more.
fn tell(items: &Receiver<Item>, observer: &dyn Observer) {
    let mut pause = PAUSE.0;
    loop {
        match items.try_recv() {
            Ok(item) => {
                pause = PAUSE.0;
                match item {
                    Item::Event(event) => observer.hear(event),
                    // Whoever waited may be gone.
                    Item::Waited(told) => {
                        let _ = told.send(());
                    }
                }
            }
            Err(TryRecvError::Empty) => {
                thread::park_timeout(pause);
                pause = (pause * 2).min(PAUSE.1);
            }
            Err(TryRecvError::Disconnected) => break,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::sync::{Mutex, PoisonError};

    use portion_core::event::Served;

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    /// Passes on the numbers of requests, and stays with the first until it may go on.
    struct Heard {
        numbers: Sender<u128>,
        gate: Mutex<Option<Receiver<()>>>,
    }

    impl Observer for Heard {
        fn hear(&self, event: Event) {
            if let Event::Served(served) = event {
                self.numbers.send(served.request).expect("somebody listens");
            }
            let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner).take();
            gate.map(|gate| gate.recv());
        }
    }

    fn event(request: u128) -> Event {
        Event::Served(Arc::new(Served { request, ..Served::default() }))
    }

    #[test]
    fn what_is_heard_is_told_in_order_and_waited_for() {
        let (numbers, told) = channel();
        let later = Later::start(Arc::new(Heard { numbers, gate: Mutex::default() }));
        (0..10_000).for_each(|number| {
            later.hear(event(number));
            if number % 5_000 == 0 {
                assert!(later.settle(LONG));
            }
        });
        assert!(later.settle(LONG));
        assert_eq!(told.try_iter().collect::<Vec<_>>(), (0..10_000).collect::<Vec<_>>());
    }

    #[test]
    fn what_finds_no_place_is_told_at_once() {
        let (go, gate) = channel();
        let (numbers, told) = channel();
        let later = Later::start(Arc::new(Heard { numbers, gate: Mutex::new(Some(gate)) }));
        later.hear(event(0));
        assert_eq!(told.recv_timeout(LONG), Ok(0), "which holds it up");
        while later.items.try_send(Item::Event(event(1))).is_ok() {}
        assert!(!later.settle(Duration::ZERO));
        later.hear(event(2));
        assert_eq!(told.recv_timeout(LONG), Ok(2), "what waits is not waited for");
        go.send(()).expect("it waits");
        assert!(later.settle(LONG));
        assert_eq!(told.try_iter().count(), QUEUE);
    }
}
