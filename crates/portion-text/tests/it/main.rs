//! Tests of chunks and log entries.

mod chunk;
mod entries;
