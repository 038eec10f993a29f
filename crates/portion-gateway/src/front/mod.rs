//! Who calls us.

pub mod http;
pub mod signals;
pub mod stdio;
