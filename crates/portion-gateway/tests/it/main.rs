//! Tests of the gateway through its public interface.

mod accuracy;
mod decision_log;
mod gateway;
mod queries;
mod redaction;
mod render_options;
mod request_records;
mod rules;
mod samples;
mod store_contract;
