//! Tests of the transports: real clients, servers and processes around the public interface.
//!
//! All suites are one binary, because each binary takes its time to link.

mod bridge;
mod proxy;
mod relay;
mod relay_processors;
mod remote;
#[cfg(target_os = "linux")]
mod support;
mod waiting;
