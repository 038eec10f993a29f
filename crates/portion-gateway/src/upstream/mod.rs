//! Whom we call.

mod group;
pub mod stdio;
