//! Records from being heard to being read.

mod comparing;
mod recording;
mod sample;
mod showing;
mod trouble;
