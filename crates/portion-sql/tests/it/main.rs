//! Tests of queries through the public interface.

mod common;
mod differential;
mod fuzz;
mod hostile;
mod laws;
mod queries;
mod written;
