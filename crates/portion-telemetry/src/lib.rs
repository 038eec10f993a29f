//! Records what was served and configured: sizes, times and codes, never content.
//!
//! A [`Recorder`](recorder::Recorder) writes events to one `SQLite` file that all processes of a user share. A
//! [`Reader`](read::Reader) queries that file. Everything derived from records is a pure function: [`experiment`]
//! compares arms, [`what_if`] estimates replies under other limits, [`advise`] finds better page sizes,
//! [`calibration`] fits counts to what a model charged, [`show`] formats the results.
//!
//! Recording never blocks and never fails a request. If the file cannot be written, records are counted as dropped.

pub mod advise;
pub mod alert;
pub mod async_observer;
pub mod calibration;
pub mod experiment;
pub mod meter;
pub mod names;
pub mod prometheus;
pub mod read;
mod record;
pub mod recorder;
mod rollup;
pub mod show;
pub mod statistics;
mod store;
pub mod timestamp;
pub mod what_if;
