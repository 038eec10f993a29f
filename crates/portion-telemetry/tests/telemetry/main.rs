//! Records from being heard to being read.

mod advising;
mod comparing;
mod recording;
mod sample;
mod showing;
mod trouble;
