//! Tests of the gateway through its public interface.

mod accuracy;
mod decision_log;
mod gateway;
mod governed;
mod manner;
mod questions;
mod redaction;
mod samples;
mod store_contract;
mod told;
