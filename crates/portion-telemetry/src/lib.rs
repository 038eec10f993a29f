//! Records what was served and configured: sizes, times and codes, never content.
//!
//! A [`Recorder`](recorder::Recorder) writes events to one `SQLite` file that all processes of a user share. A
//! [`Reader`](read::Reader) queries that file. Everything derived from records is a pure function: [`experiment`]
//! compares arms, [`what_if`] estimates replies under other limits, [`advise`] finds better page sizes,
//! [`calibration`] fits counts to what a model charged, [`show`] formats the results.
//!
//! Recording never blocks and never fails a request. If the file cannot be written, records are counted as dropped.
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `names`, `meter`, `prometheus` | the table of metrics for all exporters; counters of this process, with bounded labels; the Prometheus text format |
//! | `otlp` (feature `otlp`) | the export of spans and metrics to an OpenTelemetry collector |
//! | `alert` | the alert on oversized calls: `watch` is a state machine with time as an argument |
//! | `async_observer` | the worker between requests and observers |
//! | `recorder` | the queue of records, which never blocks a request; `writer` handles it and logs failures |
//! | `store` | the file: `open`, which also migrates old files and moves corrupt ones away, `retain` (roll-ups and deletion), `write` |
//! | `record` | a recorded request, as a row of the file |
//! | `rollup` | sums by minute and hour, and the statistics of a time range; `quantile_histogram` keeps the distribution of durations |
//! | `read` | queries: `filter` selects records, `aggregate` adds up roll-ups and single requests |
//! | `statistics`, `calibration`, `experiment`, `advise`, `what_if` | confidence intervals; the factor of token counts; arms of an experiment; better page sizes; estimates under other limits |
//! | `show`, `timestamp` | results as tables, JSON and CSV, and `TextTable`, the table of all commands; points in time for people |

pub mod advise;
pub mod alert;
pub mod async_observer;
pub mod calibration;
pub mod experiment;
pub mod meter;
pub mod names;
#[cfg(feature = "otlp")]
pub mod otlp;
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
