//! Background work: a bounded queue, a thread that handles its items, a flush, and a deadline.
//!
//! Recording, alerts, the webhook, the export of spans and the recount of replies all use [`Worker`]. A caller pays for
//! a place in the queue, and gets the item back if there is none. At the end of the process, all of them are closed
//! with the same [`Deadline`].
//!
//! ```
//! use std::sync::mpsc::channel;
//! use std::time::Duration;
//!
//! use portion_worker::{Deadline, Worker, WorkerOptions, for_each};
//!
//! let (sum, received) = channel();
//! let options = WorkerOptions { capacity: 8, ..WorkerOptions::new("squares") };
//! let worker = Worker::start(&options, for_each(move |n: u32| sum.send(n * n).unwrap()))?;
//! worker.submit(3).expect("there is room");
//! assert!(worker.flush(Duration::from_secs(10)));
//! assert_eq!(received.recv(), Ok(9));
//! worker.close();
//! assert!(worker.wait_for_end(Deadline::after(Duration::from_secs(10))));
//! assert_eq!(worker.submit(4), Err(4));
//! # Ok::<(), std::io::Error>(())
//! ```

mod deadline;
mod items;
mod worker;

pub use deadline::Deadline;
pub use items::Items;
pub use worker::{ForEach, Handler, Worker, WorkerOptions, for_each};
