//! Tests through the public interface.

mod chunk;
mod entries;
mod fuzz;
