//! Tests of queries through the public interface.

mod asks;
mod common;
mod hostile;
mod laws;
