//! Tests of queries through the public interface.

mod common;
mod hostile;
mod laws;
mod queries;
