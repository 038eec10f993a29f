//! Tests of queries through the public interface.

mod common;
mod fuzz;
mod hostile;
mod laws;
mod queries;
