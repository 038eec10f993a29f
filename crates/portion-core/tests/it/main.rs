//! Tests of the core through its public interface. They are one binary, because each binary takes its time to link.

mod describe;
mod find;
mod fuzz;
mod golden;
mod importance;
mod laws;
mod ranked;
mod redacted_capture;
mod views;
