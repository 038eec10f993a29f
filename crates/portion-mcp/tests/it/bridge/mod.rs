//! Tests of the bridge with a real server and clients over real connections.
#![cfg(target_os = "linux")]

mod principals;
mod scene;
mod sessions;
mod stateless;
