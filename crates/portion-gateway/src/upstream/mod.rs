//! Whom we call.

mod group;
pub mod http;
pub mod link;
pub mod stdio;
