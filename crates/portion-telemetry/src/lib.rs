//! What is remembered of requests and of the configuration: sizes, times and codes, never content.
//!
//! A [`Recorder`](recorder::Recorder) hears events and keeps them in one `SQLite` file, which all processes of a user
//! share; a [`Reader`](read::Reader) answers from it. What is worked out of records is a pure function of them:
//! [`experiment`] compares arms, [`against`] estimates what other limits would have served, [`advise`] finds
//! better page sizes, [`calibration`] fits counts to what a model charged, [`show`] writes it down.
//!
//! Recording never waits and never fails a request: where the file cannot be written, records are counted as dropped.

pub mod advise;
pub mod against;
pub mod alert;
pub mod calibration;
pub mod experiment;
pub mod later;
pub mod meter;
pub mod moment;
pub mod names;
pub mod prometheus;
pub mod read;
pub mod recorder;
mod rollup;
pub mod show;
pub mod statistics;
mod store;
