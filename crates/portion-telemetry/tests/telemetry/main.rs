//! Records from being heard to being read.

mod advising;
mod alerting;
mod asking;
mod comparing;
mod metering;
mod recording;
mod sample;
mod showing;
mod trouble;
