//! Whom we call.

mod group;
pub mod groups;
pub mod http;
pub mod link;
mod program;
mod stderr;
pub mod stdio;
